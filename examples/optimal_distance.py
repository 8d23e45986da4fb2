"""An arm swings past a post: capsules around its links keep 3 cm away from it at every node."""

import numpy as np

import dalembert
from dalembert import optimal
from dalembert.shapes import Capsule, Sphere

arm = dalembert.load("ur5")
edit = arm.edit()
for link, length in (("upper_arm_link", 0.425), ("forearm_link", 0.392)):
    edit.add_geometry(Capsule(0.06, length), body=link, xyz=(-length / 2, 0, 0), rpy=(0, np.pi / 2, 0))
robot = edit.add_geometry(Sphere(0.06), body="wrist_3_link").done()
room = dalembert.scene(robot, post=Sphere(0.1), at={"post": (-0.75, 0.0, 0.05)})
pairs = [("world", link) for link in ("forearm_link", "wrist_3_link")]

start, end = np.array([[-0.7, -0.5, 0.6, 0.0, 0.0, 0.0], [0.7, -0.5, 0.6, 0.0, 0.0, 0.0]])
nodes, step, clearance = 50, 0.03, 0.03
s = np.linspace(0.0, 1.0, nodes + 1)[:, None]
straight = start + (3 * s**2 - 2 * s**3) * (end - start)
print("straight on:", room.distance(straight, pairs=pairs).min(axis=0).round(3))
problem = room.optimal_control(
    lambda q, v, u: {"speed": (0.1, v), "effort": (1e-4, u - room.gravity(q))},
    step=step,
    nodes=nodes,
    limits=("torque", "velocity"),
    constraints=lambda q, v, u: {"clear": room.distance(q, pairs=pairs) - clearance},
    terminal_constraints=lambda q, v: {"there": optimal.Equal(q - end), "still": optimal.Equal(v)},
)
rates = np.vstack([np.zeros(6), np.diff(straight, axis=0) / step])
plan = problem.solve(start, guess=(straight, rates, np.zeros((nodes, 6))))
print(plan.summary())
nearest, before = room.distance(plan.q, pairs=pairs).min(), room.distance(straight, pairs=pairs).min()
print(f"nearest to the post: {1e3 * nearest:.1f} mm; straight on it would be {1e3 * before:.1f} mm")
assert plan.converged and nearest > clearance - 1e-6
assert before < 0.0
