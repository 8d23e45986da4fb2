"""Contacts in tables, over which loops go whose code is emitted once; see `bodies`.

Velocities are rows of six numbers in one table. Contacts of one kind move as many rows each, at numbers that differ
from state to state: two loose bodies, or one of these and all joints of robots. What one contact does to its rows is a
`Motion`; all else here is the same for both kinds. A loop over contacts costs as much as there are contacts, whatever
the number of bodies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, map, maximum, repeat, visit, where

from .arrays import largest_size, total
from .carriers import chosen_contact
from .cones import Block, contact_block, contact_impulse, yielding_contact
from .row_laws import moment_law, row_impulse

SIZE = 6  # numbers of a row
SLIPS = 12  # steps towards the slip of one contact, at most
ALONE = 0.1  # of the tolerance: the accuracy of one contact beside the others

Records = dict[str, Any]
Begin = Callable[..., tuple[Any, Any, Records]]


class Motion(ABC):
    """How one contact moves its rows. numbers (r,): of these rows."""

    numbers: np.ndarray

    @abstractmethod
    def velocity(self, rows: np.ndarray) -> np.ndarray:
        """(3 + m,) along and about its axes, of the velocities (r, 6) of its rows."""

    @abstractmethod
    def moved(self, rows: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows (r, 6) after impulses p (3 + m,)."""

    @abstractmethod
    def sides(self) -> list[np.ndarray]:
        """(3 + m, 6) of each row: velocities along and about the axes per velocity of the row."""

    @abstractmethod
    def alone(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities along the axes per impulse along them (3, 3), and about each axis per moment about it (m,)."""


class Contacts(ABC):
    """k contacts of one kind, the first `count`, with m axes `about` which some of them resist turning.

    at (k, r): rows of a table (rows, 6) that each moves; a number that is no row's stands for what does not move.
    columns (k, …) by name: of its `Motion`, c (k, 3 + m): velocities without impulses, mu (k,), reach (k, m): moment
    per normal impulse [m], group (k,) if neighbours with the same number have no row in common. tolerance [m/s].
    """

    motions: tuple[str, ...]  # names of the columns of a `Motion`

    def __init__(
        self, at: np.ndarray, columns: Mapping[str, Any], about: tuple[int, ...], rows: int, count: Any, tolerance: Any
    ) -> None:
        self.at, self.columns, self.about, self.rows, self.count = at, columns, about, rows, count
        self.tolerance, self.group, self.c = tolerance, columns.get("group"), columns["c"]
        self.motion = {"numbers": at} | {name: columns[name] for name in self.motions}
        self.blocks = map(self._measured, {"motion": self.motion}, count)
        self.sizes = self.blocks.pop("sizes")
        self.laws = {"sizes": self.sizes, "mu": columns["mu"], "levers": columns["reach"]}

    def __len__(self) -> int:
        return len(self.at)

    @abstractmethod
    def motion_of(self, **motion: Any) -> Motion:
        """How one contact moves its rows, from its row of `motion`."""

    def some(self, at: np.ndarray, columns: Mapping[str, Any], rows: int, count: Any) -> Contacts:
        """Contacts of this kind that move rows of another table."""
        return type(self)(at, columns, self.about, rows, count, self.tolerance)

    def _measured(self, motion: Any) -> Records:
        """The block of a contact, and sizes (3 + m,); one that moves nothing gets a block that has slopes."""
        W, gains = self.motion_of(**motion).alone()
        W = W + where(W[0, 0] + W[1, 1] + W[2, 2] > 0.0, 0.0, 1.0) * np.eye(3)
        return {"sizes": np.concatenate([np.diag(W), gains]), **contact_block(W)._asdict()}

    def scale(self, p: np.ndarray) -> Any:
        """Scale of the velocities at work."""

        def one(c: Any, size: Any, p: Any) -> Records:
            return {"most": reduce(maximum, [*absolute(c), *absolute(size * p)])}

        most = map(one, {"c": self.c, "size": self.sizes, "p": p}, self.count)["most"]
        return largest_size(most, self.count)

    # ---- impulses and velocities

    def pushed(self, p: np.ndarray, table: np.ndarray) -> np.ndarray:
        """The table after impulses p (k, 3 + m)."""

        def one(rows: Any, motion: Any, p: Any) -> Records:
            contact = self.motion_of(**motion)
            return {"rows": contact.moved(rows, p), "to": contact.numbers}

        items = {"motion": self.motion, "p": p}
        return visit(one, items, table, self.at, count=self.count, groups=self.group)["table"]

    def velocities(self, table: np.ndarray) -> np.ndarray:
        """(k, 3 + m): the part of the velocities of contacts that a table makes."""

        def one(rows: Any, motion: Any) -> Records:
            return {"u": self.motion_of(**motion).velocity(rows)}

        return visit(one, {"motion": self.motion}, table, self.at, count=self.count)["u"]

    # ---- one after the other

    def in_turn(self, p: np.ndarray, slip: np.ndarray, table: np.ndarray) -> tuple[Any, ...]:
        """Impulses, slips and the table after each contact in turn, and the velocity that each has changed (k,)."""
        after = self.each(where_it_is, nothing_more, {"p": p, "slip": slip}, table, False)
        return after["p"], after["slip"], after["table"], after["moved"]

    def each(
        self,
        begin: Begin,
        added: Callable[..., Records],
        states: Mapping[str, np.ndarray],
        table: np.ndarray,
        reverse: bool,
    ) -> dict[str, np.ndarray]:
        """Each contact in turn beside the others as they are: "p", "slip", "moved", and "table" at the end.

        states (k, …) by name: what `begin` takes of a contact; it gives the impulses and the slip from which it starts,
        and further records. added: from the new impulses, their sizes, the velocity that changed and the states of a
        contact to further records.
        """

        def one(rows: Any, motion: Any, block: Any, c: Any, law: Any, state: Any) -> Records:
            contact, block, sizes = self.motion_of(**motion), Block(**block), law["sizes"]
            before, slip, records = begin(**state)
            u = c + contact.velocity(rows)
            new, slip = self._alone(block, law["mu"], u[:3] - block.W @ before[:3], slip)
            impulses = list(new)
            if self.about:
                change = np.concatenate([new - before[:3], np.zeros(len(self.about))])
                u = c + contact.velocity(contact.moved(rows, change))
                for j, lever in enumerate(law["levers"], 3):
                    impulses.append(row_impulse(moment_law(lever, new[0]), sizes[j], u[j] - sizes[j] * before[j]))
            after = np.array(impulses)
            moved = reduce(maximum, sizes * absolute(after - before))
            records |= added(after, sizes, moved, **state)
            rows = contact.moved(rows, after - before)
            return {"rows": rows, "to": contact.numbers, "p": after, "slip": slip, "moved": moved} | records

        items = {"motion": self.motion, "block": self.blocks, "c": self.c, "law": self.laws, "state": states}
        return visit(one, items, table, self.at, {}, self.count, reverse, self.group)

    def _alone(self, block: Block, mu: Any, b: np.ndarray, slip: Any) -> tuple[np.ndarray, Any]:
        """The impulse of a contact beside the others as they are, and its slip.

        `contact_impulse` again until its velocities no longer change: those of the slip alone say nothing of a contact
        without load.
        """

        def again(before: Any, slip: Any, done: Any) -> Records:
            p, slip, _ = contact_impulse(block, mu, b, slip)
            moved = reduce(maximum, block.size * absolute(p - before))
            return {"p": p, "slip": slip, "done": where(moved <= ALONE * self.tolerance, 1.0, 0.0)}

        first, slip, _ = contact_impulse(block, mu, b, slip)
        start = {"p": first, "slip": slip, "done": where(slip > 0.0, 0.0, 1.0)}
        end = repeat(again, SLIPS, start, "done")
        return end["p"], end["slip"]

    # ---- all at once, with laws that give way: see `iteration.Problem`

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any, table: np.ndarray) -> dict[str, np.ndarray]:
        """Impulses "p" of laws that give way, "K" of each contact, and "table", to which their pushes are added."""

        def one(rows: Any, motion: Any, held: Any, u: Any, sizes: Any, mu: Any, levers: Any) -> Records:
            contact = self.motion_of(**motion)
            p, K = yielding_contact(sizes, mu, levers, held, u, give)
            push = [row + side.T @ (p - held) for row, side in zip(rows, contact.sides(), strict=True)]
            return {"rows": np.array(push), "to": contact.numbers, "p": p, "K": K}

        items = {"motion": self.motion, "held": held, "u": u} | self.laws
        return visit(one, items, table, self.at, count=self.count, groups=self.group)

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held) of all."""

        def one(held: Any, u: Any, du: Any, sizes: Any, mu: Any, levers: Any) -> Records:
            p, _ = yielding_contact(sizes, mu, levers, held, u, give)
            return {"power": du @ (p - held), "p": p}

        each = map(one, {"held": held, "u": u, "du": du} | self.laws, self.count)
        return each["p"], total(each["power"], self.count)

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact alone, with the others as they are, and the velocity that changes most."""

        def one(block: Any, p: Any, u: Any, sizes: Any, mu: Any, levers: Any) -> Records:
            new, slip, moved = chosen_contact(Block(**block), mu, levers, sizes, p, u)
            return {"p": new, "slip": slip, "change": reduce(maximum, [moved, *(sizes * absolute(new - p))])}

        new = map(one, {"block": self.blocks, "p_before": p, "u": u} | self.laws, self.count)
        return new["p"], new["slip"], largest_size(new["change"], self.count)

    def _places(self, n: int) -> np.ndarray:
        """(k, r²): numbers of the blocks of a system of n rows that each contact stiffens; −1: none."""

        def one(numbers: Any) -> Records:
            inside = [logical_and(x >= 0.0, x < float(n)) for x in numbers]
            pairs = [(i, j) for i in range(len(numbers)) for j in range(len(numbers))]
            blocks = [numbers[i] * float(n) + numbers[j] for i, j in pairs]
            taken = [logical_and(inside[i], inside[j]) for i, j in pairs]
            return {"places": np.array([where(x, y, -1.0) for x, y in zip(taken, blocks, strict=True)])}

        return map(one, {"numbers": self.at}, self.count)["places"]

    def marked(self, flags: np.ndarray, n: int) -> np.ndarray:
        """1 in flags (n², 1) for the blocks of contacts."""

        def one(_: Any, places: Any) -> Records:
            return {"rows": np.ones((len(places), 1)), "to": places}

        return visit(one, {"places": self._places(n)}, flags, count=self.count)["table"]

    def stiffened(self, K: np.ndarray, table: np.ndarray, n: int) -> np.ndarray:
        """The blocks (n², 36) of a system with Jᵀ K J of contacts."""
        places = self._places(n)

        def one(rows: Any, places: Any, motion: Any, K: Any) -> Records:
            sides = self.motion_of(**motion).sides()
            more = [left.T @ K @ right for left in sides for right in sides]
            return {"rows": rows + np.array([x.ravel() for x in more]), "to": places}

        items = {"places": places, "motion": self.motion, "K": K}
        return visit(one, items, table, places, count=self.count)["table"]


def where_it_is(p: Any, slip: Any, **_: Any) -> tuple[Any, Any, Records]:
    """A contact starts from its impulses and slip; nothing more is recorded."""
    return p, slip, {}


def nothing_more(*_: Any, **__: Any) -> Records:
    """No further records."""
    return {}


class PairMotion(Motion):
    """How a contact moves two loose bodies; see `PairContacts`."""

    def __init__(self, about: tuple[int, ...], numbers: np.ndarray, axes: np.ndarray, **sides: Any) -> None:
        self.about, self.numbers, self.axes = about, numbers, axes
        names = "levers", "turns", "light", "spins"
        self.levers, self.turns, self.light, self.spins = ([sides[f"{x}_a"], sides[f"{x}_b"]] for x in names)

    def velocity(self, rows: np.ndarray) -> np.ndarray:
        """(3 + m,) of two bodies' velocities (2, 6)."""
        a, b = rows
        along = self.axes @ (a[:3] - b[:3]) + self.levers[0] @ a[3:] - self.levers[1] @ b[3:]
        return np.concatenate([along, [self.axes[k] @ (a[3:] - b[3:]) for k in self.about]])

    def moved(self, rows: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows (2, 6) after impulses p (3 + m,)."""
        push, sides = self.axes.T @ p[:3], []
        for row, sign, light, turns, spins in zip(rows, (1.0, -1.0), self.light, self.turns, self.spins, strict=True):
            turn = turns.T @ p[:3]
            for spin, moment in zip(spins, p[3:], strict=True):
                turn = turn + spin * moment
            sides.append(np.concatenate([row[:3] + (sign * light) * push, row[3:] + sign * turn]))
        return np.array(sides)

    def sides(self) -> list[np.ndarray]:
        """(3 + m, 6) of both bodies."""
        first, second = (np.concatenate([self.axes, levers], axis=1) for levers in self.levers)
        turns = np.array([[0.0, 0.0, 0.0, *self.axes[k]] for k in self.about]).reshape(-1, SIZE)
        return [np.concatenate([first, turns]), np.concatenate([-second, -turns])]

    def alone(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities per impulse (3, 3) and per moment (m,)."""
        pairs = zip(self.levers, self.turns, strict=True)
        W = sum(self.light) * np.eye(3) + sum(levers @ turns.T for levers, turns in pairs)
        both = zip(self.about, *self.spins, strict=True)
        return W, np.array([self.axes[k] @ (a + b) for k, a, b in both]).reshape(-1)


class PairContacts(Contacts):
    """Contacts of two loose bodies, or of one with what is fixed.

    axes (k, 3, 3): normal and tangents, rows; levers_a, levers_b (k, 3, 3): turning of the bodies per motion along
    each; turns_a, turns_b (k, 3, 3): angular velocity that a unit impulse along each gives; light_a, light_b (k,):
    1/mass; spins_a, spins_b (k, m, 3): angular velocities that unit moments about the axes `about` give.
    """

    motions = (
        "axes",
        "levers_a",
        "levers_b",
        "turns_a",
        "turns_b",
        "light_a",
        "light_b",
        "spins_a",
        "spins_b",
    )

    def motion_of(self, **motion: Any) -> PairMotion:
        """How one contact moves two bodies."""
        return PairMotion(self.about, **motion)


class LinkMotion(Motion):
    """How a contact of a link moves a loose body, and joints; see `LinkContacts`."""

    def __init__(self, numbers: np.ndarray, J: np.ndarray, Y: np.ndarray, B: np.ndarray) -> None:
        self.numbers, self.J, self.Y, self.B = numbers, J, Y, B

    def velocity(self, rows: np.ndarray) -> np.ndarray:
        """(3 + m,) of the velocities of its rows."""
        return self.J @ rows[0] + self.B @ rows[1:].ravel()

    def moved(self, rows: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows after impulses p (3 + m,)."""
        joints = rows[1:] + (self.B.T @ p).reshape(-1, SIZE)
        return np.concatenate([(rows[0] + self.Y.T @ p)[None], joints])

    def sides(self) -> list[np.ndarray]:
        """(3 + m, 6) of each row."""
        return [self.J, *np.split(self.B, self.B.shape[1] // SIZE, axis=1)]

    def alone(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities per impulse (3, 3) and per moment (m,)."""
        J, Y, B = self.J, self.Y, self.B
        gains = [J[i] @ Y[i] + B[i] @ B[i] for i in range(3, len(J))]
        return J[:3] @ Y[:3].T + B[:3] @ B[:3].T, np.array(gains).reshape(-1)


class LinkContacts(Contacts):
    """Contacts of links, each of which moves one loose body or none, the first of its rows, and all joints.

    J, Y (k, 3 + m, 6): velocities along the axes, and about them, per velocity of that body, and what unit impulses
    change of it; B (k, 3 + m, 6 r): both of joints, whose inertia is the identity.
    """

    motions = ("J", "Y", "B")

    def motion_of(self, **motion: Any) -> LinkMotion:
        """How one contact moves a loose body and joints."""
        return LinkMotion(**motion)


def link_rows(loose: np.ndarray, joints: int) -> np.ndarray:
    """(k, 1 + joints): the rows that contacts of links move, from those of loose bodies (k, 1)."""
    return np.concatenate([loose, np.tile(np.arange(float(joints)), (len(loose), 1))], axis=1)
