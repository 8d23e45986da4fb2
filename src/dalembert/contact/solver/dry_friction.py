"""Velocities of coordinates with dry friction: some stick, some slide, all on Coulomb's law at once.

    M v = g + p,   |p_k| ≤ most_k,   p_k = −most_k sign(u_k) where u_k = v_k − surface_k is not 0.

Each row of friction acts on one coordinate, so that nothing but the inertia itself has to be factored: coordinates that
stick are struck out of it, and the others are solved for. From the result each coordinate decides whether it goes on
(block principal pivoting; Júdice, Pires 1994). Where that goes round in circles they change one by one, which comes to
an end (Murty 1974). The start, that everything goes on as before the step, is right in most steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.symmetric import factor_entries
from dalembert.linear.zeros import nonzeros, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_or, maximum, repeat, sign, where

TOGETHER = 8  # passes after each of which all coordinates may change
PASSES = 240
ROUNDING = 2.0**-6  # a change of which this share is lost beside the velocities at work is rounding
ACCURACY = 1e-9  # of slopes


class DryFriction(NamedTuple):
    """Friction of one coordinate: the largest impulse, most ≥ 0, and the speed of the surface that it rubs on."""

    most: Any
    surface: Any = 0.0


def with_dry_friction(M: np.ndarray, g: np.ndarray, v: np.ndarray, frictions: Mapping[int, DryFriction]) -> np.ndarray:
    """Velocities (m,) for the inertia M (m, m), positive definite, and the momentum g (m,) that they would have.

    v (m,): before, from which it is guessed what slides. frictions: by coordinate; the others are free.
    """
    places, n = list(frictions), len(v)
    below = [(int(i), int(j)) for i, j in zip(*np.nonzero(np.tril(nonzeros(M), -1)), strict=True)]
    scale = reduce(maximum, [absolute(g[k]) / M[k, k] for k in places])

    def solved(slides: np.ndarray) -> np.ndarray:
        """The velocities while each coordinate slides that way, −1 or 1, or sticks, 0."""
        moves, held, push = [1.0] * n, [0.0] * n, list(g)
        for k, way, friction in zip(places, slides, frictions.values(), strict=True):
            sliding = absolute(way) > 0.5  # the way is only asked for, not computed with: it has no slope
            moves[k], held[k] = where(sliding, 1.0, 0.0), where(sliding, 0.0, friction.surface)
            push[k] = push[k] - where(sliding, where(way > 0.0, friction.most, -friction.most), 0.0)
        stuck = np.array(held)
        push = np.array(moves) * (np.array(push) - sparse_product(M, stuck))
        entries, kind = {(i, j): M[i, j] * moves[i] * moves[j] for i, j in below}, np.result_type(M, push)
        return stuck + factor_entries(list(np.diag(M)), entries, range(n)[::-1], kind=kind).solve(push)

    def one_pass(slides: np.ndarray, _: np.ndarray, count: Any, done: Any) -> dict[str, Any]:
        after, excess, following = solved(slides), [], []
        p = sparse_product(M[places], after) - g[places]
        for k, way, force, friction in zip(places, slides, p, frictions.values(), strict=True):
            sticking, sliding = (absolute(force) - friction.most) / M[k, k], way * (friction.surface - after[k])
            excess.append(where(absolute(way) > 0.5, sliding, sticking))  # beyond what its law allows, as a velocity
        worst = reduce(maximum, excess)
        unsettled = logical_and(worst > 0.0, scale + ROUNDING * worst > scale)
        changing = unsettled
        for way, force, beyond in zip(slides, p, excess, strict=True):
            turns = logical_and(beyond > 0.0, changing)
            following.append(where(turns, where(absolute(way) > 0.5, 0.0, -sign(force)), way))
            changing = logical_and(changing, logical_or(count < TOGETHER, beyond <= 0.0))
        return {"slides": following, "v": after, "count": count + 1.0, "done": where(unsettled, 0.0, 1.0)}

    slides = np.array([sign(v[k] - friction.surface) for k, friction in frictions.items()])
    begin = {"slides": slides, "v": v, "count": 0.0, "done": 0.0}
    return repeat(one_pass, PASSES, begin, "done", ACCURACY)["v"]
