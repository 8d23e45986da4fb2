"""Impulses as in `impulses`, of many contacts that are all alike: loops over contacts, whose code is there once.

Every contact has three impulses on the law of `cones`, and as many rows of friction about its axes as the others. So
the size of the code does not depend on the number of contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_or, map, maximum, scan, where

from .cones import Block, contact_block, contact_impulse, contact_part, slip_of
from .general import solve
from .impulses import HARD, Carrier, ConstraintImpulses, NewtonStep, RowProblem, solved_problem
from .row_laws import Law, next_part, part_of, row_impulse, row_part
from .zeros import sparse_product


class LoopedContacts(NamedTuple):
    """Of k contacts with m rows of friction about axes each, in coordinates of n numbers.

    J, X, Y (k, 3 + m, n): as of a `Carrier`, row by row; c (k, 3 + m): velocities without impulses; mu (k,); levers
    (k, m) [m]. pattern (n, n): where Jᵀ K J of some contact is not 0. count: how many of them there are in a state, the
    first ones; None: all.
    """

    J: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    c: np.ndarray
    mu: np.ndarray
    levers: np.ndarray
    pattern: np.ndarray
    count: Any = None

    @property
    def turning(self) -> int:
        """Rows of friction about axes, of all contacts."""
        return int(self.levers.size)


def looped_impulses(
    contacts: LoopedContacts,
    carrier: Carrier,
    c: np.ndarray,
    laws: Sequence[Law],
    start: tuple[np.ndarray, np.ndarray],
    tolerance: Any,
    give: np.ndarray,
    finer: Any = None,
) -> ConstraintImpulses:
    """As `constraint_impulses`; carrier, c, laws, give: of further rows.

    p and start: contacts (3 each), their moments (m each), further rows.
    """
    return solved_problem(_LoopedProblem(contacts, carrier, c, laws, give), start, tolerance, finer)


class _LoopedProblem(RowProblem):
    """Contacts in loops, then rows one by one."""

    def __init__(
        self, contacts: LoopedContacts, carrier: Carrier, c: np.ndarray, laws: Sequence[Law], give: np.ndarray
    ) -> None:
        k, width, n = contacts.J.shape
        self.contacts, self.count, self.axes = contacts, k, width - 3
        self.first = 3 * k  # of the moments, which are rows
        self.after = width * k  # of the rows one by one
        super().__init__(carrier, c, laws, give, self.after)
        self.with_contacts = True
        self.rows = range(self.first, self.after + len(c))
        self.scale_of = np.concatenate([contacts.c[:, :3].ravel(), contacts.c[:, 3:].ravel(), c])
        blocks = map(_measured, {"X": contacts.X[:, :3], "Y": contacts.Y[:, :3]}, contacts.count)
        self.blocks = blocks
        self.cone = {"X": contacts.X[:, :3], "Y": contacts.Y[:, :3], "c": contacts.c[:, :3], "mu": contacts.mu} | blocks
        self.sizes = np.concatenate([blocks["size"].ravel(), self.row_sizes])
        if self.axes:
            flat = {name: x[:, 3:].reshape(-1, n) for name, x in (("X", contacts.X), ("Y", contacts.Y))}
            self.turning = None if contacts.count is None else contacts.count * self.axes
            g = map(lambda X, Y: {"g": X @ Y}, flat, self.turning)["g"]
            self.turn = flat | {"c": contacts.c[:, 3:].ravel(), "g": g, "lever": contacts.levers.ravel()}
            self.sizes = np.concatenate([blocks["size"].ravel(), g, self.row_sizes])

    def _normals(self, p: np.ndarray) -> np.ndarray:
        """The normal impulse beside each moment."""
        return np.repeat(p[: self.first : 3], self.axes)

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """Y p (n,)."""
        contacts, n = self.contacts, self.contacts.Y.shape[-1]
        begin = {"w": sparse_product(self.carrier.Y, p[self.after :])}
        cones = {"Y": contacts.Y[:, :3], "p": p[: self.first].reshape(-1, 3)}
        w = scan(lambda w, Y, p: {"w": w + Y.T @ p}, cones, begin, count=contacts.count)["w"][-1]
        if not self.axes:
            return w
        turns = {"Y": contacts.Y[:, 3:].reshape(-1, n), "p": p[self.first : self.after]}
        return scan(lambda w, Y, p: {"w": w + Y * p}, turns, {"w": w}, count=self.turning)["w"][-1]

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each contact and row in turn."""

        def one(w: Any, most: Any, X: Any, Y: Any, c: Any, mu: Any, *rest: Any) -> dict[str, Any]:
            *numbers, before, slip = rest
            block = Block(*numbers)
            b = c + X @ w - block.W @ before
            p, after, moved = contact_impulse(block, mu, b, slip)
            change = reduce(maximum, [moved, *(block.size * absolute(p - before))])
            return {"moved": w + Y.T @ (p - before), "most": maximum(most, change), "p": p, "slip": after}

        def turn(w: Any, most: Any, X: Any, Y: Any, c: Any, g: Any, lever: Any, normal: Any, before: Any) -> Any:
            b = c + X @ w - g * before
            p = row_impulse(_moment(lever, normal), g, b)
            return {"moved": w + Y * (p - before), "most": maximum(most, g * absolute(p - before)), "p": p}

        cones = {"before": p[: self.first].reshape(-1, 3), "slip_before": slip}
        after = scan(one, self.cone | cones, {"moved": w, "most": 0.0}, count=self.contacts.count)
        impulses = [after["p"].ravel()]
        w, most = after["moved"][-1], after["most"][-1]
        if self.axes:
            items = {"normal": self._normals(impulses[0]), "before": p[self.first : self.after]}
            turned = scan(turn, self.turn | items, {"moved": w, "most": most}, count=self.turning)
            impulses.append(turned["p"])
            w, most = turned["moved"][-1], turned["most"][-1]
        rows, w, changes = self.swept_rows(np.concatenate([*impulses, p[self.after :]]), w)
        return rows, after["slip"], w, reduce(maximum, changes, most)

    def newton(self, p: np.ndarray, slip: np.ndarray, part: np.ndarray, give: Any, alone: Any = HARD) -> NewtonStep:
        """All on the same parts of their laws: dp = d − K du, du = J x, M x = Jᵀ dp."""
        contacts, n = self.contacts, self.contacts.J.shape[-1]
        w, at = self.pushed(p), np.nonzero(contacts.pattern)

        def one(added: Any, push: Any, J: Any, X: Any, c: Any, mu: Any, *rest: Any) -> dict[str, Any]:
            *numbers, p, slip = rest
            u = c + X @ w
            K, d = contact_part(Block(*numbers), mu, p, slip, u, give)
            KJ = K @ J
            more = sum(J[k][at[0]] * KJ[k][at[1]] for k in range(3))
            return {"added": added + more, "push": push + J.T @ d, "K": K, "d": d, "u": u}

        def turn(
            added: Any, push: Any, J: Any, X: Any, c: Any, g: Any, lever: Any, normal: Any, p: Any, part: Any
        ) -> dict[str, Any]:
            u = c + X @ w
            K, d = row_part(_moment(lever, normal), part, p, u, give, g, 0.0)
            return {"added": added + J[at[0]] * (K * J)[at[1]], "push": push + J * d, "K": K, "d": d, "u": u}

        cone = {name: x for name, x in self.cone.items() if name != "Y"}
        states = {"p": p[: self.first].reshape(-1, 3), "slip": slip}
        begin = {"added": np.zeros(len(at[0])), "push": np.zeros(n)}
        held = scan(one, {"J": contacts.J[:, :3]} | cone | states, begin, count=contacts.count)
        families = [held]
        u = [held["u"].ravel()]
        if self.axes:
            turning = {name: x for name, x in self.turn.items() if name != "Y"}
            states = {"normal": self._normals(p), "p": p[self.first : self.after], "part": part[: contacts.turning]}
            items = {"J": contacts.J[:, 3:].reshape(-1, n)} | turning | states
            begin = {name: held[name][-1] for name in begin}
            families.append(scan(turn, items, begin, count=self.turning))
            u.append(families[1]["u"])
        A = np.array(self.carrier.M, object)
        A[at] = A[at] + families[-1]["added"][-1]
        rows = self.row_parts(p, part[contacts.turning :], w, give, alone)
        for i, K in enumerate(rows.K):
            A = A + sparse_product(K * self.carrier.J[i][:, None], self.carrier.J[i][None])
        x = solve(A, families[-1]["push"][-1] + sparse_product(self.carrier.J.T, rows.d))

        def moved(K: Any, d: Any, J: Any) -> dict[str, Any]:
            du = J @ x
            return {"du": du, "dp": d - K @ du}

        def turned(K: Any, d: Any, J: Any) -> dict[str, Any]:
            du = J @ x
            return {"du": du, "dp": d - K * du}

        steps = [map(moved, {"K": held["K"], "d": held["d"], "J": contacts.J[:, :3]}, contacts.count)]
        if self.axes:
            items = {"K": families[1]["K"], "d": families[1]["d"], "J": contacts.J[:, 3:].reshape(-1, n)}
            steps.append(map(turned, items, self.turning))
        du = [*(step["du"].ravel() for step in steps), sparse_product(self.carrier.J, x)]
        dp = [*(step["dp"].ravel() for step in steps), rows.d - rows.K * du[-1]]
        return NewtonStep(np.concatenate([*u, rows.u]), np.concatenate(dp), np.concatenate(du))

    def chosen(self, p: np.ndarray, slip: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, were the others as they are, and what they change."""

        def one(mu: Any, *rest: Any) -> dict[str, Any]:
            *numbers, p, slip, u = rest
            block = Block(*numbers)
            slip = where(slip > 0.0, slip_of(p, u), 0.0)
            new, after, moved = contact_impulse(block, mu, u - block.W @ p, slip)
            return {"p": new, "slip": after, "change": reduce(maximum, [moved, *(block.size * absolute(new - p))])}

        def turn(g: Any, lever: Any, normal: Any, p: Any, u: Any) -> dict[str, Any]:
            new = row_impulse(_moment(lever, normal), g, u - g * p)
            return {"p": new, "change": g * absolute(new - p)}

        cone = {name: x for name, x in self.cone.items() if name not in ("X", "Y", "c")}
        states = {"p": p[: self.first].reshape(-1, 3), "slip": slip, "u": u[: self.first].reshape(-1, 3)}
        new = map(one, cone | states, self.contacts.count)
        impulses, changes = [new["p"].ravel()], list(new["change"])
        if self.axes:
            at = slice(self.first, self.after)
            states = {"normal": self._normals(impulses[0]), "p": p[at], "u": u[at]}
            turned = map(turn, {"g": self.turn["g"], "lever": self.turn["lever"]} | states, self.turning)
            impulses.append(turned["p"])
            changes += list(turned["change"])
        rows, more = self.chosen_rows(np.concatenate([*impulses, p[self.after :]]), p, u)
        return rows, new["slip"], reduce(maximum, [*changes, *more])

    def parts(self, p: np.ndarray) -> np.ndarray:
        """The parts of the laws of moments and rows that impulses p are on."""
        rows = super().parts(p)
        if not self.axes:
            return rows

        def turn(lever: Any, normal: Any, p: Any) -> dict[str, Any]:
            return {"part": part_of(_moment(lever, normal), p)}

        states = {"normal": self._normals(p), "p": p[self.first : self.after]}
        return np.concatenate([map(turn, {"lever": self.turn["lever"]} | states, self.turning)["part"], rows])

    def next_parts(
        self, part: np.ndarray, p: np.ndarray, u: np.ndarray, together: Any, wrong: Any = None
    ) -> np.ndarray:
        """Where (p, u) are not on these parts, those towards which they left: of all such rows, or of the first."""
        m = self.contacts.turning
        if not m:
            return super().next_parts(part, p, u, together)

        def turn(wrong: Any, lever: Any, normal: Any, p: Any, u: Any, part: Any) -> dict[str, Any]:
            left = next_part(_moment(lever, normal), part, p, u)
            following = where(logical_or(together, wrong < 0.5), left, part)
            return {"wrong": where(left != part, 1.0, wrong), "part": following}

        at = slice(self.first, self.after)
        states = {"normal": self._normals(p), "p": p[at], "u": u[at], "part": part[:m]}
        turned = scan(turn, {"lever": self.turn["lever"]} | states, {"wrong": 0.0}, count=self.turning)
        rows = super().next_parts(part[m:], p, u, together, turned["wrong"][-1] > 0.5)
        return np.concatenate([turned["part"], rows])


def _measured(X: Any, Y: Any) -> dict[str, Any]:
    """The block of a contact, by name in the order of `Block`; one that moves nothing gets a block that has slopes."""
    W = X @ Y.T
    return contact_block(W + where(W[0, 0] + W[1, 1] + W[2, 2] > 0.0, 0.0, 1.0) * np.eye(3))._asdict()


def _moment(lever: Any, normal: Any) -> Law:
    return Law(0.0, 0.0, lever * maximum(normal, 0.0))
