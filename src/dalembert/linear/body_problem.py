"""Contacts between bodies that nothing else holds, all solved for at once by Newton's method: see `impulses`."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, map, maximum, take, visit, where

from .block_elimination import block_pattern, solve_blocks
from .body_impulses import Sweeps
from .cones import Block, yielding_contact
from .impulses import chosen_contact
from .islands import unsettled_part
from .iteration import Problem, Unsettled, Yielding

MOST = 32  # bodies of islands that Newton steps solve for together


class BodyProblem(Problem):
    """The problem of `body_impulses.Sweeps`, all contacts at once.

    inertia (n, 7): mass, and inertia about the centre of mass along the axes of the world (xx xy xz yy yz zz).
    body_count: how many of the n bodies there are, the first ones; None: all. whole: whether islands of it are solved
    for by themselves.
    """

    with_contacts = True

    def __init__(self, sweeps: Sweeps, inertia: np.ndarray, body_count: Any = None, whole: bool = True) -> None:
        contacts, n = sweeps.contacts, sweeps.bodies
        self.sweeps, self.contacts, self.bodies, self.inertia, self.whole = sweeps, contacts, n, inertia, whole
        self.M = np.zeros((6 * n, 6 * n), object)
        for i, each in enumerate(inertia):
            at = slice(6 * i, 6 * i + 6)
            self.M[at, at] = _inertia(each)
        self.sizes, self.scale_of = sweeps.sizes.ravel(), contacts.c.ravel()
        self.pattern = block_pattern(n, sweeps.at, contacts.count, body_count)
        self.laws = {"size": sweeps.sizes, "mu": contacts.mu}

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w (6 n,)."""
        return self.sweeps.pushed(p.reshape(-1, 3)).ravel()

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """Of all contacts, with w (6 n,)."""
        return self.contacts.c.ravel() + self.along(w)

    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all contacts, for velocities x (6 n,) of the bodies."""
        return self.sweeps.velocities(x.reshape(-1, 6)).ravel()

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w, and the largest velocity that changed, after each contact in turn."""
        p, slip, w, change, _ = self.sweeps.one_way(p.reshape(-1, 3), slip, w.reshape(-1, 6), False)
        return p.ravel(), slip, w.ravel(), change

    def unsettled(self, p: np.ndarray, slip: np.ndarray, finer: Any) -> Unsettled | None:
        """The islands of bodies with a contact that a sweep still moves by more than `finer`."""
        if not self.whole:
            return None
        sweeps, contacts = self.sweeps, self.contacts
        p, slip, _, _, moved = sweeps.one_way(p.reshape(-1, 3), slip, self.pushed(p).reshape(-1, 6), False)
        flags = map(lambda moved: {"flag": where(moved > finer, 1.0, 0.0)}, {"moved": moved}, contacts.count)["flag"]
        names = ("axes", "levers_a", "levers_b", "turns_a", "turns_b", "light_a", "light_b", "c", "mu")
        columns = {name: getattr(contacts, name) for name in names} | {"p": p, "slip": slip}
        part = unsettled_part(sweeps.at, contacts.count, flags, columns, self.bodies, min(self.bodies, MOST))
        kept = contacts._replace(
            first=part.at[:, 0], second=part.at[:, 1], count=part.count, **{name: part.columns[name] for name in names}
        )
        inertia = take(self.inertia, part.bodies)
        of_part = Sweeps(kept, len(part.bodies), sweeps.tolerance, sweeps.finer)

        def restored(p_part: np.ndarray, slip_part: np.ndarray, change: Any) -> dict[str, Any]:
            rows = np.concatenate([p_part.reshape(-1, 3), slip_part[:, None]], axis=1)

            def put(_: Any, number: Any, row: Any) -> dict[str, Any]:
                return {"rows": row[None], "to": np.array([number])}

            begin = np.concatenate([p, slip[:, None]], axis=1)
            table = visit(put, {"number": part.numbers, "row": rows}, begin, count=part.count)["table"]
            return {"p": table[:, :3].ravel(), "slip": table[:, 3], "change": change}

        problem = BodyProblem(of_part, inertia, part.body_count, whole=False)
        return Unsettled(problem, part.columns["p"].ravel(), part.columns["slip"], restored)

    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about the impulses `held`, at velocities u; A is K of each contact: see `solve`."""
        sweeps, motion = self.sweeps, len(self.sweeps.motion)

        def one(rows: Any, *numbers: Any) -> dict[str, Any]:
            contact = sweeps.motion_of(*numbers[:motion])
            held, u, size, mu = numbers[motion:]
            p, K = yielding_contact(size, mu, np.zeros(0), held, u, give)
            push = np.array([row + side.T @ (p - held) for row, side in zip(rows, contact.rows(), strict=True)])
            return {"rows": push, "to": contact.numbers, "p": p, "K": K}

        items = sweeps.motion | {"held": held.reshape(-1, 3), "u": u.reshape(-1, 3)} | self.laws
        each = visit(one, items, np.zeros((self.bodies, 6)), sweeps.at, count=self.contacts.count)
        return Yielding(each["p"].ravel(), each["K"], each["table"].ravel())

    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""

        def one(_: Any, power: Any, held: Any, u: Any, du: Any, size: Any, mu: Any) -> dict[str, Any]:
            p, _ = yielding_contact(size, mu, np.zeros(0), held, u, give)
            return {"power": power + du @ (p - held), "p": p}

        items = {name: x.reshape(-1, 3) for name, x in (("held", held), ("u", u), ("du", du))} | self.laws
        each = visit(one, items, np.zeros((1, 1)), carry={"power": 0.0}, count=self.contacts.count)
        return each["p"].ravel(), each["power"]

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

        def stiffer(rows: Any, at: Any, *numbers: Any) -> dict[str, Any]:
            *motion, K = numbers
            a, b = sweeps.motion_of(*motion).rows()
            more = [left.T @ K @ right for left, right in ((a, a), (b, b), (a, b), (b, a))]
            return {"rows": rows + np.array([x.ravel() for x in more]), "to": at}

        items = {"at": at} | sweeps.motion | {"K": K}
        return visit(stiffer, items, table, at, count=self.contacts.count)["table"]

    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact alone, were the others as they are, and what they change."""
        names = Block._fields

        def one(_: Any, most: Any, *numbers: Any) -> dict[str, Any]:
            block = Block(*numbers[: len(names)])
            mu, p, u = numbers[len(names) :]
            new, slip, moved = chosen_contact(block, mu, np.zeros(0), block.size, p, u)
            change = reduce(maximum, [most, moved, *(block.size * absolute(new - p))])
            return {"p": new, "slip": slip, "most": change}

        items = {name: self.sweeps.blocks[name] for name in names}
        items |= {"mu": self.contacts.mu, "p_before": p.reshape(-1, 3), "u": u.reshape(-1, 3)}
        new = visit(one, items, np.zeros((1, 1)), carry={"most": 0.0}, count=self.contacts.count)
        return new["p"].ravel(), new["slip"], new["most"]


def _inertia(numbers: np.ndarray) -> np.ndarray:
    """(6, 6) of a body, from its row of `BodyProblem`'s inertia."""
    mass, xx, xy, xz, yy, yz, zz = numbers
    block = np.zeros((6, 6), object)
    block[:3, :3] = np.diag([mass, mass, mass])
    block[3:, 3:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return block
