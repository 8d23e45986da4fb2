"""Elementary functions on floats, arrays, traced scalars, and object arrays that mix them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert import math as dm
from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import gradient, jacobian, trace
from dalembert.errors import DalembertError, unknown
from tolerances import ROUNDING, assert_close

UNARY = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
    "abs": math.fabs,
    "sign": lambda x: math.copysign(1.0, x),
}
BINARY = {"atan2": math.atan2, "minimum": min, "maximum": max}
POINTS = np.array([0.1, 0.5, 0.9])


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_agree_on_every_kind_of_argument(name):
    function = getattr(dm, name)
    expected = np.array([UNARY[name](x) for x in POINTS])
    assert_close(function(POINTS), expected, ROUNDING)
    assert_close([function(x) for x in POINTS.tolist()], expected, ROUNDING)
    boxed = function(POINTS.astype(object))
    assert boxed.dtype == object
    assert_close(boxed, expected, ROUNDING)
    traced = trace(lambda x: function(x), {"x": 3}, "y")
    assert_close(run(traced, {"x": POINTS})["y"], expected, ROUNDING)
    traced = trace(lambda x: [function(x[0]), *function(x[1:])], {"x": 3}, "y")
    assert_close(run(traced, {"x": POINTS})["y"], expected, ROUNDING)


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_agree_on_every_kind_of_argument(name):
    function = getattr(dm, name)
    expected = np.array([BINARY[name](x, 0.4) for x in POINTS])
    assert_close(function(POINTS, 0.4), expected, ROUNDING)
    for arguments in (lambda x: (x, 0.4), lambda x: (x, np.full(3, 0.4)), lambda x: (x, [0.4] * 3)):
        traced = trace(lambda x, arguments=arguments: function(*arguments(x)), {"x": 3}, "y")
        assert_close(run(traced, {"x": POINTS})["y"], expected, ROUNDING)
    swapped = trace(lambda x: function(0.4, x[0]), {"x": 3}, "y")
    assert_close(run(swapped, {"x": POINTS})["y"], BINARY[name](0.4, POINTS[0]), ROUNDING)


def test_where_chooses_per_element_and_broadcasts():
    values = np.array([-1.0, 2.0])
    assert_close(dm.where(values < 0, 0.0, values), [0.0, 2.0], 0.0)
    assert dm.where(True, 1.0, 2.0) == 1.0
    assert dm.where(np.False_, 1.0, 2.0) == 2.0
    assert_close(dm.where(False, np.zeros(2), values), values, 0.0)

    def clipped(x):
        inside = dm.logical_and(x[0] > -1.0, dm.logical_not(x[0] > 1.0))
        return [dm.where(inside, x[0], 0.0), dm.where(dm.logical_or(x[0] < -1.0, x[0] > 1.0), 1.0, 0.0)]

    function = trace(clipped, {"x": 1}, "y")
    for x, expected in ((0.5, [0.5, 0.0]), (3.0, [0.0, 1.0]), (-3.0, [0.0, 1.0])):
        assert_close(run(function, {"x": [x]})["y"], expected, 0.0)


def test_known_condition_leaves_no_trace():
    function = trace(lambda x: dm.where(True, x[0], dm.sin(x[0])), {"x": 1}, "y")
    assert function.operations() == {}


def test_result_types():
    assert dm.abs(-2).dtype == dm.minimum(1, 2).dtype == dm.sign(np.array([3])).dtype == np.float64
    assert dm.sin(np.float32(1)).dtype == dm.minimum(np.ones(2, np.float32), 0.5).dtype == np.float32
    assert_close(dm.sqrt([4, 9]), [2.0, 3.0], 0.0)


@pytest.mark.parametrize("function", [dm.sign, dm.abs, lambda x: dm.minimum(x, 1.0), lambda x: dm.maximum(1.0, x)])
def test_nan_propagates(function):
    assert np.isnan(function(np.nan))


def test_sign_of_zero_is_zero():
    assert dm.sign(0.0) == 0.0


def test_error_is_a_value_error_and_names_the_nearest():
    error = unknown("joint", "elbw", ["shoulder", "elbow"])
    assert isinstance(error, DalembertError) and isinstance(error, ValueError)
    assert str(error) == "unknown joint 'elbw': did you mean 'elbow'? joints: shoulder, elbow"


def test_error_without_a_near_name_or_with_many_or_none():
    assert str(unknown("body", "zzz", ["a", "b"], "pose")) == "pose: unknown body 'zzz': bodies: a, b"
    assert str(unknown("frame", "x", [])) == "unknown frame 'x': there are no frames"
    many = str(unknown("joint", "qq", [f"j{i}" for i in range(30)]))
    assert "j7, … (30 in all)" in many and "j8" not in many


def test_clip_keeps_between_numbers_and_arrays():
    x, low = np.array([-3.0, 0.2, 5.0, np.nan]), np.array([-1.0, 0.5, -1.0, 0.0])
    np.testing.assert_array_equal(dm.clip(x, low, 2.0), np.clip(x, low, 2.0))
    traced = trace(lambda x: dm.clip(x, low, 2.0), {"x": 4})
    np.testing.assert_array_equal(run(traced, {"x": x})["function"], np.clip(x, low, 2.0))


def test_where_chooses_between_arrays_of_numbers_by_a_traced_condition():
    function = trace(lambda x: dm.where(x[0] > 0.0, np.array([1.0, 2.0]), np.zeros(2)), {"x": 1}, "y")
    for x, expected in ((0.5, [1.0, 2.0]), (-3.0, [0.0, 0.0])):
        assert_close(run(function, {"x": [x]})["y"], expected, 0.0)


def test_what_is_held_keeps_its_value_and_has_no_slope():
    def compute(x):
        y = dm.held(np.array([x[0] * x[1], x[1]])) * x
        return {"y": y, "slope": jacobian(y, x), "gradient": gradient(y[0] + y[1], x)}

    values = run(trace(compute, {"x": 2}, "held"), {"x": [2.0, 3.0]})
    assert_close(values["y"], [12.0, 9.0], 0.0)
    assert_close(values["slope"], [[6.0, 0.0], [0.0, 3.0]], 0.0)
    assert_close(values["gradient"], [6.0, 3.0], 0.0)
    assert dm.held(0.25) == 0.25
