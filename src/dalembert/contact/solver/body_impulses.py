"""Impulses of contacts between bodies that nothing else holds: loops whose code is emitted once.

Which two bodies a contact moves differs from state to state. w (n, 6) holds what impulses have changed of the
velocities of the centres of mass and of the angular velocities, along the axes of the world. A contact reads and writes
two rows of it, so that a sweep costs as much as there are contacts, whatever the number of bodies.

Sweeps solve for each contact beside the others (block Gauss-Seidel); for one state at a time, contacts without a common
body are solved for together. Between sweeps the impulses go on along the direction of the last changes, as conjugate
gradients would, which takes stacks to rest in tens of sweeps instead of hundreds (Silcowitz-Niebe, Abel, Erleben 2010).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_or, map, maximum, minimum, repeat, visit, where

from .arrays import chosen, largest_and_total, largest_size
from .cones import Block, contact_impulse
from .contact_motion import ContactMotion, motion_block
from .iteration import settled
from .row_laws import ANY, moment_law, row_impulse

SWEEPS = 400  # at most
SLIPS = 12  # steps towards the slip of one contact, at most
ALONE = 0.1  # of the tolerance: the accuracy of one contact beside the others
WORSE = 8.0  # times the smallest change so far: sweeps go back to where that was
FINE = 8  # sweeps towards a finer change than the tolerance
SLOW_AT_FIRST, AT_FIRST = (3, 4.0)  # sweeps before their pace counts, and times the smallest change of these


class BodyContacts(NamedTuple):
    """Table of k contacts, the first `count` of which there are, with m axes of friction about them.

    first, second (k,): numbers of bodies; a number that is no body's stands for what does not move. group (k,):
    neighbours with the same number have no body in common. axes (k, 3, 3): normal and tangents, rows; levers_a,
    levers_b (k, 3, 3): turning of the bodies per motion along each; turns_a, turns_b (k, 3, 3): angular velocity that a
    unit impulse along each gives; light_a, light_b (k,): 1/mass. spins_a, spins_b (k, m, 3): angular velocities that
    unit moments about the axes `about` give; reach (k, m) [m]: moment per normal impulse. c (k, 3 + m): velocities
    without impulses; mu (k,).
    """

    first: np.ndarray
    second: np.ndarray
    group: np.ndarray
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


class _Pass(NamedTuple):
    """State from which sweeps go on: `along` leads from the sweeps before to p, and further by a share of it.

    better: whether p is the best so far, else best_p; lost: whether it is worse by far, so that they go back.
    """

    p: np.ndarray
    slip: np.ndarray
    along: np.ndarray
    best_p: np.ndarray
    best_slip: np.ndarray
    w: np.ndarray
    w_along: np.ndarray
    best_w: np.ndarray
    length: Any
    share: Any
    lost: Any
    better: Any
    smallest: Any
    slowest: Any
    count: Any


class _There(NamedTuple):
    """After a sweep from the first contact to the last, which began at `start` and w_start; moved (k,): velocities."""

    p: np.ndarray
    slip: np.ndarray
    start: np.ndarray
    along: np.ndarray
    best_p: np.ndarray
    best_slip: np.ndarray
    w: np.ndarray
    w_start: np.ndarray
    w_along: np.ndarray
    best_w: np.ndarray
    moved: np.ndarray


class _Back(NamedTuple):
    """After the sweep back. Of both: change, the largest velocity that changed; square, of the changes of impulses."""

    p: np.ndarray
    slip: np.ndarray
    along: np.ndarray
    w: np.ndarray
    w_along: np.ndarray
    change: Any
    square: Any


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
        self.blocks = map(motion_block, {name: getattr(c, name) for name in names}, c.count)
        sizes = self.blocks["size"]
        if c.about:
            spins = {"axes": c.axes, "spins_a": c.spins_a, "spins_b": c.spins_b}
            self.gains = map(self._gains, spins, c.count)["gains"]
            sizes = np.concatenate([sizes, self.gains], axis=1)
        self.sizes = sizes

    def _gains(self, axes: Any, spins_a: Any, spins_b: Any) -> dict[str, Any]:
        """Angular velocity per moment about each axis."""
        return {"gains": np.array([axes[k] @ (spins_a[j] + spins_b[j]) for j, k in enumerate(self.contacts.about)])}

    def solved(self, p: np.ndarray, slip: np.ndarray, pace: float | None = None) -> BodyImpulses:
        """Sweeps from (p, slip) of a step before, until all is settled.

        pace: of what they change after some sweeps they go on as long as each leaves less than this share of it on
        average, also beyond the tolerance, towards the finer one; None: in any case.
        """
        scale, w = self.scale(p), self.pushed(p)
        state: dict[str, Any] = {"p": p.T, "slip": slip, "along": np.zeros(p.T.shape), "best_p": p.T, "best_slip": slip}
        state |= {"w": w, "w_along": np.zeros((self.bodies, 6)), "best_w": w, "length": ANY, "share": 0.0}
        state |= {"lost": 0.0, "better": 1.0, "smallest": ANY, "slowest": ANY, "count": 0.0, "done": 0.0}

        def sweep(*parts: Any) -> dict[str, Any]:
            last = _Pass(*parts[:-1])
            last = last._replace(**{name: getattr(last, name).T for name in ("p", "along", "best_p")})
            there = self._there(last)
            back = self._back(there)
            change = back.change
            tolerance = self.finer if pace is not None else where(last.count < FINE, self.finer, self.tolerance)
            done = settled(change, tolerance, scale)
            lost = change > WORSE * last.smallest
            straight = logical_or(logical_or(back.square >= last.length, done > 0.0), lost)
            slowest = where(last.count < SLOW_AT_FIRST, AT_FIRST * minimum(change, last.slowest), last.slowest)
            if pace is not None:
                slowest = where(last.count < SLOW_AT_FIRST, slowest, pace * slowest)
                done = where(minimum(change, last.smallest) > slowest, 1.0, done)
            return {
                "p": back.p.T,
                "slip": back.slip,
                "along": back.along.T,
                "best_p": there.best_p.T,
                "best_slip": there.best_slip,
                "w": back.w,
                "w_along": back.w_along,
                "best_w": there.best_w,
                "length": where(lost, ANY, back.square),
                "share": where(straight, 0.0, back.square / maximum(last.length, 1.0 / ANY)),
                "lost": where(lost, 1.0, 0.0),
                "better": where(change <= last.smallest, 1.0, 0.0),
                "smallest": minimum(change, last.smallest),
                "slowest": slowest,
                "count": last.count + 1.0,
                "done": done,
            }

        end = repeat(sweep, SWEEPS, state, "done")
        better, change = end["better"] > 0.5, end["smallest"]
        p, slip, w = (chosen(better, end[name], end[f"best_{name}"]) for name in ("p", "slip", "w"))
        tolerance = self.tolerance if pace is None else self.finer
        return BodyImpulses(p.T, slip, w, change, end["count"], settled(change, tolerance, scale))

    def _there(self, last: _Pass) -> _There:
        """From the first contact to the last, from where the changes before lead on to, or from the best so far."""
        lost, better = last.lost > 0.5, last.better > 0.5

        def moved_on(w: Any, along: Any, best: Any) -> dict[str, Any]:
            kept = where(lost, 0.0, last.share * along)
            return {"start": where(lost, best, w + kept), "along": kept, "best": where(better, w, best)}

        bodies = {"w": last.w.ravel(), "w_along": last.w_along.ravel(), "best_w": last.best_w.ravel()}
        w_start, w_along, best_w = (x.reshape(-1, 6) for x in map(moved_on, bodies).values())

        def begin(p: Any, slip: Any, along: Any, best_p: Any, best_slip: Any) -> tuple[Any, Any, dict[str, Any]]:
            kept = where(lost, 0.0, last.share * along)
            start = where(lost, best_p, p + kept)
            best = {"best_p": where(better, p, best_p), "best_slip": where(better, slip, best_slip)}
            return start, where(lost, best_slip, slip), {"start": start, "along": kept} | best

        states = {name: getattr(last, name) for name in ("p", "slip", "along", "best_p", "best_slip")}
        after = self._each(begin, _nothing_more, states, w_start, False)
        records = {name: after[name] for name in ("p", "slip", "start", "along", "best_p", "best_slip", "moved")}
        return _There(**records, w=after["table"], w_start=w_start, w_along=w_along, best_w=best_w)

    def _back(self, there: _There) -> _Back:
        """From the last contact to the first; along: all that has changed since the pass began, and before."""

        def added(new: Any, sizes: Any, most: Any, start: Any, along: Any, moved: Any, **_: Any) -> dict[str, Any]:
            change = new - start
            return {"along": along + change, "square": (sizes * change) @ change, "most": maximum(most, moved)}

        states = {name: getattr(there, name) for name in ("p", "slip", "start", "along", "moved")}
        after = self._each(_where_it_is, added, states, there.w, True)
        change, square = largest_and_total(after["most"], after["square"], self.contacts.count)

        def moved_on(w: Any, start: Any, along: Any) -> dict[str, Any]:
            return {"along": along + (w - start)}

        bodies = {"w": after["table"].ravel(), "w_start": there.w_start.ravel(), "w_along": there.w_along.ravel()}
        w_along = map(moved_on, bodies)["along"].reshape(-1, 6)
        return _Back(after["p"], after["slip"], after["along"], after["table"], w_along, change, square)

    def scale(self, p: np.ndarray) -> Any:
        """Scale of the velocities at work."""

        def one(c: Any, size: Any, p: Any) -> dict[str, Any]:
            return {"most": reduce(maximum, [*absolute(c), *absolute(size * p)])}

        count = self.contacts.count
        return largest_size(map(one, {"c": self.contacts.c, "size": self.sizes, "p": p}, count)["most"], count)

    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w (n, 6) of impulses p."""

        def one(rows: Any, motion: Any, p: Any) -> dict[str, Any]:
            contact = self.motion_of(**motion)
            return {"rows": contact.moved(rows, p), "to": contact.numbers}

        items, start = {"motion": self.motion, "p": p}, np.zeros((self.bodies, 6))
        return visit(one, items, start, self.at, count=self.contacts.count, groups=self.contacts.group)["table"]

    def velocities(self, w: np.ndarray) -> np.ndarray:
        """(k, 3 + m): what w adds to the velocities of contacts."""

        def one(rows: Any, motion: Any) -> dict[str, Any]:
            return {"u": self.motion_of(**motion).velocity(rows)}

        return visit(one, {"motion": self.motion}, w, self.at, count=self.contacts.count)["u"]

    def one_way(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[Any, ...]:
        """Impulses, slips and w after each contact in turn, the largest velocity that changed, and those of each."""
        after = self._each(_where_it_is, _nothing_more, {"p": p, "slip": slip}, w, False)
        change = largest_size(after["moved"], self.contacts.count)
        return after["p"], after["slip"], after["table"], change, after["moved"]

    def _each(
        self,
        begin: Callable[..., tuple[Any, Any, dict[str, Any]]],
        added: Callable[..., dict[str, Any]],
        states: dict[str, np.ndarray],
        w: np.ndarray,
        reverse: bool,
    ) -> dict[str, np.ndarray]:
        """Each contact in turn beside the others as they are: "p", "slip", "moved", and "table", w at the end.

        states (k, …) by name: what `begin` takes of a contact; it gives the impulses and the slip from which it starts,
        and further records. added: from the new impulses, their sizes, the velocity that changed and the states of a
        contact to further records.
        """
        about = self.contacts.about

        def one(rows: Any, motion: Any, block: Any, c: Any, mu: Any, state: Any, turning: Any = None) -> dict[str, Any]:
            contact, block = self.motion_of(**motion), Block(**block)
            before, slip, records = begin(**state)
            u = c + contact.velocity(rows)
            new, slip = self._alone(block, mu, u[:3] - block.W @ before[:3], slip)
            changes = list(block.size * absolute(new - before[:3]))
            impulses, sizes = list(new), block.size
            if about:
                reach, gains = turning["reach"], turning["gains"]
                step = np.concatenate([new - before[:3], np.zeros(len(about))])
                u = c + contact.velocity(contact.moved(rows, step))
                for j in range(len(about)):
                    law = moment_law(reach[j], new[0])
                    moment = row_impulse(law, gains[j], u[3 + j] - gains[j] * before[3 + j])
                    changes.append(gains[j] * absolute(moment - before[3 + j]))
                    impulses.append(moment)
                sizes = np.concatenate([sizes, gains])
            after, moved = np.array(impulses), reduce(maximum, changes)
            records |= added(after, sizes, moved, **state)
            return {
                "rows": contact.moved(rows, after - before),
                "to": contact.numbers,
                "p": after,
                "slip": slip,
                "moved": moved,
            } | records

        items = {"motion": self.motion, "block": self.blocks, "c": self.contacts.c, "mu": self.contacts.mu}
        items["state"] = states
        if about:
            items |= {"turning": {"reach": self.contacts.reach, "gains": self.gains}}
        return visit(one, items, w, self.at, {}, self.contacts.count, reverse, self.contacts.group)

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

    def motion_of(self, **motion: Any) -> ContactMotion:
        """How one contact moves its bodies, from its rows of `motion`."""
        return ContactMotion(self.contacts.about, **motion)


def _where_it_is(p: Any, slip: Any, **_: Any) -> tuple[Any, Any, dict[str, Any]]:
    """A contact starts from its impulses and slip; nothing more is recorded."""
    return p, slip, {}


def _nothing_more(*_: Any, **__: Any) -> dict[str, Any]:
    return {}
