"""A UR5 moves its tool past a ball that is in the way, to rest at a given configuration."""

import numpy as np

from dalembert import load, optimal

robot = load("ur5")
start = np.array([-0.6, -1.2, 1.4, 0.0, 0.1, 0.0])
end = np.array([0.6, -1.2, 1.4, 0.0, 0.1, 0.0])
nodes, step = 60, 0.02
centre, radius = robot.pose(0.5 * (start + end) + [0.05, 0.0, 0.0, 0.0, 0.0, 0.0], "tool0")[:3, 3], 0.1

problem = robot.optimal_control(
    lambda q, v, u: {"speed": (0.1, v), "effort": (1e-4, u - robot.gravity(q))},
    step=step,
    nodes=nodes,
    constraints=lambda q, v, u: {"ball": np.sum((robot.pose(q, "tool0")[:3, 3] - centre) ** 2) - radius**2},
    terminal_constraints=lambda q, v: {"there": optimal.Equal(q - end), "still": optimal.Equal(v)},
)
s = np.linspace(0.0, 1.0, nodes + 1)[:, None]
straight = start + (3 * s**2 - 2 * s**3) * (end - start)  # through the ball
rates = np.vstack([np.zeros(6), np.diff(straight, axis=0) / step])
plan = problem.solve(start, guess=(straight, rates, np.zeros((nodes, 6))))
print(plan.summary())
distance = np.linalg.norm(robot.pose(plan.q, "tool0")[:, :3, 3] - centre, axis=1)
through = np.linalg.norm(robot.pose(straight, "tool0")[:, :3, 3] - centre, axis=1)
print(
    f"nearest to the ball's centre: {distance.min():.4f} m of {radius} m; straight on it would be {through.min():.4f} m"
)
assert plan.converged
assert distance.min() > radius - 1e-6 > through.min()
assert np.abs(plan.q[-1] - end).max() < 1e-7
