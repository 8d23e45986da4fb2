"""A quadruped jumps 20 cm forward: push, fly, land, stand; friction cones and torque limits are kept.

Compiles for some ten seconds when it first runs.
"""

import numpy as np

from dalembert import load

robot = load("quadruped").without("friction", "damping")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
friction, step = 0.7, 0.02
takes_off, lands, nodes = 18, 32, 55  # nodes: in the air from the first to the second
ahead = np.array([0.2, 0.0, 0.0])
stands = robot.neutral()
stands[7:] = [0.0, 0.7, -1.4] * 4
stands[2] = -robot.pose(stands, feet[0])[2, 3]
places = [robot.pose(stands, foot)[:3, 3] for foot in feet]
end = stands.copy()
end[:3] += ahead


def running(q, v, u):
    posture = q[7:] - stands[7:]
    return {"posture": (1.0, posture), "level": (1.0, q[4:7]), "rate": (1e-2, v), "effort": (1e-4, u)}


def pushing(q, v, u, force, stance):  # on the ground: no pulling, no slipping; in the air: nothing
    rows = []
    for k, foot in enumerate(feet):
        f = force[foot]
        sides = np.array([f[2], *(friction * f[2] + sign * f[axis] for axis in (0, 1) for sign in (1.0, -1.0))])
        rows.append(stance[k] * sides + (1.0 - stance[k]))
    return {"friction": np.concatenate(rows)}


def landing(q, v):
    off = [robot.pose(q, foot)[:3, 3] - place - ahead for foot, place in zip(feet, places, strict=True)]
    return {"soft": (1e-3, v), "feet": (1e4, np.concatenate(off))}


problem = robot.optimal_control(
    running,
    lambda q, v: {"end": (1e2, robot.difference(end, q)), "rest": (1e1, v)},
    step=step,
    nodes=nodes,
    contacts=feet,
    constraints=pushing,
    impact=landing,
    limits=("torque",),
)
stance, impact = np.ones((nodes + 1, 4)), np.zeros((nodes + 1, 1))
stance[takes_off:lands], impact[lands] = 0.0, 1.0
plan = problem.solve(stands, stance=stance, impact=impact)
print(plan.summary())
height, most = plan.q[:, 2].max() - stands[2], np.abs(plan.u).max()
print(f"rises {100 * height:.1f} cm, ends {100 * plan.q[-1, 0]:.1f} cm ahead, torques up to {most:.2f} N·m")
assert plan.converged and height > 0.05 and abs(plan.q[-1, 0] - ahead[0]) < 0.01
assert most <= robot.limits.effort[-1] + 1e-6
flight = plan.q[takes_off : lands + 1]
centre = np.array([robot.center_of_mass(q) for q in flight])
fall = np.diff(centre[:, 2], 2) / step**2
assert np.abs(fall + 9.81).max() < 0.3  # the centre of mass falls freely
