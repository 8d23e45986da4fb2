"""A cart-pole swings its pole up with 10 N on a rail of ±2.4 m; the plan is followed with its own gains."""

import numpy as np

from dalembert import Sampled, load

robot = load("cartpole").without("friction")
problem = robot.optimal_control(
    lambda q, v, u: {"effort": (1e-2, u), "speed": (1e-3, v)},
    lambda q, v: {"up": (1e3, q), "rest": (1e2, v)},
    step=0.02,
    nodes=100,
    limits=("torque", "position"),
    integrator="rk4",
)
plan = problem.solve([0.0, np.pi])
print(plan.summary())
assert plan.converged and np.abs(plan.u).max() <= 10.0 + 1e-6


def follow(t, q, v):
    k = min(int(t / 0.02 + 1e-9), 99)
    u = plan.u[k] + plan.gains[k] @ np.concatenate([q - plan.q[k], v - plan.v[k]])
    return np.array([np.clip(u[0], -10.0, 10.0), 0.0])


pushed = np.array([0.0, np.pi + 0.05])  # not quite where the plan starts
run = robot.simulate(pushed, np.zeros(2), 2.0, torque=Sampled(follow, 0.02))
print("ends at", run.q[-1].round(3), "rad and m")
assert np.abs(run.q[-1]).max() < 0.1
