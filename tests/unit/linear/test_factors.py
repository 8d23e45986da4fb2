"""Linear systems: every factorisation against NumPy, on numbers and traced, sparse, redundant, singular and empty."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import trace, vjp
from dalembert.linear import (
    SharingFactor,
    elimination_order,
    factor,
    factor_semidefinite,
    gram,
    solve,
    solve_saddle,
    solve_semidefinite,
    sparse_product,
)
from tolerances import EPS32, INTEGRATED, ITERATED, ROUNDING, SOLVE, assert_close


def sparse_definite(n: int, seed: int, fill: float = 0.2) -> np.ndarray:
    """A random symmetric positive definite matrix with exact zeros."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n)) * (rng.random((n, n)) < fill)
    return B @ B.T * (abs(B @ B.T) > 0.0) + np.diag(1.0 + rng.random(n))


def chain(joints: int, size: int = 5) -> np.ndarray:
    """The pattern of a chain: blocks on the diagonal and beside it."""
    place = np.repeat(np.arange(joints), size)
    return abs(place[:, None] - place[None, :]) <= 1


def traced_value(f, *arrays: np.ndarray) -> np.ndarray:
    """f of flat inputs, traced and then evaluated; entries that are exactly 0 are constants of the trace."""
    names = [f"x{k}" for k in range(len(arrays))]

    def compute(*inputs: np.ndarray) -> dict:
        shaped = []
        for x, array in zip(inputs, arrays, strict=True):
            full = np.zeros(array.shape, object)
            full.reshape(-1)[np.flatnonzero(array)] = x
            shaped.append(full)
        return {"y": f(*shaped)}

    given = [a.reshape(-1)[np.flatnonzero(a)] for a in arrays]
    function = trace(compute, {name: len(x) for name, x in zip(names, given, strict=True)})
    return run(function, dict(zip(names, given, strict=True)))["y"]


@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
@pytest.mark.parametrize("columns", [None, 0, 3])
def test_solutions_are_those_of_numpy(n: int, columns: int | None) -> None:
    A, rng = sparse_definite(n, n), np.random.default_rng(n)
    b = rng.normal(size=n if columns is None else (n, columns))
    expected = np.linalg.solve(A, b)
    for order in (None, tuple(rng.permutation(n)), elimination_order(A != 0.0)):
        assert_close(factor(A, order).solve(b), expected, SOLVE)
    assert_close(solve_semidefinite(A, b), expected, SOLVE)
    skewed = A + 0.1 * (A != 0.0) * rng.normal(size=(n, n))
    assert_close(solve(skewed, b), np.linalg.solve(skewed, b), SOLVE)


def test_traced_solutions_are_those_of_numpy() -> None:
    A, rng = sparse_definite(9, 3), np.random.default_rng(1)
    b = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.5)
    expected = np.linalg.solve(A, b)
    assert_close(traced_value(lambda A, b: factor(A).solve(b), A, b), expected, SOLVE)
    assert_close(traced_value(solve_semidefinite, A, b), expected, SOLVE)
    assert_close(traced_value(solve, A, b), expected, SOLVE)
    assert_close(traced_value(sparse_product, A, b), A @ b, ROUNDING)
    assert_close(traced_value(gram, A, b[:, 0] + 1.0), A.T @ np.diag(b[:, 0] + 1.0) @ A, 1e2 * ROUNDING)


def test_half_solves_make_the_whole() -> None:
    A, b = sparse_definite(12, 5), np.random.default_rng(5).normal(size=(12, 3))
    half = factor(A, elimination_order(A != 0.0))
    Y = half.forward(b)
    assert_close(gram(Y, half.r), b.T @ np.linalg.solve(A, b), SOLVE)
    assert_close(half.backward((Y.T * half.r).T), np.linalg.solve(A, b), SOLVE)


def test_only_the_lower_triangle_is_read() -> None:
    A, b = sparse_definite(6, 2), np.ones(6)
    assert_close(factor(np.tril(A) + np.triu(np.full((6, 6), np.nan), 1)).solve(b), np.linalg.solve(A, b), SOLVE)


