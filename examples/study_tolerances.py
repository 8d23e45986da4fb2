"""Which error of the drawing matters? Sobol's indices of the torques of a 2R arm, beside derivatives by hand."""

import numpy as np

from dalembert import load, study

arm = load("2r")  # masses of 2 and 1.5 kg at the ends of bars of 0.3 m
q = np.array([0.3, 0.5])
found = study.tolerance(arm, study.model_errors(mass=0.1), q)
print(found)

first, second = 9.81 * 0.3 * np.cos(q[0]), 9.81 * 0.3 * np.cos(q.sum())
slopes = np.array([[first, first + second], [0.0, second]])  # of the torques in the masses
by_hand = slopes * [0.2, 0.15] / np.sqrt(3.0)  # ± 10 %, uniform
print("standard deviations [N·m] by hand:")
print(by_hand.round(3))
np.testing.assert_allclose(found.contribution, by_hand, rtol=0.01, atol=1e-9)

usual = study.tolerance(arm, study.cad_errors(), q)  # motors and harness missing, cables, moments of a uniform density
print(usual)
assert usual.deviation[0] > found.deviation[0]
