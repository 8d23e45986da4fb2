"""Tasks that train: environments with documented rewards, and the settings with which they were tried.

`task` has the record; `classic`, `reach`, `hopper` and `walking` the environments.
"""

from __future__ import annotations

from dalembert.errors import unknown

from .classic import CARTPOLE, PENDULUM
from .hopper import HOPPER
from .reach import REACH
from .task import Task
from .walking import BIPED, QUADRUPED, QUADRUPED_ROUGH

TASKS = {task.name: task for task in (PENDULUM, CARTPOLE, REACH, HOPPER, QUADRUPED, QUADRUPED_ROUGH, BIPED)}


def task(name: str) -> Task:
    """The task of that name: pendulum, cartpole, reach, hopper, quadruped, quadruped_rough, biped."""
    if name not in TASKS:
        raise unknown("task", name, TASKS, "learn")
    return TASKS[name]


__all__ = ["TASKS", "Task", "task"]
