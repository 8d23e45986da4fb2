"""Starts that do not close the loops: rollouts and steppers say so, as a run's log does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dalembert import Sampled, load
from mechanism_linkages import slider_crank

MOVED = "leaves 'pin' open by"


@pytest.fixture(scope="module")
def linkage():
    return load("four_bar")


def test_a_rollout_names_the_motion_and_the_loop(linkage) -> None:
    q, v = linkage.neutral(), np.zeros(3)
    with pytest.warns(UserWarning, match=rf"rollout: the start of motion 1 {MOVED} 0.3 m or rad: .* changes q"):
        linkage.rollout(np.array([q, q + 0.05]), v, None, 1e-3, 2)
    with pytest.warns(UserWarning, match=rf"rollout: the start {MOVED} 6 of its speed: .* changes v"):
        linkage.rollout(q, np.ones(3), None, 1e-3, 2)


def test_a_stepper_names_the_loop_at_whatever_step(linkage) -> None:
    q, v = linkage.neutral(), np.zeros(3)
    step = linkage.stepper(1e-3)
    q, v = step(q, v)
    with pytest.warns(UserWarning, match=f"stepper: the start {MOVED}"):
        step(q + 0.05, v)
    with pytest.warns(UserWarning, match=f"stepper: the start {MOVED}"):
        linkage.stepper(1e-3, torque=Sampled(lambda t, q, v: 0.0 * v, 1e-3, state=())).start(q + 0.05, v)


def test_closed_starts_and_steps_between_them_are_silent(linkage) -> None:
    robot = slider_crank().build()
    q, v = robot.start
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linkage.rollout(linkage.neutral(), np.zeros(3), None, 1e-3, 2)
        robot.rollout(q, v, None, 1e-3, 5)
        step = robot.stepper(2e-3)
        for _ in range(200):
            q, v = step(q.copy(), v)
            q[0] += 0.0  # a state that was looked at, not the very array
        robot.stepper(2e-3)(q, v)  # steps of first order leave loops open by less than what is said
