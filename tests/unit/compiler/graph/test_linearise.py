"""Linear models and Gauss-Newton at computed points, against differences and NumPy; which way is shorter; zeros."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, math
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import gauss_newton, jacobian, linearised, substitute, trace
from tolerances import DIFFERENCE, PRODUCT, STEP, assert_close


def curve(z):
    return np.array([math.sin(z[0]) * z[1], z[2] * z[2] + z[0], math.exp(0.3 * z[1] * z[2]), 2.0])


def test_linear_model_at_a_computed_point():
    """x + α d, as a line search asks; x itself is folded into the expressions, so that no node could be a variable."""
    f = trace(lambda x, d, a: linearised(lambda z: curve(z) + x[0], x + a[0] * d)._asdict(), {"x": 3, "d": 3, "a": 1})
    rng = np.random.default_rng(0)
    x, d, a = rng.normal(size=3), rng.normal(size=3), 0.7
    out = interpreter.run(f, {"x": x, "d": d, "a": [a]})
    z = x + a * d
    assert_close(out["value"], curve(z) + x[0], PRODUCT)
    want = np.stack([(curve(z + STEP * e) - curve(z - STEP * e)) / (2 * STEP) for e in np.eye(3)], axis=1)
    assert_close(out["slope"], want.astype(float), 10 * DIFFERENCE)


@pytest.mark.parametrize("tall", [True, False])
def test_the_shorter_way_is_taken(tall):
    """Many results of one number forwards, one result of many numbers in reverse; never more than either alone."""

    def compute(z):
        return [math.sin(z[0] * k) * z[1] for k in range(1, 8)] if tall else [np.prod(np.cos(z)) + np.sum(z * z)]

    size = {"x": 2 if tall else 8}
    chosen = trace(lambda x: linearised(compute, 2.0 * x).slope, size)
    ways = []
    for pad in (0, 20):  # which makes `jacobian` go forwards

        def other(x, pad=pad):
            y = np.array([*compute(x), *[0.0] * pad], object)
            return substitute(jacobian(y, x)[: len(compute(x))], dict(zip(x, 2.0 * x, strict=True)))

        ways.append(trace(other, size))
    counts = [sum(f.operations().values()) for f in ways]
    assert sum(chosen.operations().values()) <= min(counts)
    x = np.linspace(0.1, 0.9, size["x"])
    assert_close(*(interpreter.run(f, {"x": x})["function"] for f in (chosen, ways[0])), PRODUCT)


def residuals(z):
    return [(2.0, curve(z)), (np.array([0.5, 3.0]), z[:2] - 1.0), (0.1, z)]


def test_gauss_newton():
    f = trace(lambda x: gauss_newton(residuals, 3.0 * x + 1.0)._asdict(), {"x": 3})
    x = np.array([0.2, -0.4, 0.3])
    z = 3.0 * x + 1.0
    out = interpreter.run(f, {"x": x})
    stacked = lambda z: np.concatenate([curve(z), z[:2] - 1.0, z]).astype(float)  # noqa: E731
    w = np.array([2.0] * 4 + [0.5, 3.0] + [0.1] * 3)
    J = np.stack([(stacked(z + STEP * e) - stacked(z - STEP * e)) / (2 * STEP) for e in np.eye(3)], axis=1)
    r = stacked(z)
    assert_close(out["cost"], 0.5 * np.sum(w * r * r), PRODUCT)
    assert_close(out["gradient"], J.T @ (w * r), 100 * DIFFERENCE)
    assert_close(out["hessian"], J.T @ (w[:, None] * J), 100 * DIFFERENCE)
    assert np.array_equal(out["hessian"], out["hessian"].T)


def test_gauss_newton_takes_plain_residuals_and_skips_zeros():
    """n residuals of one number each: n products for the Hessian, not n³."""
    n = 12
    f = trace(lambda x: gauss_newton(lambda z: z * z, x).hessian, {"x": n})
    out = interpreter.run(f, {"x": np.arange(n) + 1.0})["function"]
    assert_close(out, np.diag(4.0 * (np.arange(n) + 1.0) ** 2), PRODUCT)
    assert sum(f.operations().values()) <= 2 * n


def test_errors():
    with pytest.raises(DalembertError, match="the point has no traced value"):
        linearised(curve, np.zeros(3))
    with pytest.raises(DalembertError, match=r"the point has shape \(3, 1\), expected a vector"):
        trace(lambda x: linearised(curve, x.reshape(3, 1)).value, {"x": 3})
    with pytest.raises(DalembertError, match="a weight depends on z"):
        trace(lambda x: gauss_newton(lambda z: [(z[0], z)], x).cost, {"x": 3})
    with pytest.raises(DalembertError, match=r"residuals \(3,\) with weights \(2,\)"):
        trace(lambda x: gauss_newton(lambda z: [(np.ones(2), z)], x).cost, {"x": 3})
