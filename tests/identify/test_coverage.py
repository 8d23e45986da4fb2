"""95 % intervals over many logs as a robot would give them: encoder noise, friction, torques that are late."""

import numpy as np
import pytest

from dalembert import identify, load
from dalembert.identify.columns import columns
from dalembert.logs import Log, trajectory
from simulated import with_friction

RUNS, LATE = 200, 0.004  # logs; seconds by which torques are late
ENCODER, TORQUE = 2e-5, 0.5  # noise [rad], [N·m]


@pytest.mark.long
def test_intervals_hold_the_truth_in_93_of_100():
    robot = load("ur10e")
    truth = with_friction(robot)
    motion = identify.excitation(robot, duration=24.0, rate=500.0, starts=1)
    tau = truth.inverse_dynamics(motion.q, motion.v, motion.a)
    tau = np.column_stack([np.interp(motion.t - LATE, motion.t, column) for column in tau.T])
    inside = []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        q = motion.q + rng.normal(0.0, ENCODER, motion.q.shape)
        log = trajectory(Log(robot, motion.t, q, tau=tau + rng.normal(0.0, TORQUE, tau.shape)))
        fit = identify.fit(robot, identify.delays(robot, log).aligned(log), method="weighted")
        beta = fit.base.matrix @ columns(truth, ("viscous", "coulomb", "offset"), False).prior()
        inside.append(np.mean((fit.interval[:, 0] <= beta) & (beta <= fit.interval[:, 1])))
    print(f"{100.0 * np.mean(inside):.1f} % of the true base parameters within their intervals, {RUNS} logs")
    assert np.mean(inside) >= 0.93
