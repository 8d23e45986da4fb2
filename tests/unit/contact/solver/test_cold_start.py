"""Contacts without a step before: held where they can be, else sweeps and Newton steps."""

from __future__ import annotations

import numpy as np

from dalembert.contact.solver import Carrier, constraint_impulses, contact_error, impulses_from_rest
from dalembert.contact.solver.cold_start import held_impulses, impulses_one_beside_another
from tolerances import COMPUTED, CONTACT_SOLVER, CONVERGED, ITERATED

MU = [0.7, 0.5, 0.9]


def carried(rng: np.random.Generator) -> Carrier:
    """Three contacts, each on three coordinates of its own and three that they share."""
    Y = 0.2 * rng.normal(size=(12, 9))
    Y[3:] += np.eye(9)
    return Carrier.reduced(Y, rng.uniform(0.5, 2.0, 12))


def feet(coupling: float, rng: np.random.Generator) -> Carrier:
    """The same with little that they share, and nothing beside it between coordinates of their own."""
    Y = coupling * rng.normal(size=(12, 9))
    Y[3:] = np.eye(9)
    return Carrier.reduced(Y, rng.uniform(0.5, 2.0, 12))


def velocities(push: float, slide: float, rng: np.random.Generator) -> np.ndarray:
    c = slide * rng.normal(size=9)
    c[::3] = push + 0.1 * rng.normal(size=3)
    return c


def test_the_laws_are_met() -> None:
    """Feet that are held, slide, hang in the air, and some of each."""
    rng, held = np.random.default_rng(0), set()
    for push, slide in [(-1.0, 0.02), (-1.0, 2.0), (1.0, 0.5), (0.0, 0.3)]:
        for _ in range(8):
            carrier, c = carried(rng), velocities(push, slide, rng)
            solution = impulses_from_rest(carrier, c, MU, CONVERGED)
            assert contact_error(carrier.X.T @ carrier.Y, c, MU, solution.p) < ITERATED
            assert solution.settled == 1.0
            held.add((push, bool(held_impulses(carrier.X.T @ carrier.Y, c, MU).right)))
    assert held >= {(-1.0, True), (-1.0, False), (1.0, True), (0.0, False)}
    assert (1.0, False) not in held


def test_what_is_held_needs_no_pass() -> None:
    rng = np.random.default_rng(1)
    tried = [(carried(rng), velocities(-1.0, 0.0, rng)) for _ in range(20)]
    carrier, c = next((carrier, c) for carrier, c in tried if held_impulses(carrier.X.T @ carrier.Y, c, MU).right)
    solution, swept = impulses_from_rest(carrier, c, MU), constraint_impulses(carrier, c, MU, tolerance=CONVERGED)
    assert solution.passes == 0.0
    assert swept.passes > 0.0
    np.testing.assert_allclose(solution.p, swept.p, atol=ITERATED)


def test_contacts_that_slide_are_solved_for_one_beside_another() -> None:
    """Feet that share little; where they share most of their motion, sweeps and Newton steps go on."""
    rng = np.random.default_rng(4)
    for coupling, settles in ((0.05, True), (0.6, False)):
        alone = []
        for _ in range(10):
            carrier, c = feet(coupling, rng), velocities(-1.0, 1.5, rng)
            G = carrier.X.T @ carrier.Y
            held = held_impulses(G, c, MU)
            if held.right:
                continue
            beside = impulses_one_beside_another(G, c, MU, held.p.ravel(), CONVERGED)
            alone.append(bool(beside.settled))
            if beside.settled:
                assert contact_error(G, c, MU, beside.p) < ITERATED
            solution = impulses_from_rest(carrier, c, MU, CONVERGED)
            assert solution.settled
            assert contact_error(G, c, MU, solution.p) < ITERATED
        assert len(alone) > 5
        assert all(alone) if settles else not all(alone)


def test_what_is_reported_is_the_error_of_the_laws() -> None:
    """Of feet that share little: the largest component by which one is off its law, beside its length."""
    rng, reported = np.random.default_rng(5), []
    for _ in range(12):
        carrier, c = feet(0.1, rng), velocities(-1.0, 1.0, rng)
        G = carrier.X.T @ carrier.Y
        for solution in (constraint_impulses(carrier, c, MU, tolerance=CONTACT_SOLVER),
                         impulses_from_rest(carrier, c, MU, CONTACT_SOLVER)):  # fmt: skip
            assert solution.settled and solution.change <= CONTACT_SOLVER
            assert contact_error(G, c, MU, solution.p) <= 2.0 * solution.change + COMPUTED
            reported.append(solution.change)
    assert max(reported) > COMPUTED


def test_one_freedom_holds_a_contact_in_all_directions() -> None:
    """Normal and tangent move together: their block is singular, and what sticks comes to rest all the same."""
    for angle in (0.3, 0.6, 1.1):
        Y = np.array([[np.cos(angle), np.sin(angle), 0.0]])
        carrier, c = Carrier.reduced(Y, np.ones(1)), -Y[0]
        for solution in (constraint_impulses(carrier, c, [0.8], tolerance=CONTACT_SOLVER),
                         impulses_from_rest(carrier, c, [0.8], CONTACT_SOLVER)):  # fmt: skip
            assert solution.settled
            assert np.abs(c + carrier.X.T @ carrier.Y @ solution.p).max() < CONTACT_SOLVER


def test_contacts_that_say_the_same_are_left_to_sweeps() -> None:
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(12, 9))
    Y[:, 3:6] = Y[:, :3]
    carrier = Carrier.reduced(Y, np.ones(12))
    c = velocities(-1.0, 0.0, rng)
    c[3:6] = c[:3]
    assert not held_impulses(carrier.X.T @ carrier.Y, c, [0.7] * 3).right
    solution = impulses_from_rest(carrier, c, [0.7] * 3, CONVERGED)
    assert contact_error(carrier.X.T @ carrier.Y, c, [0.7] * 3, solution.p) < ITERATED


def test_an_open_contact_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    carrier, c = carried(rng), velocities(-1.0, 0.0, rng)
    c[3] = 50.0
    held = held_impulses(carrier.X.T @ carrier.Y, c, MU)
    rest = [0, 1, 2, 6, 7, 8]
    G = carrier.X.T @ carrier.Y
    np.testing.assert_allclose(held.p.ravel()[rest], -np.linalg.solve(G[np.ix_(rest, rest)], c[rest]), atol=COMPUTED)
    np.testing.assert_array_equal(held.p[1], 0.0)