def test_a_chain_is_eliminated_from_both_ends_without_fill() -> None:
    pattern = chain(8)
    order = elimination_order(pattern)
    assert sorted(order) == list(range(40))
    joints = [k // 5 for k in order]
    assert joints[:1] != joints[-1:] and {0, 7} <= set(joints[:10])  # both ends are gone first
    A = np.where(pattern, 0.01, 0.0) + np.eye(40)
    entries = sum(len(column) for column in factor(A, order).columns)
    assert entries == np.count_nonzero(np.tril(pattern, -1))


def test_an_order_for_the_pattern_avoids_fill() -> None:
    """An arrow: eliminated hub first it fills up, hub last it does not."""
    A = 20.0 * np.eye(20)
    A[0, :], A[:, 0] = 1.0, 1.0
    A[0, 0] = 20.0
    assert elimination_order(A != 0.0).index(0) >= 18
    entries = [sum(map(len, f.columns)) for f in (factor(A), factor_semidefinite(A))]
    assert entries == [190, 19]
    assert elimination_order(np.zeros((0, 0), bool)) == ()
    assert elimination_order(np.ones((4, 4), bool)) == (0, 1, 2, 3)


def test_a_banded_matrix_stays_banded() -> None:
    n, width = 30, 2
    pattern = abs(np.subtract.outer(np.arange(n), np.arange(n))) <= width
    A = np.where(pattern, 0.1, 0.0) + np.eye(n)
    assert max(len(column) for column in factor(A).columns) == width
    operations = [
        sum(trace(lambda a, b, n=n: banded_solve(a, b, n, width), {"a": n * 3, "b": n}).operations().values())
        for n in (20, 40, 60)
    ]
    assert operations[2] - operations[1] == operations[1] - operations[0]  # linear in the length


def banded_solve(a: np.ndarray, b: np.ndarray, n: int, width: int) -> np.ndarray:
    A = np.zeros((n, n), object)
    for k in range(width + 1):
        for i in range(n - k):
            A[i + k, i] = A[i, i + k] = a[k * n + i]
    return factor(A).solve(b)


def test_redundant_and_empty_rows_are_left_out() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        J = rng.normal(size=(6, 9)) * (rng.random((6, 9)) < 0.6)
        J = np.concatenate([J, J[:2] + J[1:3], np.zeros((1, 9)), J[:1]])[rng.permutation(10)]
        x = rng.normal(size=9)
        forces = solve_semidefinite(J @ J.T, J @ x)
        assert np.count_nonzero(forces) <= np.linalg.matrix_rank(J)
        nearest = J.T @ forces  # the part of x that the rows see, whichever of them say it
        assert_close(nearest, np.linalg.pinv(J) @ (J @ x), SOLVE)
    assert not solve_semidefinite(np.zeros((3, 3)), np.ones(3)).any()


def test_a_saddle_with_a_redundant_constraint() -> None:
    rng = np.random.default_rng(11)
    A, J = sparse_definite(8, 4), rng.normal(size=(4, 8))
    J[3] = J[0] - J[1]
    f, rate = rng.normal(size=8), J @ rng.normal(size=8)
    G = np.block([[A, -J.T], [J, np.zeros((4, 4))]])
    x = solve_saddle(G, np.concatenate([f, rate]), 8)
    assert_close(A @ x[:8] - J.T @ x[8:], f, SOLVE)
    assert_close(J @ x[:8], rate, SOLVE)
    assert np.count_nonzero(x[8:]) == 3
    assert_close(solve_saddle(A, f, 8), np.linalg.solve(A, f), SOLVE)


def test_single_precision_stays_single() -> None:
    A, b = sparse_definite(6, 8).astype(np.float32), np.ones(6, np.float32)
    for x in (factor(A).solve(b), solve_semidefinite(A, b), gram(A, b), solve(A, b)):
        assert x.dtype == np.float32
    assert_close(factor(A).solve(b), np.linalg.solve(A.astype(float), b), 1e3 * EPS32)
    assert factor(np.array([[2, 1], [1, 2]])).solve(np.array([3, 3])).tolist() == [1.0, 1.0]


def test_a_pivot_of_zero_gives_infinity() -> None:
    assert np.isinf(factor(np.array([[0.0]])).r[0])


@pytest.mark.parametrize("redundant", [False, True])
def test_gradients_against_differences(redundant: bool) -> None:
    """The slopes of wᵀ A(s)⁻¹ b in s, A(s) = J(s) J(s)ᵀ, also where a row says what others say."""
    rng = np.random.default_rng(13)
    J0, J1, b, w = rng.normal(size=(4, 6)), rng.normal(size=(4, 6)), rng.normal(size=4), rng.normal(size=4)
    if redundant:
        J0[3], J1[3], b[3] = J0[0] + J0[2], J1[0] + J1[2], b[0] + b[2]

    def value(s):
        J = J0 + s * J1
        return w @ solve_semidefinite(J @ J.T, b)

    def slope(s: np.ndarray) -> dict:
        return {"y": vjp([value(s[0])], np.array([1.0]), s)}

    (exact,) = run(trace(slope, {"s": 1}), {"s": np.array([0.3])})["y"]
    h = 1e-6
    assert exact == pytest.approx((value(0.3 + h) - value(0.3 - h)) / (2 * h), rel=INTEGRATED)


def test_rows_that_repeat_others_share_the_force() -> None:
    """The least solution in the metric of the diagonal, also where an empty row stands among them."""
    rng = np.random.default_rng(3)
    J = np.vstack([rng.normal(size=(4, 6)), np.zeros(6)])
    J[3] = 2.0 * J[0] - J[1]
    A, x = J @ J.T, rng.normal(size=5)
    D = np.sqrt(np.diag(A)) + (np.diag(A) == 0.0)
    least = np.linalg.pinv(A / np.outer(D, D), rcond=1e-10) @ (A @ x / D) / D
    assert_close(SharingFactor(A).solve(A @ x), least, ITERATED)
    columns = SharingFactor(A).solve(np.stack([A @ x, -A @ x], axis=1))
    assert_close(columns[:, 1], -least, ITERATED)


@pytest.mark.parametrize("off", [0.0, 1e-8, 1e-6, 1e-5])
def test_a_row_that_nearly_repeats_others_asks_for_nothing_new(off: float) -> None:
    """Solutions stay near those at `off` = 0, where two rows say the same, whatever they miss by."""
    rng = np.random.default_rng(4)
    J, d = rng.normal(size=(3, 5)), rng.normal(size=5)
    J[2] = J[0] + J[1]
    b = np.array([1.0, -2.0, -1.0])
    exact = np.linalg.pinv(J) @ b
    bent = J + off * np.outer([0.0, 0.0, 1.0], d)
    a = bent.T @ SharingFactor(bent @ bent.T).solve(b + off * np.array([0.0, 0.0, 1.0]))
    assert_close(a, exact, ITERATED + 10.0 * off)
