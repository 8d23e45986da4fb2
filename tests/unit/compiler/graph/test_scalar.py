"""Traced scalars in NumPy code, and what wrong use says."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction

import numpy as np
import pytest

from dalembert import math as dmath
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import Graph, Scalar, trace
from dalembert.errors import DalembertError
from tolerances import PRODUCT, ROUNDING

X = np.array([0.3, -1.2, 2.5])
A = np.array([[0.5, -1.0, 0.0], [2.0, 1.0, 0.25], [0.0, 3.0, -1.0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: A @ x,
        lambda x: x @ A,
        lambda x: x + A,
        lambda x: A - x,
        lambda x: A / x,
        lambda x: x / A[1],
        lambda x: x**2 + 2.0**x,
        lambda x: np.array([4.0, 9.0, 0.5]) ** x[1],
        lambda x: np.abs(x) ** np.array([0.5, 2.0, 1.3]),
        lambda x: abs(x[0]) ** np.array([0.5, 2.0, 1.3]),
        lambda x: np.outer(x, x),
        lambda x: np.cross(x, A[0]),
        lambda x: np.dot(x, x),
        lambda x: np.vdot(x, x),
        lambda x: np.einsum("ij,j->i", A, x),
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(np.outer(x, x), axis=0),
        lambda x: np.sum(x) + x.sum() + sum(x),
        lambda x: np.cumsum(x),
        lambda x: np.prod(x),
        lambda x: np.trace(np.outer(x, x)),
        lambda x: np.mean(x),
        lambda x: np.concatenate([x, [1.0], A[0]]),
        lambda x: np.stack([x, -x, +x]),
        lambda x: np.diag(x),
        lambda x: np.kron(x, x),
        lambda x: np.sin(x) + np.cos(x) * np.tan(x),
        lambda x: np.exp(np.tanh(x)) + np.log(np.abs(x)) + np.sqrt(np.absolute(x)),
        lambda x: np.arctan(x) + np.arctan2(x, 2.0 * x[::-1]) + np.arcsin(x / 3.0) - np.arccos(x / 3.0),
        lambda x: np.square(x) + np.reciprocal(x) + np.power(x, 3),
        lambda x: np.float64(2.0) * x[0] + np.float32(0.5) / x[1] - np.int64(3) * x[2],
        lambda x: x[0] * np.array(2.0),
        lambda x: np.where([True, False, True], x, 0.0),
        lambda x: dmath.where(np.less(x, 0.5, dtype=object), x, 2.0 * x),
        lambda x: divmod(7, 2)[0] * x,
    ],
)
def test_numpy_code_traces(function):
    traced = trace(function, {"x": 3}, name="f")
    want = np.asarray(function(X), float)
    got = interpreter.run(traced, {"x": X})["f"]
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=PRODUCT, atol=ROUNDING)


def branch(x):
    if x[0] > 0:
        return x
    return -x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (branch, "where"),
        (lambda x: x if x[0] else -x, "where"),
        (lambda x: max(x[0], x[1]), "maximum"),
        (lambda x: 0 < x[0] < 1, "where"),
        (lambda x: x[0] > 0 and x[1] > 0, "& |"),
        (lambda x: sorted(x), "where"),
        (lambda x: x[0] in [x[1]], "where"),
        (lambda x: np.where(x[0] > 0, 1.0, 2.0), "where"),
        (lambda x: np.maximum(x, 0.0), "maximum"),
        (lambda x: x < 0.5, r"np.less\(a, b, dtype=object\)"),
        (lambda x: x == np.ones(3), "np.less"),
        (lambda x: x[0] == np.ones(3), "np.less"),
        (lambda x: np.sign(x), "where"),
        (lambda x: math.sin(x[0]), "dalembert.math"),
        (lambda x: math.atan2(x[0], 1.0), "dalembert.math"),
        (lambda x: cmath.sin(x[0]), "dalembert.math"),
        (lambda x: float(x[0]), "dalembert.math"),
        (lambda x: int(x[0]), "dalembert.math"),
        (lambda x: x.astype(float), "dalembert.math"),
        (lambda x: np.array([x[0], 1.0], float), "dalembert.math"),
        (lambda x: [1.0, 2.0][x[0]], "no number yet"),
        (lambda x: range(x[0]), "no number yet"),
        (lambda x: [1.0, 2.0] * x[0], "list"),
        (lambda x: x[0] % math.pi, "atan2"),
        (lambda x: x[0] // 2, "atan2"),
        (lambda x: 7.0 % x[0], "atan2"),
        (lambda x: divmod(x[0], 2), "atan2"),
        (lambda x: x[0] * 1j, "complex"),
        (lambda x: x[0] + [1.0, 2.0], "list"),
        (lambda x: x[0] + "a", "str 'a'"),
        (lambda x: x[0] * None, "None"),
        (lambda x: x[0] == None, "None"),  # noqa: E711
        (lambda x: x[0] - Fraction(1, 3), "Fraction"),
        (lambda x: (x[0] < 1.0) + x[1], r"where\(condition, 1.0, 0.0\)"),
        (lambda x: dmath.sin(x[0] < 1.0), r"where\(condition, 1.0, 0.0\)"),
        (lambda x: dmath.where(x[0], x[1], x[2]), "expected a condition"),
        (lambda x: (x[0] < 1.0) & x[1], "expected a condition"),
        (lambda x: ~x[0], "expected a condition"),
        (lambda x: dmath.where(x[0] < 1.0, x[1] < 1.0, x[2]), "expected a number"),
        (lambda x: "text", "got str"),
        (lambda x: {"y": [x, None]}, "output 'y'"),
        (lambda x: [x, x[:2]], "dict of arrays"),
        (lambda x: (A @ x, x[0]), "dict of arrays"),
    ],
)
def test_wrong_use_says_what_to_do(function, message):
    with pytest.raises(DalembertError, match=message):
        trace(function, {"x": 3})


def test_graphs_do_not_mix():
    x, y = Graph().input("x", 2), Graph().input("y", 2)
    for combine in (lambda: x[0] + y[0], lambda: x[0] < y[0], lambda: dmath.atan2(x[0], y[0]), lambda: x @ y):
        with pytest.raises(DalembertError, match="two different traces"):
            combine()
    with pytest.raises(DalembertError, match="another trace"):
        trace(lambda q: x, {"q": 2})


def test_constants_are_numbers():
    g = Graph()
    c = g.constant(2.0)
    assert float(c) == 2.0 and int(c) == 2 and bool(c) and math.sqrt(c) == math.sqrt(2.0)
    assert [10, 20, 30][c] == 30
    assert isinstance(c + 1.0, Scalar) and float(c < 3.0) == 1.0


def test_single_precision_constants_keep_their_value():
    function = trace(lambda x: np.float32(0.1) * x[0] + np.array([np.float32(0.3)])[0], {"x": 1}, name="f")
    assert interpreter.run(function, {"x": [0.0]})["f"] == float(np.float32(0.3))
    assert interpreter.run(function, {"x": [1.0]})["f"] == float(np.float32(0.1)) + float(np.float32(0.3))


def test_repr_and_hash():
    g = Graph()
    q = g.input("q", 2)
    assert repr(q[1]) == "q[1]" and repr(g.constant(0.5)) == "0.5" and "sin" in repr(q[0].sin())
    assert {q[0]: "a", q[1]: "b"}[q[1]] == "b"
    assert g.input("q", 2)[0] is q[0]
