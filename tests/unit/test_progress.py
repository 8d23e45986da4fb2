"""Progress of work that takes longer than a second."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from dalembert import control, identify, load, progress
from dalembert.progress import Progress, each


@pytest.fixture
def clock(monkeypatch):
    """Time that passes by half a second each time it is asked for."""
    now = iter(np.arange(0.0, 1e4, 0.5))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))


def test_lines_become_rarer_and_say_how_long_it_takes(clock, capsys) -> None:
    task = Progress("fitting", 100)
    for done in range(100):
        task.show(done)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "dalembert: fitting 1 of 100, 99 s left"  # two halves of a second after the first item
    assert len(lines) == 6 and lines[-1].endswith("s left")  # after 1, 2, 4, 8, 16, 32 s


def test_a_terminal_has_one_line(clock, capsys) -> None:
    task = Progress("fitting", 4, "rows", shown=True)
    for done in range(5):
        task.show(done)
    task.close()
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and shown.count("\r") == 4 and "4 of 4 rows, 0 s left" in shown


def test_what_is_quick_or_unwanted_is_silent(capsys, clock) -> None:
    for _ in each(range(1), "counting"):
        pass
    task = Progress("fitting", 100, shown=False)
    for done in range(100):
        task.show(done)
    assert capsys.readouterr().err == ""


def test_what_shows_nothing_is_announced_after_a_second(capsys, monkeypatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.05)
    with Progress("reading"):
        time.sleep(0.2)
        with Progress("compiling"):
            time.sleep(0.2)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "dalembert: reading …" and second.startswith("dalembert: compiling … 0.") and second[-1] == "s"


def test_an_error_in_a_loop_has_a_line_of_its_own(capsys, monkeypatch) -> None:
    """The loop's progress is closed when it is collected, which is after the message."""
    monkeypatch.setattr(progress, "FIRST", 0.05)

    def failing() -> None:
        counted = each(range(2), "counting")
        for _ in counted:
            time.sleep(0.2)
            raise ValueError

    try:
        failing()
    except ValueError:
        Progress.end_line()
        print("it failed", file=sys.stderr)
    assert capsys.readouterr().err.splitlines()[:2] == ["dalembert: counting …", "it failed"]


def test_long_work_of_the_package_says_how_far_it_is(capsys, monkeypatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.0)
    arm = load("2r")
    identify.excitation(arm, starts=2)
    arm.audit()
    control.audit(control.computed_torque(arm, np.zeros(2)), np.zeros(2), duration=0.05)
    for name in ("ANSWER", "PIECE"):
        monkeypatch.setattr(f"dalembert.compiler.execute.interruption.{name}", 1e-4)
    arm.rollout(np.zeros(2), np.zeros(2), np.zeros(2), 1e-4, 50_000)
    shown = capsys.readouterr().err
    for what in ("optimising the motion", "audit of 2r", "control of 2r"):
        assert f"{what} " in shown, what
    assert "of 50000 passes, " in shown and " s left" in shown
