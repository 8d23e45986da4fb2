"""Small environments for tests of `dalembert.learn`: quick to compile."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dalembert import Contact, ModelBuilder, Robot, learn
from dalembert.shapes import Box, Sphere

PERIOD = 0.02  # [s] of a control step


@cache
def pole() -> Robot:
    """A pendulum with a motor, hanging down at 0."""
    b = ModelBuilder("pole")
    b.add_body(
        "rod", parent="world", joint="revolute", joint_name="hinge", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5),
        inertia=0.1 * np.eye(3), effort_limit=20.0, velocity_limit=30.0, lower=-7.0, upper=7.0,
    )  # fmt: skip
    b.add_frame("tip", body="rod", xyz=(0, 0, -1.0))
    return b.build()


def pole_environment(**settings: Any) -> learn.Environment:
    """The pole under a servo; observes angle, rate, time and action."""
    defaults: dict[str, Any] = {
        "step": 0.005,
        "substeps": 4,
        "action": learn.JointTargets(scale=1.0, kp=20.0, kd=1.0),
        "observe": {
            "angle": lambda s: s.q,
            "rate": lambda s: s.v,
            "time": lambda s: s.t,
            "action": lambda s: s.action,
        },
        "reward": {"low": (2.0, lambda s: -s.q[0] * s.q[0]), "effort": (-0.1, lambda s: s.tau @ s.tau)},
        "reset": learn.states(pole(), 0.3, 0.5),
        "episode": 5 * PERIOD,
    }
    return learn.Environment(pole(), **(defaults | settings))


@cache
def crawler() -> Robot:
    """A box on two legs with balls as feet, each leg with a slider: a free base, two contacts."""
    b = ModelBuilder("crawler")
    b.add_body("trunk", parent="world", joint="free", joint_name="float", mass=2.0, inertia=0.02 * np.eye(3))
    for name, x in (("front", 0.2), ("rear", -0.2)):
        for side, y in (("left", 0.1), ("right", -0.1)):
            leg = f"{name}_{side}"
            b.add_body(
                leg, parent="trunk", joint="prismatic", joint_name=f"{leg}_slide", axis=(0, 0, 1), xyz=(x, y, -0.2),
                mass=0.2, inertia=1e-3 * np.eye(3), lower=-0.1, upper=0.1, effort_limit=100.0, velocity_limit=10.0,
            )  # fmt: skip
            b.add_geometry(Sphere(0.03), body=leg, role="collision")
    return b.build()


FEET = ("front_left", "front_right", "rear_left", "rear_right")


def crawler_environment(**settings: Any) -> learn.Environment:
    """The crawler on level ground; observes its whole state and the force of a foot."""
    defaults: dict[str, Any] = {
        "contact": Contact(ground=0.0, friction=0.7),
        "step": 0.002,
        "substeps": 10,
        "action": learn.JointTargets(scale=0.05, kp=800.0, kd=20.0),
        "feet": FEET,
        "observe": {
            "q": lambda s: s.q,
            "v": lambda s: s.v,
            "force": lambda s: s.feet["front_left"].force,
        },
        "reward": {"still": (1.0, lambda s: -(s.v @ s.v))},
        "done": {"fell": lambda s: s.q[2] < 0.05},
        "reset": learn.states(crawler(), 0.02, 0.05),
        "episode": 1.0,
    }
    return learn.Environment(crawler(), **(defaults | settings))


def table_robot() -> Robot:
    """A free ball, and a table that is fixed to the world: its plate is 1 m above the ground."""
    b = ModelBuilder("under_a_table")
    b.add_body("table", parent="world", joint="fixed", mass=1.0, inertia=np.eye(3), xyz=(0, 0, 1.0))
    b.add_geometry(Box([2.0, 2.0, 0.1]), body="table", role="collision")
    b.add_body("ball", parent="world", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    b.add_geometry(Sphere(0.1), body="ball", role="collision")
    b.add_body(
        "arm", parent="ball", joint="revolute", joint_name="shoulder", axis=(0, 0, 1), mass=0.1,
        inertia=1e-3 * np.eye(3), effort_limit=1.0,
    )  # fmt: skip
    return b.build()
