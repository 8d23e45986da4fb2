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
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.general import solve
from dalembert.linear.order import elimination_order
from dalembert.linear.symmetric import Factor, factor
from dalembert.linear.zeros import mirrored, nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, where

from .cones import (
    TINY,
    contact_block,
    contact_impulse,
    contact_impulse_and_error,
    missed_law,
    regular,
    slip_where_sliding,
    yielding_contact,
)
from .iteration import WELL_WITHIN, ConstraintImpulses, Problem, Yielding, at_work, numbers, solved_problem
from .row_laws import Law, moment_law, row_impulse, yielding_row

RIGID = 1e-6  # of what moves a coordinate: what moves it at least, beside others that it cannot move apart from

FAR_LESS = 1e-3  # of what its own solution would change: an error of a contact that is at another solution

FEW = 5  # contacts apart from each other, without rows, for which sweeps with G take less time


class Moment(NamedTuple):
    """The law of a row of friction about an axis of a contact: at most `lever` [m] times the normal impulse."""

    contact: int
    lever: Any


class Carrier(NamedTuple):
    """How impulses move what carries them: u = c + J x with M x = Jᵀ p, J (n, m), M (m, m).

    X, Y (m, n): with M = L diag(1/r) Lᵀ, Y = L⁻¹ Jᵀ and X = diag(r) Y, so that G = J M⁻¹ Jᵀ = Xᵀ Y.
    """

    M: np.ndarray
    J: np.ndarray
    X: np.ndarray
    Y: np.ndarray

    @classmethod
    def bodies(cls, M: np.ndarray, mass: Factor, J: np.ndarray) -> Carrier:
        """Bodies with the inertia M (m, m), factored, that rows J (n, m) hold on to."""
        Y = mass.forward(J.T)
        return cls(M, J, (Y.T * mass.r).T, Y)

    @classmethod
    def reduced(cls, Y: np.ndarray, r: np.ndarray) -> Carrier:
        """Columns Y (m, n) in coordinates with the inertia diag(1/r), from which some motions may be taken away."""
        return cls(np.diag(1.0 / r), Y.T, (Y.T * r).T, Y)

    def condensed(self, P: np.ndarray) -> Carrier:
        """Rows P (n, k) of the rows of this carrier, in the velocities of these, which are fewer than those of bodies.

        Where some of them cannot move apart from others, they nearly cannot: what is solved for is not exact there, and
        corrected by what the impulses do.
        """
        W = sparse_product(self.X.T, self.Y)
        least = TINY + sum(np.diag(W))
        inertia = factor(W + np.diag([RIGID * (x + RIGID * least) for x in np.diag(W)])).solve(np.eye(len(W)))
        return Carrier(inertia, P, sparse_product(W, P.T), P.T)

    def some(self, rows: Sequence[int]) -> Carrier:
        """The carrier of some rows alone."""
        at = list(rows)
        return Carrier(self.M, self.J[at], self.X[:, at], self.Y[:, at])


