"""Folding, sharing and canonical order, seen in the number of operations that remain."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert import math as dmath
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import Graph, trace
from tolerances import ROUNDING


def operations(function, size=3):
    return trace(lambda x: np.asarray(function(*x), object), {"x": size}).operations()


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x, y, z: x * 0.0, {}),
        (lambda x, y, z: 0 * x + y * 1.0, {}),
        (lambda x, y, z: x * math.nan, {}),
        (lambda x, y, z: x + 0.0, {}),
        (lambda x, y, z: 0.0 + x, {}),
        (lambda x, y, z: x - 0.0, {}),
        (lambda x, y, z: 0.0 - x, {"neg": 1}),
        (lambda x, y, z: x - x, {}),
        (lambda x, y, z: 0.0 / x, {}),
        (lambda x, y, z: x / 1.0, {}),
        (lambda x, y, z: -1.0 * -x, {}),
        (lambda x, y, z: -1.0 * x, {"neg": 1}),
        (lambda x, y, z: -x * -y, {"mul": 1}),
        (lambda x, y, z: -x / -y, {"div": 1}),
        (lambda x, y, z: -x / y * -z, {"div": 1, "mul": 1}),
        (lambda x, y, z: x + -y, {"sub": 1}),
        (lambda x, y, z: -x + y, {"sub": 1}),
        (lambda x, y, z: x - -y, {"add": 1}),
        (lambda x, y, z: -x - y, {"add": 1, "neg": 1}),
        (lambda x, y, z: z - (-x - y), {"add": 2}),
        (lambda x, y, z: 2.0 * (3.0 * x), {"mul": 1}),
        (lambda x, y, z: -2.0 * -x, {"mul": 1}),
        (lambda x, y, z: x / 4.0 * 8.0, {"mul": 1}),
        (lambda x, y, z: x / 0.0, {"div": 1}),
        (lambda x, y, z: x**0, {}),
        (lambda x, y, z: x**1, {}),
        (lambda x, y, z: x**8, {"mul": 3}),
        (lambda x, y, z: x**-1, {"div": 1}),
        (lambda x, y, z: x**0.5, {"sqrt": 1}),
        (lambda x, y, z: x**1.5, {"mul": 2, "sqrt": 1}),
        (lambda x, y, z: 1.0**x, {}),
        (lambda x, y, z: abs(-x), {"abs": 1}),
        (lambda x, y, z: dmath.minimum(x, x), {}),
        (lambda x, y, z: dmath.where(x < y, z, z), {}),
        (lambda x, y, z: dmath.where(True, x, y), {}),
        (lambda x, y, z: dmath.where(~(x < y), x, y), {"lt": 1, "where": 1}),
        (lambda x, y, z: dmath.where((x < y) & True, x, y), {"lt": 1, "where": 1}),
        (lambda x, y, z: dmath.where((x < y) & False, x, y), {}),
        (lambda x, y, z: dmath.where((x < y) | True, x, y), {}),
        (lambda x, y, z: dmath.where((x < y) | (x < y), x, y), {"lt": 1, "where": 1}),
        (lambda x, y, z: dmath.where(~~(x < y), x, y), {"lt": 1, "where": 1}),
    ],
)
def test_what_remains_of_one_value(function, count):
    assert operations(function) == count


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x, y, z: (x + y, y + x), {"add": 1}),
        (lambda x, y, z: (x * y, y * x, -x * y, x * -y), {"mul": 1, "neg": 1}),
        (lambda x, y, z: (x - y, y - x), {"sub": 1, "neg": 1}),
        (lambda x, y, z: (z * (x - y), z * (y - x)), {"sub": 1, "mul": 1, "neg": 1}),
        (lambda x, y, z: (z + (x - y), z + (y - x)), {"sub": 2, "add": 1}),
        (lambda x, y, z: (2.0 * x, -2.0 * x, -(2.0 * x)), {"mul": 1, "neg": 1}),
        (lambda x, y, z: (2.0 * x, x * 2, np.float32(2) * x, x + x * 0.0), {"mul": 1}),
        (lambda x, y, z: (x < y, y > x), {"lt": 1, "where": 1}),
        (lambda x, y, z: (x == y, y == x), {"eq": 1, "where": 1}),
        (lambda x, y, z: (dmath.minimum(x, 1.0), dmath.minimum(1.0, x)), {"min": 1}),
        (lambda x, y, z: (dmath.sin(x), dmath.sin(-x)), {"sin": 1, "neg": 1}),
        (lambda x, y, z: (dmath.cos(x - y), dmath.cos(y - x)), {"sub": 1, "cos": 1}),
        (lambda x, y, z: (dmath.tanh(-x), dmath.tanh(x), dmath.sign(-x)), {"tanh": 1, "neg": 2, "sign": 1}),
        (lambda x, y, z: (dmath.sqrt(x * y + z), dmath.sqrt(z + y * x)), {"mul": 1, "add": 1, "sqrt": 1}),
    ],
)
def test_what_values_share(function, count):
    assert operations(function) == count


@pytest.mark.parametrize(
    "op", ["sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "tanh", "abs", "sign"]
)
def test_functions_of_constants_fold(op):
    x = Graph().constant(0.75)
    folded = getattr(dmath, op)(x)
    assert folded.op == "const"
    assert folded.value == pytest.approx(getattr(dmath, op)(0.75), rel=ROUNDING)


def test_domain_errors_of_constants_fold_quietly():
    x = Graph().constant(0.0)
    with np.errstate(all="raise"):
        assert math.isnan((x / x).value) and (1.0 / x).value == math.inf and dmath.log(x).value == -math.inf
        assert math.isnan(dmath.sqrt(x - 1.0).value)


def test_matrices_of_zeros_and_ones_vanish():
    """A rotation about z times a vector: 4 products, 2 sums, no trace of the zeros and ones."""

    def rotate(x):
        c, s = dmath.cos(x[0]), dmath.sin(x[0])
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], object) @ x

    assert trace(rotate, {"x": 3}).operations() == {"mul": 4, "sin": 1, "cos": 1, "add": 1, "sub": 1}


def test_constants_that_would_overflow_are_not_merged():
    def f(x):
        return np.array([1e200 * (1e200 * x[0]), 1e-200 * (1e-200 * x[1]), x[0] / 5e-324, x[1] / 1e308])

    function = trace(f, {"x": 2}, name="f")
    x = np.array([1e-300, 1e300])
    np.testing.assert_allclose(
        interpreter.run(function, {"x": x})["f"], [1e100, 1e-100, 1e-300 / 5e-324, 1e-8], rtol=ROUNDING
    )
    assert interpreter.run(function, {"x": [5e-324, 0.0]})["f"][2] == 1


def test_zero_has_one_sign_whatever_came_first():
    assert math.copysign(1.0, Graph().constant(-0.0).value) == 1.0
    g = Graph()
    assert g.constant(-0.0) is g.constant(0.0) and g.constant(math.nan) is g.constant(-math.nan)


def test_nan_tests_are_kept():
    function = trace(lambda x: dmath.where(x[0] != x[0], 1.0, 0.0), {"x": 1}, name="f")
    assert interpreter.run(function, {"x": [[math.nan], [1.0]]})["f"].tolist() == [1, 0]


def test_large_whole_powers_of_negative_numbers():
    function = trace(lambda x: np.array([x[0] ** 101, x[0] ** 100, x[0] ** -3]), {"x": 1}, name="f")
    assert interpreter.run(function, {"x": [-1.0]})["f"].tolist() == [-1, 1, -1]


def test_deep_expressions_need_no_recursion():
    def deep(x):
        a = x[0]
        for _ in range(50_000):
            a = a * x[1] + 1.0
        return a

    function = trace(deep, {"x": 2})
    assert sum(function.operations().values()) == 100_000
