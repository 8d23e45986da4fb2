"""Methods of a frame stay the same method once their fast call is in place."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from dalembert import DalembertError, Robot, function, load
from tolerances import COMPUTED


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
    shown, (_, *own) = (list(inspect.signature(of.jacobian).parameters.values()) for of in (robot, Robot))
    assert [(p.name, p.kind, p.default) for p in shown[:-4]] == [(p.name, p.kind, p.default) for p in own[:-1]]
    assert [p.name for p in shown[-4:]] == ["out", "threads", "check", "backend"]
    assert robot.jacobian.__doc__ == Robot.jacobian.__doc__
    assert robot.jacobian.__name__ == "jacobian"


def test_another_frame_later_and_robots_that_are_dropped(robot):
    q = np.linspace(-1, 1, 6)
    for frame in ("forearm_link", "wrist_1_link", "tool0"):
        for _ in range(2):
            assert np.array_equal(robot.jacobian(q, frame), load("ur5").jacobian(q, frame))
    jacobian = robot.jacobian
    del robot
    gc.collect()
    assert np.array_equal(jacobian(q, "tool0"), load("ur5").jacobian(q, "tool0"))
    assert jacobian(q, "".join(["tool", "0"])).shape == (6, 6)  # the same name, another object


def test_without_the_fast_call_it_is_the_same():
    code = (
        "import numpy as np; from dalembert import load; r = load('ur5'); q = np.linspace(-1, 1, 6);"
        "a = [r.jacobian(q, 'tool0') for _ in range(3)]; print(type(r.jacobian).__name__, np.array_equal(a[0], a[2]))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "DALEMBERT_FASTCALL": "off"}, capture_output=True, text=True
    )
    assert made.stdout.split() == ["method", "True"], made.stderr


def test_mistakes_are_told(robot):
    q = np.zeros(6)
    with pytest.raises(DalembertError, match="unknown frame 'tool'"):
        robot.jacobian(q, "tool")
    for wrong in ([3], memoryview(bytearray(3)), 7):
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
    np.testing.assert_allclose(f(q, v), robot.velocity(q, v, "tool0"), atol=COMPUTED)
