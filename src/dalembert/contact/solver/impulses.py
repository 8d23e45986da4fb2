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

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.general import solve
from dalembert.linear.zeros import is_zero, mirrored, nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, map, maximum, scan, where

from .arrays import by_contact, flat
from .carriers import Carrier, RowProblem, Rows, chosen_contact
from .cones import Block, contact_block, contact_impulse, contact_impulse_and_error, regular, yielding_contact
from .iteration import WELL_WITHIN, ConstraintImpulses, Problem, Yielding, at_work, numbers, solved_problem
from .row_laws import Law, moment_law, row_impulse

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
) -> Problem:
    """The problem that `constraint_impulses` solves."""
    k, give = len(mu), np.zeros(len(laws)) if give is None else give
    rows = Rows(carrier.some(range(3 * k, len(c))), c[3 * k :], laws, give)
    if not k:
        return RowProblem(rows)
    J, X, Y = (x[: 3 * k].reshape(k, 3, -1) for x in (carrier.J, carrier.X.T, carrier.Y.T))
    return contact_problem(ContactRows(J, X, Y, c[: 3 * k].reshape(k, 3), np.array(mu), np.zeros((k, 0))), rows)


class ContactRows(NamedTuple):
    """Table of k contacts with m rows of friction about axes each, in coordinates of n numbers.

    J, X, Y (k, 3 + m, n): as of a `Carrier`, row by row; c (k, 3 + m): velocities without impulses; mu (k,); levers
    (k, m) [m]. pattern (n, n): where Jᵀ K J of some contact is not 0; None: found in J. count: how many of them there
    are in a state, the first ones; None: all. unroll: whether loops over them are written out: what is the constant 0
    then costs nothing, as a velocity that does not move a contact, or a moment whose lever is 0.
    """

    J: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    c: np.ndarray
    mu: np.ndarray
    levers: np.ndarray
    pattern: np.ndarray | None = None
    count: Any = None
    unroll: bool = True

    def map(self, step: Callable[..., Mapping[str, Any]], items: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Results of the step for all contacts."""
        return map(step, items, self.count, self.unroll)

    def scan(self, step: Callable[..., Mapping[str, Any]], items: Mapping[str, Any], carry: Mapping[str, Any]) -> Any:
        """Results of the step for one contact after another, and where the carry ends."""
        return scan(step, items, carry, count=self.count, unroll=self.unroll, history=False)

    def pushed(self, p: np.ndarray, begin: np.ndarray) -> np.ndarray:
        """w (n,) = Y p of impulses p (k, 3 + m), added to that of others."""
        items = {"Y": self.Y, "p": p}
        return self.scan(lambda w, Y, p: {"w": w + sparse_product(Y.T, p)}, items, {"w": begin})["w"]

    def responses(self, w: np.ndarray) -> np.ndarray:
        """Xᵀ w (k, 3 + m)."""
        return self.map(lambda X: {"u": sparse_product(X, w)}, {"X": self.X})["u"]

    def tied(self) -> tuple[np.ndarray, ...]:
        """Numbers of rows and of columns of Jᵀ K J where some contact has an entry."""
        if self.pattern is not None:
            return np.nonzero(self.pattern)
        moved = nonzeros(self.J).any(axis=1).astype(float)
        return np.nonzero(moved.T @ moved)


def contact_problem(contacts: ContactRows, rows: Rows) -> ContactProblem:
    """The problem of contacts and rows."""
    k, width, _ = contacts.J.shape
    few = contacts.unroll and k <= FEW and width == 3 and not len(rows.c) and _stand_apart(contacts.Y)
    return (FewContacts if few else ContactProblem)(contacts, rows)


def _stand_apart(Y: np.ndarray) -> bool:
    """Whether each contact is carried by something that carries no other, as the foot of a leg."""
    carriers = nonzeros(Y).any(axis=1)
    return bool((carriers & (carriers.sum(axis=0) == 1)).any(axis=1).all())


class ContactProblem(Problem):
    """Contacts, looped over or written out, then rows one by one.

    Impulses of contacts come one contact after the other where loops are written out, else as `flat` has them.
    """

    with_contacts = True

    def __init__(self, contacts: ContactRows, rows: Rows) -> None:
        self.contacts, self.rows, self.M = contacts, rows, rows.carrier.M
        self.k, self.width, self.n = contacts.J.shape
        self.scale_of = np.concatenate([at_work(contacts.c), rows.c])
        items: dict[str, Any] = {"X": contacts.X, "Y": contacts.Y}
        if contacts.unroll:
            items["freedoms"] = nonzeros(contacts.Y[:, :3]).any(axis=1).sum(axis=1)
        self.blocks = contacts.map(_measured, items)
        self.size = self.blocks.pop("sizes")
        self.sizes = self._joined(self.size, rows.sizes)
        self.laws = {"size": self.size, "mu": contacts.mu}
        if self.width > 3:
            self.laws |= {"levers": contacts.levers}

    def joined(self, parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Impulses or velocities of contacts (k, 3 + m) and of rows in the order of the problem."""
        return self._joined(parts[0], rows)

    def split(self, p: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """The reverse."""
        each, rows = self._split(p)
        return [each], rows

    def _split(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k, 3 + m) of contacts, and of rows."""
        of_contacts, rows = p[: self.width * self.k], p[self.width * self.k :]
        each = of_contacts.reshape(self.k, self.width) if self.contacts.unroll else by_contact(of_contacts, self.width)
        return each, rows

    def _joined(self, each: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([each.ravel() if self.contacts.unroll else flat(each), rows])

    def impulses(self, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any) -> ConstraintImpulses:
        """All impulses on their laws, from (p, slip) on."""
        return solved_problem(self, start, tolerance, finer)

    def responses(self, p: np.ndarray) -> np.ndarray:
        """G p: velocities that impulses make."""
        w = self.pushed(p)
        return self._joined(self.contacts.responses(w), sparse_product(self.rows.carrier.X.T, w))

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w = Y p of all contacts and rows."""
        each, rows = self._split(p)
        return self.contacts.pushed(each, sparse_product(self.rows.carrier.Y, rows))

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """u = c + Xᵀ w of all contacts and rows."""
        items = {"c": self.contacts.c, "X": self.contacts.X}
        each = self.contacts.map(lambda c, X: {"u": c + sparse_product(X, w)}, items)["u"]
        return self._joined(each, self.rows.velocities(w))

    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all contacts and rows."""
        each = self.contacts.map(lambda J: {"u": sparse_product(J, x)}, {"J": self.contacts.J})["u"]
        return self._joined(each, sparse_product(self.rows.carrier.J, x))

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each contact and row in turn."""

        def one(
            w: Any, most: Any, X: Any, Y: Any, c: Any, before: Any, slip: Any, law: Any, block: Any
        ) -> dict[str, Any]:
            block, size = Block(**block), law["size"]
            here = sparse_product(X[:3, ::-1], w[::-1])  # what changed last comes last
            b = c[:3] - block.W @ before[:3] + here
            cone, after, moved = contact_impulse(block, law["mu"], b, slip)
            w, new = w + sparse_product(Y[:3].T, cone - before[:3]), list(cone)
            changes = [most, moved, *(block.size * absolute(cone - before[:3]))]
            for i, lever in enumerate(law.get("levers", ()), 3):
                if is_zero(lever):
                    new.append(0.0)
                    continue
                u = c[i] + sparse_product(X[[i]], w)[0]
                new.append(row_impulse(moment_law(lever, cone[0]), size[i], u - size[i] * before[i]))
                changes.append(size[i] * absolute(new[i] - before[i]))
                w = w + Y[i] * (new[i] - before[i])
            return {"pushed": w, "most": reduce(maximum, changes), "p": np.array(new), "slip": after}

        each, rows = self._split(p)
        items = {"X": self.contacts.X, "Y": self.contacts.Y, "c": self.contacts.c, "before": each, "slip_before": slip}
        begin = {"pushed": w, "most": 0.0}
        after = self.contacts.scan(one, items | {"law": self.laws, "block": self.blocks}, begin)
        rows, w, changes = self.rows.swept(rows, after["pushed"])
        p = self._joined(after["p"], rows)
        return numbers(p), numbers(after["slip"]), numbers(w), reduce(maximum, changes, after["most"])

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about the impulses `held`, at velocities u."""
        at = self.contacts.tied()

        def one(added: Any, push: Any, J: Any, held: Any, u: Any, size: Any, mu: Any, levers: Any = ()) -> Any:
            p, K = _yielding(size, mu, levers, held, u, give)
            JK = sparse_product(J.T, K)
            more = sum(JK[at[0], i] * J[i][at[1]] for i in range(self.width))
            return {"added": added + more, "push": push + sparse_product(J.T, p - held), "p": p}

        (each, rows), (of_contacts, of_rows) = self._split(held), self._split(u)
        begin = {"added": self.M[at], "push": np.zeros(self.n)}
        items = {"J": self.contacts.J, "held": each, "u": of_contacts} | self.laws
        after = self.contacts.scan(one, items, begin)
        A = self.M.astype(object)
        A[at] = after["added"]
        p, stiffness = self.rows.yielding(rows, of_rows, give)
        push = after["push"] + self.rows.push(p - rows)
        return Yielding(numbers(self._joined(after["p"], p)), self.rows.stiffened(A, stiffness), push)

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""

        def one(sum: Any, held: Any, u: Any, du: Any, size: Any, mu: Any, levers: Any = ()) -> dict[str, Any]:
            p, _ = _yielding(size, mu, levers, held, u, give)
            return {"sum": sum + du @ (p - held), "p": p}

        (each, rows), (of_contacts, of_rows), (changes, row_changes) = (self._split(x) for x in (held, u, du))
        items = {"held": each, "u": of_contacts, "du": changes} | self.laws
        after = self.contacts.scan(one, items, {"sum": 0.0})
        p, _ = self.rows.yielding(rows, of_rows, give)
        return numbers(self._joined(after["p"], p)), after["sum"] + row_changes @ (p - rows)

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, with the others as they are, and what they change."""

        def one(most: Any, p: Any, u: Any, law: Any, block: Any) -> dict[str, Any]:
            own, levers, size = *_own(law.get("levers", ())), law["size"]
            few, slip, moved = chosen_contact(Block(**block), law["mu"], levers, size[own], p[own], u[own])
            changes = [most, moved, *(size[own] * absolute(few - p[own]))]
            return {"most": reduce(maximum, changes), "p": _filled(few, own, len(p)), "slip": slip}

        (each, rows), (of_contacts, of_rows) = self._split(p), self._split(u)
        items = {"p_before": each, "u": of_contacts, "law": self.laws, "block": self.blocks}
        new = self.contacts.scan(one, items, {"most": 0.0})
        of_new_rows, changes = self.rows.chosen(rows, of_rows)
        p = self._joined(new["p"], of_new_rows)
        return numbers(p), numbers(new["slip"]), reduce(maximum, changes, new["most"])

    def solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """A⁻¹ b."""
        return solve(A, b)


def _own(levers: Sequence[Any]) -> tuple[list[int], np.ndarray]:
    """Rows of a contact that can push, and the levers of these: without moments whose lever is the constant 0."""
    at = [i for i, lever in enumerate(levers) if not is_zero(lever)]
    return [0, 1, 2, *(3 + i for i in at)], np.array([levers[i] for i in at])


def _filled(x: np.ndarray, own: list[int], width: int) -> np.ndarray:
    """Numbers of such rows among all rows of the contact, 0 of the others."""
    if len(own) == width:
        return x
    full = np.zeros((width, *x.shape[1:]), object)
    full[own] = x
    return full


def _yielding(size: Any, mu: Any, levers: Any, held: Any, u: Any, give: Any) -> tuple[np.ndarray, np.ndarray]:
    """`yielding_contact` of the rows that can push."""
    own, some = _own(levers)
    p, K = yielding_contact(size[own], mu, some, held[own], u[own], give)
    return _filled(p, own, len(size)), _filled(_filled(K, own, len(size)).T, own, len(size)).T


def _measured(X: Any, Y: Any, freedoms: Any = None) -> dict[str, Any]:
    """The block of a contact by name, and sizes (3 + m,); freedoms: how many carry it, where that is known.

    Else one that moves nothing gets a block that has slopes.
    """
    W = sparse_product(X[:3], Y[:3].T)
    if freedoms is None:
        W = W + where(W[0, 0] + W[1, 1] + W[2, 2] > 0.0, 0.0, 1.0) * np.eye(3)
    turned = [sparse_product(x[None], y)[0] for x, y in zip(X[3:], Y[3:], strict=True)]
    block = contact_block(W) if freedoms is None else contact_block(W, int(freedoms))
    return {"sizes": np.array([*np.diag(W), *turned]), **block._asdict()}


class FewContacts(ContactProblem):
    """Contacts apart from each other, so few that G takes less work than what carries them."""

    aim = WELL_WITHIN

    def __init__(self, contacts: ContactRows, rows: Rows) -> None:
        super().__init__(contacts, rows)
        X, Y = (x.reshape(-1, self.n) for x in (contacts.X, contacts.Y))
        self.G = mirrored(sparse_product(X, Y.T))
        freedoms = nonzeros(contacts.Y).any(axis=1).sum(axis=1)
        self.each = [Block(**{name: x[i] for name, x in self.blocks.items()}) for i in range(self.k)]
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
        c, mu = self.contacts.c, self.contacts.mu
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
