"""Crocoddyl, quadrupedal_gaits: a quadruped plans two steps of a trot (crocoddyl 3.2.1, pin 4.0.0).

The original, for this library's quadruped: 400 statements, 200 ms for 9 iterations of FDDP. This: 56, 4.9 ms for
11 iterations to the same cost. The gait is rows of data, one for each node.
"""

import numpy as np
from port import picture, seconds

from dalembert import load
from dalembert.math import clip, maximum, minimum

COST, FEET, MU = 332.07550553604307, ("FL_foot", "FR_foot", "RL_foot", "RR_foot"), 0.7
robot = load("quadruped").without("friction", "damping", "armature")
home = robot.neutral()
home[7:] = [0.0, 0.7, -1.4] * 4
home[2] = -robot.pose(home, "FL_foot")[2, 3]
low = np.concatenate([robot.limits.lower[7:], -robot.limits.velocity[6:]])
high = np.concatenate([robot.limits.upper[7:], robot.limits.velocity[6:]])


def weights(turning, moving, joints, rates):
    parts = [turning] * 3 + [moving] * 3 + [joints] * 12 + [10.0] * 6 + [rates] * 12
    return 10.0 * np.array(parts) ** 2


near, landed = weights(500.0, 0.0, 0.01, 1.0), weights(1.0, 1.0, 10.0, 10.0)


def state(q, v):
    return np.concatenate([robot.difference(home, q), v])


def beyond(q, v):
    x = np.concatenate([q[7:], v[6:]])
    return x - clip(x, low, high)


def off_cone(f):
    sides = [sign * f[axis] - MU * f[2] for axis in (0, 1) for sign in (1.0, -1.0)]
    return np.array([*(maximum(x, 0.0) for x in sides), minimum(f[2], 0.0)])


def running(q, v, u, force, stance, feet, com, swing):
    costs = {"state": (near, state(q, v)), "effort": (0.1, u), "bounds": (1e3, beyond(q, v))}
    costs["centre of mass"] = (1e6 * swing[0], robot.center_of_mass(q) - com)
    for k, name in enumerate(FEET):
        costs[f"cone {name}"] = (10.0 * stance[k], off_cone(force[name]))
        away = robot.pose(q, name)[:3, 3] - feet[3 * k : 3 * k + 3]
        costs[f"swing {name}"] = (1e6 * swing[0] * (1.0 - stance[k]), away)
    return costs


def impact(q, v, stance, feet):
    costs = {"state": (landed, state(q, v))}
    for k, name in enumerate(FEET):
        costs[name] = (1e7 * stance[k], robot.pose(q, name)[:3, 3] - feet[3 * k : 3 * k + 3])
    return costs


def terminal(q, v):
    return {"state": (near, state(q, v)), "bounds": (1e3, beyond(q, v))}


def trot(nodes=25, height=0.1):
    """Rows of the gait: who stands, where feet and the centre of mass go, whether it is an impact."""
    places = np.array([robot.pose(home, name)[:3, 3] for name in FEET])
    center = np.r_[places[:, :2].mean(axis=0), robot.center_of_mass(home)[2]]
    standing = (np.ones(4), np.zeros(12), np.zeros(3), [0.0], [0.0])
    rows = [standing] * 2
    for feet, length in (((1, 2), 0.075), ((0, 3), 0.15)):
        swung = np.isin(np.arange(4), feet)[:, None]
        for k in range(nodes):
            move = np.array([length * (k + 1) / nodes, 0.0, height * (1.0 - abs(2.0 * k / nodes - 1.0))])
            goals = (swung * (places + move)).ravel()
            com = center + np.array([0.5 * move[0], 0.0, 0.0])
            rows.append((1.0 - swung[:, 0], goals, com, [0.0], [1.0]))
        rows.append((1.0 * swung[:, 0], goals, com, [1.0], [0.0]))
        rows += [standing] * (2 if length < 0.1 else 1)
        places, center = places + swung * [length, 0.0, 0.0], com
    return dict(zip(("stance", "feet", "com", "impact", "swing"), map(np.array, zip(*rows, strict=True)), strict=True))


gait = trot()
options = {"contacts": FEET, "impact": impact, "feet": 12, "com": 3, "swing": 1}
problem = robot.optimal_control(running, terminal, step=0.01, nodes=len(gait["stance"]) - 1, **options)
plan = problem.solve(home, **gait)

np.testing.assert_allclose(plan.cost, COST, rtol=1e-9)
elapsed = seconds(lambda: problem.solve(home, **gait))
print(f"cost {plan.cost:.9f} after {plan.iterations} iterations; {1e3 * elapsed:.1f} ms, Crocoddyl 200 ms")
picture(lambda path: robot.render(plan.q[14], path))
