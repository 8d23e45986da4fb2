"""The impulse of one contact with Coulomb friction, three numbers, beside those of others that are known.

With the normal n and the tangents t (Signorini, Coulomb; maximal dissipation):

    0 ≤ p_n, 0 ≤ u_n, one of them 0;   |p_t| ≤ mu p_n, and where it slips u_t = −slip p_t with slip ≥ 0, |p_t| = mu p_n.

A contact is open, or sticks, or slips; in that case u_n = 0 and (S + slip) p_t = −f, with S and f what is left of its
tangents when the normal is eliminated. Then mu p_n / |p_t| is below 1 at slip 0 and above at infinity, so that there
always is a root, also where a light part is steeper than the cone; each call makes one Newton step towards it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.zeros import mirrored
from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_not, maximum, minimum, repeat, sqrt, where

MOST = 1e30  # a slip that no contact has
TINY = 1e-30  # added to squares, so that roots have slopes
TINIEST = 1e-37  # added to squares of impulses that light bodies have as well; single precision still has it
HELD = 1e-13  # of the size of a contact: added to directions in which nothing can move, as across a planar robot
HELD_BY_FEW = 1e-8  # the same where others move with them, which rounding must not hide
GRAZES = 1e-12  # of the velocity along the surface: what meets it more slowly is rounding, and slides by
ON_CONE = 1.0 - 1e-9  # of the square of the largest friction: impulses of a contact that slides
SLOPE = 0.25  # of the slope at infinity: the least with which the root of the slip is sought


class Block(NamedTuple):
    """The data for solving one contact, from its block W = [[a, wᵀ], [w, T]] of G.

    r = 1/a; S = T − w wᵀ/a and its determinant. size (3,): the diagonal, a velocity per impulse; inverse (3, 3): of W,
    where it holds.
    """

    W: np.ndarray
    r: Any
    w: np.ndarray
    S: np.ndarray
    determinant: Any
    size: np.ndarray
    inverse: np.ndarray


def regular(W: np.ndarray, freedoms: int = 3) -> np.ndarray:
    """W (3, 3) with a little added where nothing can move: what is inverted for a contact that sticks."""
    return W + _least(W, freedoms) * np.eye(3)


def _least(W: np.ndarray, freedoms: int) -> Any:
    return (HELD if freedoms >= 3 else HELD_BY_FEW) * (W[0, 0] + W[1, 1] + W[2, 2]) + TINY


def contact_block(W: np.ndarray, freedoms: int = 3) -> Block:
    """The block for W (3, 3), the velocities per impulse of a contact alone, which so many freedoms carry."""
    W = mirrored(W)
    least = _least(W, freedoms)
    r, w = 1.0 / (W[0, 0] + least), W[0, 1:]
    S = W[1:, 1:] - np.outer(w, w) * r + least * np.eye(2)
    determinant = S[0, 0] * S[1, 1] - S[0, 1] * S[0, 1]
    tangents = np.array([[S[1, 1], -S[0, 1]], [-S[0, 1], S[0, 0]]]) * (1.0 / determinant)
    across = -r * (tangents @ w)
    inverse = np.block([[np.array([[r * (1.0 - w @ across)]]), across[None]], [across[:, None], tangents]])
    return Block(W, r, w, S, determinant, np.diag(W), inverse)


def contact_impulse(block: Block, mu: Any, b: np.ndarray, slip: Any) -> tuple[np.ndarray, Any, Any]:
    """p (3,), slip, and the velocity that the change of the slip makes, for velocities b (3,) without p."""
    return _branched(block, mu, b, slip, lambda slid: slid.moved)


def contact_impulse_and_error(block: Block, mu: Any, b: np.ndarray, slip: Any) -> tuple[np.ndarray, Any, Any]:
    """p (3,) and slip of `contact_impulse`, and the velocity by which one that slides misses its law, given b."""
    return _branched(block, mu, b, slip, lambda slid: slid.error)


def contact_impulse_on_lanes(block: Block, mu: Any, b: np.ndarray, slip: Any) -> tuple[np.ndarray, Any, Any]:
    """`contact_impulse_and_error` without a branch, so that contacts can be lanes of one vector."""
    held, slides = _held(block, mu, b)
    slid = _slid(block, mu, b, where(slides, slip, 0.0))
    return where(slides, slid.p, held), where(slides, slid.slip, 0.0), where(slides, slid.error, 0.0)


class _Slid(NamedTuple):
    """A contact that slides: p (3,), its slip, and velocities: that the change of the slip makes, of its error."""

    p: np.ndarray
    slip: Any
    moved: Any
    error: Any


def _branched(
    block: Block, mu: Any, b: np.ndarray, slip: Any, measure: Callable[[_Slid], Any]
) -> tuple[np.ndarray, Any, Any]:
    """p (3,), slip, and a measure of a contact that slides."""
    held, slides = _held(block, mu, b)

    def sliding(_p: np.ndarray, slip: Any, _measured: Any, _done: Any) -> dict[str, Any]:
        slid = _slid(block, mu, b, slip)
        return {"p": slid.p, "slip": slid.slip, "measured": measure(slid), "done": 1.0}

    begin = {"p": held, "slip": where(slides, slip, 0.0), "measured": 0.0, "done": where(slides, 0.0, 1.0)}
    end = repeat(sliding, 1, begin, "done")  # a branch: without a contact that slides it is not computed
    return end["p"], end["slip"], end["measured"]


def _held(block: Block, mu: Any, b: np.ndarray) -> tuple[np.ndarray, Any]:
    """p (3,) of a contact that sticks or is open, and whether it is neither."""
    pressed, *stuck = held = -(block.inverse @ b)
    along = b[1] * b[1] + b[2] * b[2]
    closed = logical_and(b[0] < 0.0, b[0] * b[0] > GRAZES * GRAZES * along)
    sticks = logical_and(stuck[0] * stuck[0] + stuck[1] * stuck[1] <= (mu * pressed) * (mu * pressed), pressed >= 0.0)
    return where(logical_and(closed, sticks), held, 0.0), logical_and(closed, logical_not(sticks))


def _slid(block: Block, mu: Any, b: np.ndarray, slip: Any) -> _Slid:
    """A contact that slides, after one Newton step for its slip."""
    _, r, w, S, determinant, _, _ = block
    f = b[1:] - w * (b[0] * r)

    trace = S[0, 0] + S[1, 1]

    def reciprocal(s: Any) -> Any:
        """Reciprocal of the determinant of S + s."""
        return 1.0 / (determinant + s * (trace + s))

    def tangents(s: Any, x: np.ndarray) -> np.ndarray:
        """(S + s)⁻¹ x."""
        return reciprocal(s) * np.array([(S[1, 1] + s) * x[0] - S[0, 1] * x[1], (S[0, 0] + s) * x[1] - S[0, 1] * x[0]])

    def normal(t: np.ndarray) -> Any:
        return -(b[0] + w @ t) * r

    t = tangents(slip, -f)
    rate, square, pushed = tangents(slip, t), t @ t + TINIEST, normal(t)
    length = sqrt(square)
    shortest = (determinant / trace + slip) * reciprocal(slip)  # |p_t| / |f| is no less
    least = maximum(-SLOPE * mu * r * b[0] * shortest * square, TINIEST)  # without friction 0, in single precision too
    slope = mu * (((w @ rate) * r) * square + pushed * (t @ rate))  # of mu p_n / |p_t|, times |p_t|³
    slipped = clip(slip + (length - mu * pushed) * square / maximum(slope, least), 0.0, MOST)
    t, before = tangents(slipped, -f), length
    pushed, length = maximum(normal(t), 0.0), sqrt(t @ t + TINIEST)
    p = np.concatenate([[pushed], minimum(1.0, mu * pushed / length) * t])
    # An error is at most what all friction moves; and the velocity along the tangents, also where nothing pushes yet.
    most = minimum(sqrt(f @ f + TINY), where(pushed > 0.0, trace * (before + length + mu * pushed), MOST))
    error = minimum((trace + slipped) * absolute(length - mu * pushed), most)
    return _Slid(p, slipped, minimum(length * absolute(slipped - slip), most), error)


def active_set(size: np.ndarray, mu: Any, levers: Sequence[Any] | np.ndarray, p: np.ndarray, u: np.ndarray) -> Any:
    """Number of the part of its law that a contact with impulses p and velocities u (3 + m,) is on.

    0 open, 1 sticks, 2 slides; 3 more where the first moment slides, 6 where the second does, and so on.
    """
    pressed, sticks, _, _ = _sides(size, mu, p, u)
    number: Any = where(sticks, 1.0, 2.0)
    for i, lever in enumerate(levers):
        y = p[3 + i] - u[3 + i] / (size[3 + i] + TINY)
        number = number + where(absolute(y) <= lever * maximum(p[0], 0.0), 0.0, 3.0 * 2.0**i)
    return where(pressed, number, 0.0)


def linear_contact(
    size: np.ndarray, mu: Any, levers: Sequence[Any] | np.ndarray, p: np.ndarray, u: np.ndarray, give: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Change (3 + m,) of the impulses p of a contact towards its law at velocities u, and K (3 + m, 3 + m) = −dp/du.

    Both are of the part of the law that it is on: see `active_set`. What is held gives way by a share `give` of its
    size (3 + m,). The impulses that follow may lie outside the cone.
    """
    pressed, sticks, t, share = _sides(size, mu, p, u)
    g = 0.5 * (size[1] + size[2])
    along, stiff = 1.0 / (give * size[0] + TINY), 1.0 / (give * g + TINY)
    across, lift = np.array([-t[1], t[0]]), -along * u[0]
    slack = share / ((1.0 - share + give) * g + TINY)
    slides = mu * (p[0] + lift) * t - (slack * (across @ u[1:3])) * across - p[1:3]
    K = np.zeros((len(u), len(u)), object)
    K[0, 0] = where(pressed, along, 0.0)
    K[1:3, 0] = where(logical_and(pressed, logical_not(sticks)), mu * along * t, 0.0)
    K[1:3, 1:3] = where(pressed, where(sticks, stiff * np.eye(2), slack * np.outer(across, across)), 0.0)
    change = [lift, *where(sticks, -stiff * u[1:3], slides)]
    for i, lever in enumerate(levers, 3):
        y, firm = p[i] - u[i] / (size[i] + TINY), 1.0 / (give * size[i] + TINY)
        holds, way = absolute(y) <= lever * maximum(p[0], 0.0), where(y > 0.0, lever, -lever)
        change.append(where(holds, -firm * u[i], way * (p[0] + lift) - p[i]))
        K[i, i], K[i, 0] = (
            where(pressed, where(holds, firm, 0.0), 0.0),
            where(pressed, where(holds, 0.0, way * along), 0.0),
        )
    return where(pressed, np.array(change), -p), K


