"""Impulses as in `impulses`, of many like contacts: loops over contacts, whose code is emitted once.

Every contact has three impulses on the law of `cones`, and as many rows of friction about its axes as the others. So
the size of the code does not depend on the number of contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.general import solve
from dalembert.linear.zeros import sparse_product
from dalembert.math import abs as absolute
from dalembert.math import map, maximum, scan, where

from .arrays import by_contact, flat
from .cones import Block, contact_block, contact_impulse, yielding_contact
from .impulses import Rows, chosen_contact
from .iteration import ConstraintImpulses, Problem, Yielding, solved_problem
from .row_laws import moment_law, row_impulse


class LoopedContacts(NamedTuple):
    """Table of k contacts with m rows of friction about axes each, in coordinates of n numbers.

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

    def pushed(self, p: np.ndarray, begin: np.ndarray) -> np.ndarray:
        """w (n,) = Y p of impulses p (k, 3 + m), added to that of others."""
        items = {"Y": self.Y, "p": p}
        return scan(lambda w, Y, p: {"w": w + Y.T @ p}, items, {"w": begin}, count=self.count)["w"][-1]

    def responses(self, w: np.ndarray) -> np.ndarray:
        """Xᵀ w (k, 3 + m)."""
        return map(lambda X: {"u": X @ w}, {"X": self.X}, self.count)["u"]


