"""Hopper: one leg in a plane, which hops forwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.loading import ModelBuilder
from dalembert.math import exp
from dalembert.robot import Robot
from dalembert.shapes import Capsule, Sphere

from ..actions import JointTargets
from ..environment import Environment
from ..observing import observed
from ..ppo import PPO
from ..starts import states
from .task import Task

SPEED = 1.0  # [m/s] that is asked


LINKS = (  # name, parent, joint, origin z [m], mass [kg], centre (3,) [m], radius of gyration (3,) [m], range, effort
    ("thigh", "trunk", "hip", 0.0, 2.5, (0.0, 0.0, -0.2), (0.12, 0.12, 0.04), (-1.5, 1.0), 120.0),
    ("shank", "thigh", "knee", -0.4, 1.5, (0.0, 0.0, -0.2), (0.12, 0.12, 0.03), (0.0, 2.5), 120.0),
    ("foot", "shank", "ankle", -0.4, 1.0, (0.05, 0.0, 0.0), (0.03, 0.08, 0.08), (-1.2, 1.2), 60.0),
)
BALLS = (  # body, radius [m], centre [m]
    ("trunk", 0.06, (0, 0, 0.35)),
    ("shank", 0.05, (0, 0, 0)),
    ("foot", 0.05, (-0.08, 0, 0)),
    ("foot", 0.05, (0.18, 0, 0)),
)
RODS = (  # body, length [m], centre [m], turn about y [rad]: what pictures show
    ("trunk", 0.35, (0, 0, 0.175), 0.0),
    ("thigh", 0.4, (0, 0, -0.2), 0.0),
    ("shank", 0.4, (0, 0, -0.2), 0.0),
    ("foot", 0.26, (0.05, 0, 0), np.pi / 2),
)


def hopper() -> Robot:
    """A trunk that moves in a plane, with a thigh, a shank and a foot: 3 + 3 freedoms, 10 kg, 1.2 m."""
    b = ModelBuilder("hopper")
    light: dict[str, Any] = {"mass": 1e-3, "inertia": 1e-6 * np.eye(3)}
    b.add_body("carriage", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), **light)
    b.add_body("lift", parent="carriage", joint="prismatic", joint_name="z", axis=(0, 0, 1), **light)
    b.add_body(
        "trunk", parent="lift", joint="continuous", joint_name="pitch", axis=(0, 1, 0), mass=5.0, com=(0, 0, 0.15),
        inertia=5.0 * np.diag([0.014, 0.014, 0.002]),
    )  # fmt: skip
    for name, parent, joint, z, mass, com, radii, (lower, upper), effort in LINKS:
        b.add_body(
            name, parent=parent, joint="revolute", joint_name=joint, axis=(0, 1, 0), xyz=(0, 0, z), mass=mass, com=com,
            inertia=mass * np.diag(np.square(radii)), lower=lower, upper=upper, effort_limit=effort,
            velocity_limit=20.0, damping=0.5, armature=0.02,
        )  # fmt: skip
    for body, radius, place in BALLS:
        b.add_geometry(Sphere(radius), body=body, role="collision", xyz=place)
    for body, length, place, turn in RODS:
        b.add_geometry(Capsule(0.05, length), body=body, role="visual", xyz=place, rpy=(0, turn, 0))
    b.add_keyframe("start", {"z": [0.82], "hip": [-0.35], "knee": [0.7], "ankle": [-0.35]})
    return b.build()


def hopping() -> Environment:
    """Hop forwards at 1 m/s without falling."""
    robot = hopper()
    pitch, height = robot.joint("pitch").q.start, robot.joint("z").q.start
    return Environment(
        robot, contact=Contact(ground=0.0, friction=0.9), step=0.004, substeps=5, episode=10.0, feet=("foot",),
        action=JointTargets(scale=0.5, clip=4.0, kp=80.0, kd=3.0, joints=("hip", "knee", "ankle")),
        reset=states(robot, spread=0.05, speed=0.1, joints=("hip", "knee", "ankle", "pitch")),
        observe={
            "height": observed(lambda s: s.q[height], unit="m"),
            "pitch": observed(lambda s: s.q[pitch], unit="rad"),
            "joints": observed(lambda s: s.joints, unit="rad"),
            "v": observed(lambda s: s.v, scale=0.3, unit="m/s, rad/s"),
            "action": lambda s: s.action,
            "contact": lambda s: s.feet["foot"].contact,
        },
        reward={
            "track": (1.0, lambda s: exp(-2.0 * (s.v[0] - SPEED) * (s.v[0] - SPEED))),
            "upright": (0.2, lambda s: exp(-4.0 * s.q[pitch] * s.q[pitch])),
            "effort": (-2e-5, lambda s: s.tau @ s.tau),
            "change": (-0.02, lambda s: (s.action - s.previous) @ (s.action - s.previous)),
        },
        done={"fell": lambda s: s.q[height] < 0.5, "tipped": lambda s: s.q[pitch] * s.q[pitch] > 0.64},
    )  # fmt: skip


HOPPER = Task(
    "hopper", "hop forwards at 1 m/s", hopping,
    lambda: PPO(envs=512, horizon=32, rate=1e-3, hidden=(128, 64), spread=0.7), "track", 0.95,
)  # fmt: skip
