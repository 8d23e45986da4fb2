"""Impulses of contacts between loose bodies, and of links of robots with these and each other: see `impulses`.

Velocities are rows of six numbers in one table: those of all joints, in coordinates in which their inertia is the
identity, six to a row; then those of loose bodies, as in `body_impulses`. A contact of loose bodies moves two rows, one
of a link the row of the loose body that it meets and all those of joints. Sweeps go over both kinds of contacts and
over rows of joints, as stops; Newton steps solve for the islands that these leave unsettled, together with all joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, map, maximum, visit, where

from .block_elimination import BlockPattern, pattern_of_flags, solve_blocks
from .body_impulses import Sweeps
from .body_problem import body_inertia
from .cones import Block, contact_block, yielding_contact
from .impulses import Rows, chosen_contact
from .iteration import Problem, Yielding

SIZE = 6  # numbers of a row
NOTHING = np.zeros((1, 1))  # a table that is not used
IDENTITY = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])  # inertia of a row of joints: see `body_inertia`


class LinkContacts(NamedTuple):
    """Of k contacts of links, the first `count`, with m axes of friction about them.

    loose (k,): the row of the loose body that a link meets; one that is none's moves nothing. J, Y (k, 3 + m, 6):
    velocities along the axes, and about them, per velocity of that body, and what unit impulses change of it. B (k,
    3 + m, 6 r): both of joints. reach (k, m) [m], c (k, 3 + m), mu (k,), about: as of `BodyContacts`.
    """

    loose: np.ndarray
    J: np.ndarray
    Y: np.ndarray
    B: np.ndarray
    reach: np.ndarray
    c: np.ndarray
    mu: np.ndarray
    about: tuple[int, ...]
    count: Any
    group: Any = None  # all of them move joints


class LinkMotion:
    """How one contact of a link moves a loose body, and joints."""

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
        """(3 + m, 6) of each row: velocities per velocity of it."""
        return [self.J, *np.split(self.B, self.B.shape[1] // SIZE, axis=1)]


class LinkSweeps(Sweeps):
    """Sweeps over contacts of links; rows: of the table, those of joints first."""

    def __init__(self, contacts: LinkContacts, rows: int, tolerance: Any, finer: Any) -> None:
        self.bodies, self.tolerance, self.finer = rows, tolerance, finer
        self.contacts = contacts  # type: ignore[assignment]
        joints = contacts.B.shape[2] // SIZE
        numbers = np.tile(np.arange(float(joints)), (len(contacts.mu), 1))
        self.at = np.concatenate([contacts.loose[:, None], numbers], axis=1)
        self.motion = {"numbers": self.at, "J": contacts.J, "Y": contacts.Y, "B": contacts.B}
        self.blocks = map(_block, {"J": contacts.J, "Y": contacts.Y, "B": contacts.B}, contacts.count)
        self.sizes = self.blocks["size"]
        if contacts.about:
            self.gains = self.blocks.pop("gains")
            self.sizes = np.concatenate([self.sizes, self.gains], axis=1)

    def motion_of(self, *numbers: Any) -> Any:
        """Of one contact."""
        return LinkMotion(*numbers)


def _block(J: Any, Y: Any, B: Any) -> dict[str, Any]:
    """The block of a contact, and velocities per moment about its axes; one that moves nothing gets a block as well."""
    W = J[:3] @ Y[:3].T + B[:3] @ B[:3].T
    W = W + where(W[0, 0] + W[1, 1] + W[2, 2] > 0.0, 0.0, 1.0) * np.eye(3)
    turned = [J[i] @ Y[i] + B[i] @ B[i] for i in range(3, len(J))]
    return contact_block(W)._asdict() | ({"gains": np.array(turned)} if turned else {})


class CrowdProblem(Problem):
    """Contacts of loose bodies and of links, and rows of joints. Impulses: contacts of both kinds, one by one; rows.

    inertia (n, 7): of each row of the table that is a loose body's, as `body_inertia` takes it; body_count: how many of
    these there are, the first ones, None: all.
    """

    with_contacts, added = True, 4.0

    def __init__(self, kinds: Sequence[Sweeps], rows: Rows, inertia: np.ndarray, body_count: Any = None) -> None:
        self.kinds, self.rows, self.body_count = kinds, rows, body_count
        self.joints = -(-rows.carrier.X.shape[0] // SIZE)
        self.table_rows = len(inertia) + self.joints
        self.inertia = np.concatenate([np.tile(IDENTITY, (self.joints, 1)), inertia])
        self.width = kinds[0].contacts.c.shape[1]
        self.scale_of = np.concatenate([*(kind.contacts.c.ravel() for kind in kinds), rows.c])
        self.sizes = np.concatenate([*(kind.sizes.ravel() for kind in kinds), rows.sizes])

    @cached_property
    def M(self) -> np.ndarray:  # type: ignore[override]
        """Inertia of all rows."""
        M = np.zeros((SIZE * self.table_rows, SIZE * self.table_rows), object)
        for i, each in enumerate(self.inertia):
            M[SIZE * i : SIZE * i + SIZE, SIZE * i : SIZE * i + SIZE] = body_inertia(each)
        return M

    def split(self, p: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """(k, 3 + m) of each kind of contacts, and of rows."""
        parts, at = [], 0
        for kind in self.kinds:
            k = len(kind.contacts.mu)
            parts.append(p[at : at + k * self.width].reshape(k, self.width))
            at += k * self.width
        return parts, p[at:]

    def joined(self, parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """The reverse."""
        return np.concatenate([*(x.ravel() for x in parts), rows])

    def slips(self, slip: np.ndarray) -> list[np.ndarray]:
        """Of each kind of contacts."""
        return np.split(slip, np.cumsum([len(kind.contacts.mu) for kind in self.kinds])[:-1])

    def of_joints(self, w: np.ndarray) -> np.ndarray:
        """The velocities of joints of a table w, in a row."""
        return w[: self.rows.carrier.X.shape[0]]

    def moved_joints(self, w: np.ndarray, more: np.ndarray) -> np.ndarray:
        """A table w, in a row, after joints have moved."""
        w = w.astype(object)
        w[: len(more)] = w[: len(more)] + more
        return w

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w (6 n,) of all impulses."""
        parts, rows = self.split(p)
        w = sum(kind.pushed(x).ravel() for kind, x in zip(self.kinds, parts, strict=True))
        return self.moved_joints(w, self.rows.carrier.Y @ rows) if len(rows) else w

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """Of all contacts and rows."""
        return self.scale_of + self.along(w)

    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all contacts and rows."""
        table = x.reshape(-1, SIZE)
        rows = self.rows.carrier.X.T @ self.of_joints(x) if len(self.rows.c) else np.zeros(0)
        return self.joined([kind.velocities(table) for kind in self.kinds], rows)

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w, and the largest velocity that changed, after each contact and row in turn."""
        parts, slips, w, most, _, rows = self.swept_with_each(p, slip, w)
        return self.joined(parts, rows), np.concatenate(slips), w, most

    def swept_with_each(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[Any, ...]:
        """As `swept`, by kind, with the velocities that each contact changed, then impulses of rows."""
        parts, rows = self.split(p)
        table, most, after = w.reshape(-1, SIZE), 0.0, []
        for kind, x, slips in zip(self.kinds, parts, self.slips(slip), strict=True):
            x, slips, table, change, moved = kind.one_way(x, slips, table, False)
            most = maximum(most, change)
            after.append((x, slips, moved))
        w = table.ravel()
        if len(rows):
            before = self.of_joints(w)
            rows, joints, changes = self.rows.swept(rows, before)
            w, most = self.moved_joints(w, joints - before), reduce(maximum, changes, most)
        new, slips, moved = (list(x) for x in zip(*after, strict=True))
        return new, slips, w, most, moved, rows

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about impulses `held`, at velocities u; A is K of each contact and row: see `solve`."""
        (parts, rows), (velocities, row_velocities) = self.split(held), self.split(u)
        push, after, stiffness = np.zeros(SIZE * self.table_rows), [], []
        for kind, x, y in zip(self.kinds, parts, velocities, strict=True):
            each = _yielding(kind, x, y, give)
            push = push + each["table"].ravel()
            after.append(each["p"])
            stiffness.append(each["K"].reshape(len(x), -1))
        if len(rows):
            p, k = self.rows.yielding(rows, row_velocities, give)
            push, rows = self.moved_joints(push, self.rows.carrier.J.T @ (p - rows)), p
            return Yielding(self.joined(after, rows), self.joined(stiffness, k), push)
        return Yielding(self.joined(after, rows), self.joined(stiffness, np.zeros(0)), push)

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""
        (parts, rows), (at, row_at), (along, row_along) = (self.split(x) for x in (held, u, du))
        after, total = [], 0.0
        for kind, *numbers in zip(self.kinds, parts, at, along, strict=True):
            each = _power(kind, *numbers, give)
            total = total + each["power"]
            after.append(each["p"])
        if len(rows):
            p, _ = self.rows.yielding(rows, row_at, give)
            rows, total = p, total + row_along @ (p - rows)
        return self.joined(after, rows), total

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, were the others as they are, and what they change."""
        (parts, rows), (at, row_at) = self.split(p), self.split(u)
        most, after, slips = 0.0, [], []
        for kind, *numbers in zip(self.kinds, parts, at, strict=True):
            each = _chosen(kind, *numbers)
            most = maximum(most, each["most"])
            after.append(each["p"])
            slips.append(each["slip"])
        if len(rows):
            rows, changes = self.rows.chosen(rows, row_at)
            most = reduce(maximum, changes, most)
        return self.joined(after, rows), np.concatenate(slips), most

    @cached_property
    def pattern(self) -> BlockPattern:
        """Which blocks of the system there are."""
        n = self.table_rows
        flags = np.zeros((n * n, 1))
        flags[:: n + 1] = 1.0
        for i in range(self.joints):
            flags[i * n : i * n + self.joints] = 1.0
        for kind in self.kinds:
            flags = _marked(kind, flags, n)
        rows = None if self.body_count is None else self.body_count + float(self.joints)
        return pattern_of_flags(n, flags, rows)

    def solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(M + Jᵀ K J)⁻¹ b."""
        n, at = self.table_rows, 0
        table = np.zeros((n * n, SIZE * SIZE), object)
        for i, each in enumerate(self.inertia):
            table[i * n + i] = body_inertia(each).ravel()
        for kind in self.kinds:
            size = len(kind.contacts.mu) * self.width**2
            K, at = A[at : at + size].reshape(-1, self.width, self.width), at + size
            table = _stiffened(kind, K, table, n)
        table = table.astype(object)
        J = np.zeros((len(self.rows.c), SIZE * self.joints), object)
        J[:, : self.rows.carrier.X.shape[0]] = self.rows.carrier.J
        for k, row in zip(A[at:], J.reshape(len(J), self.joints, SIZE), strict=True):
            for i, left in enumerate(row):
                for j, right in enumerate(row):
                    place = i * n + j
                    table[place] = table[place] + np.outer(left * k, right).ravel()
        return solve_blocks(self.pattern, table, b.reshape(-1, SIZE)).ravel()


class _Places(NamedTuple):
    """All contacts of all kinds; places without one count as 0."""

    count: Any = None


class CrowdSweeps(Sweeps):
    """Sweeps over all kinds of contacts of a problem, and rows, whose impulses are rows of the table behind the others.

    row_start: impulses of rows from which sweeps start.
    """

    def __init__(self, problem: CrowdProblem, row_start: np.ndarray) -> None:
        self.problem, self.row_start, first = problem, row_start, problem.kinds[0]
        self.bodies = problem.table_rows - (-len(row_start) // SIZE)
        self.tolerance, self.finer = first.tolerance, first.finer
        self.contacts = _Places()  # type: ignore[assignment]
        self.row_change: Any = 0.0  # the largest velocity of a row that the last sweep there and back changed

    def scale(self, p: np.ndarray) -> Any:
        """Of the velocities at work."""
        rows = self.problem.rows
        sizes = [*absolute(rows.c), *absolute(rows.sizes * self.row_start)]
        return reduce(maximum, [*(kind.scale(x) for kind, x in self._by_kind(p)), *sizes])

    def _by_kind(self, x: np.ndarray) -> list[tuple[Sweeps, np.ndarray]]:
        """Arrays (k, …) of all contacts, by kind."""
        kinds = self.problem.kinds
        return list(zip(kinds, np.split(x, np.cumsum([len(kind.contacts.mu) for kind in kinds])[:-1]), strict=True))

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """The table of impulses p."""
        w = self.problem.pushed(self.problem.joined([p], self.row_start))
        return np.concatenate([w, self._padded(self.row_start)]).reshape(-1, SIZE)

    def _padded(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([rows, np.zeros(-len(rows) % SIZE)])

    def _each(
        self,
        begin: Callable[..., tuple[Any, Any, dict[str, Any]]],
        added: Callable[..., dict[str, Any]],
        states: dict[str, np.ndarray],
        w: np.ndarray,
        reverse: bool,
    ) -> dict[str, np.ndarray]:
        """Kind after kind, then rows; in reverse from the last."""
        parts = {name: self._by_kind(x) for name, x in states.items()}
        order, results, table = list(enumerate(self.problem.kinds)), {}, w
        if reverse:
            table, self.row_change = self._rows_swept(table, self.row_change)
        for i, kind in order[::-1] if reverse else order:
            of_kind = {name: x[i][1] for name, x in parts.items()}
            results[i] = kind._each(begin, added, of_kind, table, reverse)
            table = results[i]["table"]
        if not reverse:
            table, self.row_change = self._rows_swept(table, 0.0)
        names = [name for name in results[0] if name != "table"]
        return {name: np.concatenate([results[i][name] for i, _ in order]) for name in names} | {"table": table}

    def _back(self, there: Any) -> Any:
        """As of contacts alone, with the changes of rows."""
        back = super()._back(there)
        return back._replace(change=maximum(back.change, self.row_change))

    def _rows_swept(self, table: np.ndarray, most: Any) -> tuple[np.ndarray, Any]:
        """The table after each row in turn."""
        n, count = self.problem.table_rows, len(self.row_start)
        if not count:
            return table, most
        w, rows = table[:n].ravel(), table[n:].ravel()[:count]
        before = self.problem.of_joints(w)
        rows, joints, changes = self.problem.rows.swept(rows, before)
        w = self.problem.moved_joints(w, joints - before)
        return np.concatenate([w, self._padded(rows)]).reshape(-1, SIZE), reduce(maximum, changes, most)

    def rows_of(self, w: np.ndarray) -> np.ndarray:
        """The impulses of rows in a table."""
        return w[self.problem.table_rows :].ravel()[: len(self.row_start)]


# ---- one kind of contacts


def _sides(contact: Any) -> list[np.ndarray]:
    """(3 + m, 6) of each row that a contact moves: velocities per velocity of it."""
    if isinstance(contact, LinkMotion):
        return contact.sides()
    turns = np.array([[0.0, 0.0, 0.0, *contact.axes[k]] for k in contact.about]).reshape(-1, SIZE)
    first, second = contact.rows()
    return [np.concatenate([first, turns]), np.concatenate([second, -turns])]


def _laws(kind: Sweeps) -> dict[str, np.ndarray]:
    """Of each contact: velocity per impulse, friction, and moments per normal impulse."""
    return {"sizes": kind.sizes, "mu": kind.contacts.mu, "levers": kind.contacts.reach}


def _yielding(kind: Sweeps, held: np.ndarray, u: np.ndarray, give: Any) -> dict[str, np.ndarray]:
    """Impulses "p" of laws that give way, K of each contact, and what pushes the rows of the table."""
    motion = len(kind.motion)

    def one(rows: Any, *numbers: Any) -> dict[str, Any]:
        contact = kind.motion_of(*numbers[:motion])
        held, u, *law = numbers[motion:]
        p, K = yielding_contact(*law, held, u, give)
        push = [row + side.T @ (p - held) for row, side in zip(rows, _sides(contact), strict=True)]
        return {"rows": np.array(push), "to": contact.numbers, "p": p, "K": K}

    items = kind.motion | {"held": held, "u": u} | _laws(kind)
    return visit(one, items, np.zeros((kind.bodies, SIZE)), kind.at, count=kind.contacts.count)


def _power(kind: Sweeps, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> dict[str, Any]:
    """Impulses "p" of such laws, and their "power" du · (p − held)."""

    def one(_: Any, power: Any, held: Any, u: Any, du: Any, *law: Any) -> dict[str, Any]:
        p, _ = yielding_contact(*law, held, u, give)
        return {"power": power + du @ (p - held), "p": p}

    items = {"held": held, "u": u, "du": du} | _laws(kind)
    return visit(one, items, NOTHING, carry={"power": 0.0}, count=kind.contacts.count)


def _chosen(kind: Sweeps, p: np.ndarray, u: np.ndarray) -> dict[str, Any]:
    """Impulses "p" and "slip" of each contact alone, and the velocity that changes "most"."""
    names = Block._fields

    def one(_: Any, most: Any, *numbers: Any) -> dict[str, Any]:
        block = Block(*numbers[: len(names)])
        p, u, size, mu, levers = numbers[len(names) :]
        new, slip, moved = chosen_contact(block, mu, levers, size, p, u)
        return {"p": new, "slip": slip, "most": reduce(maximum, [most, moved, *(size * absolute(new - p))])}

    items = {name: kind.blocks[name] for name in names} | {"p before": p, "u": u} | _laws(kind)
    return visit(one, items, NOTHING, carry={"most": 0.0}, count=kind.contacts.count)


def _places(kind: Sweeps, n: int) -> np.ndarray:
    """(k, s²): numbers of the blocks of a system of n rows that each contact stiffens; −1: none."""

    def one(numbers: Any) -> dict[str, Any]:
        inside = [logical_and(x >= 0.0, x < float(n)) for x in numbers]
        pairs = [(i, j) for i in range(len(numbers)) for j in range(len(numbers))]
        places = [where(logical_and(inside[i], inside[j]), numbers[i] * float(n) + numbers[j], -1.0) for i, j in pairs]
        return {"places": np.array(places)}

    return map(one, {"numbers": kind.at}, kind.contacts.count)["places"]


def _marked(kind: Sweeps, flags: np.ndarray, n: int) -> np.ndarray:
    """1 in flags (n², 1) for the blocks of contacts."""

    def one(_: Any, places: Any) -> dict[str, Any]:
        return {"rows": np.ones((len(places), 1)), "to": places}

    return visit(one, {"places": _places(kind, n)}, flags, count=kind.contacts.count)["table"]


def _stiffened(kind: Sweeps, K: np.ndarray, table: np.ndarray, n: int) -> np.ndarray:
    """The blocks (n², 36) of a system with Jᵀ K J of contacts."""
    places = _places(kind, n)

    def one(rows: Any, places: Any, *numbers: Any) -> dict[str, Any]:
        *motion, K = numbers
        sides = _sides(kind.motion_of(*motion))
        more = [left.T @ K @ right for left in sides for right in sides]
        return {"rows": rows + np.array([x.ravel() for x in more]), "to": places}

    return visit(one, {"places": places} | kind.motion | {"K": K}, table, places, count=kind.contacts.count)["table"]
