"""Impulses of rows that push, slide and release: their laws, on random problems with and without redundant rows."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import trace, vjp
from dalembert.contact.solver import ANY, Carrier, ConstraintImpulses, Law, constraint_impulses
from dalembert.linear import factor
from tolerances import COMPUTED, INTEGRATED, SOLVE, SOLVE32


def row_impulses(J: np.ndarray, c: np.ndarray, laws: list[Law]) -> ConstraintImpulses:
    """Of rows on a system with unit inertia."""
    M = np.eye(J.shape[1])
    return constraint_impulses(Carrier.bodies(M, factor(M), J), c, (), laws)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, list[Law]]:
    """Rows J (n, m) on m freedoms, c and laws: stops and friction, often more rows than freedoms, some twice."""
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
    passes = []
    for seed in range(600):
        J, c, laws = problem(seed)
        impulses, G = row_impulses(J, c, laws), J @ J.T
        u, near = G @ impulses.p + c, SOLVE * np.abs(c).max()
        for k, law in enumerate(laws):
            assert not broken(law, impulses.p[k], u[k], G[k, k], near), (seed, k)
        assert impulses.settled and impulses.change <= near, seed
        passes.append(impulses.passes)
    assert np.mean(passes) < 7.0  # two like rows that say the opposite take up to 50


def test_velocities_do_not_depend_on_the_order_of_rows() -> None:
    for seed in range(60):
        J, c, laws = problem(seed)
        order = np.random.default_rng(seed).permutation(len(c))
        u = J @ (J.T @ row_impulses(J, c, laws).p)
        turned = J[order]
        other = turned @ (turned.T @ row_impulses(turned, c[order], [laws[k] for k in order]).p)
        np.testing.assert_allclose(other, u[order], atol=1e2 * SOLVE * np.abs(c).max())


def test_the_inertia_may_be_in_any_coordinates() -> None:
    """Also where rows say the same; the inertia of a tree, an arrow, and the coordinates in which it is 1."""
    for seed in range(100):
        J, c, laws = problem(seed)
        m = J.shape[1]
        M = np.diag(1.0 + np.arange(m))
        M[-1, :-1] = M[:-1, -1] = 0.1
        mass = factor(M)
        G = J @ np.linalg.solve(M, J.T)
        bodies = Carrier.bodies(M, mass, J)
        np.testing.assert_allclose(bodies.X.T @ bodies.Y, G, atol=SOLVE * np.abs(G).max())
        p, reduced = (constraint_impulses(x, c, (), laws).p for x in (bodies, Carrier.reduced(bodies.Y, mass.r)))
        np.testing.assert_allclose(G @ p, G @ reduced, atol=1e2 * SOLVE * np.abs(c).max())


def test_no_rows_and_one_row() -> None:
    assert row_impulses(np.zeros((0, 2)), np.zeros(0), []).p.shape == (0,)
    J = np.array([[1.0, 1.0]])
    for law, c, p in (
        (Law(0.0, ANY), -3.0, 1.5),
        (Law(0.0, ANY), 3.0, 0.0),
        (Law(-1.0, 1.0), 3.0, -1.0),
        (Law(0.0, 0.0, 0.4), 3.0, -0.4),
        (Law(0.0, 0.0, 0.4), -0.5, 0.25),
        (Law(0.0, 0.0, 0.0), -0.5, 0.0),
    ):
        assert row_impulses(J, np.array([c]), [law]).p[0] == pytest.approx(p)
    assert row_impulses(np.zeros((1, 1)), np.ones(1), [Law(0.0, 0.0, 1.0)]).passes < 5  # a row that moves nothing


def test_traced_lanes_are_those_of_single_problems() -> None:
    """Bit for bit, however many passes the neighbours take; and in single precision near them."""
    _, _, laws = problem(3)
    rng, n = np.random.default_rng(0), len(laws)
    J = rng.normal(size=(n, n + 2))

    def compute(c: np.ndarray) -> dict:
        impulses = row_impulses(J, c, laws)
        return {"p": impulses.p, "passes": [impulses.passes]}

    function, c = trace(compute, {"c": n}), 3.0 * rng.normal(size=(40, n))
    together = run(function, {"c": c})
    assert np.ptp(together["passes"]) >= 2
    for k in range(40):
        np.testing.assert_array_equal(run(function, {"c": c[k]})["p"], together["p"][k])
        np.testing.assert_allclose(row_impulses(J, c[k], laws).p, together["p"][k], atol=COMPUTED)
    single = run(function, {"c": c}, dtype=np.float32)["p"]
    np.testing.assert_allclose(single, together["p"], atol=SOLVE32 * np.abs(together["p"]).max())


def test_slopes_against_differences() -> None:
    rng = np.random.default_rng(5)
    n, J = 5, rng.normal(size=(5, 7))
    laws = [Law(0.0, 0.0, 0.3), Law(0.0, 0.0, 5.0), Law(-0.1, ANY), Law(-1.0, 0.4), Law(0.0, 0.0, 0.1)]
    w = rng.normal(size=n)

    def slopes(c: np.ndarray) -> dict:
        return {"y": vjp([w @ row_impulses(J, c, laws).p], np.array([1.0]), c)}

    function = trace(slopes, {"c": n})
    for _ in range(10):
        c = 2.0 * rng.normal(size=n)
        nudges = 1e-6 * np.eye(n)
        ends = [[w @ row_impulses(J, c + s * d, laws).p for s in (1.0, -1.0)] for d in nudges]
        expected = [(plus - minus) / 2e-6 for plus, minus in ends]
        np.testing.assert_allclose(run(function, {"c": c})["y"], expected, atol=INTEGRATED)
