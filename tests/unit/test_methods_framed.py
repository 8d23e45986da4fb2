"""Methods of a frame stay the same method once their fast call is in place."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

from dalembert import DalembertError, Robot, function, load


@pytest.fixture
def robot():
    robot = load("ur5")
    robot.jacobian(np.zeros(6), "tool0")  # the fast call is in place
    return robot


def test_first_and_later_calls_agree(robot):
    q = np.linspace(-1, 1, 6)
    J = load("ur5").jacobian(q, "tool0")
    same = pickle.loads(pickle.dumps(robot.jacobian))
    for found in (
        robot.jacobian(q, "tool0"),
        robot.jacobian(q, frame="tool0"),
        robot.jacobian(q=q, frame="tool0"),
        robot.jacobian(q, "tool0", axes="world"),
        robot.jacobian(list(q), "tool0"),
        same(q, "tool0"),
    ):
        assert np.array_equal(found, J)
    assert np.array_equal(robot.jacobian(q, "forearm_link"), load("ur5").jacobian(q, "forearm_link"))
    assert np.array_equal(robot.jacobian(np.stack([q, q]), "tool0")[1], J)
    out = np.full((6, 6), np.nan)
    assert robot.jacobian(q, "tool0", out=out) is out
    assert np.array_equal(out, J)


def test_it_looks_like_the_method(robot):
    assert inspect.signature(robot.jacobian) == inspect.signature(load("ur5").jacobian)
    assert robot.jacobian.__doc__ == Robot.jacobian.__doc__
    assert robot.jacobian.__name__ == "jacobian"


def test_mistakes_are_told(robot):
    q = np.zeros(6)
    with pytest.raises(DalembertError, match="unknown frame 'tool'"):
        robot.jacobian(q, "tool")
    for wrong in (["tool0"], memoryview(bytearray(3))):
        with pytest.raises(DalembertError, match="expected the name of a frame"):
            robot.jacobian(q, wrong)
    with pytest.raises(TypeError, match="missing"):
        robot.jacobian()
    with pytest.raises(TypeError):
        robot.jacobian("tool0")
    with pytest.raises(DalembertError, match=r"q has shape \(5,\)"):
        robot.jacobian(np.zeros(5), "tool0")


def test_a_subclass_stays_in_charge():
    class Twice(Robot):
        def jacobian(self, *args, **keywords):
            return 2.0 * super().jacobian(*args, **keywords)

    robot, q = Twice(load("ur5").model), np.ones(6)
    for _ in range(3):
        assert np.array_equal(robot.jacobian(q, "tool0"), 2.0 * load("ur5").jacobian(q, "tool0"))


def test_inside_a_function_of_ones_own(robot):
    f = function(lambda q, v: robot.jacobian(q, "tool0") @ v, robot)
    q, v = np.linspace(-1, 1, 6), np.ones(6)
    np.testing.assert_allclose(f(q, v), robot.velocity(q, v, "tool0"), atol=1e-12)
