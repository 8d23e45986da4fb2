"""A payload of each motion's own: that of an edited robot, or an argument of the law by that name."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Sampled, load
from dalembert.control import within_limits
from dalembert.model import tool_frame
from tolerances import RECURSION, assert_close


def test_the_payload_of_each_motion_is_that_of_an_edited_robot():
    robot, loads = load("panda"), np.array([[0.0], [1.5], [4.0]])
    q, v = np.tile(robot.home()[0], (3, 1)), np.full((3, 7), 0.3)
    end = robot.rollout(q, v, None, step=1e-3, steps=50, parameters={"payload": loads})
    for k, mass in enumerate(loads[:, 0]):
        heavy = robot.edit().payload(mass, frame=tool_frame(robot.model).name).done() if mass else robot
        expected = heavy.rollout(q[:2], v[:2], None, step=1e-3, steps=50)
        assert_close(end.v[k], expected.v[0], 10 * RECURSION)
    with pytest.raises(DalembertError, match="payload is -1, expected 0 or more"):
        robot.rollout(q, v, None, steps=2, parameters={"payload": -np.ones(1)})


def test_a_payload_that_the_law_takes_is_the_laws():
    robot, still = load("2r"), np.zeros((2, 2))
    loads = {"payload": np.array([[0.0], [1.0]])}
    end = robot.rollout(still, still, lambda t, q, v, payload: payload * np.ones(2), steps=5, parameters=loads)
    alone = robot.rollout(still, still, np.ones(2), steps=5)
    assert_close(end.v[1], alone.v[0], RECURSION)


def test_a_law_that_takes_any_setting_leaves_the_payload_to_the_robot():
    robot = load("2r")
    still, law = np.zeros((2, 2)), within_limits(robot, lambda t, q, v: -2.0 * v)
    loads = {"payload": np.array([[0.0], [3.0]])}
    expected = robot.rollout(still, still, lambda t, q, v: -2.0 * v, step=1e-3, steps=50, parameters=loads)
    for taking in (law, Sampled(law, 1e-3), lambda t, q, v, **settings: -2.0 * v):
        end = robot.rollout(still, still, taking, step=1e-3, steps=50, parameters=loads)
        assert_close(end.q, expected.q, RECURSION)
