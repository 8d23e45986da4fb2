"""Impulses of contacts between bodies that nothing else holds, told apart by number: loops whose code is there once.

A contact moves two bodies, which each state of a batch has itself: w (n, 6) holds what impulses have changed of the
velocities of the centres of mass and of the angular velocities, along the axes of the world. A contact reads and writes
two rows of it, so that a sweep costs what there is to touch, whatever the number of bodies.

Sweeps solve for each contact beside the others (block Gauss-Seidel). Between them the impulses go on along the
direction of the last changes, as conjugate gradients would, which takes stacks to rest in tens of sweeps instead of
hundreds (Silcowitz-Niebe, Abel, Erleben 2010).
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_or, map, maximum, minimum, repeat, visit, where

from .cones import Block, contact_block, contact_impulse
from .row_laws import ANY, Law, row_impulse

SWEEPS = 100  # at most
SLIPS = 12  # steps towards the slip of one contact, at most
ALONE = 0.1  # of the tolerance: the accuracy of one contact beside the others
WORSE = 8.0  # times the smallest change so far: sweeps go back to where that was
FINE = 8  # sweeps towards a finer change than the tolerance
ROUNDING = 2.0**-6  # a change of which this share is lost beside the velocities at work is rounding


class BodyContacts(NamedTuple):
    """Of k contacts, the first `count` of which there are, with m axes of friction about them.

    first, second (k,): numbers of bodies, one that is none's moves nothing. axes (k, 3, 3): normal and tangents, rows;
    levers_a, levers_b (k, 3, 3): turning of the bodies per motion along each; turns_a, turns_b (k, 3, 3): angular
    velocity that a unit impulse along each gives; light_a, light_b (k,): 1/mass. spins_a, spins_b (k, m, 3): angular
    velocities that unit moments about the axes `about` give; reach (k, m) [m]: moment per normal impulse.
    c (k, 3 + m): velocities without impulses; mu (k,).
    """

    first: np.ndarray
    second: np.ndarray
    axes: np.ndarray
    levers_a: np.ndarray
    levers_b: np.ndarray
    turns_a: np.ndarray
    turns_b: np.ndarray
    light_a: np.ndarray
    light_b: np.ndarray
    spins_a: np.ndarray
    spins_b: np.ndarray
    reach: np.ndarray
    c: np.ndarray
    mu: np.ndarray
    about: tuple[int, ...]
    count: Any


class BodyImpulses(NamedTuple):
    """p (k, 3 + m): along axes and moments about them; slip (k,); w (n, 6); change, passes, settled: as elsewhere."""

    p: np.ndarray
    slip: np.ndarray
    w: np.ndarray
    change: Any
    passes: Any
    settled: Any


class Sweeps:
    """The problem of contacts on the laws of `cones`. tolerance, finer: changes of velocities, as elsewhere."""

    def __init__(self, contacts: BodyContacts, bodies: int, tolerance: Any, finer: Any) -> None:
        self.contacts, self.bodies, self.tolerance, self.finer = contacts, bodies, tolerance, finer
        c = contacts
        self.at = np.stack([c.first, c.second], axis=1)
        names = ("axes", "levers_a", "levers_b", "turns_a", "turns_b", "light_a", "light_b")
        self.motion = {"numbers": self.at} | {name: getattr(c, name) for name in names}
        if c.about:
            self.motion |= {"spins_a": c.spins_a, "spins_b": c.spins_b}
        self.blocks = map(_block, {name: getattr(c, name) for name in names}, c.count)
        sizes = self.blocks["size"]
        if c.about:
            spins = {"axes": c.axes, "spins_a": c.spins_a, "spins_b": c.spins_b}
            self.gains = map(self._gains, spins, c.count)["gains"]
            sizes = np.concatenate([sizes, self.gains], axis=1)
        self.sizes = sizes

    def _gains(self, axes: Any, spins_a: Any, spins_b: Any) -> dict[str, Any]:
        """Angular velocity per moment about each axis."""
        return {"gains": np.array([axes[k] @ (spins_a[j] + spins_b[j]) for j, k in enumerate(self.contacts.about)])}

    def solved(self, p: np.ndarray, slip: np.ndarray) -> BodyImpulses:
        """Sweeps from (p, slip) of a step before, until all is settled."""
        k, n = p.shape
        scale = self._scale(p)
        start = {"p": p, "slip": slip, "w": self.pushed(p)}
        begin = start | {"along": np.zeros((k, n)), "w_along": np.zeros((self.bodies, 6)), "length": ANY}
        begin |= {f"best_{name}": x for name, x in start.items()} | {"change": ANY, "count": 0.0, "done": 0.0}

        def sweep(p: Any, slip: Any, w: Any, along: Any, w_along: Any, length: Any, *rest: Any) -> dict[str, Any]:
            *best, smallest, count, _ = rest
            after = self.swept(p, slip, w)
            change, square = after[3:]
            tolerance = where(count < FINE, self.finer, self.tolerance)
            done = where(logical_or(change <= tolerance, scale + ROUNDING * change == scale), 1.0, 0.0)
            lost = change > WORSE * smallest
            share = where(logical_or(square >= length, done > 0.0), 0.0, square / maximum(length, 1.0 / ANY))
            p1, slip1, w1 = (where(lost, x, y) for x, y in zip(best, after, strict=False))
            best = [where(change <= smallest, y, x) for x, y in zip(best, after, strict=False)]
            share = where(lost, 0.0, share)
            return {
                "p": p1 + share * along,
                "slip": slip1,
                "w": w1 + share * w_along,
                "along": where(lost, 0.0, share * along + (p1 - p)),
                "w_along": where(lost, 0.0, share * w_along + (w1 - w)),
                "length": where(lost, ANY, square),
                "best_p": best[0],
                "best_slip": best[1],
                "best_w": best[2],
                "change": minimum(change, smallest),
                "count": count + 1.0,
                "done": done,
            }

        end = repeat(sweep, SWEEPS, begin, "done")
        p, slip, w = (end[f"best_{name}"] for name in start)
        return BodyImpulses(
            p, slip, w, end["change"], end["count"], where(end["change"] <= self.tolerance, 1.0, end["done"])
        )

    def _scale(self, p: np.ndarray) -> Any:
        """Of the velocities at work."""

        def step(most: Any, c: Any, size: Any, p: Any) -> dict[str, Any]:
            return {"most": reduce(maximum, [most, *absolute(c), *absolute(size * p)])}

        items = {"c": self.contacts.c, "size": self.sizes, "p": p}
        nothing = np.zeros((1, 1))
        return visit(lambda rows, *x: step(*x), items, nothing, carry={"most": 0.0}, count=self.contacts.count)["most"]

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w (n, 6) of impulses p."""

        def one(rows: Any, *numbers: Any) -> dict[str, Any]:
            *motion, p = numbers
            contact = self.motion_of(*motion)
            return {"rows": contact.moved(rows, p), "to": contact.numbers}

        start = np.zeros((self.bodies, 6))
        return visit(one, self.motion | {"p": p}, start, self.at, count=self.contacts.count)["table"]

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """(k, 3 + m): what w adds to the velocities of contacts."""

        def one(rows: Any, *motion: Any) -> dict[str, Any]:
            return {"u": self.motion_of(*motion).velocity(rows)}

        return visit(one, self.motion, w, self.at, count=self.contacts.count)["u"]

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[Any, Any, Any, Any, Any]:
        """A sweep from the first contact to the last, and one back.

        Impulses, slips and w, the largest velocity that changed, and the sum of squares of the changes of impulses.
        """
        on = self.one_way(p, slip, w, False)
        back = self.one_way(*on[:3], True)

        def step(_: Any, square: Any, size: Any, p: Any, before: Any) -> dict[str, Any]:
            return {"square": square + (size * (p - before)) @ (p - before)}

        items = {"size": self.sizes, "p": back[0], "before": p}
        start = np.zeros((1, 1))
        square = visit(step, items, start, carry={"square": 0.0}, count=self.contacts.count)["square"]
        return *back[:3], maximum(on[3], back[3]), square

    def one_way(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray, reverse: bool) -> tuple[Any, ...]:
        """Impulses, slips and w after each contact in turn, the largest velocity that changed, and those of each."""
        about, names = self.contacts.about, Block._fields

        def one(rows: Any, most: Any, *numbers: Any) -> dict[str, Any]:
            width = len(self.motion)
            contact = self.motion_of(*numbers[:width])
            block = Block(*numbers[width : width + len(names)])
            c, mu, before, slip, *turning = numbers[width + len(names) :]
            u = c + contact.velocity(rows)
            new, slip = self._alone(block, mu, u[:3] - block.W @ before[:3], slip)
            changes = list(block.size * absolute(new - before[:3]))
            impulses = list(new)
            if about:
                reach, gains = turning
                step = np.concatenate([new - before[:3], np.zeros(len(about))])
                u = c + contact.velocity(contact.moved(rows, step))
                for j in range(len(about)):
                    law = Law(0.0, 0.0, reach[j] * maximum(new[0], 0.0))
                    moment = row_impulse(law, gains[j], u[3 + j] - gains[j] * before[3 + j])
                    changes.append(gains[j] * absolute(moment - before[3 + j]))
                    impulses.append(moment)
            after, moved = np.array(impulses), reduce(maximum, changes)
            return {
                "rows": contact.moved(rows, after - before),
                "to": contact.numbers,
                "most": maximum(most, moved),
                "p": after,
                "slip": slip,
                "moved": moved,
            }

        items = self.motion | {name: self.blocks[name] for name in names}
        items |= {"c": self.contacts.c, "mu": self.contacts.mu, "before": p, "slip_before": slip}
        if about:
            items |= {"reach": self.contacts.reach, "gains": self.gains}
        after = visit(one, items, w, self.at, {"most": 0.0}, self.contacts.count, reverse)
        return after["p"], after["slip"], after["table"], after["most"], after["moved"]

    def _alone(self, block: Block, mu: Any, b: np.ndarray, slip: Any) -> tuple[np.ndarray, Any]:
        """The impulse of a contact beside the others as they are, and its slip.

        `contact_impulse` again until its velocities no longer change: those of the slip alone say nothing of a contact
        without load.
        """

        def again(before: Any, slip: Any, done: Any) -> dict[str, Any]:
            p, slip, _ = contact_impulse(block, mu, b, slip)
            moved = reduce(maximum, block.size * absolute(p - before))
            return {"p": p, "slip": slip, "done": where(moved <= ALONE * self.tolerance, 1.0, 0.0)}

        first, slip, _ = contact_impulse(block, mu, b, slip)
        start = {"p": first, "slip": slip, "done": where(slip > 0.0, 0.0, 1.0)}
        end = repeat(again, SLIPS, start, "done")
        return end["p"], end["slip"]

    def motion_of(self, *numbers: Any) -> _Motion:
        return _Motion(self.contacts.about, *numbers)


