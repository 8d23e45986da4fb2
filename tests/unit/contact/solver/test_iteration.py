"""Contacts that jam, as they came up when limp robots fell to the ground: friction times W_nt is above W_nn (Painlevé).

Each contact alone may then have several solutions, and impulses go in circles. `jams.json` has, by robot, the matrix G
(lower triangle, row by row), velocities c, friction mu, laws of rows and the impulses of the step before.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalembert.contact.solver import Carrier, Law, constraint_impulses, contact_error
from dalembert.contact.solver.cones import active_set, linear_contact, missed_law
from dalembert.contact.solver.row_laws import row_impulse
from tolerances import COMPUTED, CONTACT_SOLVER

JAMS = json.loads((Path(__file__).parent / "jams.json").read_text())
CLOSE = 1e-10  # [m/s]: a tolerance far below that of steps


def matrix(stated: dict[str, Any]) -> np.ndarray:
    """G (n, n)."""
    n = len(stated["c"])
    G = np.zeros((n, n))
    G[np.tril_indices(n)] = stated["G"]
    return G + np.tril(G, -1).T


def carrier(G: np.ndarray) -> Carrier:
    """Something with unit inertia that moves like G."""
    sizes, ways = np.linalg.eigh(G)
    moved = sizes > COMPUTED * sizes.max()
    return Carrier.reduced((ways[:, moved] * np.sqrt(sizes[moved])).T, np.ones(int(moved.sum())))


def missed(G: np.ndarray, stated: dict[str, Any], p: np.ndarray) -> float:
    """The largest velocity by which contacts and rows miss their laws."""
    c, first = np.array(stated["c"]), 3 * len(stated["mu"])
    errors = [contact_error(G[:first, :first], (c + G[:, first:] @ p[first:])[:first], stated["mu"], p[:first])]
    u = c + G @ p
    for i, law in enumerate(stated["laws"], first):
        errors.append(G[i, i] * abs(row_impulse(Law(*law), G[i, i], u[i] - G[i, i] * p[i]) - p[i]))
    return max(errors)


@pytest.mark.parametrize("name", JAMS)
@pytest.mark.parametrize("tolerance", [CONTACT_SOLVER, CLOSE])
@pytest.mark.parametrize("warm", [True, False])
def test_contacts_that_jam_settle_on_their_laws(name: str, tolerance: float, warm: bool) -> None:
    stated, G = JAMS[name], matrix(JAMS[name])
    start = np.array(stated["start"]) if warm else np.zeros(len(G))
    laws = [Law(*law) for law in stated["laws"]]
    begin = start, np.zeros(len(stated["mu"]))
    impulses = constraint_impulses(carrier(G), np.array(stated["c"]), stated["mu"], laws, begin, tolerance)
    assert impulses.settled
    assert missed(G, stated, impulses.p) <= tolerance and impulses.change <= tolerance


def test_a_contact_on_its_law_stays_there_also_where_others_are_solutions_too() -> None:
    """This one may open, stick, or slip."""
    W, mu, b = np.array([[1.0, -3.0, 0.0], [-3.0, 10.0, 0.0], [0.0, 0.0, 1.0]]), 0.6, np.array([0.5, -2.0, 0.0])
    size, slips = np.diag(W), -b[0] / (W[0, 0] + mu * W[0, 1])
    sides = {0.0: np.zeros(3), 1.0: -np.linalg.solve(W, b), 2.0: slips * np.array([1.0, mu, 0.0])}
    for number, p in sides.items():
        u = W @ p + b
        assert missed_law(size, mu, p, u) <= COMPUTED
        assert active_set(size, mu, (), p, u) == number
        change, _ = linear_contact(size, mu, (), p, u, 0.01)
        np.testing.assert_allclose(change.astype(float), 0.0, atol=COMPUTED / 0.01)
