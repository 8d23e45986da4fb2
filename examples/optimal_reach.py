"""A UR5 brings its tool to a place at least cost, within its torque and speed limits; then the same as a law."""

import numpy as np

from dalembert import load

robot = load("ur5")
start = np.array([0.0, -1.2, 1.4, 0.0, 0.1, 0.0])


def running(q, v, u, goal):
    place = robot.pose(q, "tool0")[:3, 3]
    return {"speed": (0.1, v), "effort": (1e-3, u - robot.gravity(q)), "reach": (10.0, place - goal)}


def terminal(q, v, goal):
    return {"reach": (1e4, robot.pose(q, "tool0")[:3, 3] - goal), "rest": (10.0, v)}


goal = np.array([0.4, 0.3, 0.5])
problem = robot.optimal_control(running, terminal, step=0.02, nodes=50, goal=3, limits=("torque", "velocity"))
plan = problem.solve(start, goal=goal)
print(plan.summary())
assert plan.converged
assert np.linalg.norm(robot.pose(plan.q[-1], "tool0")[:3, 3] - goal) < 1e-3
assert np.all(np.abs(plan.u) <= robot.limits.effort)

# The same problem as a law, on a robot that holds 0.2 kg it does not know of.
law = problem.receding(rate=500.0, goal=goal)
loaded = robot.edit().payload(0.2, frame="tool0").done()
step, q, v = loaded.stepper(2e-3), start, np.zeros(6)
for k in range(1000):
    q, v = step(q, v, law(2e-3 * k, q, v))
print(law.budget())
missed = np.linalg.norm(robot.pose(q, "tool0")[:3, 3] - goal)
print(f"in closed loop it stays {1e3 * missed:.1f} mm from the goal")
assert missed < 0.03
