"""An acrobot, two links with a motor in the elbow alone, swings up from hanging and stands; followed with its gains."""

import numpy as np

from dalembert import Sampled, load

robot = load("acrobot")
upright, limit, step = np.array([np.pi, 0.0]), 20.0, 0.02
problem = robot.optimal_control(
    lambda q, v, u: {"effort": (1e-3, u), "speed": (1e-3, v)},
    lambda q, v: {"up": (1e3, q - upright), "rest": (1e2, v)},
    step=step,
    nodes=150,
    limits={"torque": limit},  # N·m at the elbow; the shoulder's limit of 0 says that it has no motor
    integrator="rk4",
)
plan = problem.solve([0.0, 0.0])
print(plan.summary())
assert plan.converged and np.abs(plan.q[-1] - upright).max() < 1e-2


def follow(t, q, v):
    k = min(int(t / step + 1e-9), 149)
    u = plan.u[k] + plan.gains[k] @ np.concatenate([q - plan.q[k], v - plan.v[k]])
    return np.array([0.0, np.clip(u[0], -limit, limit)])


run = robot.simulate([0.02, 0.0], np.zeros(2), 3.0, torque=Sampled(follow, step))  # not quite where the plan starts
print("ends at", run.q[-1].round(3), "rad")
assert np.abs(run.q[-1] - upright).max() < 0.1
