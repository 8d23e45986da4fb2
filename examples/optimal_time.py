"""The shortest time of an arm under torque limits: along a straight path, as motion.time_optimal finds it, and freely."""

import numpy as np

from dalembert import load, motion, optimal

robot = load("2r").without("friction", "damping")
start, end = np.array([-0.3, 0.2]), np.array([0.9, 1.1])
torque = 1.3 * np.abs(robot.gravity(np.zeros(2)))  # N·m
print("torque", torque)
along = (end - start) / np.linalg.norm(end - start)
across = np.array([-along[1], along[0]])
nodes = 60


def problem(constraints=None):
    return robot.optimal_control(
        lambda q, v, u: {"smooth": (1e-7, u)},
        lambda q, v, T: {"time": 1.0 * T[0]},
        step=lambda T: T[0] / nodes,  # a duration that the plan chooses
        nodes=nodes,
        T=1,
        unknowns=("T",),
        limits={"torque": torque},
        constraints=constraints,
        terminal_constraints=lambda q, v, T: {
            "there": optimal.Equal(q - end),
            "still": optimal.Equal(v),
            "ahead": T - 0.05,
        },
        integrator="midpoint",
    )


s = np.linspace(0.0, 1.0, nodes + 1)[:, None]
straight = start + s * (end - start)
guess = straight, np.tile((end - start) / 1.0, (nodes + 1, 1)), np.zeros((nodes, 2))
on_path = problem(lambda q, v, u: {"path": optimal.Equal(across @ (q - start))}).solve(start, guess=guess, T=1.0)
print(on_path.summary())
free = problem().solve(start, guess=guess, T=1.0)
print(free.summary())
fastest = motion.time_optimal([start, end], motion.Limits(robot=robot, velocity=1e3, acceleration=1e4, torque=torque))
print(fastest.duration)
