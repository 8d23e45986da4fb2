"""Tables of contacts, what each contact moves, and the loops over them, which are emitted once or written out.

Impulses move the coordinates of joints (n,) and the velocities of loose bodies, six numbers each. A contact reads and
changes at most two blocks of these: joints and one loose body, or two loose bodies. Everything else is the same for
all contacts and is written here once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dalembert.linear.block_elimination import NOTHING
from dalembert.linear.zeros import is_zero, nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, map, maximum, minimum, repeat, sqrt, visit, where

from .arrays import by_contact, filled_rows, flat, largest_size
from .carriers import Softening
from .cones import (
    TINIEST,
    Block,
    active_set,
    contact_block,
    contact_impulse,
    linear_contact,
    missed_law,
    slip_where_sliding,
)
from .motions import SIZE, Motion, Moved, PairMotion, Side
from .row_laws import moment_law, row_impulse

SLIPS = 12  # steps towards the slip of one contact, at most
ALONE = 0.1  # of the tolerance: the accuracy of one contact beside the others

Records = dict[str, Any]
Begin = Callable[..., tuple[Any, Any, Records]]


class Contacts(ABC):
    """k contacts of one kind, the first `count`, each with three axes and m moments.

    columns (k, …) by name: of its `Motion`, c (k, 3 + m): velocities without impulses, mu (k,), reach (k, m): moment
    per normal impulse [m], group (k,) if neighbours with the same number have no loose body in common. at (k, r):
    numbers of the loose bodies that each moves, a number that is no body's stands for what is fixed; None: no loose
    bodies. unroll: whether loops over the contacts are written out, so that constants fold. tolerance [m/s]: of the
    slip of each contact beside the others; None: one step towards it in each sweep.
    """

    motions: tuple[str, ...]  # names of the columns of a `Motion`
    moves_joints = True

    def __init__(
        self,
        columns: Mapping[str, Any],
        at: np.ndarray | None = None,
        count: Any = None,
        about: tuple[int, ...] = (),
        unroll: bool = False,
        tolerance: Any = None,
        pattern: np.ndarray | None = None,
    ) -> None:
        self.columns, self.at, self.count, self.about = columns, at, count, about
        self.unroll, self.tolerance, self.pattern = unroll, tolerance, pattern
        self.group, self.c = columns.get("group"), columns["c"]
        self.motion = {name: columns[name] for name in self.motions if name in columns}
        items: dict[str, Any] = {"motion": self.motion}
        self.blocks = self._map(self._measured, items | self._freedoms())
        self.sizes = self.blocks.pop("sizes")
        self.laws = {"sizes": self.sizes, "mu": columns["mu"], "levers": columns["reach"]}

    def __len__(self) -> int:
        return len(self.c)

    @property
    def width(self) -> int:
        """3 + m."""
        return int(self.c.shape[1])

    @abstractmethod
    def motion_of(self, **motion: Any) -> Motion:
        """How one contact moves joints and bodies, from its row of `motion`."""

    def some(self, at: np.ndarray | None, columns: Mapping[str, Any], count: Any) -> Contacts:
        """Contacts of this kind that move other bodies."""
        return type(self)(columns, at, count, self.about, self.unroll, self.tolerance, self.pattern)

    def _freedoms(self) -> dict[str, Any]:
        """How many freedoms move each contact, where that is known."""
        return {}

    def _measured(self, motion: Any, freedoms: Any = None) -> Records:
        """The block of a contact, and sizes (3 + m,); one that moves nothing gets a block that has slopes."""
        W, gains = self.motion_of(**motion).alone()
        if freedoms is None:
            W = W + where(W[0, 0] + W[1, 1] + W[2, 2] > 0.0, 0.0, 1.0) * np.eye(3)
        block = contact_block(W) if freedoms is None else contact_block(W, int(freedoms))
        return {"sizes": np.concatenate([np.diag(W), gains]), **block._asdict()}

    # ---- loops

    def _map(self, step: Callable[..., Mapping[str, Any]], items: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return map(step, items, self.count, self.unroll)

    def _read(self, step: Callable[..., Records], items: Mapping[str, Any], w: Moved) -> dict[str, np.ndarray]:
        """Results of step(moved by the contact, *item) for all contacts."""
        if self.at is None:
            return self._map(lambda *item: step(w, *item), items)
        return visit(lambda rows, *item: step(Moved(w.joints, rows), *item), items, w.bodies, self.at, count=self.count)

    def _in_turn(
        self, step: Callable[..., Records], items: Mapping[str, Any], w: Moved, reverse: bool = False
    ) -> dict[str, Any]:
        """Results of the step for one contact after another; "w": what it moved, in the end everything."""
        loose, jointed = self.at is not None, self.moves_joints and len(w.joints) > 0

        def one(rows: Any, *parts: Any) -> Records:
            joints, item = (parts[0], parts[1:]) if jointed else (w.joints, parts)
            records = dict(step(Moved(joints, rows), *(item[:-1] if loose else item)))
            after = records.pop("w")
            records |= {"joints": after.joints} if jointed else {}
            return records | ({"rows": after.bodies, "to": item[-1]} if loose else {})

        every = dict(items) | ({"numbers": self.at} if loose else {})
        carry, table = {"joints": w.joints} if jointed else {}, w.bodies if loose else NOTHING
        end = visit(one, every, table, self.at, carry, self.count, reverse, self.group, unroll=self.unroll)
        after = Moved(end.pop("joints", w.joints), end["table"] if loose else w.bodies)
        return {name: x for name, x in end.items() if name != "table"} | {"w": after}

    def largest(self, x: np.ndarray) -> Any:
        """The largest of numbers x (k,), which are not below 0."""
        return reduce(maximum, x) if self.unroll else largest_size(x, self.count)

    def ravel(self, x: np.ndarray) -> np.ndarray:
        """Numbers (k, 3 + m) in one row: contact by contact where loops are written out, else column by column."""
        return x.ravel() if self.unroll else flat(x)

    def by_contact(self, x: np.ndarray) -> np.ndarray:
        """(k, 3 + m) from such a row."""
        return x.reshape(len(self), self.width) if self.unroll else by_contact(x, self.width)

    def scale(self, p: np.ndarray) -> Any:
        """Scale of the velocities at work, without normals that open: gaps of far points say nothing of rounding."""

        def one(c: Any, size: Any, p: Any) -> Records:
            velocities = [minimum(c[0], 0.0), *c[1:], *(size * p)]
            return {"most": reduce(maximum, absolute(np.array(velocities)))}

        return self.largest(self._map(one, {"c": self.c, "size": self.sizes, "p": p})["most"])

    # ---- impulses and velocities

    def pushed(self, p: np.ndarray, w: Moved) -> Moved:
        """State after impulses p (k, 3 + m)."""

        def one(at: Moved, motion: Any, p: Any) -> Records:
            return {"w": self.motion_of(**motion).moved(at, p)}

        return self._in_turn(one, {"motion": self.motion, "p": p}, w)["w"]

    def responses(self, w: Moved) -> np.ndarray:
        """(k, 3 + m): the part of the velocities that w makes."""
        step = lambda at, motion: {"u": self.motion_of(**motion).velocity(at)}  # noqa: E731
        return self._read(step, {"motion": self.motion}, w)["u"]

    def velocities(self, w: Moved) -> np.ndarray:
        """(k, 3 + m) with w."""
        step = lambda at, motion, c: {"u": c + self.motion_of(**motion).velocity(at)}  # noqa: E731
        return self._read(step, {"motion": self.motion, "c": self.c}, w)["u"]

    # ---- one after the other

    def swept(
        self, begin: Begin, added: Callable[..., Records], states: Mapping[str, np.ndarray], w: Moved, reverse: bool
    ) -> dict[str, Any]:
        """Each contact in turn beside the others as they are: "p", "slip", "moved" (velocities), and "w" at the end.

        states (k, …) by name: what `begin` takes of a contact; it gives the impulses and the slip from which it starts,
        and further records. added: from the new impulses, their sizes, the velocity that changed and the states of a
        contact to further records.
        """

        def one(at: Moved, motion: Any, block: Any, c: Any, law: Any, state: Any) -> Records:
            contact, block, sizes = self.motion_of(**motion), Block(**block), law["sizes"]
            before, slip, records = begin(**state)
            b = c[:3] - block.W @ before[:3] + contact.along(at)
            cone, slip, slid = self._alone(block, law["mu"], b, slip)
            at = contact.pushed(at, cone - before[:3])
            new, changes = list(cone), [slid, *(block.size * absolute(cone - before[:3]))]
            for i, lever in enumerate(law["levers"], 3):
                if is_zero(lever):
                    new.append(0.0)
                    continue
                u = c[i] + contact.about(at, i)
                new.append(row_impulse(moment_law(lever, cone[0]), sizes[i], u - sizes[i] * before[i]))
                changes.append(sizes[i] * absolute(new[i] - before[i]))
                at = contact.turned(at, i, new[i] - before[i])
            after, moved = np.array(new), reduce(maximum, changes)
            records |= added(after, sizes, moved, **state)
            return {"w": at, "p": after, "slip": slip, "moved": moved} | records

        items = {"motion": self.motion, "block": self.blocks, "c": self.c, "law": self.laws, "state": states}
        return self._in_turn(one, items, w, reverse)

    def _alone(self, block: Block, mu: Any, b: np.ndarray, slip: Any) -> tuple[np.ndarray, Any, Any]:
        """The impulse of a contact beside the others as they are, its slip, and the velocity that its change makes.

        With a tolerance, `contact_impulse` is repeated until velocities no longer change: the change of the slip says
        nothing of a contact without load.
        """
        first, slip, slid = contact_impulse(block, mu, b, slip)
        if self.tolerance is None:
            return first, slip, slid

        def again(before: Any, slip: Any, done: Any) -> Records:
            p, slip, _ = contact_impulse(block, mu, b, slip)
            moved = reduce(maximum, block.size * absolute(p - before))
            return {"p": p, "slip": slip, "done": where(moved <= ALONE * self.tolerance, 1.0, 0.0)}

        start = {"p": first, "slip": slip, "done": where(slip > 0.0, 0.0, 1.0)}
        end = repeat(again, SLIPS, start, "done")
        return end["p"], end["slip"], 0.0

    # ---- all at once: see `iteration`

    def linear(
        self, p: np.ndarray, u: np.ndarray, sets: np.ndarray, give: np.ndarray, softened: Softening, w: Moved
    ) -> dict[str, Any]:
        """ "change" (k, 3 + m) of impulses towards the laws, K = −dp/du, "sets" (k,), "give", and "w" with Jᵀ change.

        sets, give: active sets and shares that give way of the step before; softened: the share that gives way now.
        """

        def one(
            at: Moved, motion: Any, p: Any, u: Any, number: Any, give: Any, sizes: Any, mu: Any, levers: Any
        ) -> Records:
            rows, few = _pushing_rows(levers)
            size, some_p, some_u = sizes[rows], p[rows], u[rows]
            chosen = active_set(size, mu, few, some_p, some_u)
            give = softened(chosen, number, give, p[0])
            change, K = linear_contact(size, mu, few, some_p, some_u, give)
            change, K = filled_rows(change, rows, len(p)), filled_rows(filled_rows(K, rows, len(p)).T, rows, len(p)).T
            at = self.motion_of(**motion).forced(at, change)
            return {"w": at, "change": change, "K": K, "sets": chosen, "give": give}

        items = {"motion": self.motion, "p": p, "u": u, "set_before": sets, "give_before": give}
        return self._in_turn(one, items | self.laws, w)

    def missed(self, p: np.ndarray, u: np.ndarray) -> tuple[Any, np.ndarray]:
        """Largest velocity by which a contact misses its law, and the slip of each (k,)."""

        def one(p: Any, u: Any, sizes: Any, mu: Any, levers: Any) -> Records:
            errors = [missed_law(sizes[:3], mu, p[:3], u[:3])]
            for i, lever in enumerate(levers, 3):
                if not is_zero(lever):
                    right = row_impulse(moment_law(lever, p[0]), sizes[i], u[i] - sizes[i] * p[i])
                    errors.append(sizes[i] * absolute(right - p[i]))
            return {"missed": reduce(maximum, errors), "slip": slip_where_sliding(mu, p[:3], u[:3])}

        each = self._map(one, {"p": p, "u": u} | self.laws)
        return self.largest(each["missed"]), each["slip"]

    def projected(self, p: np.ndarray) -> np.ndarray:
        """(k, 3 + m): impulses on their cones, and moments within what these allow."""

        def one(p: Any, mu: Any, levers: Any) -> Records:
            normal = maximum(p[0], 0.0)
            share = minimum(1.0, mu * normal / sqrt(p[1:3] @ p[1:3] + TINIEST))
            moments = [clip(x, -lever * normal, lever * normal) for x, lever in zip(p[3:], levers, strict=True)]
            return {"p": np.array([normal, *(share * p[1:3]), *moments])}

        items = {"p_before": p, "mu": self.laws["mu"], "levers": self.laws["levers"]}
        return self._map(one, items)["p"]

    def followed(self, change: np.ndarray, K: np.ndarray, x: Moved) -> np.ndarray:
        """(k, 3 + m): changes of impulses where joints and bodies change their velocities by x."""

        def one(at: Moved, motion: Any, change: Any, K: Any) -> Records:
            return {"p": change - sparse_product(K, self.motion_of(**motion).rate(at))}

        return self._read(one, {"motion": self.motion, "change": change, "K": K}, x)["p"]

    # ---- the matrix M + Jᵀ K J

    def stiffened(self, A: np.ndarray, K: np.ndarray) -> np.ndarray:
        """A (n, n) of joints with Jᵀ K J of all contacts."""
        at = self.tied()

        def one(_: Any, added: Any, motion: Any, K: Any) -> Records:
            J = self.motion_of(**motion).joints.J  # type: ignore[union-attr]
            JK = sparse_product(J.T, K)
            return {"added": added + sum(JK[at[0], i] * J[i][at[1]] for i in range(self.width))}

        items, begin = {"motion": self.motion, "K": K}, {"added": A[at]}
        stiffened = A.astype(object)
        stiffened[at] = visit(one, items, NOTHING, None, begin, self.count, unroll=self.unroll)["added"]
        return stiffened

    def tied(self) -> tuple[np.ndarray, ...]:
        """Numbers of rows and columns of Jᵀ K J where some contact has an entry."""
        if self.pattern is not None:
            return np.nonzero(self.pattern)
        moved = nonzeros(self.columns["J"]).any(axis=1).astype(float)
        return np.nonzero(moved.T @ moved)

    def _places(self, joints: int, n: int) -> np.ndarray:
        """(k, r²): numbers of the blocks that each contact stiffens, of n rows, the first of joints; −1: none."""
        more = np.arange(float(joints)) if self.moves_joints else np.zeros(0)

        def one(numbers: Any) -> Records:
            rows = [where(logical_and(x >= 0.0, x < float(n - joints)), x + float(joints), -1.0) for x in numbers]
            rows += list(more)
            pairs = [(i, j) for i in rows for j in rows]
            taken = [logical_and(i >= 0.0, j >= 0.0) for i, j in pairs]
            blocks = zip(taken, pairs, strict=True)
            return {"places": np.array([where(x, i * float(n) + j, -1.0) for x, (i, j) in blocks])}

        return map(one, {"numbers": self.at}, self.count)["places"]

    def marked(self, flags: np.ndarray, joints: int, n: int) -> np.ndarray:
        """1 in flags (n², 1) for the blocks of contacts."""

        def one(_: Any, places: Any) -> Records:
            return {"rows": np.ones((len(places), 1)), "to": places}

        return visit(one, {"places": self._places(joints, n)}, flags, count=self.count)["table"]

    def stiffened_blocks(self, K: np.ndarray, table: np.ndarray, joints: int, n: int) -> np.ndarray:
        """The blocks (n², 36) of a system with Jᵀ K J of contacts."""
        places = self._places(joints, n)

        def one(rows: Any, places: Any, motion: Any, K: Any) -> Records:
            contact = self.motion_of(**motion)
            sides = contact.sides() + ([] if contact.joints is None else in_rows_of_six(contact.joints.J))
            more = [left.T @ K @ right for left in sides for right in sides]
            return {"rows": rows + np.array([x.ravel() for x in more]), "to": places}

        return visit(one, {"places": places, "motion": self.motion, "K": K}, table, places, count=self.count)["table"]


def in_rows_of_six(J: np.ndarray) -> list[np.ndarray]:
    """Columns of J (m, n) six by six, with zeros behind them up to whole rows."""
    wide = np.concatenate([J, np.zeros((len(J), -J.shape[1] % SIZE))], axis=1)
    return np.split(wide, wide.shape[1] // SIZE, axis=1)


def where_it_is(p: Any, slip: Any, **_: Any) -> tuple[Any, Any, Records]:
    """A contact starts from its impulses and slip; nothing more is recorded."""
    return p, slip, {}


def nothing_more(*_: Any, **__: Any) -> Records:
    """No further records."""
    return {}


class JointContacts(Contacts):
    """Contacts of links, with what is fixed, each other, or with one loose body each.

    J, X, Y (k, 3 + m, n): the `Side` of joints; J alone where their inertia is the identity. body_J, body_Y
    (k, 3 + m, 6), where there are loose bodies: the side of that one.
    """

    motions = ("J", "X", "Y", "body_J", "body_Y")

    def motion_of(self, **motion: Any) -> Motion:
        """How one contact moves joints and a loose body."""
        J, body_J = motion["J"], motion.get("body_J")
        joints = Side(J, motion.get("X", J), motion.get("Y", J))
        return Motion(joints, () if body_J is None else (Side(body_J, body_J, motion["body_Y"]),))

    def _freedoms(self) -> dict[str, Any]:
        return {"freedoms": nonzeros(self.columns["Y"][:, :3]).any(axis=1).sum(axis=1)} if self.unroll else {}


class PairContacts(Contacts):
    """Contacts of two loose bodies, or of one with what is fixed.

    axes (k, 3, 3): normal and tangents, rows; levers_a, levers_b (k, 3, 3): turning of the bodies per motion along
    each; turns_a, turns_b (k, 3, 3): angular velocity that a unit impulse along each gives; light_a, light_b (k,):
    1/mass; spins_a, spins_b (k, m, 3): angular velocities that unit moments about the axes `about` give.
    """

    motions = ("axes", *(f"{name}_{side}" for name in ("levers", "turns", "light", "spins") for side in "ab"))
    moves_joints = False

    def motion_of(self, **motion: Any) -> PairMotion:
        """How one contact moves two bodies."""
        return PairMotion(self.about, **motion)


def _pushing_rows(levers: Sequence[Any]) -> tuple[list[int], np.ndarray]:
    """Rows of a contact that can push, and their levers: without moments whose lever is the constant 0."""
    at = [i for i, lever in enumerate(levers) if not is_zero(lever)]
    return [0, 1, 2, *(3 + i for i in at)], np.array([levers[i] for i in at])
