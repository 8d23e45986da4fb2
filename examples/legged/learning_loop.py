"""The loop of reinforcement learning: quadrupeds on servos, each with its own friction, pushed, and reset as they fall.

A policy would choose the targets of the servos, 50 times a second; here they are random. Between two choices the servos
run at 500 Hz inside one compiled call, for all robots at once.
"""

import time

import numpy as np

from dalembert import Contact, load
from dalembert.math import clip

ROBOTS, CHOICES, STEP, STEPS = 64, 25, 2e-3, 10  # 4096 robots take the same code
robot, rng = load("quadruped"), np.random.default_rng(0)
feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
contact = Contact(ground=0.0, friction=0.6)

home = robot.neutral()
home[7:] = np.tile([0.0, 0.8, -1.6], 4)
home[2] -= min(robot.pose(home, foot)[2, 3] for foot in feet) - 0.02  # feet of 2 cm radius on the ground


def servos(t, q, v, target, push):
    """Torques of the joints, and a push [N] on the trunk, in its axes: both arguments are those of each robot."""
    torque = clip(60.0 * (target - q[7:]) - 2.0 * v[6:], -30.0, 30.0)
    return np.concatenate([np.zeros(3), push, torque])


def observed(q, v):
    """What a policy sees: joints, trunk, and which feet push, from their heights."""
    heights = np.stack([robot.pose(q, foot)[:, 2, 3] for foot in feet], axis=1)
    return np.concatenate([q[:, 3:], v, heights < 0.021], axis=1)


q, v = np.tile(home, (ROBOTS, 1)), np.zeros((ROBOTS, robot.nv))
friction = rng.uniform(0.4, 1.0, (ROBOTS, 1))
unsettled = resets = 0
begin = time.perf_counter()
for choice in range(CHOICES):
    if choice == 1:
        begin = time.perf_counter()  # the first call compiles
    seen = observed(q, v)
    target = home[7:] + rng.uniform(-0.3, 0.3, (ROBOTS, 12))  # your policy, of what is seen
    push = np.where(rng.random((ROBOTS, 1)) < 0.05, rng.normal(0.0, 800.0, (ROBOTS, 3)), 0.0)
    parameters = {"target": target, "push": push, "contact_friction": friction}
    motion = robot.rollout(q, v, servos, STEP, STEPS, contact=contact, parameters=parameters, check=False)
    q, v, contacts = motion.q, motion.v, motion.contacts
    fallen = contacts.diverged | (q[:, 2] < 0.5 * home[2])
    q[fallen], v[fallen], friction[fallen] = home, 0.0, rng.uniform(0.4, 1.0, (fallen.sum(), 1))
    unsettled, resets = unsettled + contacts.unsettled.sum(), resets + fallen.sum()
took = time.perf_counter() - begin
print(
    f"{ROBOTS * STEPS * (CHOICES - 1) / took:.3g} steps a second, with all that a policy sees: {seen.shape[1]} numbers"
)
print(f"{resets} resets; {unsettled:.0f} of {ROBOTS * STEPS * CHOICES} steps missed the tolerance")
assert np.isfinite(q).all() and np.abs(robot.normalize(q) - q).max() < 1e-9
assert unsettled < 1e-3 * ROBOTS * STEPS * CHOICES
