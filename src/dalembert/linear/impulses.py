"""Impulses of constraints that push, slide and release, one number each: u = G p + c with (u, p) on the law of its row.

A law is a falling staircase: p as a function of the velocity u of the row,

    p = most for u < low,   0 … most at u = low,   0 between,   −most … 0 at u = high,   −most for u > high.

A stop pushes with any force at its ends (most = ANY); dry friction has low = high and slides with ±most. All p together
minimise a convex function, and u is unique.

On which part of its law each row is, is guessed. The rows that are held are solved for exactly, then every row that is
on the wrong part moves on to the next one (block principal pivoting; Júdice, Pires 1994). Where that goes round in
circles, only the first of them moves, which comes to an end (Murty 1974).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_or, maximum, repeat, where

from .symmetric import Factor, factor, gram
from .zeros import sparse_product

ANY = 1e30  # a velocity that no row has, and an impulse that no row needs
PASSES, TOGETHER, REFINED = 100, 10, 3  # at most; those in which all rows move at once; corrections of impulses
SHARED = 1e-6  # of the size of a row, added to its diagonal entry: rows that say the same share the force
EXACT = 1e-13  # error of a row, relative to the velocities at work, that is round-off
NEAR = 1e-6  # the same for rows that still change their part: in single precision they do so by round-off

# Parts of a law: force of one sign alone, held at the lower end, free, held at the upper end, force of the other sign
PUSHED, LOWER, FREE, UPPER, PULLED = -2.0, -1.0, 0.0, 1.0, 2.0


class Law(NamedTuple):
    """The law of one row: see the head of this file. Velocities low ≤ high; the largest impulse, most ≥ 0."""

    low: Any = 0.0
    high: Any = ANY
    most: Any = ANY


class Impulses(NamedTuple):
    """p (n,); error: the largest by which a row misses its law, as a velocity; passes: how many it took."""

    p: np.ndarray
    error: Any
    passes: Any


class Carrier(NamedTuple):
    """How impulses move what carries them: u = c + Xᵀ w with w = Y p, X and Y (m, n), so that G = Xᵀ Y.

    r (m,): X = diag(r) Y, as for bodies with the inertia L diag(1/r) Lᵀ and Y = L⁻¹ Jᵀ. Without it G is all that is
    known.
    """

    X: np.ndarray
    Y: np.ndarray
    r: np.ndarray | None = None

    @classmethod
    def dense(cls, G: np.ndarray) -> Carrier:
        """That of a matrix G (n, n) > 0, symmetric."""
        return cls(G, np.eye(len(G)))

    @classmethod
    def bodies(cls, Y: np.ndarray, r: np.ndarray) -> Carrier:
        """That of columns Y (m, n) = L⁻¹ Jᵀ and reciprocal pivots r (m,)."""
        return cls((Y.T * r).T, Y, r)


class Response(Protocol):
    """How the velocities of rows follow from their impulses: u = G p + c, G (n, n) ≥ 0 symmetric.

    c (n,): without impulses. size (n,): of the entries of G, for each row. eased (n,): a small share of it, added where
    rows are held, so that rows which say the same share the force.
    """

    c: np.ndarray
    size: np.ndarray
    eased: np.ndarray

    def velocities(self, p: np.ndarray) -> np.ndarray:
        """G p + c."""

    def held(self, on: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function from changes of the velocities of the held rows (on = 1) to the impulses that cause them."""


