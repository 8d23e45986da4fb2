"""Contacts between bodies that nothing else holds, all solved for at once by Newton's method: see `impulses`."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from dalembert.linear.block_elimination import BlockPattern, block_pattern, solve_blocks
from dalembert.math import repeat, take, where

from .arrays import by_contact, flat
from .body_impulses import Sweeps
from .body_parts import UnsettledBodies
from .contact_kinds import kind_chosen, kind_marked, kind_power, kind_stiffened, kind_yielding
from .iteration import ACCURACY, ConstraintImpulses, Iteration, Problem, Unsettled, Yielding, settled

MOST = 48  # bodies of islands that Newton steps solve for together
CYCLES = 2  # of sweeps and Newton steps, at most
PACE = 0.75  # of what a sweep there and back changes, left by the next one: slower ones cost more than Newton steps


def solved_bodies(
    sweeps: Sweeps, inertia: np.ndarray, p: np.ndarray, slip: np.ndarray, tolerance: Any, finer: Any
) -> ConstraintImpulses:
    """The impulses of contacts between bodies, from p (k, 3 + m) and slip of a step before on.

    A sweep over all of them; then sweeps over the islands that are not settled, unless all is nearly at rest; then
    Newton steps for those islands which are not settled by that either, unless there are many bodies or moments.
    """
    n, moments = sweeps.bodies, len(sweeps.contacts.about)
    scale = sweeps.scale(p)
    p, slip, _, change, _ = sweeps.one_way(p, slip, sweeps.pushed(p))
    done = settled(change, finer, scale)
    begin = {"p": flat(p), "slip": slip, "change": change, "count": 1.0, "done": done}
    problem = BodyProblem(sweeps, inertia)
    iteration = Iteration(problem, tolerance, finer, scale)
    if moments or n > MOST:
        end = repeat(problem.islands_swept, 1, begin, "done")
        return ConstraintImpulses(
            end["p"], end["slip"], end["change"], end["count"], iteration.settled(end["change"], tolerance)
        )

    resting = where(finer < tolerance, 1.0, 0.0)  # Newton steps take errors so far back that one sweep does for long

    def sweeps_and_steps(*parts: Any) -> dict[str, Any]:
        start = dict(zip(begin, parts, strict=True)) | {"done": resting}
        swept = repeat(partial(problem.islands_swept, pace=PACE), 1, start, "done")
        start = {name: swept[name] for name in begin} | {"done": iteration.settled(swept["change"], finer)}
        after = iteration.rounds(start)
        return {name: after[name] for name in begin}

    end = repeat(sweeps_and_steps, CYCLES, begin, "done", ACCURACY, iteration.corrected)
    return ConstraintImpulses(end["p"], end["slip"], end["change"], end["count"], end["done"])


class BodyProblem(Problem):
    """The problem of `body_impulses.Sweeps`, all contacts at once.

    inertia (n, 7): mass, and inertia about the centre of mass along the axes of the world (xx xy xz yy yz zz).
    body_count: how many of the n bodies there are, the first ones; None: all. whole: whether islands of it are solved
    for by themselves.
    """

    with_contacts, added = True, 4.0

    def __init__(self, sweeps: Sweeps, inertia: np.ndarray, body_count: Any = None, whole: bool = True) -> None:
        contacts, n = sweeps.contacts, sweeps.bodies
        self.sweeps, self.contacts, self.bodies = sweeps, contacts, n
        self.inertia, self.body_count, self.whole = inertia, body_count, whole
        self.sizes, self.scale_of = flat(sweeps.sizes), flat(contacts.c)

    @cached_property
    def M(self) -> np.ndarray:  # type: ignore[override]
        """(6 n, 6 n) inertia of the bodies."""
        return whole_inertia(self.inertia)

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w (6 n,)."""
        return self.sweeps.pushed(by_contact(p, 3)).ravel()

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """Velocities of all contacts, with w (6 n,)."""
        return self.scale_of + self.along(w)

    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all contacts, for velocities x (6 n,) of the bodies."""
        return flat(self.sweeps.velocities(x.reshape(-1, 6)))

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w, and the largest velocity that changed, after each contact in turn."""
        p, slip, w, change, _ = self.sweeps.one_way(by_contact(p, 3), slip, w.reshape(-1, 6))
        return flat(p), slip, w.ravel(), change

    def unsettled(self, p: np.ndarray, slip: np.ndarray, finer: Any) -> Unsettled | None:
        """The islands of bodies with a contact that a sweep still moves by more than `finer`."""
        if not self.whole:
            return None
        part = UnsettledBodies(self.sweeps, by_contact(p, 3), slip, finer, self.bodies)
        problem = BodyProblem(part.sweeps, take(self.inertia, part.bodies), part.count, whole=False)

        def restored(p: np.ndarray, slip: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            p, slip = part.restored(by_contact(p, 3), slip)
            return flat(p), slip

        return Unsettled(problem, flat(part.start[0]), part.start[1], restored)

    def islands_swept(
        self, p: np.ndarray, slip: np.ndarray, _: Any, count: Any, done: Any, pace: float | None = None
    ) -> dict[str, Any]:
        """The state of an iteration after sweeps over the islands that are not settled; pace: as of `Sweeps`."""
        sweeps = self.sweeps
        part = UnsettledBodies(sweeps, by_contact(p, len(p) // len(slip)), slip, sweeps.finer)
        after = part.sweeps.solved(*part.start, pace)
        p, slip = part.restored(after.p, after.slip)
        return {"p": flat(p), "slip": slip, "change": after.change, "count": count + after.passes, "done": 1.0}

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about the impulses `held`, at velocities u; A is K of each contact: see `solve`."""
        each = kind_yielding(self.sweeps, by_contact(held, 3), by_contact(u, 3), give)
        return Yielding(flat(each["p"]), each["K"], each["table"].ravel())

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""
        p, power = kind_power(self.sweeps, by_contact(held, 3), by_contact(u, 3), by_contact(du, 3), give)
        return flat(p), power

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact alone, with the others as they are, and what they change."""
        new, slip, change = kind_chosen(self.sweeps, by_contact(p, 3), by_contact(u, 3))
        return flat(new), slip, change

    @cached_property
    def pattern(self) -> BlockPattern:
        """Which blocks of the system there are."""
        n = self.bodies
        flags = np.zeros((n * n, 1))
        flags[:: n + 1] = 1.0
        return block_pattern(n, kind_marked(self.sweeps, flags, n), self.body_count)

    def solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(M + Jᵀ K J)⁻¹ b for K = A (k, 3, 3) of each contact."""
        table = kind_stiffened(self.sweeps, A, inertia_blocks(self.inertia), self.bodies)
        return solve_blocks(self.pattern, table, b.reshape(-1, 6)).ravel()


def body_inertia(numbers: np.ndarray) -> np.ndarray:
    """(6, 6) of a body, from its row of `BodyProblem`'s inertia."""
    mass, xx, xy, xz, yy, yz, zz = numbers
    block = np.zeros((6, 6), object)
    block[:3, :3] = np.diag([mass, mass, mass])
    block[3:, 3:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return block


def whole_inertia(inertia: np.ndarray) -> np.ndarray:
    """(6 n, 6 n) of n bodies."""
    n = len(inertia)
    M = np.zeros((n, 6, n, 6), object)
    for i, numbers in enumerate(inertia):
        M[i, :, i] = body_inertia(numbers)
    return M.reshape(6 * n, 6 * n)


def inertia_blocks(inertia: np.ndarray) -> np.ndarray:
    """(n², 36): the same by blocks, as `solve_blocks` takes them."""
    n = len(inertia)
    table = np.zeros((n * n, 36), object)
    for i, numbers in enumerate(inertia):
        table[i * n + i] = body_inertia(numbers).ravel()
    return table
