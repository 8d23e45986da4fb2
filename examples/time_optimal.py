"""The shortest time through waypoints: each limit is reached somewhere and passed nowhere."""

import numpy as np

import dalembert
from dalembert import motion

robot = dalembert.load("ur5")
points = np.array([
    [0.0, -1.2, 1.5, -1.0, -1.5, 0.0],
    [0.8, -0.7, 0.9, -0.6, -1.2, 0.5],
    [0.3, -1.6, 1.9, -1.3, -1.8, 1.0],
    [-0.5, -1.0, 1.2, -1.0, -1.5, 0.0],
])  # fmt: skip

move = motion.time_optimal(points, motion.Limits(robot=robot, acceleration=15.0))
gentle = motion.time_optimal(points, motion.Limits(robot=robot, acceleration=15.0, jerk=200.0))
assert move.check(acceleration=15.0)
assert gentle.check(acceleration=15.0, jerk=200.0)

t = np.linspace(0.0, move.duration, 2001)
state = move.at(t)
use = {
    "velocity": np.abs(state.v) / robot.limits.velocity,
    "acceleration": np.abs(state.a) / 15.0,
    "torque": np.abs(robot.inverse_dynamics(*state)) / robot.limits.effort,
}
print(f"{move.duration:.3f} s, with limited jerk {gentle.duration:.3f} s")
for name, share in use.items():
    print(f"{name:13} at most {100 * share.max():5.1f} % of its limit")
busiest = np.max([share.max(axis=1) for share in use.values()], axis=0)
print(f"a limit is reached during {100 * np.mean(busiest > 0.98):.0f} % of the time")
assert np.mean(busiest > 0.98) > 0.9
