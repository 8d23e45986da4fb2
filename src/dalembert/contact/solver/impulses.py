"""Impulses of constraints that push, slide and release, and of contacts with friction: all on their laws at once.

u = c + G p: the velocities of all rows at the end of a step, with impulses p. A row has one impulse, on the law of
`row_laws`; a contact has three, on the law of `cones`, and rows of friction about its axes.

Sweeps solve for each contact and each row beside the others (block Gauss-Seidel). They end soon where little ties
the rows to each other, as with the feet of a robot, and from a start that is nearly right. They are slow with heavy
bodies on light ones, with faces that have more points than they need, with joints that stick while the feet do.

Newton's method then takes over: what is held is a stiff damper about its impulse so far, and all are solved for
together in the coordinates of the bodies, whose number does not grow with that of the contacts, or in the velocities
of the pairs of bodies that touch, where these are fewer (`Carrier.condensed`). With dampers the motion is that of the
least energy, but for friction that follows the normal impulse, and a step goes no further than to the least along it:
where many hold the same motion, they do not all let go and take hold again in turn. Once impulses and velocities
agree, the dampers go on from there, and become stiffer (proximal point method; Rockafellar 1976). Where more points
hold than can, by gaps of the size of the tolerance, their impulses would walk until one opens: it ends as soon as the
velocities that the impulses make are within the tolerance of the laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from dalembert.linear.zeros import mirrored, nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, where

from .carriers import Carrier, Rows
from .cones import Block, contact_impulse_and_error, regular
from .contacts import JointContacts
from .iteration import WELL_WITHIN, ConstraintImpulses, numbers, solved_problem
from .problem import ContactProblem
from .row_laws import Law

FEW = 5  # contacts apart from each other, without rows, for which sweeps with G take less time


def constraint_impulses(
    carrier: Carrier,
    c: np.ndarray,
    mu: Sequence[Any] = (),
    laws: Sequence[Law] = (),
    start: tuple[np.ndarray, np.ndarray] | None = None,
    tolerance: Any = 0.0,
    give: np.ndarray | None = None,
    finer: Any = None,
) -> ConstraintImpulses:
    """Impulses of k contacts with friction mu (k,) and n rows, for velocities c (3 k + n,) without impulses.

    Where a contact may close or must open, the normal in c is shifted by that. laws: of the rows. start: (p, slip) of a
    step before, near which the solution is. tolerance: the change of a pass that ends them [velocity]; changes that are
    rounding always do. give (n,): what the rows give way, velocity per impulse. finer: a smaller change, towards which
    first sweeps and a few Newton steps go on.

    Where rows say the same, they share their force in one of many ways; velocities do not depend on which.
    """
    p, slip = (np.zeros(len(c)), np.zeros(len(mu))) if start is None else start
    if not len(c):
        return ConstraintImpulses(p, slip, 0.0, 0.0, 1.0)
    return solved_problem(constraint_problem(carrier, c, mu, laws, give), (p, slip), tolerance, finer)


def constraint_problem(
    carrier: Carrier,
    c: np.ndarray,
    mu: Sequence[Any] = (),
    laws: Sequence[Law] = (),
    give: np.ndarray | None = None,
) -> ContactProblem:
    """The problem that `constraint_impulses` solves."""
    k, give = len(mu), np.zeros(len(laws)) if give is None else give
    rows = Rows(carrier.some(range(3 * k, len(c))), c[3 * k :], laws, give)
    if not k:
        return ContactProblem((), rows)
    matrices = zip("JXY", (carrier.J, carrier.X.T, carrier.Y.T), strict=True)
    columns: dict[str, np.ndarray] = {name: x[: 3 * k].reshape(k, 3, -1) for name, x in matrices}
    columns |= {"c": c[: 3 * k].reshape(k, 3), "mu": np.array(mu), "reach": np.zeros((k, 0))}
    return contact_problem(JointContacts(columns, unroll=True), rows)


def contact_problem(contacts: JointContacts, rows: Rows) -> ContactProblem:
    """The problem of contacts of joints alone, and rows."""
    few = contacts.unroll and len(contacts) <= FEW and contacts.width == 3 and not len(rows.c)
    return (FewContacts if few and _stand_apart(contacts.columns["Y"]) else ContactProblem)([contacts], rows)


def _stand_apart(Y: np.ndarray) -> bool:
    """Whether each contact is carried by something that carries no other, as the foot of a leg."""
    carriers = nonzeros(Y).any(axis=1)
    return bool((carriers & (carriers.sum(axis=0) == 1)).any(axis=1).all())


class FewContacts(ContactProblem):
    """Contacts apart from each other, so few that G takes less work than what carries them."""

    aim = WELL_WITHIN

    def __init__(self, kinds: Sequence[JointContacts], rows: Rows) -> None:
        super().__init__(kinds, rows)
        (contacts,) = kinds
        self.k, self.c, self.mu = len(contacts), contacts.c, contacts.columns["mu"]
        X, Y = (contacts.columns[name].reshape(-1, self.n) for name in "XY")
        self.G = mirrored(sparse_product(X, Y.T))
        freedoms = nonzeros(contacts.columns["Y"]).any(axis=1).sum(axis=1)
        self.each = [Block(**{name: x[i] for name, x in contacts.blocks.items()}) for i in range(self.k)]
        self.regular = [regular(block.W, int(n)) for block, n in zip(self.each, freedoms, strict=True)]

    def carried(self, p: np.ndarray) -> np.ndarray:
        """Nothing: sweeps take G."""
        return np.zeros(0)

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, and the largest velocity by which laws are missed, after each contact in turn.

        Each is on its law beside the others as they were then; what the later ones have changed since is its error.
        """
        before, p, slip, errors, left = p, p.astype(object), slip.astype(object), [], []
        places = [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(self.k)]
        c, mu = self.c, self.mu
        for i, (at, block) in enumerate(zip(places, self.each, strict=True)):
            others = [j for other in (*places[i + 1 :], *places[:i]) for j in other]  # changed last: last
            b = c[i] + sparse_product(self.G[np.ix_(at, others)], p[others])
            p[at], slip[i], error = contact_impulse_and_error(block, mu[i], b, slip[i])
            errors.append(error)
            sticks = logical_and(p[3 * i] > 0.0, slip[i] == 0.0)
            left.append(where(sticks, b + self.regular[i] @ p[at], 0.0))  # rounding, where W is nearly singular
        for i, at in enumerate(places):
            later = slice(3 * i + 3, None)
            errors += list(absolute(left[i] + sparse_product(self.G[at, later], p[later] - before[later])))
        return numbers(p), numbers(slip), w, reduce(maximum, errors)
