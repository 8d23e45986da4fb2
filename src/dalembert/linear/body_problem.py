"""Contacts between bodies that nothing else holds, all solved for at once by Newton's method: see `impulses`."""

from __future__ import annotations

from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, map, maximum, repeat, take, visit, where

from .arrays import by_contact, flat, largest_size, total
from .block_elimination import BlockPattern, block_pattern, solve_blocks
from .body_impulses import Sweeps
from .body_parts import UnsettledBodies
from .cones import Block, yielding_contact
from .impulses import chosen_contact
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
        self.laws = {"size": sweeps.sizes, "mu": contacts.mu}

    @cached_property
    def M(self) -> np.ndarray:  # type: ignore[override]
        """(6 n, 6 n) inertia of the bodies."""
        M = np.zeros((6 * self.bodies, 6 * self.bodies), object)
        for i, each in enumerate(self.inertia):
            at = slice(6 * i, 6 * i + 6)
            M[at, at] = body_inertia(each)
        return M

    @cached_property
    def pattern(self) -> BlockPattern:
        """Which blocks of the system there are."""
        return block_pattern(self.bodies, self.sweeps.at, self.contacts.count, self.body_count)

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w (6 n,)."""
        return self.sweeps.pushed(by_contact(p, 3)).ravel()

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """Of all contacts, with w (6 n,)."""
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
        sweeps, contacts = self.sweeps, self.contacts

        def one(rows: Any, motion: Any, held: Any, u: Any, size: Any, mu: Any) -> dict[str, Any]:
            contact = sweeps.motion_of(**motion)
            p, K = yielding_contact(size, mu, np.zeros(0), held, u, give)
            push = np.array([row + side.T @ (p - held) for row, side in zip(rows, contact.rows(), strict=True)])
            return {"rows": push, "to": contact.numbers, "p": p, "K": K}

        items = {"motion": sweeps.motion, "held": by_contact(held, 3), "u": by_contact(u, 3)} | self.laws
        start = np.zeros((self.bodies, 6))
        each = visit(one, items, start, sweeps.at, count=contacts.count, groups=contacts.group)
        return Yielding(flat(each["p"]), each["K"], each["table"].ravel())

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""

        def one(held: Any, u: Any, du: Any, size: Any, mu: Any) -> dict[str, Any]:
            p, _ = yielding_contact(size, mu, np.zeros(0), held, u, give)
            return {"power": du @ (p - held), "p": p}

        items = {name: by_contact(x, 3) for name, x in (("held", held), ("u", u), ("du", du))} | self.laws
        each = map(one, items, self.contacts.count)
        return flat(each["p"]), total(each["power"], self.contacts.count)

    def solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(M + Jᵀ K J)⁻¹ b for K = A (k, 3, 3) of each contact."""
        return solve_blocks(self.pattern, self._system(A), b.reshape(-1, 6)).ravel()

    def _system(self, K: np.ndarray) -> np.ndarray:
        """The blocks of M + Jᵀ K J."""
        n, sweeps = self.bodies, self.sweeps
        table = np.zeros((n * n, 36), object)
        for i in range(n):
            table[i * n + i] = self.M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6].ravel()

        def places(numbers: Any) -> dict[str, Any]:
            inside = logical_and(numbers[0] < n, numbers[1] < n)
            both = [where(inside, numbers[i] * float(n) + numbers[1 - i], -1.0) for i in (0, 1)]
            alone = [where(numbers[i] < n, numbers[i] * (n + 1.0), -1.0) for i in (0, 1)]
            return {"places": np.array([*alone, *both])}

        at = map(places, {"numbers": sweeps.at}, self.contacts.count)["places"]

        def stiffer(rows: Any, at: Any, motion: Any, K: Any) -> dict[str, Any]:
            a, b = sweeps.motion_of(**motion).rows()
            more = [left.T @ K @ right for left, right in ((a, a), (b, b), (a, b), (b, a))]
            return {"rows": rows + np.array([x.ravel() for x in more]), "to": at}

        items = {"at": at, "motion": sweeps.motion, "K": K}
        return visit(stiffer, items, table, at, count=self.contacts.count)["table"]

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact alone, were the others as they are, and what they change."""

        def one(block: Any, mu: Any, p: Any, u: Any) -> dict[str, Any]:
            block = Block(**block)
            new, slip, moved = chosen_contact(block, mu, np.zeros(0), block.size, p, u)
            return {"p": new, "slip": slip, "change": reduce(maximum, [moved, *(block.size * absolute(new - p))])}

        motion = {"p_before": by_contact(p, 3), "u": by_contact(u, 3)}
        new = map(one, {"block": self.sweeps.blocks, "mu": self.contacts.mu} | motion, self.contacts.count)
        return flat(new["p"]), new["slip"], largest_size(new["change"], self.contacts.count)


def body_inertia(numbers: np.ndarray) -> np.ndarray:
    """(6, 6) of a body, from its row of `BodyProblem`'s inertia."""
    mass, xx, xy, xz, yy, yz, zz = numbers
    block = np.zeros((6, 6), object)
    block[:3, :3] = np.diag([mass, mass, mass])
    block[3:, 3:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return block
