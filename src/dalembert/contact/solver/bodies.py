"""Impulses of contacts between loose bodies, and of links of robots with these and each other: see `impulses`.

Velocities are rows of six numbers in one table: those of all joints, in coordinates in which their inertia is the
identity, six to a row; then what impulses have changed of the velocities of the centres of mass of loose bodies and of
their angular velocities, along the axes of the world. A contact of loose bodies moves two rows, one of a link the row
of the loose body that it meets and all those of joints.

A sweep over all tells what is not settled. Sweeps then go over the islands of bodies that are not; Newton steps solve
for those which are not settled by that either, together with all joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from dalembert.linear.block_elimination import BlockPattern, block_pattern, solve_blocks
from dalembert.math import abs as absolute
from dalembert.math import maximum, repeat, take, where

from .arrays import by_contact, flat, largest_size
from .carriers import Rows
from .iteration import ACCURACY, ConstraintImpulses, Iteration, Problem, Unsettled, Yielding, settled
from .kinds import SIZE, Contacts
from .sweeps import Sweeps
from .unsettled import UnsettledPart

IDENTITY = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])  # inertia of a row of joints: see `body_inertia`
MOST = 48  # bodies of islands that Newton steps solve for together
CYCLES = 2  # of sweeps and Newton steps, at most
PACE = 0.75  # of what a sweep there and back changes, left by the next one: slower ones cost more than Newton steps
SLOWER = 0.9  # a sweep over all that leaves more than this share of the changes before it is the last one


def solved_bodies(
    problem: BodyProblem, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any
) -> ConstraintImpulses:
    """The impulses of a problem, from those and the slips of a step before on.

    Where there are more bodies than Newton steps take together, sweeps go on as far as they come; beside robots, Newton
    steps then solve for the islands that fit, and sweeps over all tell what is left.
    """
    p, slip = start
    scale, large = problem.scale(p), problem.bodies > MOST
    p, slip, _, change = problem.swept(p, slip, problem.pushed(p))
    begin = {"p": p, "slip": slip, "change": change, "count": 1.0, "done": settled(change, finer, scale)}
    iteration = Iteration(problem, tolerance, finer, scale)
    resting = 0.0 if large else where(finer < tolerance, 1.0, 0.0)  # Newton steps take errors so far back that one
    islands_swept = partial(problem.islands_swept, tolerance, finer, scale, None if large else PACE)  # sweep is enough

    def cycle(*parts: Any) -> dict[str, Any]:
        start = dict(zip(begin, parts, strict=True)) | {"done": resting}
        swept = repeat(islands_swept, 1, start, "done")
        aim = tolerance if large else finer
        start = {name: swept[name] for name in begin} | {"done": settled(swept["change"], aim, scale)}
        if large and not problem.joints:  # the code of Newton steps would take longer to compile than all else
            return start
        after = iteration.rounds(start)
        if large:
            after = repeat(over_all, 1, {name: after[name] for name in begin} | {"done": start["done"]}, "done")
        return {name: after[name] for name in begin}

    def over_all(p: np.ndarray, slip: np.ndarray, _: Any, count: Any, _done: Any) -> dict[str, Any]:
        after = iteration.sweeps(p, slip, SLOWER, 0.0, tolerance)
        state = {name: after[name] for name in ("p", "slip", "change")}
        return state | {"count": count + after["passes"], "done": settled(after["change"], tolerance, scale)}

    if large:
        end = repeat(cycle, 1, begin, "done")
    else:
        end = repeat(cycle, CYCLES, begin, "done", ACCURACY, iteration.corrected)
    return ConstraintImpulses(end["p"], end["slip"], end["change"], end["count"], end["done"])


class BodyProblem(Problem):
    """Contacts of one or two kinds, and rows of joints. Impulses: contacts by kind (see `flat`), then rows.

    inertia (n, 7): of each row of the table that is a loose body's, as `body_inertia` takes it. body_count: how many of
    these there are, the first ones, None: all. whole: whether islands of it are solved for by themselves.
    """

    with_contacts, added = True, 4.0

    def __init__(
        self,
        kinds: Sequence[Contacts],
        rows: Rows,
        inertia: np.ndarray,
        body_count: Any = None,
        whole: bool = True,
    ) -> None:
        self.kinds, self.rows, self.body_count, self.whole = kinds, rows, body_count, whole
        self.freedoms = rows.carrier.X.shape[0]
        self.joints, self.bodies = -(-self.freedoms // SIZE), len(inertia)
        self.table_rows = self.joints + self.bodies
        self.inertia = np.concatenate([np.tile(IDENTITY, (self.joints, 1)), inertia])
        self.width = kinds[0].c.shape[1]
        self.scale_of = self.joined([kind.c for kind in kinds], rows.c)
        self.sizes = self.joined([kind.sizes for kind in kinds], rows.sizes)

    @cached_property
    def M(self) -> np.ndarray:  # type: ignore[override]
        """Inertia of all rows."""
        n = self.table_rows
        M = np.zeros((n, SIZE, n, SIZE), object)
        for i, numbers in enumerate(self.inertia):
            M[i, :, i] = body_inertia(numbers)
        return M.reshape(SIZE * n, SIZE * n)

    # ---- impulses in one row, and by kind

    def by_kind(self, x: np.ndarray) -> list[np.ndarray]:
        """Arrays (k, …) of all contacts, by kind."""
        return np.split(x, np.cumsum([len(kind) for kind in self.kinds])[:-1])

    def split(self, p: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """(k, 3 + m) of each kind of contacts, and of rows."""
        *parts, rows = np.split(p, np.cumsum([len(kind) * self.width for kind in self.kinds]))
        return [by_contact(x, self.width) for x in parts], rows

    def joined(self, parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """The reverse."""
        return np.concatenate([*(flat(x) for x in parts), rows])

    def scale(self, p: np.ndarray) -> Any:
        """Scale of the velocities at work."""
        parts, rows = self.split(p)
        sizes = [*absolute(self.rows.c), *absolute(self.rows.sizes * rows)]
        return reduce(maximum, [*(kind.scale(x) for kind, x in zip(self.kinds, parts, strict=True)), *sizes])

    # ---- what they move

    def of_joints(self, w: np.ndarray) -> np.ndarray:
        """The velocities of joints of a table w, in a row."""
        return w[: self.freedoms]

    def _moved_joints(self, w: np.ndarray, more: np.ndarray) -> np.ndarray:
        """A table w, in a row, after joints have moved."""
        return np.concatenate([w[: len(more)] + more, w[len(more) :]])

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w (6 n,) of all impulses."""
        (parts, rows), table = self.split(p), np.zeros((self.table_rows, SIZE))
        for kind, x in zip(self.kinds, parts, strict=True):
            table = kind.pushed(x, table)
        return self._moved_joints(table.ravel(), self.rows.carrier.Y @ rows) if len(rows) else table.ravel()

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """Velocities of all contacts and rows."""
        return self.scale_of + self.along(w)

    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all contacts and rows."""
        table = x.reshape(-1, SIZE)
        rows = self.rows.carrier.X.T @ self.of_joints(x) if len(self.rows.c) else np.zeros(0)
        return self.joined([kind.velocities(table) for kind in self.kinds], rows)

    def responses(self, p: np.ndarray) -> np.ndarray:
        """G p: velocities that impulses make."""
        return self.along(self.pushed(p))

    def impulses(self, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any) -> ConstraintImpulses:
        """All impulses on their laws, from (p, slip) on."""
        return solved_bodies(self, start, tolerance, finer)

    # ---- in turn

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w, and the largest velocity that changed, after each contact and row in turn."""
        parts, slips, moved, rows, changes, w = self.swept_by_kind(p, slip, w)
        each = zip(self.kinds, moved, strict=True)
        most = reduce(maximum, [*(largest_size(x, kind.count) for kind, x in each), *changes])
        return self.joined(parts, rows), np.concatenate(slips), w, most

    def swept_by_kind(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[Any, ...]:
        """Sweep like `swept`: impulses, slips and velocities that changed, by kind; then those of rows, and w."""
        (parts, rows), table, after = self.split(p), w.reshape(-1, SIZE), []
        for kind, x, slips in zip(self.kinds, parts, self.by_kind(slip), strict=True):
            x, slips, table, moved = kind.in_turn(x, slips, table)
            after.append((x, slips, moved))
        w, rows, changes = self.rows_swept(rows, table.ravel())
        return *([x[i] for x in after] for i in range(3)), rows, changes, w

    def rows_swept(self, rows: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """w, impulses of rows and the velocities that changed, after each row in turn."""
        if not len(rows):
            return w, rows, []
        before = self.of_joints(w)
        rows, joints, changes = self.rows.swept(rows, before)
        return self._moved_joints(w, joints - before), rows, changes

    # ---- parts

    def unsettled(self, p: np.ndarray, slip: np.ndarray, finer: Any) -> Unsettled | None:
        """The islands of bodies with a contact that a sweep still moves by more than `finer`, as far as they fit."""
        if not self.whole:
            return None
        part = UnsettledPart(self, p, slip, finer, min(self.bodies, MOST))
        inertia = self.inertia[self.joints :]
        if self.joints:
            inertia = np.concatenate([inertia, IDENTITY[None]])  # of all joints, a body of islands without a row
        problem = BodyProblem(part.kinds, self.rows, take(inertia, part.bodies), part.body_count, whole=False)
        return Unsettled(problem, *part.start, part.restored)

    def islands_swept(
        self,
        tolerance: Any,
        finer: Any,
        scale: Any,
        pace: float | None,
        p: np.ndarray,
        slip: np.ndarray,
        _: Any,
        count: Any,
        _done: Any,
    ) -> dict[str, Any]:
        """The state of an iteration after sweeps over the islands that are not settled; pace: as of `Sweeps`."""
        part = UnsettledPart(self, p, slip, finer, None)
        problem = BodyProblem(part.kinds, self.rows, self.inertia[self.joints :])
        parts, rows = problem.split(part.start[0])
        sweeps = Sweeps(problem, rows, tolerance, finer)
        after = sweeps.solved(np.concatenate(parts), part.start[1], scale, pace)
        p, slip = part.restored(after.p, after.slip)
        return {"p": p, "slip": slip, "change": after.change, "count": count + after.passes, "done": 1.0}

    # ---- at once

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about impulses `held`, at velocities u; A: K of each contact and row, see `solve`."""
        (parts, rows), (velocities, row_velocities) = self.split(held), self.split(u)
        table, after, stiffness = np.zeros((self.table_rows, SIZE)), [], []
        for kind, x, y in zip(self.kinds, parts, velocities, strict=True):
            each = kind.yielding(x, y, give, table)
            table = each["table"]
            after.append(each["p"])
            stiffness.append(each["K"])
        push, k = table.ravel(), np.zeros(0)
        if len(rows):
            p, k = self.rows.yielding(rows, row_velocities, give)
            push, rows = self._moved_joints(push, self.rows.carrier.J.T @ (p - rows)), p
        return Yielding(self.joined(after, rows), (stiffness, k), push)

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""
        (parts, rows), (at, row_at), (along, row_along) = (self.split(x) for x in (held, u, du))
        after, total = [], 0.0
        for kind, x, y, moved in zip(self.kinds, parts, at, along, strict=True):
            p, power = kind.power(x, y, moved, give)
            total = total + power
            after.append(p)
        if len(rows):
            p, _ = self.rows.yielding(rows, row_at, give)
            rows, total = p, total + row_along @ (p - rows)
        return self.joined(after, rows), total

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, with the others as they are, and what they change."""
        (parts, rows), (at, row_at) = self.split(p), self.split(u)
        each = [kind.chosen(x, y) for kind, x, y in zip(self.kinds, parts, at, strict=True)]
        changes = [change for _, _, change in each]
        if len(rows):
            rows, more = self.rows.chosen(rows, row_at)
            changes += more
        slip = np.concatenate([x for _, x, _ in each])
        return self.joined([x for x, _, _ in each], rows), slip, reduce(maximum, changes)

    @cached_property
    def pattern(self) -> BlockPattern:
        """Which blocks of the system there are."""
        n = self.table_rows
        flags = np.zeros((n * n, 1))
        flags[:: n + 1] = 1.0
        for i in range(self.joints):
            flags[i * n : i * n + self.joints] = 1.0
        for kind in self.kinds:
            flags = kind.marked(flags, n)
        return block_pattern(n, flags, None if self.body_count is None else self.body_count + float(self.joints))

    def solve(self, A: Any, b: np.ndarray) -> np.ndarray:
        """(M + Jᵀ K J)⁻¹ b."""
        n, (of_kinds, of_rows) = self.table_rows, A
        table = np.zeros((n * n, SIZE * SIZE), object)
        for i, numbers in enumerate(self.inertia):
            table[i * n + i] = body_inertia(numbers).ravel()
        for kind, K in zip(self.kinds, of_kinds, strict=True):
            table = kind.stiffened(K, table, n)
        J = np.zeros((len(of_rows), SIZE * self.joints), object)
        J[:, : self.freedoms] = self.rows.carrier.J
        table = table.astype(object)
        for k, row in zip(of_rows, J.reshape(len(J), self.joints, SIZE), strict=True):
            for i, left in enumerate(row):
                for j, right in enumerate(row):
                    table[i * n + j] = table[i * n + j] + np.outer(left * k, right).ravel()
        return solve_blocks(self.pattern, table, b.reshape(-1, SIZE)).ravel()


def body_inertia(numbers: np.ndarray) -> np.ndarray:
    """(6, 6) of a body: mass, and inertia about the centre of mass along the axes of the world (xx xy xz yy yz zz)."""
    mass, xx, xy, xz, yy, yz, zz = numbers
    block = np.zeros((SIZE, SIZE), object)
    block[:3, :3] = np.diag([mass, mass, mass])
    block[3:, 3:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return block
