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

from dalembert.linear.block_elimination import BlockPattern, block_pattern, solve_blocks
from dalembert.math import abs as absolute
from dalembert.math import maximum

from .body_impulses import Sweeps
from .body_problem import inertia_blocks, whole_inertia
from .contact_kinds import kind_chosen, kind_marked, kind_power, kind_stiffened, kind_yielding
from .impulses import Rows
from .iteration import Problem, Yielding
from .link_contacts import SIZE

IDENTITY = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])  # inertia of a row of joints: see `body_inertia`


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
        return whole_inertia(self.inertia)

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
        """Slips of each kind of contacts."""
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
        tables = [kind.pushed(x).ravel() for kind, x in zip(self.kinds, parts, strict=True)]
        w = np.sum(tables, axis=0) if len(tables) > 1 else tables[0]
        return self.moved_joints(w, self.rows.carrier.Y @ rows) if len(rows) else w

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """Velocities of all contacts and rows."""
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
        """Sweep like `swept`, by kind; give also the velocities that each contact changed, then impulses of rows."""
        parts, rows = self.split(p)
        table, most, after = w.reshape(-1, SIZE), 0.0, []
        for kind, x, slips in zip(self.kinds, parts, self.slips(slip), strict=True):
            x, slips, table, change, moved = kind.one_way(x, slips, table)
            most = maximum(most, change)
            after.append((x, slips, moved))
        w = table.ravel()
        if len(rows):
            before = self.of_joints(w)
            rows, joints, changes = self.rows.swept(rows, before)
            w, most = self.moved_joints(w, joints - before), reduce(maximum, changes, most)
        return *([x[i] for x in after] for i in (0, 1)), w, most, [x[2] for x in after], rows

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about impulses `held`, at velocities u; A is K of each contact and row: see `solve`."""
        (parts, rows), (velocities, row_velocities) = self.split(held), self.split(u)
        push, after, stiffness = np.zeros(SIZE * self.table_rows), [], []
        for kind, x, y in zip(self.kinds, parts, velocities, strict=True):
            each = kind_yielding(kind, x, y, give)
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
        for kind, x, u_kind, du_kind in zip(self.kinds, parts, at, along, strict=True):
            p, power = kind_power(kind, x, u_kind, du_kind, give)
            total = total + power
            after.append(p)
        if len(rows):
            p, _ = self.rows.yielding(rows, row_at, give)
            rows, total = p, total + row_along @ (p - rows)
        return self.joined(after, rows), total

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, with the others as they are, and what they change."""
        (parts, rows), (at, row_at) = self.split(p), self.split(u)
        most, after, slips = 0.0, [], []
        for kind, *numbers in zip(self.kinds, parts, at, strict=True):
            new, slip, change = kind_chosen(kind, *numbers)
            most = maximum(most, change)
            after.append(new)
            slips.append(slip)
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
            flags = kind_marked(kind, flags, n)
        rows = None if self.body_count is None else self.body_count + float(self.joints)
        return block_pattern(n, flags, rows)

    def solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(M + Jᵀ K J)⁻¹ b."""
        n, at, table = self.table_rows, 0, inertia_blocks(self.inertia)
        for kind in self.kinds:
            size = len(kind.contacts.mu) * self.width**2
            K, at = A[at : at + size].reshape(-1, self.width, self.width), at + size
            table = kind_stiffened(kind, K, table, n)
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
        """Scale of the velocities at work."""
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
        """Go back as with contacts alone, with the changes of rows."""
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
