"""A task: an environment, how it is trained, and when it counts as learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.robot import Robot

    from ..environment import Environment
    from ..ppo import PPO


@dataclass(frozen=True)
class Task:
    """A task by name. environment, settings: make the environment and the trainer's settings.

    about: what is asked, in a line. term, goal: the task counts as learned where this term of the reward, per second of
    an episode, is above the goal.
    """

    name: str
    about: str
    environment: Callable[[], Environment]
    settings: Callable[[], PPO]
    term: str
    goal: float

    def reached(self, numbers: dict[str, float], period: float) -> bool:
        """Whether the numbers of an update meet the goal."""
        length = numbers.get("length", 0.0) * period
        return length > 0.0 and numbers.get(self.term, -1e30) / length > self.goal


def geared(robot: Robot, armature: float) -> Robot:
    """The robot with the inertia of motors behind their gears [kg m²], which its file does not state, on all joints."""
    edit = robot.edit()
    for body in robot.model.independent:
        if body.joint.nv == 1:
            edit.set_joint(body.joint.name, armature=armature)
    return edit.done()