class LoopedProblem(Problem):
    """Contacts in loops, then rows one by one. Impulses: of contacts (see `flat`), then of rows."""

    def __init__(self, contacts: LoopedContacts, rows: Rows) -> None:
        self.contacts, self.rows, self.M = contacts, rows, rows.carrier.M
        self.k, self.width, self.n = contacts.J.shape
        self.with_contacts = True
        self.scale_of = np.concatenate([contacts.c.T.ravel(), rows.c])
        self.blocks = map(_measured, {"X": contacts.X, "Y": contacts.Y}, contacts.count)
        self.size = self.blocks.pop("sizes")
        self.sizes = np.concatenate([self.size.T.ravel(), rows.sizes])
        self.laws = {"size": self.size, "mu": contacts.mu}
        if self.width > 3:
            self.laws |= {"levers": contacts.levers}

    def joined(self, parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Impulses or velocities of contacts (k, 3 + m) and of rows in the order of the problem."""
        return np.concatenate([flat(parts[0]), rows])

    def split(self, p: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """The reverse."""
        each, rows = self._split(p)
        return [each], rows

    def _split(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k, 3 + m) of contacts, and of rows."""
        end = self.width * self.k
        return by_contact(p[:end], self.width), p[end:]

    def _joined(self, each: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([flat(each), rows])

    def responses(self, p: np.ndarray) -> np.ndarray:
        """G p: velocities that impulses make."""
        w = self.pushed(p)
        return self._joined(self.contacts.responses(w), sparse_product(self.rows.carrier.X.T, w))

    def impulses(self, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any) -> ConstraintImpulses:
        """All impulses on their laws, from (p, slip) on."""
        return solved_problem(self, start, tolerance, finer)

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w = Y p of all contacts and rows."""
        each, rows = self._split(p)
        return self.contacts.pushed(each, sparse_product(self.rows.carrier.Y, rows))

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """u = c + Xᵀ w of all contacts and rows."""
        items = {"c": self.contacts.c, "X": self.contacts.X}
        each = map(lambda c, X: {"u": c + X @ w}, items, self.contacts.count)["u"]
        return self._joined(each, self.rows.velocities(w))

    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all contacts and rows."""
        each = map(lambda J: {"u": J @ x}, {"J": self.contacts.J}, self.contacts.count)["u"]
        return self._joined(each, sparse_product(self.rows.carrier.J, x))

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each contact and row in turn."""

        def one(
            w: Any, most: Any, X: Any, Y: Any, c: Any, before: Any, slip: Any, law: Any, block: Any
        ) -> dict[str, Any]:
            block, size = Block(**block), law["size"]
            b = c[:3] + X[:3] @ w - block.W @ before[:3]
            cone, after, moved = contact_impulse(block, law["mu"], b, slip)
            w, new = w + Y[:3].T @ (cone - before[:3]), list(cone)
            for i, lever in enumerate(law.get("levers", ()), 3):
                new.append(row_impulse(moment_law(lever, cone[0]), size[i], c[i] + X[i] @ w - size[i] * before[i]))
                w = w + Y[i] * (new[i] - before[i])
            change = reduce(maximum, [most, moved, *(size * absolute(np.array(new) - before))])
            return {"pushed": w, "most": change, "p": np.array(new), "slip": after}

        each, rows = self._split(p)
        items = {"X": self.contacts.X, "Y": self.contacts.Y, "c": self.contacts.c, "before": each, "slip_before": slip}
        begin = {"pushed": w, "most": 0.0}
        after = scan(one, items | {"law": self.laws, "block": self.blocks}, begin, count=self.contacts.count)
        rows, w, changes = self.rows.swept(rows, after["pushed"][-1])
        return self._joined(after["p"], rows), after["slip"], w, reduce(maximum, changes, after["most"][-1])

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about the impulses `held`, at velocities u."""
        at = np.nonzero(self.contacts.pattern)

        def one(added: Any, push: Any, J: Any, held: Any, u: Any, size: Any, mu: Any, levers: Any = ()) -> Any:
            p, K = yielding_contact(size, mu, levers, held, u, give)
            KJ = sparse_product(K, J)
            more = sum(J[i][at[0]] * KJ[i][at[1]] for i in range(self.width))
            return {"added": added + more, "push": push + J.T @ (p - held), "p": p}

        (each, rows), (of_contacts, of_rows) = self._split(held), self._split(u)
        begin = {"added": self.M[at], "push": np.zeros(self.n)}
        items = {"J": self.contacts.J, "held": each, "u": of_contacts} | self.laws
        after = scan(one, items, begin, count=self.contacts.count)
        A, J = self.M.astype(object), self.rows.carrier.J
        A[at] = after["added"][-1]
        p, stiffness = self.rows.yielding(rows, of_rows, give)
        for row, k in zip(J, stiffness, strict=True):
            A = A + sparse_product(row[:, None] * k, row[None])
        push = after["push"][-1] + sparse_product(J.T, p - rows)
        return Yielding(self._joined(after["p"], p), A, push)

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""

        def one(sum: Any, held: Any, u: Any, du: Any, size: Any, mu: Any, levers: Any = ()) -> dict[str, Any]:
            p, _ = yielding_contact(size, mu, levers, held, u, give)
            return {"sum": sum + du @ (p - held), "p": p}

        (each, rows), (of_contacts, of_rows), (changes, row_changes) = (self._split(x) for x in (held, u, du))
        items = {"held": each, "u": of_contacts, "du": changes} | self.laws
        after = scan(one, items, {"sum": 0.0}, count=self.contacts.count)
        p, _ = self.rows.yielding(rows, of_rows, give)
        return self._joined(after["p"], p), after["sum"][-1] + row_changes @ (p - rows)

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, with the others as they are, and what they change."""

        def one(most: Any, p: Any, u: Any, law: Any, block: Any) -> dict[str, Any]:
            new, slip, moved = chosen_contact(Block(**block), law["mu"], law.get("levers", ()), law["size"], p, u)
            return {"most": reduce(maximum, [most, moved, *(law["size"] * absolute(new - p))]), "p": new, "slip": slip}

        (each, rows), (of_contacts, of_rows) = self._split(p), self._split(u)
        items = {"p_before": each, "u": of_contacts, "law": self.laws, "block": self.blocks}
        new = scan(one, items, {"most": 0.0}, count=self.contacts.count)
        row_impulses, changes = self.rows.chosen(rows, of_rows)
        return self._joined(new["p"], row_impulses), new["slip"], reduce(maximum, changes, new["most"][-1])

    def solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """A⁻¹ b."""
        return solve(A, b)


def _measured(X: Any, Y: Any) -> dict[str, Any]:
    """The block of a contact, by name in the order of `Block`; one that moves nothing gets a block that has slopes."""
    W = X[:3] @ Y[:3].T
    W = W + where(W[0, 0] + W[1, 1] + W[2, 2] > 0.0, 0.0, 1.0) * np.eye(3)
    turned = [x @ y for x, y in zip(X[3:], Y[3:], strict=True)]
    return {"sizes": np.array([*np.diag(W), *turned]), **contact_block(W)._asdict()}
