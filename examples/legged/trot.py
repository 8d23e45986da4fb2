"""A quadruped trots on the ground and is pushed; its whole body is planned anew 200 times a second.

Compiles for some ten seconds when it first runs.
"""

import numpy as np

from dalembert import Contact, load
from dalembert.math import maximum, minimum

robot = load("quadruped")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
radius, friction, speed = 0.02, 0.6, 0.2  # of the feet [m]; between feet and ground; forwards [m/s]
step, nodes, period, clearance = 0.025, 20, 0.5, 0.06
home = robot.neutral()
home[7:] = [0.0, 0.7, -1.4] * 4
home[2] = radius - robot.pose(home, feet[0])[2, 3]
offsets = np.array([0.0, 0.5, 0.5, 0.0])  # of the feet in the period: two diagonal pairs


def off_cone(f):
    sides = [sign * f[axis] - friction * f[2] for axis in (0, 1) for sign in (1.0, -1.0)]
    return np.array([*(maximum(x, 0.0) for x in sides), minimum(f[2], 0.0)])


def state(q, v):
    return {
        "height": (100.0, q[2] - home[2]),
        "level": (30.0, q[4:7]),
        "speed": (10.0, v[3:6] - np.array([speed, 0.0, 0.0])),
        "turning": (1.0, v[:3]),
        "posture": (2.0, q[7:] - home[7:]),
        "joint rates": (1e-2, v[6:]),
    }


def running(q, v, u, force, stance, lift):
    costs = state(q, v) | {"effort": (1e-3, u)}
    for k, foot in enumerate(feet):
        costs[f"cone of {foot}"] = (1e-2 * stance[k], off_cone(force[foot]))
        costs[f"swing of {foot}"] = (3e3 * (1.0 - stance[k]), robot.pose(q, foot)[2, 3] - lift[k])
    return costs


def gait(t):
    """Which feet stand at the nodes from now on, and how high the others are."""
    k = np.floor(t / step + 1e-6) + np.arange(nodes + 1)
    phase = (((k + 0.5) * step / period)[:, None] + offsets) % 1.0
    return {"stance": (phase < 0.5) * 1.0, "lift": radius + clearance * np.sin(np.pi * np.clip(2 * phase - 1, 0, 1))}


problem = robot.optimal_control(running, state, step=step, nodes=nodes, contacts=feet, lift=4)
law = problem.receding(rate=200.0)
plant = robot.stepper(1e-3, contact=Contact(friction=0.8))
q, v, lowest = home, np.zeros(robot.nv), home[2]
for k in range(3000):
    if k % 5 == 0:
        tau = np.clip(law(1e-3 * k, q, v, **gait(1e-3 * k)), -robot.limits.effort, robot.limits.effort)
    push = np.zeros(robot.nv)
    push[4] = 30.0 if 1500 <= k < 1600 else 0.0  # N to the left, for a tenth of a second
    q, v = plant(q, v, tau + push)
    lowest = min(lowest, q[2])
print(f"{q[0]:.2f} m forwards in 3 s, {q[1]:.2f} m to the left, trunk never below {lowest:.2f} m")
print(law.budget())
assert 0.35 < q[0] < 0.75 and lowest > 0.25 and abs(q[4:7]).max() < 0.1
