"""Pendulum and cart-pole."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.loading import ModelBuilder, load
from dalembert.math import cos, exp, sin

from ..actions import Torques
from ..environment import Environment
from ..observing import observed
from ..ppo import PPO
from ..starts import Random, states
from .task import Task


def pendulum() -> Environment:
    """Swing a rod of 1 kg and 1 m up with a motor of 3 N·m, which cannot lift it, and hold it there."""
    b = ModelBuilder("pendulum")
    b.add_body(
        "rod", parent="world", joint="continuous", joint_name="hinge", axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.5),
        inertia=np.diag([1 / 12, 1 / 12, 1e-4]), effort_limit=3.0, damping=0.02,
    )  # fmt: skip
    robot = b.build()

    def anywhere(random: Random) -> Any:
        return random.uniform(-np.pi, np.pi, 1), random.uniform(-1.0, 1.0, 1)

    return Environment(
        robot, step=0.01, substeps=4, episode=6.0, action=Torques(clip=1.0), reset=anywhere,
        observe={
            "cosine": lambda s: cos(s.q[0]),
            "sine": lambda s: sin(s.q[0]),
            "rate": observed(lambda s: s.v, scale=0.2, unit="rad/s"),
        },
        reward={
            "up": (1.0, lambda s: 0.5 + 0.5 * cos(s.q[0])),
            "rate": (-0.005, lambda s: s.v[0] * s.v[0]),
            "effort": (-0.005, lambda s: s.tau[0] * s.tau[0]),
        },
    )  # fmt: skip


def cartpole() -> Environment:
    """Keep a pole on a cart up, near the middle of the rail."""
    robot = load("cartpole")
    return Environment(
        robot, step=0.005, substeps=4, episode=10.0, action=Torques(clip=1.0),
        reset=states(robot, spread=0.1, speed=0.2, joints=[x.name for x in robot.joints]),
        observe={
            "q": observed(lambda s: s.q, unit="m, rad"),
            "v": observed(lambda s: s.v, scale=0.3, unit="m/s, rad/s"),
        },
        reward={
            "up": (1.0, lambda s: exp(-10.0 * s.q[1] * s.q[1])),
            "middle": (0.2, lambda s: exp(-4.0 * s.q[0] * s.q[0])),
            "effort": (-1e-3, lambda s: s.tau @ s.tau),
        },
        done={"fell": lambda s: s.q[1] * s.q[1] > 0.25, "off the rail": lambda s: s.q[0] * s.q[0] > 4.0},
    )  # fmt: skip


PENDULUM = Task(
    "pendulum", "swing a rod up and hold it", pendulum,
    lambda: PPO(envs=256, horizon=32, rate=1e-3, hidden=(64, 64), discount=0.98), "up", 0.75,
)  # fmt: skip
CARTPOLE = Task(
    "cartpole", "keep a pole on a cart up", cartpole, lambda: PPO(envs=256, horizon=16, rate=3e-3, hidden=(32, 32)),
    "up", 0.95,
)  # fmt: skip
