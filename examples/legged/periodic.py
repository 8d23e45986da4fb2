"""A quadruped's trot that repeats itself: the plan chooses the first state, and ends in the same one, a stride on.

Diagonal pairs of feet stand in turn; feet land without slipping, by impacts; friction cones and torques are kept.
Compiles for a minute or two when it first runs.
"""

import numpy as np

from dalembert import load, optimal

robot = load("quadruped").without("friction", "damping")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
friction, step, phase, stride = 0.7, 0.02, 10, 0.12  # [s] of a node, nodes of a phase, [m] in a period
nodes = 2 * (phase + 1)  # each phase ends with the impact of the pair that lands
stands = robot.neutral()
stands[7:] = [0.0, 0.7, -1.4] * 4
stands[2] = -robot.pose(stands, feet[0])[2, 3]
pairs = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]])  # who stands in each phase

stance, impact, lift, lands = (np.zeros((nodes + 1, n)) for n in (4, 1, 4, 4))
for k in range(2):
    first, last = k * (phase + 1), (k + 1) * (phase + 1) - 1
    stance[first:last], stance[last], impact[last] = pairs[k], 1.0, 1.0
    lift[first:last] = (1.0 - pairs[k]) * 0.05 * np.sin(np.pi * np.arange(phase) / phase)[:, None]
    lands[last] = 1.0 - pairs[k]  # where the other pair must be on the ground
lands[0] = pairs[0]
stance[-1] = 1.0


def heights(q):
    return np.array([robot.pose(q, foot)[2, 3] for foot in feet])


def running(q, v, u, stance, lift):
    swing = (1.0 - stance) * (heights(q) - lift)
    level = {"level": (10.0, q[4:7]), "height": (10.0, q[2] - stands[2])}
    return level | {"posture": (1.0, q[7:] - stands[7:]), "rate": (1e-2, v), "effort": (1e-3, u), "swing": (1e3, swing)}


def kept(q, v, u, force, stance, lands):
    rows = []
    for k, foot in enumerate(feet):  # who stands pushes, and does not slip
        f = force[foot]
        sides = np.array([f[2], *(friction * f[2] + sign * f[axis] for axis in (0, 1) for sign in (1.0, -1.0))])
        rows.append(stance[k] * sides + (1.0 - stance[k]))
    return {"friction": np.concatenate(rows), "ground": optimal.Equal(lands * heights(q))}


def again(q, v, start_q, start_v):
    """The same state as at the start, a stride on; the start is above the origin."""
    turned = robot.difference(start_q, q)[:3]
    moved = q[:3] - start_q[:3] - np.array([stride, 0.0, 0.0])
    off = np.concatenate([turned, moved, q[7:] - start_q[7:], v - start_v])
    return {"again": optimal.Equal(off), "origin": optimal.Equal(start_q[:2])}


problem = robot.optimal_control(
    running,
    step=step,
    nodes=nodes,
    contacts=feet,
    constraints=kept,
    impact=lambda q, v: {"soft": (1e-3, v)},
    limits=("torque",),
    free_start=True,
    terminal_constraints=again,
    lift=4,
    lands=4,
)
plan = problem.solve(stands, stance=stance, impact=impact, lift=lift, lands=lands)
print(plan.summary())
off = np.concatenate([plan.q[-1, 1:] - plan.q[0, 1:], plan.v[-1] - plan.v[0]])
print(f"a stride of {plan.q[-1, 0] - plan.q[0, 0]:.3f} m in {plan.t[-1]:.2f} s;", end=" ")
print(f"it ends as it began to {np.abs(off).max():.0e}")
assert plan.converged and abs(plan.q[-1, 0] - plan.q[0, 0] - stride) < 1e-6 and np.abs(off).max() < 1e-6
