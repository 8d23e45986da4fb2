"""Impulses of contacts with Coulomb friction, three numbers each, beside rows with laws of their own.

For every contact, with normal n and tangents t (Signorini, Coulomb; maximal dissipation):

    0 ≤ p_n, 0 ≤ u_n, one of them 0;   |p_t| ≤ mu p_n, and where it slips u_t = −slip p_t with slip ≥ 0, |p_t| = mu p_n.

Sweeps solve for each contact beside the others (block Gauss-Seidel). A contact is open, or sticks, or slips; in that
case u_n = 0 and (S + slip) p_t = −f, with S and f what is left of its tangents when the normal is eliminated. Then
mu p_n / |p_t| is below 1 at slip 0 and above at infinity, so that there always is a root, also where a light part is
steeper than the cone; each sweep makes one Newton step towards it.

Heavy bodies on light ones and faces with more points than they need take many sweeps. Where some have not settled it,
Newton's method takes over: each contact keeps to the part of its law that the last sweep found, as a stiff damper about
its impulse so far (stick), or as a force that turns with the slip, and all are solved for together in the coordinates
of the bodies, whose number does not grow with that of the contacts. Sweeps after each step decide about the parts anew.
The stiffness varies from step to step: stiff ones converge fast, and soft ones do not go round in circles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_not, logical_or, maximum, minimum, repeat, sqrt, where

from .general import solve
from .impulses import ANY, Carrier, Law, row_impulse
from .zeros import sparse_product

TINY = 1e-30  # added to squares, so that roots have slopes
HELD = 1e-13  # of the size of a contact: added to directions in which nothing can move, as across a planar robot
SLOPE = 0.25  # of the slope at infinity: the least with which the root of the slip is sought
SWEEPS, STEPS = 12, 30  # sweeps before Newton's method, and its steps, at most
SWEPT = 2  # sweeps after each step
GIVES = (1e-4, 1e-3, 1e-5, 1e-2, 1e-3, 1e-4)  # shares of their size by which held contacts give way, step by step
ROUNDING = 2.0**-6  # a change of which this share is lost beside the velocities at work is rounding


class Moment(NamedTuple):
    """A row of friction about an axis of a contact: its impulse is at most `lever` [m] times the normal one."""

    contact: int
    lever: Any


class ContactImpulses(NamedTuple):
    """p (3 k + n,): normal and tangents of each contact, then the rows; slip (k,) [velocity per impulse].

    change: the largest velocity that the last pass changed; passes: how many it took; settled: 1 where that was enough.
    """

    p: np.ndarray
    slip: np.ndarray
    change: Any
    passes: Any
    settled: Any


class Block(NamedTuple):
    """What the solve of one contact needs of its block W = [[a, wᵀ], [w, T]] of G.

    r = 1/a; S = T − w wᵀ/a and its determinant. size (3,): the diagonal, a velocity per impulse.
    """

    W: np.ndarray
    r: Any
    w: np.ndarray
    S: np.ndarray
    determinant: Any
    size: np.ndarray


def contact_impulses(
    carrier: Carrier,
    c: np.ndarray,
    mu: Sequence[Any],
    laws: Sequence[Law | Moment] = (),
    start: tuple[np.ndarray, np.ndarray] | None = None,
    tolerance: float = 1e-9,
    give: np.ndarray | None = None,
    sweeps: int = SWEEPS,
    steps: int = STEPS,
) -> ContactImpulses:
    """Impulses of k contacts with friction mu (k,) and n rows, for velocities c (3 k + n,) without impulses.

    Where a contact may close or must open, the normal in c is shifted by that. laws: of the rows. start: (p, slip) of a
    step before, near which the solution is. tolerance: the change of a pass that ends them [velocity]. give (n,): what
    the rows give way, velocity per impulse.
    """
    problem = _Problem(carrier, c, mu, laws, np.zeros(len(laws)) if give is None else give)
    p, slip = (np.zeros(len(c)), np.zeros(len(mu))) if start is None else start
    sizes = np.concatenate([np.zeros(0), *(block.size for block in problem.blocks), problem.sizes])
    scale = reduce(maximum, [absolute(x) for x in (*c, *(sizes * p))], 0.0)

    def settled(change: Any) -> Any:
        return where(logical_or(change <= tolerance, scale + ROUNDING * change == scale), 1.0, 0.0)

    def sweep(p: np.ndarray, slip: np.ndarray, w: np.ndarray, change: Any, done: Any) -> dict[str, Any]:
        p, slip, w, change = problem.swept(p, slip, w)
        return {"p": p, "slip": slip, "w": w, "change": change, "done": settled(change)}

    w, nothing = sparse_product(carrier.Y, p), 0.0 if len(c) else 1.0
    first = repeat(sweep, sweeps, {"p": p, "slip": slip, "w": w, "change": 0.0, "done": nothing}, "done")
    if carrier.r is None or not steps:
        return ContactImpulses(first["p"], first["slip"], first["change"], first["passes"], first["done"])

    def step(
        p: np.ndarray, slip: np.ndarray, best: np.ndarray, best_slip: np.ndarray, change: Any, count: Any, done: Any
    ) -> dict[str, Any]:
        give = reduce(lambda x, k: where(count == float(k), GIVES[k], x), range(len(GIVES)), GIVES[0])
        p1, slip1, w, change1 = problem.newton(p, slip, give), slip, None, 0.0
        for _ in range(SWEPT):
            p1, slip1, w, change1 = problem.swept(p1, slip1, sparse_product(carrier.Y, p1) if w is None else w)
        better = change1 < change
        return {
            "p": p1,
            "slip": slip1,
            "best": where(better, p1, best),
            "best slip": where(better, slip1, best_slip),
            "change": where(better, change1, change),
            "count": where(count + 1.0 < len(GIVES), count + 1.0, 0.0),
            "done": where(better, settled(change1), 0.0),
        }

    p, slip = first["p"], first["slip"]
    begin = {"p": p, "slip": slip, "best": p, "best slip": slip, "change": first["change"], "count": 0.0}
    end = repeat(step, steps, begin | {"done": first["done"]}, "done")
    passes = first["passes"] + end["passes"]
    return ContactImpulses(end["best"], end["best slip"], end["change"], passes, end["done"])


class _Problem:
    """Contacts and rows on a carrier."""

    def __init__(
        self, carrier: Carrier, c: np.ndarray, mu: Sequence[Any], laws: Sequence[Law | Moment], give: np.ndarray
    ) -> None:
        self.carrier, self.c, self.mu, self.laws, self.give = carrier, c, mu, laws, give
        X, Y = carrier.X, carrier.Y
        self.places = [slice(3 * i, 3 * i + 3) for i in range(len(mu))]
        self.rows = range(3 * len(mu), len(c))
        self.blocks = [_block(sparse_product(X[:, at].T, Y[:, at])) for at in self.places]
        self.sizes = [sparse_product(X[:, [i]].T, Y[:, i])[0] for i in self.rows]

    def law(self, number: int, p: np.ndarray) -> Law:
        """The law of a row beside impulses p."""
        law = self.laws[number]
        return law if isinstance(law, Law) else Law(0.0, 0.0, law.lever * maximum(p[3 * law.contact], 0.0))

    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each contact and row in turn."""
        X, Y = self.carrier.X, self.carrier.Y
        p, slip, changes = p.astype(object), slip.astype(object), []
        for i, (at, block) in enumerate(zip(self.places, self.blocks, strict=True)):
            b = self.c[at] + sparse_product(X[:, at].T, w) - block.W @ p[at]
            new, slip[i], moved = _contact(block, self.mu[i], b, slip[i])
            changes += [moved, *(block.size * absolute(new - p[at]))]
            w = w + sparse_product(Y[:, at], new - p[at])
            p[at] = new
        for number, i in enumerate(self.rows):
            g = self.sizes[number]
            b = self.c[i] + sparse_product(X[:, [i]].T, w)[0] - g * p[i]
            new = row_impulse(self.law(number, p), g + self.give[number], b)
            changes.append(g * absolute(new - p[i]))
            w = w + Y[:, i] * (new - p[i])
            p[i] = new
        return _numbers(p), _numbers(slip), _numbers(w), reduce(maximum, changes, 0.0)

    def newton(self, p: np.ndarray, slip: np.ndarray, give: Any) -> np.ndarray:
        """Impulses that put all on the part of the law which p and slip are on: p = a − K u, for all together.

        (diag(1/r) + Y K Yᵀ) y = Y (a − K c), u = c + Yᵀ y. give: the share of their size by which held ones give way.
        """
        Y, r, n = self.carrier.Y, self.carrier.r, len(self.c)
        assert r is not None
        K, a = np.zeros((n, n), object), np.zeros(n, object)
        for i, (at, block) in enumerate(zip(self.places, self.blocks, strict=True)):
            K[at, at], a[at] = _part(block, self.mu[i], p[at], slip[i], give)
        for number, i in enumerate(self.rows):
            K[i, i], a[i] = self._row_part(number, p, give)
        A = np.diag(1.0 / r).astype(object)
        for at in [*self.places, *(slice(i, i + 1) for i in self.rows)]:
            A = A + sparse_product(sparse_product(Y[:, at], K[at, at]), Y[:, at].T)
        y = solve(A, sparse_product(Y, a - sparse_product(K, self.c)))
        p = a - sparse_product(K, self.c + sparse_product(Y.T, y))
        for number, i in enumerate(self.rows):
            most = self.law(number, p).most
            p[i] = clip(p[i], -most, most)
        return _numbers(p)

    def _row_part(self, number: int, p: np.ndarray, give: Any) -> tuple[Any, Any]:
        """(K, a) of a row: held with some give, or pushing with a force that is known."""
        x, law = p[self.rows[number]], self.law(number, p)
        held = logical_and(absolute(x) < law.most, logical_or(absolute(x) > 0.0, law.low == law.high))
        stiffness = 1.0 / (give * self.sizes[number] + TINY)
        target = where(x >= 0.0, law.low, law.high)
        share = 1.0 / (1.0 + stiffness * self.give[number])
        return where(held, share * stiffness, 0.0), where(held, share * (x + stiffness * target), x)


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


