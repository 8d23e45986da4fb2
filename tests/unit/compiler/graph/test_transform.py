"""Pullbacks of traced functions, and functions that answer bad inputs with NaN."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from dalembert import math as dmath
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import poisoned, pullback, trace
from dalembert.quantities import compiled
from tolerances import DIFFERENCE, RECURSION, STEP, assert_close


def compute(x, y):
    return {"a": np.array([x[0] * y[0], dmath.sin(x[1]) / y[1]]), "b": dmath.where(x[0] < y[0], x[1] ** 2, y[1])}


def test_pullback_against_differences():
    function = trace(lambda x, y, unused: compute(x, y), {"x": 2, "y": 2, "unused": 1}, name="f")
    back = pullback(function)
    assert [i.name for i in back.inputs] == ["x", "y", "unused", "a cotangent", "b cotangent"]
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=2), "y": rng.normal(size=2), "unused": rng.normal(size=1)}
    weights = {"a cotangent": rng.normal(size=2), "b cotangent": rng.normal(size=1)}
    got = interpreter.run(back, given | weights)

    def value(inputs):
        made = interpreter.run(function, inputs)
        return float(weights["a cotangent"] @ made["a"] + weights["b cotangent"][0] * made["b"])

    for name, x in given.items():
        slope = []
        for k in range(x.size):
            up, down = ({**given, name: x + s * STEP * np.eye(x.size)[k]} for s in (1, -1))
            slope.append((value(up) - value(down)) / (2 * STEP))
        assert_close(got[f"{name} gradient"], slope, DIFFERENCE)
    assert got["unused gradient"] == 0


def test_pullback_of_a_pullback_has_names_of_its_own():
    twice = pullback(pullback(trace(lambda x: x[0] * x[1], {"x": 2}, name="f")))
    names = [i.name for i in twice.inputs]
    assert len(set(names)) == len(names) == 3


def test_pullback_of_constants():
    back = pullback(trace(lambda x: np.array([1.0, 2.0]), {"x": 2}, name="f"))
    assert_close(interpreter.run(back, {"x": [1.0, 2.0], "f cotangent": [3.0, 4.0]})["x gradient"], [0.0, 0.0], 0.0)


def test_poisoned():
    """NaN where a guard fails, in what depends on what it looks at; elsewhere the same numbers."""
    function = trace(
        lambda x, y: {"first": x[0] * y[0], "second": x[1], "other": y[0]},
        {"x": 2, "y": 1},
        "f",
        lambda x, y: [x[0] < 1.0, x[1] < 1.0],
    )
    inputs = {"x": [[0.5, 0.5], [2.0, 0.5], [0.5, 2.0], [0.25, 0.0]], "y": [[3.0]] * 4}
    got = interpreter.run(poisoned(function), inputs)
    np.testing.assert_array_equal(got["first"], [1.5, np.nan, np.nan, 0.75])
    np.testing.assert_array_equal(got["second"], [0.5, np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(got["other"], [3.0] * 4)
    assert poisoned(trace(lambda x: x, {"x": 1})).guards == ()


def test_poisoned_quaternion():
    robot = load("quadruped")
    rng = np.random.default_rng(0)
    q, v = robot.random(rng, 3), rng.normal(size=(3, robot.nv))
    function = poisoned(compiled(robot, "bias").function())
    assert_close(interpreter.run(function, {"q": q, "v": v})["bias"], robot.bias(q, v), RECURSION)
    q[1, 3:7] *= 1.01
    assert np.array_equal(
        np.isnan(interpreter.run(function, {"q": q, "v": v})["bias"]).any(axis=1), [False, True, False]
    )


def test_poisoned_outputs():
    """Where a result is not finite, every output is NaN; a bad input is NaN in what depends on it."""
    function = trace(
        lambda x, y: {"quotient": np.array([x[0] / y[0], 1.0]), "other": y[0] * y[0]},
        {"x": 1, "y": 1},
        "f",
        lambda x, y: [x[0] < 5.0],
        finite=True,
    )
    inputs = {"x": [[1.0], [1.0], [9.0]], "y": [[2.0], [0.0], [2.0]]}
    with np.errstate(divide="ignore"):
        got = interpreter.run(poisoned(function), inputs)
    np.testing.assert_array_equal(got["quotient"], [[0.5, 1.0], [np.nan, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(got["other"], [4.0, np.nan, np.nan])


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_mass_matrix", "bias", "gravity"])
def test_poisoned_costs_little(name):
    """No guard makes a processor that cannot stop compute a function twice, nor its gradient."""
    function = compiled(load("quadruped"), name).function()
    for each in (function, pullback(function)):
        outputs = sum(len(o.nodes) for o in each.outputs)
        assert _total(poisoned(each)) <= 1.1 * _total(each) + 5 * outputs


def _total(function):
    return sum(function.operations().values())
