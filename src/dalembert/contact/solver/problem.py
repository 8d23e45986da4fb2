"""The problem of all impulses at once: contacts of one or two kinds, and rows of joints that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from dalembert.linear.block_elimination import BlockPattern, block_pattern, solve_blocks
from dalembert.linear.general import solve
from dalembert.linear.order import elimination_order
from dalembert.linear.symmetric import factor
from dalembert.linear.zeros import nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import clip, maximum, take

from .carriers import Rows, Softening
from .contacts import Contacts, in_rows_of_six, nothing_more, where_it_is
from .iteration import LARGE, ConstraintImpulses, LinearLaws, Unsettled, numbers, solved_problem
from .motions import SIZE, Moved
from .sweeps import Sweeps, Swept
from .unsettled import UnsettledPart

NO_BODIES = np.zeros((0, 7))
IDENTITY = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])  # inertia of a body that is not there: see `body_inertia`


class ContactProblem:
    """Contacts and rows, with their laws and what carries them.

    Impulses p and velocities u are vectors of the contacts, kind after kind, then the rows. What they move is a vector
    w: the coordinates of joints (n,), with the inertia M (n, n), then the velocities of loose bodies, six each, with
    `inertia` (b, 7), see `body_inertia`. body_count: how many of these there are, the first ones; None: all. whole:
    whether islands of loose bodies may be solved for by themselves.
    """

    aim = 1.0  # of the tolerance: what the first sweeps go on to

    def __init__(
        self,
        kinds: Sequence[Contacts],
        rows: Rows,
        inertia: np.ndarray = NO_BODIES,
        body_count: Any = None,
        whole: bool = True,
    ) -> None:
        self.kinds, self.rows, self.inertia, self.body_count, self.whole = kinds, rows, inertia, body_count, whole
        self.M = rows.carrier.M
        self.n, self.bodies = len(self.M), len(inertia)
        self.size = self.n + SIZE * self.bodies

    # ---- vectors by kind

    def by_kind(self, x: np.ndarray) -> list[np.ndarray]:
        """Arrays (k, …) of all contacts, by kind."""
        return np.split(x, np.cumsum([len(kind) for kind in self.kinds])[:-1])

    def split(self, p: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """(k, 3 + m) of each kind of contacts, and of rows."""
        *parts, rows = np.split(p, np.cumsum([len(kind) * kind.width for kind in self.kinds]).astype(int))
        return [kind.by_contact(x) for kind, x in zip(self.kinds, parts, strict=True)], rows

    def joined(self, parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """The reverse of `split`."""
        return np.concatenate([*(kind.ravel(x) for kind, x in zip(self.kinds, parts, strict=True)), rows])

    def scale(self, p: np.ndarray) -> Any:
        """Scale of the velocities at work."""
        parts, rows = self.split(p)
        sizes = [*absolute(self.rows.c), *absolute(self.rows.sizes * rows)]
        return reduce(maximum, [*(kind.scale(x) for kind, x in zip(self.kinds, parts, strict=True)), *sizes])

    # ---- what impulses move

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w of all impulses."""
        parts, rows = self.split(p)
        w = Moved(sparse_product(self.rows.carrier.Y, rows), np.zeros((self.bodies, SIZE)))
        for kind, x in zip(self.kinds, parts, strict=True):
            w = kind.pushed(x, w)
        return w.flat()

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """u of all contacts and rows."""
        at = Moved.split(w, self.n)
        return self.joined([kind.velocities(at) for kind in self.kinds], self.rows.velocities(at.joints))

    def responses(self, p: np.ndarray) -> np.ndarray:
        """Velocities that impulses make."""
        at = Moved.split(self.pushed(p), self.n)
        rows = sparse_product(self.rows.carrier.X.T, at.joints)
        return self.joined([kind.responses(at) for kind in self.kinds], rows)

    # ---- one contact and row after the other

    def impulses(self, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any) -> ConstraintImpulses:
        """All impulses on their laws, from (p, slip) on."""
        return solved_problem(self, start, tolerance, finer)

    def carried(self, p: np.ndarray) -> np.ndarray:
        """State that sweeps carry on beside the impulses."""
        return self.pushed(p)

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w, and the largest velocity that changed, after each contact and row in turn."""
        parts, slips, moved, rows, changes, w = self.swept_by_kind(p, slip, w)
        most = [kind.largest(x) for kind, x in zip(self.kinds, moved, strict=True)]
        p, slip = self.joined(parts, rows), np.concatenate([np.zeros(0), *slips])
        return numbers(p), numbers(slip), numbers(w), reduce(maximum, [*most, *changes])

    def swept_by_kind(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[Any, ...]:
        """Sweep like `swept`: impulses, slips and velocities that changed, by kind; then those of rows, and w."""
        (parts, rows), at, after = self.split(p), Moved.split(w, self.n), []
        for kind, x, slips in zip(self.kinds, parts, self.by_kind(slip) if self.kinds else (), strict=True):
            end = kind.swept(where_it_is, nothing_more, {"p": x, "slip": slips}, at, False)
            at = end["w"]
            after.append((end["p"], end["slip"], end["moved"]))
        rows, joints, changes = self.rows.swept(rows, at.joints)
        return *([x[i] for x in after] for i in range(3)), rows, changes, Moved(joints, at.bodies).flat()

    # ---- islands of loose bodies

    def unsettled(self, p: np.ndarray, slip: np.ndarray, finer: Any) -> Unsettled | None:
        """The islands of bodies with a contact that a sweep still moves by more than `finer`, as far as they fit.

        None: all is one problem.
        """
        if not self.bodies or not self.whole:
            return None
        part = UnsettledPart(self, p, slip, finer, min(self.bodies, LARGE))
        inertia = np.concatenate([self.inertia, IDENTITY[None]]) if self.n else self.inertia  # all joints: a last body
        problem = ContactProblem(part.kinds, self.rows, take(inertia, part.bodies), part.body_count, whole=False)
        return Unsettled(problem, *part.start, part.restored)

    def islands_swept(
        self, p: np.ndarray, slip: np.ndarray, tolerance: Any, finer: Any, scale: Any, pace: float | None
    ) -> Swept:
        """The result of sweeps over the islands that are not settled; pace: see `Sweeps`."""
        part = UnsettledPart(self, p, slip, finer, None)
        problem = ContactProblem(part.kinds, self.rows, self.inertia)
        parts, rows = problem.split(part.start[0])
        after = Sweeps(problem, rows, tolerance, finer).solved(np.concatenate(parts), part.start[1], scale, pace)
        p, slip = part.restored(after.p, after.slip)
        return after._replace(p=p, slip=slip)

    # ---- all at once: see `iteration`

    def active(self, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """A number for each contact, by kind, and for each row, of one vector."""
        *parts, rows = np.split(x, np.cumsum([len(kind) for kind in self.kinds]).astype(int))
        return parts, rows

    def linear(
        self, p: np.ndarray, u: np.ndarray, sets: np.ndarray, give: np.ndarray, softened: Softening
    ) -> LinearLaws:
        """Laws linearized about impulses p and velocities u; sets, give: of the step before."""
        (parts, rows), (velocities, row_velocities) = self.split(p), self.split(u)
        (numbers, row_numbers), (gives, row_gives) = self.active(sets), self.active(give)
        push, ends = Moved(np.zeros(self.n), np.zeros((self.bodies, SIZE))), []
        for kind, x, y, of_kind, give_of_kind in zip(self.kinds, parts, velocities, numbers, gives, strict=True):
            end = kind.linear(x, y, of_kind, give_of_kind, softened, push)
            push = end["w"]
            ends.append(end)
        change, K, row_sets, row_give = self.rows.linear(rows, row_velocities, row_numbers, row_gives, softened)
        return LinearLaws(
            ([end["change"] for end in ends], change),
            ([end["K"] for end in ends], K),
            np.concatenate([*(end["sets"] for end in ends), row_sets]),
            np.concatenate([*(end["give"] for end in ends), row_give]),
            Moved(push.joints + self.rows.push(change), push.bodies).flat(),
        )

    def newton_step(self, laws: LinearLaws) -> np.ndarray:
        """Changes of all impulses that put them on the linear laws at once."""
        x = Moved.split(self.solve(laws.K, laws.push), self.n)
        (changes, row_changes), (stiffness, k) = laws.change, laws.K
        parts = [kind.followed(change, K, x) for kind, change, K in zip(self.kinds, changes, stiffness, strict=True)]
        return self.joined(parts, row_changes - k * sparse_product(self.rows.carrier.J, x.joints))

    def missed(self, p: np.ndarray, u: np.ndarray) -> tuple[Any, np.ndarray]:
        """Largest velocity by which contacts and rows miss their laws, and the slips of contacts."""
        (parts, rows), (at, row_at) = self.split(p), self.split(u)
        each = [kind.missed(x, y) for kind, x, y in zip(self.kinds, parts, at, strict=True)]
        most = reduce(maximum, [*(missed for missed, _ in each), *self.rows.missed(rows, row_at)])
        return most, np.concatenate([np.zeros(0), *(slip for _, slip in each)])

    def projected(self, p: np.ndarray) -> np.ndarray:
        """Impulses on the cones of contacts and within the limits of moments and rows."""
        parts, rows = self.split(p)
        within = [clip(x, -law.most, law.most) for x, law in zip(rows, self.rows.laws, strict=True)]
        return self.joined([kind.projected(x) for kind, x in zip(self.kinds, parts, strict=True)], np.array(within))

    def solve(self, stiffness: Any, b: np.ndarray) -> np.ndarray:
        """(M + Jᵀ K J)⁻¹ b; stiffness: K of `LinearLaws`."""
        of_kinds, of_rows = stiffness
        A = self.M
        if not self.bodies:
            for kind, K in zip(self.kinds, of_kinds, strict=True):
                A = kind.stiffened(A, K)
        A = self.rows.stiffened(A, of_rows)
        if not self.kinds:
            return factor(A, elimination_order(nonzeros(A))).solve(b)
        return solve(A, b) if not self.bodies else self._solve_blocks(A, of_kinds, b)

    # ---- with loose bodies: a system of blocks (6, 6), first those of joints

    @property
    def joint_rows(self) -> int:
        """Rows of six numbers that joints take."""
        return -(-self.n // SIZE)

    @cached_property
    def pattern(self) -> BlockPattern:
        """Which blocks of the system there are."""
        joints = self.joint_rows
        n = joints + self.bodies
        flags = np.zeros((n * n, 1))
        flags[:: n + 1] = 1.0
        for i in range(joints):
            flags[i * n : i * n + joints] = 1.0
        for kind in self.kinds:
            flags = kind.marked(flags, joints, n)
        return block_pattern(n, flags, None if self.body_count is None else self.body_count + float(joints))

    def _solve_blocks(self, A: np.ndarray, of_kinds: Sequence[np.ndarray], b: np.ndarray) -> np.ndarray:
        """Solve with A (n, n) of joints and rows, and the contacts of all kinds."""
        joints = self.joint_rows
        n, more = joints + self.bodies, -self.n % SIZE
        table = np.zeros((n * n, SIZE * SIZE), object)
        wide = np.eye(self.n + more).astype(object)
        wide[: self.n, : self.n] = A
        for i, row in enumerate(np.split(wide, joints) if joints else ()):
            table[i * n : i * n + joints] = [block.ravel() for block in in_rows_of_six(row)]
        for i, inertia in enumerate(self.inertia, joints):
            table[i * n + i] = body_inertia(inertia).ravel()
        for kind, K in zip(self.kinds, of_kinds, strict=True):
            table = kind.stiffened_blocks(K, table, joints, n)
        padded = np.concatenate([b[: self.n], np.zeros(more), b[self.n :]])
        x = solve_blocks(self.pattern, table, padded.reshape(-1, SIZE)).ravel()
        return np.concatenate([x[: self.n], x[self.n + more :]])


def body_inertia(numbers: np.ndarray) -> np.ndarray:
    """(6, 6) of a body: mass, and inertia about the centre of mass along the axes of the world (xx xy xz yy yz zz)."""
    mass, xx, xy, xz, yy, yz, zz = numbers
    block = np.zeros((SIZE, SIZE), object)
    block[:3, :3] = np.diag([mass, mass, mass])
    block[3:, 3:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return block
