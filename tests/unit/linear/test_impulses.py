"""Impulses of rows that push, slide and release: their laws, on random problems with and without redundant rows."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.backends.interpreter import run
from dalembert.graph import trace, vjp
from dalembert.linear import ANY, DenseResponse, Law, SparseResponse, factor, row_impulses
from tolerances import COMPUTED, INTEGRATED, SOLVE, SOLVE32


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, list[Law]]:
    """G, c and laws: stops and friction on a few freedoms, often more rows than freedoms, some of them twice."""
    J, c, laws = rows_of(seed)
    return J @ J.T, c, laws


def rows_of(seed: int) -> tuple[np.ndarray, np.ndarray, list[Law]]:
    """The same as rows J of a system with unit inertia."""
    rng = np.random.default_rng(seed)
    rows, freedoms = rng.integers(1, 9), rng.integers(1, 10)
    J = rng.normal(size=(rows, freedoms)) * np.exp(rng.normal(size=(rows, 1)))
    if rows > 1 and seed % 5 == 0:
        J[1] = J[0]
    laws = []
    for _ in range(rows):
        low, high = -rng.exponential(), rng.exponential()
        kinds = [Law(0.0, 0.0, rng.exponential()), Law(low, high), Law(low, ANY), Law(0.0, ANY), Law(-ANY, high)]
        laws.append(kinds[rng.choice(5, p=[0.4, 0.15, 0.15, 0.15, 0.15])])
    return J, 3.0 * J @ rng.normal(size=freedoms), laws


def broken(law: Law, p: float, u: float, g: float, near: float) -> str:
    """Which part of its law a row does not obey."""
    if abs(p) > law.most * (1.0 + near) + near / g:
        return "too large"
    if law.low == law.high:
        if abs(u) > near and p * u > -abs(u) * (law.most - near / g):
            return "slides with less than the largest impulse, or along it"
        return ""
    if u < law.low - near or u > law.high + near:
        return "beyond an end"
    if (p > near / g and u > law.low + near) or (p < -near / g and u < law.high - near):
        return "pushes away from its end"
    return ""


def test_every_row_obeys_its_law() -> None:
    for seed in range(600):
        G, c, laws = problem(seed)
        impulses = row_impulses(DenseResponse(G, c), laws)
        u, near = G @ impulses.p + c, SOLVE * np.abs(c).max()
        for k, law in enumerate(laws):
            assert not broken(law, impulses.p[k], u[k], G[k, k], near), (seed, k)
        assert impulses.error <= near and impulses.passes < 50


def test_velocities_do_not_depend_on_the_order_of_rows() -> None:
    for seed in range(60):
        G, c, laws = problem(seed)
        order = np.random.default_rng(seed).permutation(len(c))
        u = G @ row_impulses(DenseResponse(G, c), laws).p
        turned = DenseResponse(G[np.ix_(order, order)], c[order])
        other = turned.G @ row_impulses(turned, [laws[k] for k in order]).p
        np.testing.assert_allclose(other, u[order], atol=1e2 * SOLVE * np.abs(c).max())


def test_rows_of_a_sparse_inertia_are_those_of_their_matrix() -> None:
    """Also where rows say the same; the inertia of a tree: an arrow."""
    for seed in range(100):
        J, c, laws = rows_of(seed)
        m = J.shape[1]
        M = np.diag(1.0 + np.arange(m))
        M[-1, :-1] = M[:-1, -1] = 0.1
        mass = factor(M)
        G = J @ np.linalg.solve(M, J.T)
        sparse = row_impulses(SparseResponse(M, mass, J, c, np.diag(G)), laws)
        expected = G @ row_impulses(DenseResponse(G, c), laws).p
        np.testing.assert_allclose(G @ sparse.p, expected, atol=1e2 * SOLVE * np.abs(c).max())


def test_no_rows_and_one_row() -> None:
    assert row_impulses(DenseResponse(np.zeros((0, 0)), np.zeros(0)), []).p.shape == (0,)
    G = np.array([[2.0]])
    for law, c, p in (
        (Law(0.0, ANY), -3.0, 1.5),
        (Law(0.0, ANY), 3.0, 0.0),
        (Law(-1.0, 1.0), 3.0, -1.0),
        (Law(0.0, 0.0, 0.4), 3.0, -0.4),
        (Law(0.0, 0.0, 0.4), -0.5, 0.25),
        (Law(0.0, 0.0, 0.0), -0.5, 0.0),
    ):
        assert row_impulses(DenseResponse(G, np.array([c])), [law]).p[0] == pytest.approx(p)
    assert (
        row_impulses(DenseResponse(np.zeros((1, 1)), np.ones(1)), [Law(0.0, 0.0, 1.0)]).passes < 5
    )  # a row that moves nothing


def test_traced_lanes_are_those_of_single_problems() -> None:
    """Bit for bit, however many passes the neighbours take; and in single precision near them."""
    _, _, laws = problem(3)
    rng, n = np.random.default_rng(0), len(laws)
    J = rng.normal(size=(n, n + 2))
    G = J @ J.T

    def compute(c: np.ndarray) -> dict:
        impulses = row_impulses(DenseResponse(G, c), laws)
        return {"p": impulses.p, "passes": [impulses.passes]}

    function, c = trace(compute, {"c": n}), 3.0 * rng.normal(size=(40, n))
    together = run(function, {"c": c})
    assert np.ptp(together["passes"]) >= 2
    for k in range(40):
        np.testing.assert_array_equal(run(function, {"c": c[k]})["p"], together["p"][k])
        np.testing.assert_allclose(row_impulses(DenseResponse(G, c[k]), laws).p, together["p"][k], atol=COMPUTED)
    single = run(function, {"c": c}, dtype=np.float32)["p"]
    np.testing.assert_allclose(single, together["p"], atol=SOLVE32 * np.abs(together["p"]).max())


def test_slopes_against_differences() -> None:
    rng = np.random.default_rng(5)
    n, J = 5, rng.normal(size=(5, 7))
    G, laws = J @ J.T, [Law(0.0, 0.0, 0.3), Law(0.0, 0.0, 5.0), Law(-0.1, ANY), Law(-1.0, 0.4), Law(0.0, 0.0, 0.1)]
    w = rng.normal(size=n)

    def slopes(c: np.ndarray) -> dict:
        return {"y": vjp([w @ row_impulses(DenseResponse(G, c), laws).p], np.array([1.0]), c)}

    function = trace(slopes, {"c": n})
    for _ in range(10):
        c = 2.0 * rng.normal(size=n)
        nudges = 1e-6 * np.eye(n)
        ends = [[w @ row_impulses(DenseResponse(G, c + s * d), laws).p for s in (1.0, -1.0)] for d in nudges]
        expected = [(plus - minus) / 2e-6 for plus, minus in ends]
        np.testing.assert_allclose(run(function, {"c": c})["y"], expected, atol=INTEGRATED)