class DenseResponse:
    """That of a matrix G (n, n)."""

    def __init__(self, G: np.ndarray, c: np.ndarray) -> None:
        self.G, self.c, self.size = G, c, np.diag(G)
        self.eased = SHARED * self.size + 1.0 / ANY

    def velocities(self, p: np.ndarray) -> np.ndarray:
        return self.G @ p + self.c

    def held(self, on: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return factor((self.G + np.diag(self.eased)) * np.outer(on, on) + np.diag(1.0 - on)).solve


class SparseResponse:
    """That of rows J (n, m) of a system with inertia M (m, m) and its factor `mass`: G = J M⁻¹ Jᵀ, size its diagonal.

    Held rows are added to M as stiff dampers. Where M has the pattern of a tree and each row belongs to one of its
    limbs, they add no entry to its factor: the cost is that of M, not the cube of the number of rows.
    """

    def __init__(self, M: np.ndarray, mass: Factor, J: np.ndarray, c: np.ndarray, size: np.ndarray) -> None:
        self.M, self.mass, self.J, self.c, self.size = M, mass, J, c, size
        self.eased = SHARED * self.size + 1.0 / ANY

    def velocities(self, p: np.ndarray) -> np.ndarray:
        return self.c + sparse_product(self.J, self.mass.solve(sparse_product(self.J.T, p)))

    def held(self, on: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        stiff = on / self.eased
        damped = factor(self.M + gram(self.J, stiff), self.mass.order)

        def impulses(change: np.ndarray) -> np.ndarray:
            moved = damped.solve(sparse_product(self.J.T, stiff * change))
            return stiff * (change - sparse_product(self.J, moved))

        return impulses


def row_impulses(response: Response, laws: Sequence[Law]) -> Impulses:
    """The impulses p (n,) of rows on their laws.

    Redundant rows share their force in one of many ways; velocities do not depend on which.
    """
    c, size, eased, n = response.c, response.size, response.eased, len(laws)
    if not n:
        return Impulses(np.zeros(0), 0.0, 0.0)
    scale = reduce(maximum, [absolute(x) for x in c]) + 1.0 / ANY

    def error_of(p: np.ndarray) -> Any:
        return reduce(maximum, [_error(*x) for x in zip(laws, size, p, response.velocities(p), strict=True)])

    def move(part: np.ndarray, p: np.ndarray, count: Any, error: Any, done: Any) -> dict[str, Any]:
        held, target, fixed = _on_part(laws, part)
        impulses = response.held(held)
        p = fixed + impulses(held * (target - response.velocities(fixed)))
        u = response.velocities(p) + eased * p
        following = np.array([_next_part(*x) for x in zip(laws, part, p, u, strict=True)])
        wrong: Any = count < 0.0  # whether a row up to this one is on the wrong part; none is before the first
        for i in range(n):
            waits = logical_and(wrong, count >= TOGETHER)
            wrong = logical_or(wrong, following[i] != part[i])
            following[i] = where(waits, part[i], following[i])
        for _ in range(REFINED):
            p = p + impulses(held * (target - response.velocities(p)))
        error = error_of(p)
        enough = where(count >= TOGETHER, NEAR, EXACT) * scale
        done = where(logical_and(wrong, error > enough), 0.0, 1.0)
        return {"part": following, "p": p, "count": count + 1.0, "error": error, "done": done}

    first = np.array([_first_part(*x) for x in zip(laws, size, c, strict=True)])
    p = np.array([row_impulse(*x) for x in zip(laws, size, c, strict=True)])
    error = error_of(p)
    start = {"part": first, "p": p, "count": 0.0, "error": error, "done": where(error <= EXACT * scale, 1.0, 0.0)}
    end = repeat(move, PASSES, start, "done")
    return Impulses(end["p"], end["error"], end["count"])


def row_impulse(law: Law, g: Any, u: Any) -> Any:
    """The impulse of one row with the velocity u without it; g: the velocity that a unit impulse gives it."""
    target = where(u < law.low, law.low, law.high)
    touched = logical_or(u < law.low, u > law.high)
    return where(touched, clip((target - u) / maximum(g, 1.0 / ANY), -law.most, law.most), 0.0)


def _error(law: Law, g: Any, p: Any, u: Any) -> Any:
    """The velocity by which a row misses its law, from the change of its impulse alone that would correct it."""
    return g * absolute(p - row_impulse(law, g, u - g * p))


def _first_part(law: Law, g: Any, u: Any) -> Any:
    """As if no other row had an impulse."""
    most, pinned = g * law.most, law.low == law.high
    below = where(law.low - u > most, PUSHED, LOWER)
    above = where(u - law.high > most, PULLED, UPPER)
    return where(u < law.low, below, where(u > law.high, above, where(pinned, LOWER, FREE)))


def _next_part(law: Law, part: Any, p: Any, u: Any) -> Any:
    """The same part if (p, u) is on it, else the neighbour towards which it was left."""
    pinned = law.low == law.high  # nothing lies between the ends, held at one is held at the other
    inward_lower = where(pinned, where(p < -law.most, PULLED, LOWER), where(p < 0.0, FREE, LOWER))
    inward_upper = where(pinned, where(p > law.most, PUSHED, UPPER), where(p > 0.0, FREE, UPPER))
    lower, upper = where(p > law.most, PUSHED, inward_lower), where(p < -law.most, PULLED, inward_upper)
    free = where(u < law.low, LOWER, where(u > law.high, UPPER, FREE))
    pushed, pulled = where(u > law.low, LOWER, PUSHED), where(u < law.high, UPPER, PULLED)
    below, above = where(part < -1.5, pushed, lower), where(part > 1.5, pulled, upper)
    return where(absolute(part) < 0.5, free, where(part < 0.0, below, above))


def _on_part(laws: Sequence[Law], part: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of rows on parts of their laws (n,): 1 where held, else 0; the velocity where held; the impulse where not."""
    pairs = list(zip(laws, part, strict=True))
    held = [where(logical_and(absolute(x) > 0.5, absolute(x) < 1.5), 1.0, 0.0) for x in part]
    target = [where(x < 0.0, law.low, law.high) for law, x in pairs]
    fixed = [where(x < -1.5, law.most, where(x > 1.5, -law.most, 0.0)) for law, x in pairs]
    return np.array(held), np.array(target), np.array(fixed)
