"""The shortest time of an arm under torque limits: along a path, as motion.time_optimal finds it, and freely."""

import numpy as np

from dalembert import load, motion, optimal

robot = load("2r").without("friction", "damping")
start, end = np.array([-0.3, 0.2]), np.array([0.9, 1.1])
torque = 1.3 * np.abs(robot.gravity(np.zeros(2)))  # [N·m]
across = np.array([start[1] - end[1], end[0] - start[0]])  # at right angles to the path
nodes, first = 50, 1.0  # the duration [s] at which the search starts


def shortest(constraints=None):
    problem = robot.optimal_control(
        lambda q, v, u: {"smooth": (1e-5, u)},
        lambda q, v, T: {"time": 1.0 * T[0]},
        step=lambda T: T[0] / nodes,
        nodes=nodes,
        T=1,
        unknowns=("T",),  # the plan chooses it
        limits={"torque": torque},
        constraints=constraints,
        terminal_constraints=lambda q, v, T: {
            "there": optimal.Equal(q - end),
            "still": optimal.Equal(v),
            "ahead": T - 0.05,
        },
    )
    s = np.linspace(0.0, 1.0, nodes + 1)[:, None]
    rates = np.tile((end - start) / first, (nodes + 1, 1))
    return problem.solve(start, guess=(start + s * (end - start), rates, np.zeros((nodes, 2))), T=first)


on_path = shortest(lambda q, v, u: {"path": optimal.Equal(across @ (q - start))})
free = shortest()
fastest = motion.time_optimal([start, end], motion.Limits(robot=robot, velocity=np.inf, torque=torque))
print(f"along the path {on_path.unknowns['T'][0]:.4f} s, motion.time_optimal {fastest.duration:.4f} s")
print(f"freely {free.unknowns['T'][0]:.4f} s: the arm folds and swings")
assert on_path.converged and free.converged
assert abs(on_path.unknowns["T"][0] / fastest.duration - 1.0) < 0.01
assert free.unknowns["T"][0] < on_path.unknowns["T"][0]
assert np.all(np.abs(on_path.u) <= torque + 1e-6)
