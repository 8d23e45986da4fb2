"""The compiled recursion of linear-quadratic problems against one dense system, on random data."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.execute.stages import Direction
from dalembert.linear.stages import StageLayout
from tolerances import OPTIMAL, assert_close

RICCATI = 1e-9  # of random stages with condition numbers of some 1e4


def dense_solution(
    H: np.ndarray,
    g: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    c: np.ndarray,
    V: np.ndarray,
    gV: np.ndarray,
    first: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """x (N + 1, n) and u (N, m) by one dense system of all optimality conditions; first: x of stage 0.

    H (N, n + m, n + m), g (N, n + m), A (N, n, n), B (N, n, m), c (N, n), V (n, n), gV (n,).
    """
    N, n, m = B.shape
    size = N * (n + m) + n
    K = np.zeros((size + (N + 1) * n,) * 2)
    b = np.zeros(len(K))
    at = [k * (n + m) for k in range(N + 1)]
    for k in range(N):
        z = slice(at[k], at[k] + n + m)
        K[z, z], b[z] = H[k], -g[k]
    K[at[N] : size, at[N] : size], b[at[N] : size] = V, -gV
    for k in range(N + 1):
        rows = slice(size + k * n, size + (k + 1) * n)
        K[rows, at[k] : at[k] + n] = -np.eye(n)
        if k:
            K[rows, at[k - 1] : at[k]] = np.hstack([A[k - 1], B[k - 1]])
        b[rows] = -np.asarray(first) if k == 0 else -c[k - 1]
    K[:size, size:] = K[size:, :size].T
    solution = np.linalg.solve(K, b)[:size]
    stages = solution[: at[N]].reshape(N, n + m)
    return np.vstack([stages[:, :n], solution[at[N] :]]), stages[:, n:]


def random_problem(rng, N, n, m):
    roots = rng.standard_normal((N, n + m, n + m))
    H = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(n + m)
    g, c = rng.standard_normal((N, n + m)), rng.standard_normal((N, n))
    A, B = np.eye(n) + 0.1 * rng.standard_normal((N, n, n)), rng.standard_normal((N, n, m))
    V = rng.standard_normal((n, n))
    return H, g, A, B, c, V @ V.T, rng.standard_normal(n)


def solved(layout, H, g, A, B, c, V, gV, first, step=0.1, chain=None):
    direction = Direction(layout, len(H), step, 1)
    for k in range(len(H)):
        direction.quadratic[k] = layout.quadratic(H[k], g[k])
        if layout.is_chained:
            n = layout.freedoms
            positions = tuple(x[k] for x in chain)
            direction.transition[k] = layout.chained_transition(A[k, n:], B[k, n:], c[k, n:], positions)
        elif len(layout.parts) == 1:
            direction.transition[k] = layout.transition(A[k], B[k], c[k])
    direction.end[:] = layout.end(V, gV)
    direction.first[:] = layout.state_row(first)
    direction.states[:], direction.controls[:], direction.gains[:] = np.nan, np.nan, np.nan
    gain, least = direction(0.0)
    columns = list(layout.columns)
    return direction.states[:, columns], direction.controls[:-1, : layout.controls], direction, gain, least


@pytest.mark.parametrize("n, m", [(1, 1), (2, 1), (7, 3), (8, 8), (14, 7), (16, 9), (36, 12)])
def test_general_stages_solve_the_dense_system(n, m):
    rng = np.random.default_rng(n)
    problem, first = random_problem(rng, 5, n, m), rng.standard_normal(n)
    x, u, _, _, least = solved(StageLayout((n,), m), *problem, first)
    expected_x, expected_u = dense_solution(*problem, first)
    assert_close(x, expected_x, RICCATI)
    assert_close(u, expected_u, RICCATI)
    assert least > 0.0


@pytest.mark.parametrize("n", [1, 2, 6, 7, 8, 9, 17])
def test_double_integrator_stages_solve_the_dense_system(n):
    rng, h, N = np.random.default_rng(n), 0.1, 6
    H, g, _, _, _, V, gV = random_problem(rng, N, 2 * n, n)
    one, zero = np.eye(n), np.zeros((n, n))
    A = np.broadcast_to(np.block([[one, h * one], [zero, one]]), (N, 2 * n, 2 * n))
    B = np.broadcast_to(np.vstack([h * h * one, h * one]), (N, 2 * n, n))
    problem, first = (H, g, A, B, np.zeros((N, 2 * n)), V, gV), rng.standard_normal(2 * n)
    x, u, *_ = solved(StageLayout((n, n), n), *problem, first, h)
    expected_x, expected_u = dense_solution(*problem, first)
    assert_close(x, expected_x, RICCATI)
    assert_close(u, expected_u, RICCATI)


@pytest.mark.parametrize(
    "n, m, curved",
    [
        (1, 1, ()),
        (3, 2, (1, 2)),
        (6, 4, (0, 1, 2, 3, 4, 5)),
        (9, 2, (8,)),
        pytest.param(18, 12, range(6), marks=pytest.mark.long),
    ],
)
def test_chained_stages_solve_the_dense_system(n, m, curved):
    rng, N, curved = np.random.default_rng(n), 5, tuple(curved)
    H, g, A, B, c, V, gV = random_problem(rng, N, 2 * n, m)
    D, E, offsets = np.zeros((N, n, n)), np.zeros((N, n, n)), rng.standard_normal((N, n))
    for k in range(N):
        D[k], E[k] = np.eye(n), rng.uniform(0.0, 0.2) * np.eye(n)
        block = np.ix_(curved, curved)
        D[k][block] += 0.2 * rng.standard_normal((len(curved),) * 2)
        E[k][block] += 0.1 * rng.standard_normal((len(curved),) * 2)
        A[k, :n], B[k, :n], c[k, :n] = E[k] @ A[k, n:], E[k] @ B[k, n:], E[k] @ c[k, n:] + offsets[k]
        A[k, :n, :n] += D[k]
    problem, first = (H, g, A, B, c, V, gV), rng.standard_normal(2 * n)
    x, u, *_ = solved(StageLayout((2 * n,), m, curved), *problem, first, chain=(D, E, offsets))
    expected_x, expected_u = dense_solution(*problem, first)
    assert_close(x, expected_x, RICCATI)
    assert_close(u, expected_u, RICCATI)


def test_gains_are_the_slope_of_the_control_in_the_first_state():
    rng = np.random.default_rng(3)
    problem, layout, first = random_problem(rng, 4, 5, 2), StageLayout((5,), 2), rng.standard_normal(5)
    _, u, direction, *_ = solved(layout, *problem, first)
    gains = direction.gains[0][:, list(layout.columns)].copy()
    change = rng.standard_normal(5)
    _, moved, *_ = solved(layout, *problem, first + change)
    assert_close(moved[0] - u[0], gains @ change, RICCATI)


def test_the_promised_decrease_is_that_of_the_model():
    rng = np.random.default_rng(4)
    H, g, A, B, c, V, gV = random_problem(rng, 4, 5, 2)
    x, u, _, gain, _ = solved(StageLayout((5,), 2), H, g, A, B, 0.0 * c, V, gV, np.zeros(5))
    z = np.hstack([x[:-1], u])
    model = 0.5 * np.einsum("ki,kij,kj", z, H, z) + np.vdot(g, z) + 0.5 * x[-1] @ V @ x[-1] + gV @ x[-1]
    assert_close(model, -0.5 * gain, RICCATI)


def test_a_pivot_below_zero_is_seen():
    rng = np.random.default_rng(5)
    H, *others = random_problem(rng, 3, 4, 2)
    H[1, 4:, 4:] -= 1e3 * np.eye(2)
    *_, least = solved(StageLayout((4,), 2), H, *others, np.zeros(4))
    assert least < 0.0


def test_large_weights_do_not_lose_symmetry():
    """Sixty unstable stages with a weight of 1e6 at the end."""
    rng, n, m, N = np.random.default_rng(6), 12, 4, 60
    H = np.broadcast_to(np.diag([1e-3] * n + [1e-3] * m), (N, n + m, n + m)).copy()
    A = np.broadcast_to(np.linalg.qr(rng.standard_normal((n, n)))[0] * 1.3, (N, n, n))
    B = 0.1 * rng.standard_normal((N, n, m))
    problem = H, rng.standard_normal((N, n + m)), A, B, np.zeros((N, n)), 1e6 * np.eye(n), np.zeros(n)
    x, _, _, _, least = solved(StageLayout((n,), m), *problem, np.ones(n))
    assert least > 0.0
    expected, _ = dense_solution(*problem, np.ones(n))
    assert_close(x, expected, OPTIMAL)
