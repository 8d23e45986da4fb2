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

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_or, maximum, repeat, where

from .symmetric import factor

ANY = 1e30  # a velocity that no row has, and an impulse that no row needs
PASSES, TOGETHER, REFINED = 100, 10, 3  # at most; those in which all rows move at once; corrections of impulses
SHARED = 1e-6  # of its diagonal entry, added to it: rows that say the same share the force
EXACT = 1e-13  # error of a row, relative to the velocities at work, that is round-off

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


def row_impulses(G: np.ndarray, c: np.ndarray, laws: Sequence[Law]) -> Impulses:
    """The impulses p (n,) of rows with G (n, n) ≥ 0 symmetric and c (n,) their velocities without impulses.

    Rows that say the same share their force in one of many ways; velocities do not depend on which.
    """
    n = len(c)
    if not n:
        return Impulses(np.zeros(0), 0.0, 0.0)
    diagonal = np.diag(G)
    shared = G + np.diag(SHARED * diagonal + 1.0 / ANY)
    exact = EXACT * (reduce(maximum, [absolute(x) for x in c]) + 1.0 / ANY)

    def error_of(p: np.ndarray) -> Any:
        return reduce(maximum, [_error(*x) for x in zip(laws, diagonal, p, G @ p + c, strict=True)])

    def move(part: np.ndarray, p: np.ndarray, count: Any, error: Any, done: Any) -> dict[str, Any]:
        held, target, fixed = _on_part(laws, part)
        factored = factor(shared * np.outer(held, held) + np.diag(1.0 - held))
        p = fixed + factored.solve(held * (target - c - shared @ fixed))
        following = np.array([_next_part(*x) for x in zip(laws, part, p, shared @ p + c, strict=True)])
        wrong: Any = count < 0.0  # whether a row up to this one is on the wrong part; none is before the first
        for i in range(n):
            waits = logical_and(wrong, count >= TOGETHER)
            wrong = logical_or(wrong, following[i] != part[i])
            following[i] = where(waits, part[i], following[i])
        for _ in range(REFINED):
            p = p + factored.solve(held * (target - c - G @ p))
        error = error_of(p)
        done = where(logical_and(wrong, error > exact), 0.0, 1.0)
        return {"part": following, "p": p, "count": count + 1.0, "error": error, "done": done}

    first = np.array([_first_part(*x) for x in zip(laws, diagonal, c, strict=True)])
    p = np.array([row_impulse(*x) for x in zip(laws, diagonal, c, strict=True)])
    error = error_of(p)
    start = {"part": first, "p": p, "count": 0.0, "error": error, "done": where(error <= exact, 1.0, 0.0)}
    end = repeat(move, PASSES, start, "done")
    return Impulses(end["p"], end["error"], end["count"])


def row_impulse(law: Law, g: Any, u: Any) -> Any:
    """The impulse of one row with the velocity u without it; g: the velocity that a unit impulse gives it."""
    target = where(u < law.low, law.low, law.high)
    touched = logical_or(u < law.low, u > law.high)
    return where(touched, clip((target - u) / maximum(g, 1.0 / ANY), -law.most, law.most), 0.0)


def _error(law: Law, g: Any, p: Any, u: Any) -> Any:
    """By which velocity a row misses its law: the change of its impulse that would mend it alone."""
    return g * absolute(p - row_impulse(law, g, u - g * p))


def _first_part(law: Law, g: Any, u: Any) -> Any:
    """As if no other row had an impulse."""
    most, pinned = g * law.most, law.low == law.high
    below = where(law.low - u > most, PUSHED, LOWER)
    above = where(u - law.high > most, PULLED, UPPER)
    return where(u < law.low, below, where(u > law.high, above, where(pinned, LOWER, FREE)))


def _next_part(law: Law, part: Any, p: Any, u: Any) -> Any:
    """The same part if (p, u) is on it, else the neighbour towards which it was left."""
    pinned = law.low == law.high  # nothing lies between the ends: from one to the other at once
    lower = where(p > law.most, PUSHED, where(p < 0.0, where(pinned, UPPER, FREE), LOWER))
    upper = where(p < -law.most, PULLED, where(p > 0.0, where(pinned, LOWER, FREE), UPPER))
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
