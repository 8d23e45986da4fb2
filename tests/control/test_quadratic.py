"""Quadratic programs: conditions of the optimum, degenerate and impossible programs, compiled batches."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import function, load
from dalembert.linear import solve_elastic, solve_quadratic
from tolerances import COMPUTED, ITERATED, OPTIMAL, PRODUCT, SOLVER_DEFAULT

N, M = 6, 10


def program(rng, scale=1.0):
    A = rng.normal(size=(8, N))
    H, g = A.T @ A + 1e-3 * np.eye(N), scale * rng.normal(size=N)
    C, inside = rng.normal(size=(M, N)), 0.3 * rng.normal(size=N)
    low = np.where(rng.random(M) < 0.6, C @ inside - rng.uniform(0.0, 0.3, M), -np.inf)
    high = np.where(rng.random(M) < 0.6, C @ inside + rng.uniform(0.0, 0.3, M), np.inf)
    return H, g, C, low, high


def optimality(H, g, C, low, high, x, y):
    """The largest violation of the conditions of the optimum, relative to the gradient and the bounds."""
    reached = C @ x
    still = np.abs(H @ x + g + C.T @ y).max() / np.abs(g).max()
    beyond = max(np.maximum(reached - high, 0.0).max(), np.maximum(low - reached, 0.0).max())
    slack = np.where(
        y > 0.0, np.where(np.isfinite(high), high - reached, 1.0), np.where(np.isfinite(low), reached - low, 1.0)
    )
    return max(still, beyond, np.abs(y * slack).max() / np.abs(g).max())


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_random_programs_meet_the_conditions_of_the_optimum(scale) -> None:
    rng = np.random.default_rng(1)
    for _ in range(15):
        given = program(rng, scale)
        solution = solve_quadratic(*given)
        assert solution.solved == 1.0 and solution.iterations <= 25
        assert optimality(*given, solution.x, solution.multipliers) < ITERATED


def test_without_rows_at_bounds_it_is_the_free_minimum() -> None:
    H, g = np.diag([1.0, 2.0]), np.array([1.0, -1.0])
    free = solve_quadratic(H, g, np.eye(2), np.full(2, -10.0), np.full(2, 10.0))
    np.testing.assert_allclose(free.x, [-1.0, 0.5], rtol=PRODUCT)
    assert free.iterations == 0 and not free.multipliers.any()
    none = solve_quadratic(H, g, np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(none.x, free.x)


def test_degenerate_rows() -> None:
    """The same row three times, an empty row, and equal bounds."""
    H, g = np.eye(2), np.array([-2.0, -2.0])
    C = np.array([[1.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    low, high = np.array([-np.inf] * 3 + [-1.0, 0.5]), np.array([1.0, 1.0, 2.0, 1.0, 0.5])
    solution = solve_quadratic(H, g, C, low, high)
    np.testing.assert_allclose(solution.x, [1.0, 0.5], atol=SOLVER_DEFAULT)


def test_an_impossible_program_is_noticed_and_missed_by_little() -> None:
    """x ≤ −1 and x ≥ 1, |x| ≤ 0.2 hard: the least that both can be missed by is 1, at 0."""
    H, g, C = np.eye(1), np.array([0.3]), np.array([[1.0], [1.0], [1.0]])
    low, high = np.array([-0.2, -np.inf, 1.0]), np.array([0.2, -1.0, np.inf])
    assert solve_quadratic(H, g, C, low, high).solved == 0.0
    rough = solve_elastic(H, g, C, low, high, 1)
    assert abs(rough.x[0]) < OPTIMAL and abs(rough.violation - 1.0) < OPTIMAL


def test_compiled_batches_are_what_numbers_give() -> None:
    rng = np.random.default_rng(4)
    H, _, C, low, high = program(rng)
    gradients = rng.normal(size=(37, N)) * np.logspace(-2, 1, 37)[:, None]

    def compute(g):
        solution = solve_quadratic(H, g, C, low, high)
        return np.array([*solution.x, solution.solved])

    compiled = function(compute, load("2r"), g=N)
    together = compiled(gradients)
    assert together[:, -1].all()
    for g, x in zip(gradients, together, strict=True):
        np.testing.assert_allclose(x[:-1], solve_quadratic(H, g, C, low, high).x, atol=ITERATED)
        np.testing.assert_allclose(compiled(g), x, atol=COMPUTED)
