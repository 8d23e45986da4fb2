"""Impulses of constraints that push, slide and release, and of contacts with friction: all on their laws at once.

u = c + G p: the velocities of all rows at the end of a step, with impulses p. A row has one impulse, on the law of
`row_laws`; a contact has three, on the law of `cones`.

Sweeps solve for each contact and each row beside the others (block Gauss-Seidel). They end soon where little ties
the rows to each other, as with the feet of a robot, and from a start that is nearly right. They are slow with heavy
bodies on light ones, with faces that have more points than they need, with joints that stick while the feet do.

Newton's method then takes over: everything keeps to the part of its law that it is on, what is held as a stiff damper
about its impulse so far, and all are solved for together in the coordinates of the bodies, whose number does not grow
with that of the contacts. From the velocities after such a step each contact and each row chooses its part anew (block
principal pivoting; Júdice, Pires 1994). Where that goes round in circles, rows change one by one, which comes to an end
(Murty 1974), and sweeps lead contacts out of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_not, logical_or, maximum, repeat, where

from .cones import contact_block, contact_impulse, contact_part, slip_of
from .general import solve
from .order import elimination_order
from .row_laws import ANY, Law, next_part, part_of, row_impulse, row_part
from .symmetric import Factor, factor
from .zeros import nonzeros, sparse_product

SWEEPS, STEPS, ROUNDS = 12, 60, 4  # at most: sweeps, then rounds of Newton steps and sweeps
SLOW = 0.3  # a sweep that changes more than this share of what the one before it changed is slow
SOFT, FALL, STIFF = 1e-3, 0.3, 1e-4  # shares of their size by which held contacts and rows give way, from step to step
FIRM, HARD = 1e-5, 1e-9  # the same of rows without contacts, and of those among them that hold a coordinate
FINE = 2  # Newton steps towards a finer change than the tolerance
TOGETHER = 8  # Newton steps after each of which all rows may change their part
ADDED = 4.0  # all that change at once after a Newton step change each other by up to this times the largest change
ROUNDING = 2.0**-6  # a change of which this share is lost beside the velocities at work is rounding
ACCURACY = 1e-9  # of slopes
FIXED = 1e-4  # as STIFF, in the steps that slopes are taken from


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


class ConstraintImpulses(NamedTuple):
    """p (3 k + n,): normal and tangents of each contact, then the rows; slip (k,) [velocity per impulse].

    change: the largest velocity by which the last pass moved one contact or row; passes: sweeps and Newton steps;
    settled: 1 where that was enough.
    """

    p: np.ndarray
    slip: np.ndarray
    change: Any
    passes: Any
    settled: Any


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
    compliance = np.zeros(len(laws)) if give is None else give
    return solved_problem(_Problem(carrier, c, mu, laws, compliance), (p, slip), tolerance, finer)


def solved_problem(
    problem: RowProblem, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any = None
) -> ConstraintImpulses:
    """The impulses of a problem, from (p, slip) at the start on; tolerance, finer: as in `constraint_impulses`."""
    p, slip = start
    scale = reduce(maximum, [absolute(x) for x in (*problem.scale_of, *(problem.sizes * p))])
    iteration = _Iteration(problem, tolerance, tolerance if finer is None else finer, scale)
    first = iteration.sweeps(p, slip, SLOW, 0.0, iteration.finer)
    begin = {"p": first["p"], "slip": first["slip"], "change": first["change"], "count": first["passes"]}
    done = iteration.settled(first["change"], iteration.finer)
    begin |= {"done": done}
    end = repeat(iteration.steps_and_sweeps, ROUNDS, begin, "done", ACCURACY, iteration.corrected)
    return ConstraintImpulses(end["p"], end["slip"], end["change"], end["count"], end["done"])


class NewtonStep(NamedTuple):
    """Velocities u (n,) at impulses p, and what a Newton step adds to both."""

    u: np.ndarray
    dp: np.ndarray
    du: np.ndarray


class RowParts(NamedTuple):
    """Of n rows that keep to the parts of their laws: an impulse changes by d − K du; u (n,): velocities so far."""

    K: np.ndarray
    d: np.ndarray
    u: np.ndarray


class RowProblem(ABC):
    """Contacts, as a subclass has them, and rows one by one.

    carrier, c, laws, give: of the rows. first: the place of the first row's impulse in p, behind those of contacts.
    """

    with_contacts: bool
    rows: range  # places of impulses in p that are no contact's
    sizes: np.ndarray  # velocity per impulse of each contact's axes and each row, alone
    scale_of: np.ndarray  # velocities without impulses of contacts and rows

    def __init__(
        self, carrier: Carrier, c: np.ndarray, laws: Sequence[Law | Moment], give: np.ndarray, first: int
    ) -> None:
        self.carrier, self.row_c, self.laws, self.give, self.row_first = carrier, c, laws, give, first
        self.row_sizes = np.array(
            [sparse_product(x[None], y)[0] for x, y in zip(carrier.X.T, carrier.Y.T, strict=True)]
        )

    @abstractmethod
    def pushed(self, p: np.ndarray) -> np.ndarray:
        """Y p of all contacts and rows."""

    @abstractmethod
    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each contact and row in turn."""

    @abstractmethod
    def newton(self, p: np.ndarray, slip: np.ndarray, part: np.ndarray, give: Any, alone: Any = HARD) -> NewtonStep:
        """All on the same parts of their laws: dp = d − K du, du = J x, M x = Jᵀ dp.

        give, alone: shares of their size by which held contacts and rows give way, and rows of one coordinate alone.
        """

    @abstractmethod
    def chosen(self, p: np.ndarray, slip: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, were the others as they are, and what they change."""

    def law(self, number: int, p: np.ndarray) -> Law:
        """The law of a row beside impulses p."""
        law = self.laws[number]
        return law if isinstance(law, Law) else Law(0.0, 0.0, law.lever * maximum(p[3 * law.contact], 0.0))

    def swept_rows(self, p: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """Impulses, w = Y p, and the velocities that changed, after each row in turn."""
        X, Y = self.carrier.X, self.carrier.Y
        p, changes = p.astype(object), []
        for number, i in enumerate(range(self.row_first, len(p))):
            g = self.row_sizes[number]
            b = self.row_c[number] + sparse_product(X[:, [number]].T, w)[0] - g * p[i]
            new = row_impulse(self.law(number, p), g + self.give[number], b)
            changes.append(g * absolute(new - p[i]))
            w = w + Y[:, number] * (new - p[i])
            p[i] = new
        return _numbers(p), _numbers(w), changes

    def row_parts(self, p: np.ndarray, part: np.ndarray, w: np.ndarray, give: Any, alone: Any) -> RowParts:
        """Of all rows, on the given parts."""
        u = self.row_c + sparse_product(self.carrier.X.T, w)
        K, d = np.zeros(len(u), object), np.zeros(len(u), object)
        for number, i in enumerate(range(self.row_first, len(p))):
            one = not self.with_contacts and np.count_nonzero(nonzeros(self.carrier.J[number])) == 1
            soft = alone if one else give  # adds to one diagonal entry of the inertia, which costs no digits
            law, size, compliance = self.law(number, p), self.row_sizes[number], self.give[number]
            K[number], d[number] = row_part(law, part[number], p[i], u[number], soft, size, compliance)
        return RowParts(K, d, u)

    def chosen_rows(self, new: np.ndarray, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, list[Any]]:
        """`new` with the impulse of each row alone, were the others as they are at p, and what these change."""
        new, changes = new.astype(object), []
        for number, i in enumerate(range(self.row_first, len(p))):
            g = self.row_sizes[number]
            new[i] = row_impulse(self.law(number, new), g + self.give[number], u[i] - g * p[i])
            changes.append(g * absolute(new[i] - p[i]))
        return _numbers(new), changes

    def parts(self, p: np.ndarray) -> np.ndarray:
        """The parts of the laws of rows (n,) that impulses p are on."""
        return np.array([part_of(self.law(k, p), x) for k, x in enumerate(p[self.row_first :])])

    def next_parts(
        self, part: np.ndarray, p: np.ndarray, u: np.ndarray, together: Any, wrong: Any = None
    ) -> np.ndarray:
        """Where (p, u) are not on these parts, those towards which they left: of all such rows, or of the first.

        wrong: whether one before them was not.
        """
        following = part.astype(object)
        wrong = logical_and(together, logical_not(together)) if wrong is None else wrong
        for number, i in enumerate(range(self.row_first, len(p))):
            left = next_part(self.law(number, p), part[number], p[i], u[i] + self.give[number] * p[i])
            following[number] = where(logical_or(together, logical_not(wrong)), left, part[number])
            wrong = logical_or(wrong, left != part[number])
        return _numbers(following)


class _Problem(RowProblem):
    """Contacts and rows on a carrier, one by one."""

    def __init__(
        self, carrier: Carrier, c: np.ndarray, mu: Sequence[Any], laws: Sequence[Law | Moment], give: np.ndarray
    ) -> None:
        first = 3 * len(mu)
        M, J, X, Y = carrier
        super().__init__(Carrier(M, J[first:], X[:, first:], Y[:, first:]), c[first:], laws, give, first)
        self.all, self.c, self.mu, self.scale_of = carrier, c, mu, c
        self.with_contacts = bool(len(mu))
        self.places = [slice(3 * i, 3 * i + 3) for i in range(len(mu))]
        self.rows = range(first, len(c))
        self.blocks = [contact_block(sparse_product(X[:, at].T, Y[:, at])) for at in self.places]
        self.sizes = np.concatenate([np.zeros(0), *(block.size for block in self.blocks), self.row_sizes])

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """Y p (m,)."""
        return sparse_product(self.all.Y, p)

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each contact and row in turn."""
        X, Y = self.all.X, self.all.Y
        p, slip, changes = p.astype(object), slip.astype(object), []
        for i, (at, block) in enumerate(zip(self.places, self.blocks, strict=True)):
            b = self.c[at] - block.W @ p[at] + sparse_product(X[::-1, at].T, w[::-1])  # what changed last comes last
            new, slip[i], moved = contact_impulse(block, self.mu[i], b, slip[i])
            changes += [moved, *(block.size * absolute(new - p[at]))]
            w = w + sparse_product(Y[:, at], new - p[at])
            p[at] = new
        p, w, more = self.swept_rows(p, w)
        return p, _numbers(slip), w, reduce(maximum, [*changes, *more])

    def newton(self, p: np.ndarray, slip: np.ndarray, part: np.ndarray, give: Any, alone: Any = HARD) -> NewtonStep:
        """All on the same parts of their laws: dp = d − K du, du = J x, M x = Jᵀ dp."""
        M, J, X, _ = self.all
        w, n = self.pushed(p), len(self.c)
        u = self.c + sparse_product(X.T, w)
        K, d = np.zeros((n, n), object), np.zeros(n, object)
        for i, (at, block) in enumerate(zip(self.places, self.blocks, strict=True)):
            K[at, at], d[at] = contact_part(block, self.mu[i], p[at], slip[i], u[at], give)
        of_rows = self.row_parts(p, part, w, give, alone)
        for number, i in enumerate(self.rows):
            K[i, i], d[i] = of_rows.K[number], of_rows.d[number]
        A = M
        for at in [*self.places, *(slice(i, i + 1) for i in self.rows)]:
            A = A + sparse_product(sparse_product(J[at].T, K[at, at]), J[at])
        push = sparse_product(J.T, d)
        symmetric = not self.places
        x = factor(A, elimination_order(nonzeros(A))).solve(push) if symmetric else solve(A, push)
        du = sparse_product(J, x)
        return NewtonStep(u, d - sparse_product(K, du), du)

    def chosen(self, p: np.ndarray, slip: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, were the others as they are, and what they change."""
        slip, changes, new = slip.astype(object), [], p.astype(object)
        for i, (at, block) in enumerate(zip(self.places, self.blocks, strict=True)):
            slip[i] = where(slip[i] > 0.0, slip_of(p[at], u[at]), 0.0)
            new[at], slip[i], moved = contact_impulse(block, self.mu[i], u[at] - block.W @ p[at], slip[i])
            changes += [moved, *(block.size * absolute(new[at] - p[at]))]
        new, more = self.chosen_rows(new, p, u)
        return new, _numbers(slip), reduce(maximum, [*changes, *more])


class _Iteration:
    """Sweeps and Newton steps towards the solution of a problem; scale: of the velocities at work."""

    def __init__(self, problem: RowProblem, tolerance: Any, finer: Any, scale: Any) -> None:
        self.problem, self.tolerance, self.finer, self.scale = problem, tolerance, finer, scale
        self.with_contacts = problem.with_contacts

    def settled(self, change: Any, tolerance: Any) -> Any:
        """1 where a change of velocities is small enough."""
        return where(logical_or(change <= tolerance, self.scale + ROUNDING * change == self.scale), 1.0, 0.0)

    def sweeps(self, p: np.ndarray, slip: np.ndarray, slow: float, done: Any, tolerance: Any) -> dict[str, Any]:
        """Sweeps until all is settled or one of them is slow; rows without contacts get a single one, as a start."""

        def sweep(p: np.ndarray, slip: np.ndarray, w: np.ndarray, before: Any, done: Any) -> dict[str, Any]:
            p, slip, w, change = self.problem.swept(p, slip, w)
            done = where(change > slow * before, 1.0, self.settled(change, tolerance))
            return {"p": p, "slip": slip, "w": w, "change": change, "done": done}

        begin = {"p": p, "slip": slip, "w": self.problem.pushed(p), "change": ANY, "done": done}
        return repeat(sweep, SWEEPS if self.with_contacts else 1, begin, "done")

    def steps_and_sweeps(self, p: np.ndarray, slip: np.ndarray, change: Any, count: Any, done: Any) -> dict[str, Any]:
        """Newton steps, and sweeps where these do not settle it."""
        begin = {"p": p, "slip": slip, "part": self.problem.parts(p), "change": change}
        begin |= {"give": SOFT if self.with_contacts else FIRM, "count": 0.0, "done": 0.0}
        steps = repeat(self._step, STEPS, begin, "done")
        swept = self.sweeps(steps["p"], steps["slip"], ANY, steps["done"], self.tolerance)
        further = swept["passes"] > 0.0
        return {
            "p": swept["p"],
            "slip": swept["slip"],
            "change": where(further, swept["change"], steps["change"]),
            "count": count + steps["passes"] + swept["passes"],
            "done": where(further, self.settled(swept["change"], self.tolerance), steps["done"]),
        }

    def corrected(self, p: np.ndarray, slip: np.ndarray, *_: Any) -> dict[str, Any]:
        """A Newton step at the solution, on the parts of the laws that all are on there: what its slopes come from.

        Of the ways in which contacts can share a load it changes nothing, so that velocities have slopes there too.
        """
        after = p + self.problem.newton(p, slip, self.problem.parts(p), FIXED, FIXED).dp
        for k in range(len(slip)):
            after[3 * k : 3 * k + 3] = where(p[3 * k] > 0.0, after[3 * k : 3 * k + 3], 0.0)  # open ones stay so
        return {"p": _numbers(after), "slip": 0.0 * slip, "change": 0.0, "count": 0.0, "done": 1.0}

    def _step(
        self, p: np.ndarray, slip: np.ndarray, part: np.ndarray, _: Any, give: Any, count: Any, done: Any
    ) -> dict[str, Any]:
        """One Newton step. Held rows keep what it asks of them, also beyond their laws, until it is settled."""
        problem = self.problem
        newton = problem.newton(p, slip, part, give)
        p, u = p + newton.dp, newton.u + newton.du
        chosen, slip, change = problem.chosen(p, slip, u)
        tolerance = self.tolerance if self.finer is self.tolerance else where(count < FINE, self.finer, self.tolerance)
        done, first = self.settled(ADDED * change, tolerance), problem.rows.start
        return {
            "p": _numbers(np.concatenate([chosen[:first], where(done > 0.0, chosen[first:], p[first:])])),
            "slip": slip,
            "part": problem.next_parts(part, p, u, count < TOGETHER),
            "change": change,
            "give": maximum(FALL * give, STIFF) if self.with_contacts else give,
            "count": count + 1.0,
            "done": done,
        }


def _numbers(x: np.ndarray) -> np.ndarray:
    """An array of plain numbers as such."""
    return x if any(hasattr(y, "__traced__") for y in x) else x.astype(float)
