"""A quadruped trots by three controllers at their own rates, in one compiled rollout on rigid ground.

Plans of its whole body over half a second ahead at 50 Hz; a whole-body program that follows them at 500 Hz, within
friction cones and torque limits; damping of the joints at 1 kHz. Four of them start with different pushes.
Compiles for about a minute when it first runs.
"""

import numpy as np

from dalembert import Contact, Sampled, control, load
from dalembert.math import floor, maximum, minimum, where

robot = load("quadruped")
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
radius, friction, speed = 0.02, 0.6, 0.2  # of the feet [m]; between feet and ground; forwards [m/s]
step, nodes, period, clearance = 0.02, 20, 0.4, 0.06
home = robot.neutral()
home[7:] = [0.0, 0.7, -1.4] * 4
home[2] = radius - robot.pose(home, feet[0])[2, 3]
offsets = np.array([0.0, 0.5, 0.5, 0.0])  # of the feet in the period: two diagonal pairs


# ---- plans: 50 Hz


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


def phases(t):
    """Of the feet at the nodes from now on: they stand in the first half of the period."""
    k = np.floor(t / step + 1e-6) + np.arange(nodes + 1)
    return (((k + 0.5) * step / period)[:, None] + offsets) % 1.0


def stance(t):
    return (phases(t) < 0.5) * 1.0


def lift(t):
    return radius + clearance * np.sin(np.pi * np.clip(2 * phases(t) - 1, 0, 1))


def intent(q, v, v_next, force):
    """What the program follows: where the plan begins, its acceleration, the forces of the feet."""
    return np.concatenate([q, v, (v_next - v) / step, *force.values()])


problem = robot.optimal_control(running, state, step=step, nodes=nodes, contacts=feet, lift=4)
plan = Sampled(problem.receding(stance=stance, lift=lift, answer=intent), step)


# ---- the whole-body program: 500 Hz

nq, nv = robot.nq, robot.nv


def planned(t, command):
    """(q, v, a) of the plan now."""
    q, v, a = np.split(command[: nq + 2 * nv], [nq, nq + nv])
    since = t - step * floor(t / step + 1e-6)
    return robot.integrate(q, v + 0.5 * since * a, since), v + since * a, a


def force_of(k):
    return lambda t, command: command[nq + 2 * nv + 3 * k : nq + 2 * nv + 3 * k + 3]


tasks = [
    control.Posture(goal=planned, weight=np.r_[np.ones(6), np.full(12, 0.1)], frequency=20.0),
    *(control.Force(frame=foot, goal=force_of(k), weight=1e-3) for k, foot in enumerate(feet)),
]
supports = [control.Support(frame=foot, friction=friction) for foot in feet]
program = control.whole_body(robot, tasks, supports, horizon=None, command=nq + 2 * nv + 12)


def torques(t, q, v, plan):
    carries = np.array([where(x - floor(x) < 0.5, 1.0, 0.0) for x in t / period + offsets])
    return np.concatenate([program.tick(t, q, v, plan, carries)[: 2 * nv], v])


# ---- torques: 1 kHz


def damped(t, q, v, program):
    tau, a, v_then = np.split(program, 3)
    since = t - 2e-3 * floor(t / 2e-3 + 1e-6)
    off = v_then + since * a - v
    return tau + np.r_[np.zeros(6), np.full(12, 0.3)] * off


law = Sampled(damped, 1e-3, inputs={"program": Sampled(torques, 2e-3, inputs={"plan": plan})})
pushes = np.zeros((4, nv))
pushes[1:, 3:5] = [[0.0, 0.3], [0.3, 0.0], [-0.3, 0.0]]  # velocities of the trunk at first [m/s]
result = robot.rollout(home, pushes, law, step=1e-3, steps=2000, every=10, contact=Contact(friction=0.8))
for push, q in zip(pushes, result.q, strict=True):
    print(f"pushed at {push[3:5]} m/s: {q[-1, 0]:.2f} m forwards, {q[-1, 1]:+.2f} m to the left in 2 s,", end=" ")
    print(
        f"trunk between {q[:, 2].min():.3f} and {q[:, 2].max():.3f} m, tilted by at most {np.abs(q[:, 4:6]).max():.2f}"
    )
assert np.all(np.abs(result.q[:, -1, 0] - 0.4) < 0.25) and np.all(result.q[:, :, 2] > home[2] - 0.06)