def _numbers(x: np.ndarray) -> np.ndarray:
    """An array of plain numbers as such."""
    return x if any(hasattr(y, "__traced__") for y in x) else x.astype(float)


def _block(W: np.ndarray) -> Block:
    least = HELD * (W[0, 0] + W[1, 1] + W[2, 2]) + TINY
    r, w = 1.0 / (W[0, 0] + least), W[0, 1:]
    S = W[1:, 1:] - np.outer(w, w) * r + least * np.eye(2)
    return Block(W, r, w, S, S[0, 0] * S[1, 1] - S[0, 1] * S[0, 1], np.diag(W))


def _contact(block: Block, mu: Any, b: np.ndarray, slip: Any) -> tuple[np.ndarray, Any, Any]:
    """p (3,), slip, and the velocity that the change of the slip makes, for velocities b (3,) without p."""
    _, r, w, S, determinant, _ = block
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
    held = mu * pressed
    sticks = logical_and(stuck @ stuck <= held * held, pressed >= 0.0)

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


def _part(block: Block, mu: Any, p: np.ndarray, slip: Any, give: Any) -> tuple[np.ndarray, np.ndarray]:
    """(K (3, 3), a (3,)) of a contact that stays open, stuck or slipping as it is: p = a − K u near p.

    Slipping, the tangents push with mu p_n against the motion, and turn as it does: −P u_t / slip, P across it.
    """
    across = 0.5 * give * (block.size[1] + block.size[2])
    stiffness = 1.0 / (give * block.size[0])
    e = p[1:] / sqrt(p[1:] @ p[1:] + TINY)
    turning = (np.eye(2) - np.outer(e, e)) / maximum(slip, across)
    slides, closed = slip > 0.0, p[0] > 0.0
    K = np.zeros((3, 3), object)
    K[0, 0] = where(closed, stiffness, 0.0)
    K[1:, 0] = where(logical_and(closed, slides), mu * stiffness * e, 0.0)
    K[1:, 1:] = where(closed, where(slides, turning, np.eye(2) / across), 0.0)
    tangents = where(slides, mu * p[0] * e, p[1:])
    return K, where(closed, np.concatenate([p[:1], tangents]), 0.0)
