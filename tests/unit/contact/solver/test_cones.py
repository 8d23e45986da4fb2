"""Contacts with Coulomb friction: Signorini, complementarity, cone and maximal dissipation on random problems."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import trace, vjp
from dalembert.contact.solver import ANY, Carrier, ConstraintImpulses, Law, constraint_impulses, contact_error
from dalembert.contact.solver.cones import contact_block, contact_impulse, contact_impulse_and_error
from dalembert.contact.solver.iteration import FINE, SWEEPS
from dalembert.linear import factor
from dalembert.spatial import so3
from tolerances import CONVERGED, INTEGRATED, SINGLE, SOLVER_DEFAULT

NEAR = 1e-7  # velocity relative to those at work: what 1e-9 as the last change of a sweep leaves


def contact_impulses(J, c, mu, laws=(), start=None, tolerance=1e-9, finer=None) -> ConstraintImpulses:
    """Of rows on a system with unit inertia; the tolerance relative to the velocities at work."""
    largest = max([abs(x) for x in c if not hasattr(x, "__traced__")], default=1.0) if len(c) else 1.0
    M = np.eye(J.shape[1])
    return constraint_impulses(Carrier.bodies(M, factor(M), J), c, mu, laws, start, tolerance * largest, finer=finer)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Law]]:
    rng = np.random.default_rng(seed)
    contacts, rows = int(rng.integers(1, 5)), int(rng.integers(0, 3))
    size = 3 * contacts + rows
    J = rng.normal(size=(size, size + rng.integers(0, 6)))
    laws = [Law(0.0, 0.0, rng.exponential()) if rng.random() < 0.5 else Law(0.0, ANY) for _ in range(rows)]
    return J, 2.0 * rng.normal(size=size), rng.uniform(0.0, 1.2, contacts), laws


def test_laws_of_contact_on_random_problems() -> None:
    kinds = {"open": 0, "sticks": 0, "slips": 0}
    for seed in range(150):
        J, c, mu, laws = problem(seed)
        impulses, G = contact_impulses(J, c, mu, laws), J @ J.T
        p, u, near = impulses.p, G @ impulses.p + c, NEAR * np.abs(c).max()
        for i, friction in enumerate(mu):
            p_n, p_t, u_n, u_t = p[3 * i], p[3 * i + 1 : 3 * i + 3], u[3 * i], u[3 * i + 1 : 3 * i + 3]
            g = np.diag(G)[3 * i : 3 * i + 3].max()
            assert p_n >= 0.0 and u_n >= -near and min(g * p_n, u_n) <= near, seed  # Signorini
            assert g * (np.linalg.norm(p_t) - friction * p_n) <= near, seed  # in the cone
            power = p_t @ u_t + friction * p_n * np.linalg.norm(u_t)  # 0 if friction takes all the power it can
            assert g * abs(power) <= near * (1.0 + g * p_n + np.linalg.norm(u_t)), seed
            kinds["open" if p_n == 0.0 else "slips" if impulses.slip[i] > 0.0 else "sticks"] += 1
        for i, law in enumerate(laws, 3 * len(mu)):
            assert abs(p[i]) <= law.most and (law.high == 0.0 or u[i] >= -near)
        assert contact_error(G, c, mu, p) <= near
    assert min(kinds.values()) > 20


def test_without_friction_it_is_a_problem_of_rows() -> None:
    for seed in range(8):
        J, c, mu, _ = problem(seed)
        size = 3 * len(mu)
        p = contact_impulses(J[:size], c[:size], 0.0 * mu, tolerance=1e-12).p
        normals = np.arange(0, size, 3)
        expected = contact_impulses(J[normals], c[normals], (), [Law(0.0, ANY)] * len(mu), tolerance=1e-12).p
        np.testing.assert_allclose(p[normals], expected, atol=SOLVER_DEFAULT)
        assert not p[1::3].any() and not p[2::3].any()


def test_a_start_at_the_solution_is_confirmed_at_once() -> None:
    J, c, mu, laws = problem(8)
    cold = contact_impulses(J, c, mu, laws, tolerance=1e-13)
    warm = contact_impulses(J, c, mu, laws, (cold.p, cold.slip), tolerance=1e-9)
    assert warm.passes == 1 and cold.passes > 3
    assert contact_impulses(np.zeros((0, 1)), np.zeros(0), ()).passes == 0


def test_a_finer_change_takes_a_few_passes_at_most() -> None:
    """Eight points under a plate that comes to rest share its weight in many ways: passes could go on for long."""
    spent = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        points = np.append(rng.uniform(-1.0, 1.0, (8, 2)), np.zeros((8, 1)), axis=1)
        J = np.concatenate([np.hstack([np.eye(3), -so3.skew(r)])[[2, 0, 1]] for r in points])
        c, mu = J @ np.array([0.03, 0.01, -1.0, 0.02, 0.01, 0.04]), [0.6] * 8
        known = contact_impulses(J, c, mu, tolerance=SOLVER_DEFAULT)
        start = known.p, known.slip
        finer = contact_impulses(J, c, mu, (), start, tolerance=SOLVER_DEFAULT, finer=0.0)
        assert finer.settled and finer.change <= SOLVER_DEFAULT * np.abs(c).max()
        spent.append(finer.passes)
    assert max(spent) <= SWEEPS + FINE + 1


def test_a_light_part_steeper_than_the_cone() -> None:
    """The normal of the block leans more than the cone is wide: dividing by the normal along the cone would fail."""
    G = np.array([[1.0, 3.0, 0.0], [3.0, 10.0, 0.0], [0.0, 0.0, 1.0]])
    for c in (np.array([-1.0, 2.0, 0.3]), np.array([-1.0, -8.0, 0.0]), np.array([0.5, -4.0, 0.1])):
        impulses = contact_impulses(np.linalg.cholesky(G), c, [0.6])
        assert np.isfinite(impulses.p).all() and contact_error(G, c, [0.6], impulses.p) < NEAR * np.abs(c).max()


def box(slope: float, mass: float = 1.0, side: float = 0.2, h: float = 2e-3) -> tuple[np.ndarray, np.ndarray]:
    """J for unit inertia and c of a box at rest on a slope on its four corners, over a step h: 12 rows, 6 freedoms."""
    rows = []
    for x in (-0.5, 0.5):
        for y in (-0.5, 0.5):
            r = side * np.array([x, y, -0.5])
            for axis in np.eye(3)[[2, 0, 1]]:
                rows.append(np.concatenate([np.cross(r, axis), axis]))
    J, inertia = np.array(rows), mass * side**2 / 6.0
    inverse = 1.0 / np.array([inertia] * 3 + [mass] * 3)
    weight = 9.81 * np.array([0, 0, 0, np.sin(slope), 0, -np.cos(slope)])
    return J * np.sqrt(inverse), J @ (h * weight)


@pytest.mark.parametrize(("share", "sticks"), [(0.95, True), (1.2, False)])
def test_a_box_on_a_slope_sticks_or_slides(share: float, sticks: bool) -> None:
    mu = 0.6
    slope = float(np.arctan(share * mu))
    J, c = box(slope)
    impulses = contact_impulses(J, c, [mu] * 4, tolerance=1e-12)
    u = (J @ (J.T @ impulses.p) + c)[1::3]
    expected = 0.0 if sticks else 2e-3 * 9.81 * (np.sin(slope) - mu * np.cos(slope))
    np.testing.assert_allclose(u, expected, atol=CONVERGED)


def test_traced_lanes_are_those_of_single_problems() -> None:
    J, _, mu, laws = problem(3)
    rng, size = np.random.default_rng(0), len(J)

    def compute(c: np.ndarray) -> dict:
        impulses = contact_impulses(J, c, mu, laws)
        return {"p": impulses.p, "passes": [impulses.passes]}

    function, c = trace(compute, {"c": size}), 2.0 * rng.normal(size=(24, size))
    together = run(function, {"c": c})
    assert np.ptp(together["passes"]) >= 3
    for k in range(24):
        np.testing.assert_array_equal(run(function, {"c": c[k]})["p"], together["p"][k])
    single = run(function, {"c": c}, dtype=np.float32)["p"]
    np.testing.assert_allclose(single, together["p"], atol=10 * SINGLE * np.abs(together["p"]).max())


def test_slopes_against_differences() -> None:
    """One contact slips, one sticks, one is open."""
    rng = np.random.default_rng(1)
    J = 0.3 * rng.normal(size=(9, 12)) + np.eye(9, 12)
    mu, w = [0.3, 0.9, 0.5], rng.normal(size=9)
    c = np.array([-2.0, 6.0, 1.0, -2.0, 0.1, 0.1, 3.0, 0.3, -0.4])

    def value(c: np.ndarray) -> float:
        return w @ contact_impulses(J, c, mu, tolerance=1e-13).p

    p = contact_impulses(J, c, mu).p
    assert p[6] == 0.0 and contact_impulses(J, c, mu).slip[0] > 0.0 and p[3] > 0.0
    function = trace(lambda c: {"y": vjp([value(c)], np.array([1.0]), c)}, {"c": 9})
    expected = [(value(c + d) - value(c - d)) / 2e-6 for d in 1e-6 * np.eye(9)]
    np.testing.assert_allclose(run(function, {"c": c})["y"], expected, atol=INTEGRATED)


def test_a_contact_that_hardly_pushes_misses_its_law_by_no_more_than_it_slides() -> None:
    """Its friction is next to nothing, so that the slip, velocity per impulse, is beyond all sizes."""
    block = contact_block(np.eye(3))
    for b in ([-1e-12, 1e-9, 0.0], [-1e-25, 1e-9, 1e-9], [-1e-30, 0.0, 0.0], [-1e-16, 2.0, 0.0]):
        for slip in (1e15, 1e17, 1e25):
            for law in (contact_impulse, contact_impulse_and_error):
                assert law(block, 0.6, np.array(b), slip)[2] <= SOLVER_DEFAULT
