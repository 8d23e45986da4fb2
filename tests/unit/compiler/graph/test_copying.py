"""Traced expressions with other values in place of their inputs."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import math
from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import Scalar, substitute, trace
from dalembert.math import product
from tolerances import ROUNDING, assert_close

X = np.array([0.3, -0.7, 1.2])


def everything(x):
    """Every kind of operation."""
    a, b, c = x
    return np.array([
        a + b - 2.0 * c, -a / b, math.sqrt(c * c + 1.0), math.sin(a) * math.cos(b), math.atan2(a, c), math.exp(a),
        math.log(c * c), math.tanh(b), math.abs(b), math.sign(b), math.minimum(a, b), math.maximum(a, b),
        math.where(a < b, a, c), math.where(math.logical_and(a < c, math.logical_not(b < a)), 1.0, b), 3.0,
    ])  # fmt: skip


def test_values_take_the_place_of_inputs():
    def swapped(x):
        own = x[0].graph.input("own", 3)
        return substitute(everything(own), dict(zip(own, [x[1], 2.0 * x[0], x[2]], strict=True)))

    found = run(trace(swapped, {"x": 3}, "f"), {"x": X})["f"]
    assert_close(found, everything(np.array([X[1], 2.0 * X[0], X[2]])).astype(float), ROUNDING)


def test_all_at_once():
    """x ↔ y: a value that is itself replaced stays what it is."""
    f = trace(lambda x: substitute([x[0] - 2.0 * x[1]], {x[0]: x[1], x[1]: x[0]}), {"x": 2}, "f")
    assert run(f, {"x": np.array([1.0, 10.0])})["f"] == [10.0 - 2.0]


def test_constants_fold():
    def folded(x):
        y = substitute([x[0] * x[1] + x[2]], {x[1]: 0.0, x[2]: 4.0})[0]
        assert isinstance(y, Scalar) and y.op == "const" and y.value == 4.0
        return y

    trace(folded, {"x": 3})


@pytest.mark.parametrize("n", [3, 20])
def test_products_of_matrices(n):
    """A large product stays one."""

    def squared(x):
        own = x[0].graph.input("own", n * n)
        A = product(own.reshape(n, n), own.reshape(n, n))
        return substitute(A, dict(zip(own, 2.0 * x, strict=True)))

    A = np.random.default_rng(0).normal(size=(n, n))
    f = trace(squared, {"x": n * n}, "f")
    assert_close(run(f, {"x": A.ravel()})["f"], 4.0 * A @ A, 100 * ROUNDING)
    kinds = {node.op for node in f.schedule()}
    assert ("dot" in kinds) == (n == 20)
