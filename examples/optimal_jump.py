"""A quadruped jumps 20 cm forward: crouch, push, fly, land, stand, with friction cones and torque limits that are kept."""

import numpy as np

from dalembert import load, optimal

robot = load("quadruped").without("friction", "damping")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
friction, length, step = 0.7, 0.2, 0.02
stands = robot.neutral()
stands[7:] = [0.0, 0.7, -1.4] * 4
stands[2] = -robot.pose(stands, feet[0])[2, 3]
places = np.array([robot.pose(stands, foot)[:3, 3] for foot in feet])
lands = stands.copy()
lands[0] += length


def running(q, v, u, target):
    return {
        "posture": (1.0, robot.difference(target, q)[6:]),
        "level": (1.0, q[4:7]),
        "rate": (1e-2, v),
        "effort": (1e-4, u),
    }


def pushing(q, v, u, force, stance):  # on the ground: no pulling, no slipping; in the air: nothing
    rows = []
    for k, foot in enumerate(feet):
        f = force[foot]
        sides = np.array([f[2], *(friction * f[2] + s * f[i] for i in (0, 1) for s in (1.0, -1.0))])
        rows.append(stance[k] * sides + (1.0 - stance[k]))
    return {"friction": np.concatenate(rows)}


phases = [("push", 18), ("fly", 14), ("land", 1), ("settle", 22)]
nodes = sum(count for _, count in phases)
problem = robot.optimal_control(
    running,
    lambda q, v: {"posture": (1e2, robot.difference(lands, q)), "rest": (1e1, v)},
    step=step,
    nodes=nodes,
    target=robot.nq,
    contacts=feet,
    constraints=pushing,
    impact=lambda q, v: {
        "soft": (1e-3, v),
        "feet": (
            1e4,
            np.concatenate(
                [robot.pose(q, foot)[:3, 3] - p for foot, p in zip(feet, places + [length, 0, 0], strict=True)]
            ),
        ),
    },
    limits=("torque",),
)
stance, impact = np.ones((nodes + 1, 4)), np.zeros((nodes + 1, 1))
stance[18:32], impact[32] = 0.0, 1.0
plan = problem.solve(stands, stance=stance, impact=impact, target=stands)
print(plan.summary())
height = plan.q[:, 2].max() - stands[2]
print(
    f"rises {100 * height:.1f} cm, lands {100 * (plan.q[-1, 0]):.1f} cm ahead, torques up to {np.abs(plan.u).max():.1f} N·m"
)
