"""Velocities of coordinates that stick and slide, against Coulomb's law."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.contact.solver import DryFriction, with_dry_friction
from tolerances import COMPUTED, ITERATED


def problem(rng, n: int, spread: float):
    """An inertia (n, n) whose eigenvalues span `spread`, a momentum, and velocities before."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    M = Q @ np.diag(np.geomspace(1.0, spread, n)) @ Q.T
    return 0.5 * (M + M.T), rng.normal(size=n), rng.normal(size=n)


def check_law(M, g, v, frictions) -> None:
    p, scale = M @ v - g, np.abs(g).max()
    for k in range(len(g)):
        if k not in frictions:
            assert abs(p[k]) <= ITERATED * scale
            continue
        most, u = frictions[k].most, v[k] - frictions[k].surface
        assert abs(p[k]) <= most + ITERATED * scale
        if u != 0.0:
            assert p[k] == pytest.approx(-np.sign(u) * most, abs=ITERATED * scale)


@pytest.mark.parametrize("spread", [1.0, 1e2, 1e4])
def test_random_systems(spread):
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(1, 9))
        M, g, before = problem(rng, n, spread)
        places = [k for k in range(n) if k == 0 or rng.random() < 0.8]
        surfaces = rng.choice([0.0, 0.0, 0.3, -1.0], n)
        frictions = {k: DryFriction(rng.choice([0.0, 0.3, 1.0, 5.0]), surfaces[k]) for k in places}
        before[rng.random(n) < 0.5] = 0.0
        check_law(M, g, with_dry_friction(M, g, before, frictions), frictions)


def test_the_start_makes_no_difference():
    rng = np.random.default_rng(1)
    M, g, _ = problem(rng, 6, 1e3)
    frictions = {k: DryFriction(0.4) for k in range(6)}
    ends = [with_dry_friction(M, g, start, frictions) for start in (np.zeros(6), np.ones(6), -np.ones(6), g)]
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=COMPUTED)


def test_what_sticks_does_not_move_at_all():
    rng = np.random.default_rng(2)
    M, g, before = problem(rng, 5, 1e3)
    v = with_dry_friction(M, g, before, {k: DryFriction(1e6, 0.25 * k) for k in range(4)})
    assert v[:4].tolist() == [0.0, 0.25, 0.5, 0.75]
    assert v[4] == pytest.approx((g[4] - M[4, :4] @ v[:4]) / M[4, 4], rel=COMPUTED)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("before", [0.0, 1.0, -1.0])
def test_on_the_edge_between_sticking_and_sliding(unit, before):
    """The force is just what friction can hold, in any unit: it ends, and nothing moves."""
    M, g = unit * np.array([[2.0, 0.1], [0.1, 3.0]]), unit * np.array([0.7, -0.3])
    frictions = {0: DryFriction(0.7 * unit), 1: DryFriction(0.3 * unit)}
    v = with_dry_friction(M, g, np.full(2, before), frictions)
    assert np.abs(v).max() <= ITERATED


def test_nothing_to_do():
    frictions = {0: DryFriction(0.0), 1: DryFriction(1.0)}
    assert with_dry_friction(np.eye(2), np.zeros(2), np.zeros(2), frictions).tolist() == [0.0, 0.0]


def test_numbers_that_are_no_numbers_end_at_once():
    v = with_dry_friction(np.eye(2), np.array([np.nan, 1.0]), np.zeros(2), {0: DryFriction(1.0)})
    assert np.isnan(v[0])
