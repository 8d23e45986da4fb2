"""Reach: the hand of a Panda goes to a place."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.loading import load
from dalembert.math import exp, sqrt
from dalembert.study.distributions import uniform

from ..actions import JointTargets
from ..environment import Environment
from ..observing import observed
from ..ppo import PPO
from ..starts import states
from .task import Task, geared

FRAME = "panda_hand_tcp"


def reach() -> Environment:
    """Bring the tool of a Panda to a place that is drawn for each episode, and keep it there."""
    robot = geared(load("panda"), 0.1)
    about = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.7, 0.8])

    def error(s: Any) -> Any:
        return s.command["goal"] - robot.pose(s.q, FRAME)[:3, 3]

    def distance(s: Any) -> Any:
        e = error(s)
        return sqrt(e @ e + 1e-12)

    return Environment(
        robot, step=0.005, substeps=4, episode=3.0,
        action=JointTargets(
            scale=1.0, clip=2.0, kp=[400, 400, 400, 400, 100, 100, 50], kd=[40, 40, 40, 40, 10, 10, 5],
        ),
        reset=states(robot, spread=0.2, about=about),
        command={"goal": uniform((0.3, -0.35, 0.15), (0.6, 0.35, 0.6))},
        observe={
            "joints": observed(lambda s: s.joints, unit="rad"),
            "rates": observed(lambda s: s.joint_rates, scale=0.3, unit="rad/s"),
            "error": observed(error, scale=3.0, unit="m"),
            "goal": observed(lambda s: s.command["goal"], unit="m"),
            "action": lambda s: s.action,
        },
        reward={
            "near": (1.0, lambda s: exp(-20.0 * distance(s))),
            "approach": (0.5, lambda s: exp(-5.0 * distance(s))),
            "distance": (-1.0, distance),
            "rates": (-0.003, lambda s: s.joint_rates @ s.joint_rates),
            "change": (-0.002, lambda s: (s.action - s.previous) @ (s.action - s.previous)),
        },
    )  # fmt: skip


REACH = Task(
    "reach", "bring the hand of a Panda to a place", reach,
    lambda: PPO(envs=1024, horizon=24, rate=1e-3, hidden=(128, 64), spread=0.5, discount=0.95), "near", 0.82,
)  # fmt: skip
