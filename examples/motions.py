"""A start, a middle and an end without a stop, followed by computed torque; limits checked at every instant."""

import numpy as np

import dalembert
from dalembert import motion

robot = dalembert.load("ur5").without("friction", "damping")
home = np.array([0.0, -1.2, 1.5, -1.0, -1.5, 0.0])
middle = np.array([0.6, -0.9, 1.1, -0.8, -1.4, 0.5])
move = motion.via([home, middle, home + 0.2], [0.0, 0.8, 1.5], robot=robot)
print(move)
print("within the limits:", bool(move.check()))
print("five times as fast:", move.slower(0.2).check())
assert move.check() and not move.slower(0.2).check()


def computed_torque(t, q, v):
    wanted = move.at(t)
    return robot.inverse_dynamics(q, v, wanted.a + 400.0 * (wanted.q - q) + 40.0 * (wanted.v - v))


run = robot.simulate(move.q(0.0), move.v(0.0), computed_torque, duration=move.duration)
error = np.abs(run.q - move.q(run.t)).max()
print(f"largest error {error:.1e} rad")
assert error < 1e-6
