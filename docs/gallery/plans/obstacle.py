"""Around a ball.

The cheapest motion of a UR5 between two configurations whose straight way leads through a ball. The ball is a hard
constraint.
"""

import numpy as np

from dalembert import load, optimal
from drawing import Scene, animate

robot = load("ur5")
start = np.array([-0.6, -1.2, 1.4, 0.0, 0.1, 0.0])
end = np.array([0.6, -1.2, 1.4, 0.0, 0.1, 0.0])
nodes, step = 60, 0.02
centre, radius = robot.pose(0.5 * (start + end) + [0.05, 0, 0, 0, 0, 0], "tool0")[:3, 3], 0.1
problem = robot.optimal_control(
    lambda q, v, u: {"speed": (0.1, v), "effort": (1e-4, u - robot.gravity(q))},
    step=step,
    nodes=nodes,
    constraints=lambda q, v, u: {"ball": np.sum((robot.pose(q, "tool0")[:3, 3] - centre) ** 2) - radius**2},
    terminal_constraints=lambda q, v: {"there": optimal.Equal(q - end), "still": optimal.Equal(v)},
)
s = np.linspace(0.0, 1.0, nodes + 1)[:, None]
straight = start + (3 * s**2 - 2 * s**3) * (end - start)
rates = np.vstack([np.zeros(6), np.diff(straight, axis=0) / step])
plan = problem.solve(start, guess=(straight, rates, np.zeros((nodes, 6))))
path, through = robot.pose(plan.q, "tool0")[:, :3, 3], robot.pose(straight, "tool0")[:, :3, 3]
assert plan.converged and np.linalg.norm(path - centre, axis=1).min() > radius - 1e-6


def frame(k):
    scene = Scene((-0.3, 0, 0.45), 2.2, azimuth=-115, elevation=32, size=(420, 320))
    scene.robot(robot, plan.q[k]).ball(centre, radius - 0.005, "#c63c4f")
    return scene.path(through, 0.003, "#9aa3ab").path(path[: k + 1], 0.006, "#3a9160").image()


animate((frame(k) for k in range(0, nodes + 1, 2)), __file__, rate=15)
