"""How many files of the rooms of contact a reader has open between `rollout` and the solver's loop."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import dalembert
from dalembert import Contact, Robot
from dalembert.contact.solver import iteration
from golden.contact_scenes import arm_and_balls, stack

ROOMS = {Path(dalembert.__file__).parent / room for room in ("sim", "contact", "linear")}
MOST_FILES = 12


def on_the_stack(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if ROOMS & set(path.parents):
            yield path.name if path.parent.parent in ROOMS else str(Path(path.parent.name) / path.name)
        frame = frame.f_back


def opened(robot: Robot, contact: Contact, monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The files on the call stack at each loop that the solver traces, in steps with an option that no other has."""
    stacks: list[set[str]] = []
    repeat = iteration.repeat

    def noted(*args: Any, **options: Any) -> Any:
        stacks.append(set(on_the_stack(sys._getframe())))
        return repeat(*args, **options)

    monkeypatch.setattr(iteration, "repeat", noted)
    robot.rollout(robot.neutral(), np.zeros(robot.nv), step=1e-3, steps=1, contact=contact, backend="interpreter")
    return stacks


@pytest.mark.parametrize("kind", ["feet", "slots", "scene", "crowd"])
def test_few_files_lie_between_a_rollout_and_its_solver(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quadruped = dalembert.load("quadruped")
    feet = [(name, "ground") for name in ("FL_foot", "FR_foot", "RL_foot", "RR_foot")]
    cases = {
        "feet": (quadruped, Contact(ground=0.0, pairs=feet)),
        "slots": (quadruped, Contact(ground=0.0)),
        "scene": (stack().robot, Contact(pairs="all")),
        "crowd": (arm_and_balls().robot, Contact(pairs="all")),
    }
    stacks = opened(*cases[kind], monkeypatch)
    assert stacks
    most = max(stacks, key=len)
    assert len(most) <= MOST_FILES, sorted(most)