def _sides(size: np.ndarray, mu: Any, p: np.ndarray, u: np.ndarray) -> tuple[Any, Any, np.ndarray, Any]:
    """Whether a contact is closed, and sticks; direction (2,) of its friction, and share that friction takes of it."""
    y = p[1:3] - u[1:3] / (0.5 * (size[1] + size[2]) + TINY)
    length, largest = sqrt(y @ y + TINY), mu * maximum(p[0], 0.0)
    return p[0] - u[0] / (size[0] + TINY) > 0.0, length <= largest, y / length, minimum(1.0, largest / length)


def slip_where_sliding(mu: Any, p: np.ndarray, u: np.ndarray) -> Any:
    """The slip of a contact with impulses p (3,) and velocities u (3,); 0 where the impulses are within the cone."""
    square = p[1] * p[1] + p[2] * p[2]
    slides = logical_and(p[0] > 0.0, square >= ON_CONE * (mu * p[0]) * (mu * p[0]))
    return where(slides, maximum(-(p[1] * u[1] + p[2] * u[2]), 0.0) / (square + TINY), 0.0)


def missed_law(size: np.ndarray, mu: Any, p: np.ndarray, u: np.ndarray) -> Any:
    """The largest velocity by which a contact with impulses p and velocities u (3,) misses its law: the natural map.

    An impulse is right if it is what p − u/size becomes when it is projected onto what is allowed; size (3,): the
    diagonal of its block.
    """
    g = 0.5 * (size[1] + size[2])
    y = g * p[1:] - u[1:]
    share = minimum(1.0, g * mu * maximum(p[0], 0.0) / sqrt(y @ y + TINY))
    missed = g * p[1:] - share * y
    return maximum(absolute(minimum(u[0], size[0] * p[0])), sqrt(missed @ missed))


def contact_error(G: np.ndarray, c: np.ndarray, mu: Sequence[Any], p: np.ndarray) -> Any:
    """The largest velocity by which contacts miss the laws of Signorini and Coulomb."""
    u, size = G @ p + c, np.diag(G)
    places = [slice(3 * i, 3 * i + 3) for i in range(len(mu))]
    return reduce(maximum, [missed_law(size[at], x, p[at], u[at]) for at, x in zip(places, mu, strict=True)], 0.0)
