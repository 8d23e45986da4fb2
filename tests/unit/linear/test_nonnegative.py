"""Least squares in unknowns that are not negative."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.linear import nonnegative_least_squares
from tolerances import ITERATED, assert_close


@pytest.mark.parametrize("seed", range(8))
def test_the_conditions_of_the_optimum_hold(seed) -> None:
    """x ≥ 0, slopes ≥ 0, and one of both is 0; rows of very different size."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(20, 12)) * 10.0 ** rng.integers(-3, 3, (20, 1))
    b = A @ np.maximum(rng.normal(size=12), 0.0) + 0.1 * rng.normal(size=20)
    x = nonnegative_least_squares(A, b)
    slopes = A.T @ (A @ x - b) / (np.linalg.norm(A, axis=0) * np.linalg.norm(b))
    assert (x >= 0.0).all()
    assert slopes.min() > -ITERATED
    assert_close(slopes[x > 0.0], np.zeros((x > 0.0).sum()), ITERATED)


def test_it_is_that_of_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(30, 40)), rng.normal(size=30)
    assert_close(A @ nonnegative_least_squares(A, b), A @ optimize.nnls(A, b)[0], ITERATED)


def test_nothing_to_do() -> None:
    assert nonnegative_least_squares(np.zeros((3, 0)), np.ones(3)).shape == (0,)
    assert_close(nonnegative_least_squares(np.eye(3), np.array([-1.0, 0.0, 2.0])), [0.0, 0.0, 2.0], 0.0)
    assert_close(nonnegative_least_squares(np.zeros((3, 2)), np.ones(3)), [0.0, 0.0], 0.0)