def constraint_impulses(
    carrier: Carrier,
    c: np.ndarray,
    mu: Sequence[Any] = (),
    laws: Sequence[Law | Moment] = (),
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
    return solved_problem(contact_problem(carrier, c, mu, laws, give), (p, slip), tolerance, finer)


def contact_problem(
    carrier: Carrier,
    c: np.ndarray,
    mu: Sequence[Any] = (),
    laws: Sequence[Law | Moment] = (),
    give: np.ndarray | None = None,
) -> Problem:
    """The problem that `constraint_impulses` solves."""
    few = 0 < len(mu) <= FEW and not len(laws) and _stand_apart(carrier.Y, len(mu))
    return (_FewContacts if few else _EachContact)(carrier, c, mu, laws, np.zeros(len(laws)) if give is None else give)


def _stand_apart(Y: np.ndarray, k: int) -> bool:
    """Whether each of k contacts is carried by something that carries no other, as the foot of a leg."""
    carriers = nonzeros(Y).reshape(len(Y), k, 3).any(axis=2)
    return bool((carriers & (carriers.sum(axis=1) == 1)[:, None]).any(axis=0).all())


class Rows:
    """Rows one by one, each with its own law: of velocities c, on a carrier; compliance: what they give way."""

    def __init__(self, carrier: Carrier, c: np.ndarray, laws: Sequence[Law], compliance: np.ndarray) -> None:
        self.carrier, self.c, self.laws, self.compliance = carrier, c, laws, compliance
        pairs = zip(carrier.X.T, carrier.Y.T, strict=True)
        self.sizes = np.array([sparse_product(x[None], y)[0] for x, y in pairs])

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """Velocities of all rows, with w = Y p of everything."""
        return self.c + sparse_product(self.carrier.X.T, w)

    def swept(self, p: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """Impulses, w = Y p, and the velocities that changed, after each row in turn."""
        X, Y = self.carrier.X, self.carrier.Y
        p, changes = p.astype(object), []
        for i, law in enumerate(self.laws):
            g = self.sizes[i]
            b = self.c[i] + sparse_product(X[:, [i]].T, w)[0] - g * p[i]
            new = row_impulse(law, g + self.compliance[i], b)
            changes.append(g * absolute(new - p[i]))
            w = w + Y[:, i] * (new - p[i])
            p[i] = new
        return p, w, changes

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> tuple[np.ndarray, np.ndarray]:
        """Impulses (n,) where the laws give way, and K = −dp/du (n,) of each."""
        rows = zip(self.laws, held, u, give * self.sizes, self.compliance, strict=True)
        both = np.array([yielding_row(*row) for row in rows]).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, list[Any]]:
        """The impulse of each row alone, with the others as they are, and what these change."""
        sizes = zip(self.laws, self.sizes, self.sizes + self.compliance, p, u, strict=True)
        new = [row_impulse(law, whole, v - g * x) for law, g, whole, x, v in sizes]
        return np.array(new), [g * absolute(a - b) for g, a, b in zip(self.sizes, new, p, strict=True)]


class _EachContact(Problem):
    """Contacts and rows on a carrier, one by one; moments of a contact go with it."""

    def __init__(
        self, carrier: Carrier, c: np.ndarray, mu: Sequence[Any], laws: Sequence[Law | Moment], compliance: np.ndarray
    ) -> None:
        self.all, self.c, self.mu, self.scale_of, self.M = carrier, c, mu, at_work(c, len(mu)), carrier.M
        self.with_contacts = bool(len(mu))
        first = 3 * len(mu)
        self.places = [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(len(mu))]
        levers: list[list[Any]] = [[] for _ in mu]
        at: list[int] = []
        for j, law in enumerate(laws, first):
            if isinstance(law, Moment):
                self.places[law.contact].append(j)
                levers[law.contact].append(law.lever)
            else:
                at.append(j)
        self.levers = [np.array(x) for x in levers]
        self.at_rows = at
        plain = [law for law in laws if isinstance(law, Law)]
        self.rows = Rows(carrier.some(at), c[at], plain, compliance[[j - first for j in at]])
        _, _, X, Y = carrier
        self.freedoms = [int(nonzeros(Y[:, at[:3]]).any(axis=1).sum()) for at in self.places]
        products = [sparse_product(X[:, at[:3]].T, Y[:, at[:3]]) for at in self.places]
        self.blocks = [contact_block(W, n) for W, n in zip(products, self.freedoms, strict=True)]
        self.sizes = np.array([sparse_product(x[None], y)[0] for x, y in zip(X.T, Y.T, strict=True)])

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w = Y p of all contacts and rows."""
        return sparse_product(self.all.Y, p)

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """u = c + Xᵀ w of all contacts and rows."""
        return self.c + sparse_product(self.all.X.T, w)

    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all contacts and rows."""
        return sparse_product(self.all.J, x)

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each contact and row in turn."""
        X, Y = self.all.X, self.all.Y
        p, slip, changes = p.astype(object), slip.astype(object), []
        for i, (places, block) in enumerate(zip(self.places, self.blocks, strict=True)):
            at, moments = places[:3], places[3:]
            b = self.c[at] - block.W @ p[at] + sparse_product(X[::-1, at].T, w[::-1])  # what changed last comes last
            new, slip[i], moved = contact_impulse(block, self.mu[i], b, slip[i])
            changes += [moved, *(block.size * absolute(new - p[at]))]
            w = w + sparse_product(Y[:, at], new - p[at])
            p[at] = new
            for j, lever in zip(moments, self.levers[i], strict=True):
                g = self.sizes[j]
                b = self.c[j] + sparse_product(X[:, [j]].T, w)[0] - g * p[j]
                turned = row_impulse(moment_law(lever, p[at[0]]), g, b)
                changes.append(g * absolute(turned - p[j]))
                w = w + Y[:, j] * (turned - p[j])
                p[j] = turned
        rows, w, more = self.rows.swept(p[self.at_rows], w)
        p[self.at_rows] = rows
        return numbers(p), numbers(slip), numbers(w), reduce(maximum, [*changes, *more])

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about the impulses `held`, at velocities u."""
        J, A, push = self.all.J, self.M, np.zeros(len(self.M))
        p = held.astype(object)
        for i, at in enumerate(self.places):
            p[at], K = self._contact(i, held, u, give)
            A = A + sparse_product(sparse_product(J[at].T, K), J[at])
        p[self.at_rows], stiffness = self.rows.yielding(held[self.at_rows], u[self.at_rows], give)
        for i, k in zip(self.at_rows, stiffness, strict=True):
            A = A + sparse_product(J[[i]].T * k, J[[i]])
        push = sparse_product(J.T, p - held)
        return Yielding(numbers(p), A, push)

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""
        p = held.astype(object)
        for i, at in enumerate(self.places):
            p[at], _ = self._contact(i, held, u, give)
        p[self.at_rows], _ = self.rows.yielding(held[self.at_rows], u[self.at_rows], give)
        return numbers(p), du @ (p - held)

    def _contact(self, i: int, held: np.ndarray, u: np.ndarray, give: Any) -> tuple[np.ndarray, np.ndarray]:
        at = self.places[i]
        return yielding_contact(self.sizes[at], self.mu[i], self.levers[i], held[at], u[at], give)

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, with the others as they are, and what they change."""
        changes, new, slip = [], p.astype(object), np.zeros(len(self.mu), object)
        for i, (at, block) in enumerate(zip(self.places, self.blocks, strict=True)):
            new[at], slip[i], moved = chosen_contact(block, self.mu[i], self.levers[i], self.sizes[at], p[at], u[at])
            changes += [moved, *(self.sizes[at] * absolute(new[at] - p[at]))]
        new[self.at_rows], more = self.rows.chosen(p[self.at_rows], u[self.at_rows])
        return numbers(new), numbers(slip), reduce(maximum, [*changes, *more])

    def solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """A⁻¹ b: symmetric but for the friction of contacts."""
        return solve(A, b) if self.with_contacts else factor(A, elimination_order(nonzeros(A))).solve(b)


class _FewContacts(_EachContact):
    """Contacts apart from each other, so few that G takes less work than what carries them."""

    aim = WELL_WITHIN

    def __init__(self, *problem: Any) -> None:
        super().__init__(*problem)
        self.G = mirrored(sparse_product(self.all.X.T, self.all.Y))
        self.regular = [regular(block.W, n) for block, n in zip(self.blocks, self.freedoms, strict=True)]

    def carried(self, p: np.ndarray) -> np.ndarray:
        """Nothing: sweeps take G."""
        return np.zeros(0)

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, and the largest velocity by which laws are missed, after each contact in turn.

        Each is on its law beside the others as they were then; what the later ones have changed since is its error.
        """
        before, p, slip, errors, left = p, p.astype(object), slip.astype(object), [], []
        for i, (at, block) in enumerate(zip(self.places, self.blocks, strict=True)):
            others = [j for other in (*self.places[i + 1 :], *self.places[:i]) for j in other]  # changed last: last
            b = self.c[at] + sparse_product(self.G[np.ix_(at, others)], p[others])
            p[at], slip[i], error = contact_impulse_and_error(block, self.mu[i], b, slip[i])
            errors.append(error)
            sticks = logical_and(p[3 * i] > 0.0, slip[i] == 0.0)
            left.append(where(sticks, b + self.regular[i] @ p[at], 0.0))  # rounding, where W is nearly singular
        for i, at in enumerate(self.places):
            later = slice(3 * i + 3, None)
            errors += list(absolute(left[i] + sparse_product(self.G[at, later], p[later] - before[later])))
        return numbers(p), numbers(slip), w, reduce(maximum, errors)


def chosen_contact(
    block: Any, mu: Any, levers: np.ndarray, sizes: np.ndarray, p: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, Any, Any]:
    """Impulses (3 + m,) of a contact and its moments alone, its slip, and the velocity that the change of it makes.

    Where friction jams, a contact alone may have several solutions: one that is on its law stays there.
    """
    slides = slip_where_sliding(mu, p, u)
    new, slip, moved = contact_impulse(block, mu, u[:3] - block.W @ p[:3], slides)
    missed = missed_law(sizes[:3], mu, p[:3], u[:3])
    stays = missed < FAR_LESS * reduce(maximum, sizes[:3] * absolute(new - p[:3]), moved)
    new, slip, moved = where(stays, p[:3], new), where(stays, slides, slip), where(stays, missed, moved)
    turns = zip(levers, sizes[3:], p[3:], u[3:], strict=True)
    turned = [row_impulse(moment_law(lever, new[0]), g, v - g * x) for lever, g, x, v in turns]
    return np.array([*new, *turned]), slip, moved