class _Motion:
    """How one contact moves its two bodies; see `BodyContacts`."""

    def __init__(
        self,
        about: tuple[int, ...],
        numbers: np.ndarray,
        axes: np.ndarray,
        levers_a: np.ndarray,
        levers_b: np.ndarray,
        turns_a: np.ndarray,
        turns_b: np.ndarray,
        light_a: Any,
        light_b: Any,
        spins_a: Any = (),
        spins_b: Any = (),
    ) -> None:
        self.about, self.numbers, self.axes, self.light = about, numbers, axes, (light_a, light_b)
        self.levers, self.turns, self.spins = (levers_a, levers_b), (turns_a, turns_b), (spins_a, spins_b)

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """(3, 6) of both bodies: velocities along the axes per velocity of the body."""
        first, second = (np.concatenate([self.axes, levers], axis=1) for levers in self.levers)
        return first, -second

    def velocity(self, rows: np.ndarray) -> np.ndarray:
        """(3 + m,) of two bodies' velocities (2, 6)."""
        a, b = rows
        along = self.axes @ (a[:3] - b[:3]) + self.levers[0] @ a[3:] - self.levers[1] @ b[3:]
        return np.concatenate([along, [self.axes[k] @ (a[3:] - b[3:]) for k in self.about]])

    def moved(self, rows: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows (2, 6) after impulses p (3 + m,)."""
        push = self.axes.T @ p[:3]
        sides = []
        for row, sign, light, turns, spins in zip(rows, (1.0, -1.0), self.light, self.turns, self.spins, strict=True):
            turn = turns.T @ p[:3]
            for j in range(len(self.about)):
                turn = turn + spins[j] * p[3 + j]
            sides.append(np.concatenate([row[:3] + (sign * light) * push, row[3:] + sign * turn]))
        return np.array(sides)


def _block(axes: Any, levers_a: Any, levers_b: Any, turns_a: Any, turns_b: Any, light_a: Any, light_b: Any) -> Any:
    """The block of a contact, by name in the order of `Block`; one that moves nothing gets a block that has slopes."""
    W = (light_a + light_b) * np.eye(3) + levers_a @ turns_a.T + levers_b @ turns_b.T
    return contact_block(W + where(light_a + light_b > 0.0, 0.0, 1.0) * np.eye(3))._asdict()
