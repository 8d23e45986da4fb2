"""A control loop written in Python: the robot moves one compiled step at a time, about a microsecond each."""

import time

import numpy as np

from dalembert import load

STEP, COUNT = 1e-3, 2000

robot = load("panda")
step = robot.stepper(STEP, "implicit-velocity")
target = np.array([0.3, -0.4, 0.2, -2.0, 0.1, 1.6, 0.5])
q, v = np.array([0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8]), np.zeros(7)

step(q, v, robot.inverse_dynamics(q, v, v))  # compiles both
begin = time.perf_counter()
for _ in range(COUNT):
    wanted = 100.0 * (target - q) - 20.0 * v  # accelerations; computed torque makes them come true
    q, v = step(q, v, robot.inverse_dynamics(q, v, wanted))
taken = time.perf_counter() - begin

off = np.abs(q - target).max()
print(f"{COUNT} steps of {STEP:g} s, law included, in {1000 * taken:.1f} ms: {1e6 * taken / COUNT:.1f} µs each")
print(f"{1e6 * off:.2f} µrad from the target")
assert off < 1e-4
assert np.abs(v).max() < 1e-3

# the same step for many motions at once
many = robot.stepper(STEP)
q, v = many(np.tile(q, (1000, 1)), np.zeros((1000, 7)), robot.gravity(q))
assert q.shape == v.shape == (1000, 7)
assert np.abs(v).max() < 1e-9  # held by the torque of gravity, it stays where it is
