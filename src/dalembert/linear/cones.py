"""Impulses of contacts with Coulomb friction: u = G p + c, three numbers each, beside rows with laws of their own.

For every contact, with normal n and tangents t (Signorini, Coulomb; maximal dissipation):

    0 ≤ p_n, 0 ≤ u_n, one of them 0;   |p_t| ≤ mu p_n, and where it slips u_t = −slip p_t with slip ≥ 0, |p_t| = mu p_n.

Sweeps solve for each contact beside the others (block Gauss-Seidel). A contact is open, or sticks, or slips; in that
case u_n = 0 and (S + slip) p_t = −f, with S and f what is left of its tangents when the normal is eliminated. Then
mu p_n / |p_t| is below 1 at slip 0 and above at infinity, so that there always is a root, also where a light part is
steeper than the cone; each sweep makes one Newton step towards it. Heavy bodies on light ones take many sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_not, maximum, minimum, repeat, sqrt, where

from .impulses import ANY, Law, row_impulse

TINY = 1e-30  # added to squares, so that roots have slopes
SLOPE = 0.25  # of the slope at infinity: the least with which the root of the slip is sought


class ContactImpulses(NamedTuple):
    """p (3 k + n,): normal and tangents of each contact, then the rows; slip (k,) [velocity per impulse].

    change: the largest velocity that the last sweep changed; passes: how many it took.
    """

    p: np.ndarray
    slip: np.ndarray
    change: Any
    passes: Any


class Block(NamedTuple):
    """What the solve of one contact needs of its block [[a, wᵀ], [w, T]] of G.

    r = 1/a; S = T − w wᵀ/a and its determinant. size (3,): the diagonal, a velocity per impulse.
    """

    r: Any
    w: np.ndarray
    S: np.ndarray
    determinant: Any
    size: np.ndarray


def contact_impulses(
    G: np.ndarray,
    c: np.ndarray,
    mu: Sequence[Any],
    laws: Sequence[Law] = (),
    start: tuple[np.ndarray, np.ndarray] | None = None,
    tolerance: float = 1e-9,
    sweeps: int = 200,
) -> ContactImpulses:
    """Impulses of k contacts with friction mu (k,) and n rows, for G (3k + n, 3k + n) > 0 symmetric and c (3k + n,).

    c: velocities without impulses; where a contact may close or must open, its normal shifted by that. start: (p, slip)
    of a step before, near which the solution is. tolerance: the change of a sweep that ends them, relative to the
    largest velocity of c.
    """
    k, n = len(mu), len(c)
    blocks = [_block(G[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]) for i in range(k)]
    enough = tolerance * (reduce(maximum, [absolute(x) for x in c], 0.0) + 1.0 / ANY)

    def sweep(p: np.ndarray, slip: np.ndarray, change: Any, done: Any) -> dict[str, Any]:
        p, slip, changes = p.astype(kind), slip.astype(kind), []
        for i, block in enumerate(blocks):
            rows = slice(3 * i, 3 * i + 3)
            b = c[rows] + G[rows] @ p - G[rows, rows] @ p[rows]
            new, slip[i], moved = _contact(block, mu[i], b, slip[i])
            changes += [moved, *(block.size * absolute(new - p[rows]))]
            p[rows] = new
        for i, law in enumerate(laws, 3 * k):
            new = row_impulse(law, G[i, i], c[i] + G[i] @ p - G[i, i] * p[i])
            changes.append(G[i, i] * absolute(new - p[i]))
            p[i] = new
        change = reduce(maximum, changes, 0.0)
        return {"p": p, "slip": slip, "change": change, "done": where(change <= enough, 1.0, 0.0)}

    p, slip = (np.zeros(n), np.zeros(k)) if start is None else start
    kind = np.result_type(G, c, np.array(mu), p)
    end = repeat(sweep, sweeps, {"p": p, "slip": slip, "change": 0.0, "done": 0.0 if n else 1.0}, "done")
    return ContactImpulses(end["p"], end["slip"], end["change"], end["passes"])


def contact_error(G: np.ndarray, c: np.ndarray, mu: Sequence[Any], p: np.ndarray) -> Any:
    """The largest velocity by which contacts miss the laws of Signorini and Coulomb: the natural map.

    An impulse is right if it is what p − u/g becomes when it is projected onto what is allowed.
    """
    u, errors = G @ p + c, [0.0]
    for i, friction in enumerate(mu):
        j, tangents = 3 * i, slice(3 * i + 1, 3 * i + 3)
        g = 0.5 * (G[j + 1, j + 1] + G[j + 2, j + 2])
        y = g * p[tangents] - u[tangents]
        share = minimum(1.0, g * friction * maximum(p[j], 0.0) / sqrt(y @ y + TINY))
        missed = g * p[tangents] - share * y
        errors += [absolute(minimum(u[j], G[j, j] * p[j])), sqrt(missed @ missed)]
    return reduce(maximum, errors)


def _block(W: np.ndarray) -> Block:
    r, w = 1.0 / W[0, 0], W[0, 1:]
    S = W[1:, 1:] - np.outer(w, w) * r
    return Block(r, w, S, S[0, 0] * S[1, 1] - S[0, 1] * S[0, 1], np.diag(W))


def _contact(block: Block, mu: Any, b: np.ndarray, slip: Any) -> tuple[np.ndarray, Any, Any]:
    """p (3,), slip, and the velocity that the change of the slip makes, for velocities b (3,) without p."""
    r, w, S, determinant, _ = block
    f = b[1:] - w * (b[0] * r)

    def tangents(s: Any, x: np.ndarray) -> np.ndarray:
        """(S + s)⁻¹ x."""
        reciprocal = 1.0 / (determinant + s * (S[0, 0] + S[1, 1] + s))
        return reciprocal * np.array([(S[1, 1] + s) * x[0] - S[0, 1] * x[1], (S[0, 0] + s) * x[1] - S[0, 1] * x[0]])

    def normal(t: np.ndarray) -> Any:
        return -(b[0] + w @ t) * r

    stuck = tangents(0.0, -f)
    pressed = normal(stuck)
    closed = b[0] < 0.0
    sticks = logical_and(stuck @ stuck <= mu * mu * pressed * pressed, pressed >= 0.0)

    t = tangents(slip, -f)
    rate, length = tangents(slip, t), sqrt(t @ t + TINY)
    share = mu * normal(t) / length
    least = -SLOPE * mu * r * b[0] / sqrt(f @ f + TINY)
    slope = maximum(mu * (w @ rate) * r / length + share * (t @ rate) / (length * length), maximum(least, TINY))
    slipped = clip(slip + (1.0 - share) / slope, 0.0, ANY)
    t = tangents(slipped, -f)
    pushed, length = maximum(normal(t), 0.0), sqrt(t @ t + TINY)
    t = minimum(1.0, mu * pushed / length) * t

    slides = logical_and(closed, logical_not(sticks))
    p = np.concatenate([[where(sticks, pressed, pushed)], where(sticks, stuck, t)])
    return where(closed, p, 0.0), where(slides, slipped, 0.0), where(slides, length * absolute(slipped - slip), 0.0)
