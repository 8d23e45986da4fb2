"""Do the torques of a log agree with each other about their scale?

tau = k · W x joint by joint: the bodies beyond a joint also load the joints before it, so that a channel in another
unit contradicts the others, whatever the file says. The strongest channel has k = 1; the others follow by least
squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .compression import Compressed, Samples, triangle
from .least_squares import SEEN, column_scale, memory, nearest
from .signals import Doubt

DISAGREES = 1.3  # factor by which a scale may differ from those of the others
SURE = 6.0  # standard deviations
ITERATIONS, LONGEST = 6, 0.7  # steps, and how far the logarithm of a scale may go in one
TRACE = 1e-6  # of the strongest torque: noise counts as at least that much
CURE = "is its scale (gear ratio, torque constant, unit) right?"
EXPLAINED = 0.1  # share of a torque that may be left over where the other joints speak for it
CERTAIN = 0.1  # deviation of the logarithm of a scale that takes part in a comparison


class Scales(NamedTuple):
    """Per joint (nv,): logarithm of the scale k, its deviation (infinite where the log does not show it), and the
    share of the torque that is left over with it.
    """

    logs: np.ndarray
    deviations: np.ndarray
    left: np.ndarray


def doubts(data: Compressed, log: Samples, listed: Sequence[Doubt] = ()) -> list[Doubt]:
    """The doubts of a log without those beside the file's model that the other joints refute, and with new ones."""
    names = data.columns.robot.model.freedom_names
    logs, deviations, left = relative_scales(data, log)
    sure = deviations < CERTAIN
    if sure.sum() < 2:
        return list(listed)
    doubted = np.isin(names, [doubt.joint for doubt in listed if doubt.beside_file])
    trusted = sure & ~doubted if (sure & ~doubted).sum() >= 0.5 * sure.sum() else sure
    off = np.where(sure, logs - float(np.median(logs[trusted])), 0.0)
    contradicts = sure & (np.abs(off) > np.maximum(np.log(DISAGREES), SURE * np.where(sure, deviations, 0.0)))
    refuted = sure & ~contradicts & (left < EXPLAINED) & (trusted is not sure)
    kept = [doubt for doubt in listed if not (doubt.beside_file and refuted[names.index(doubt.joint)])]
    new = contradicts & ~np.isin(names, [doubt.joint for doubt in kept])
    if not new.any():
        return kept
    if sure.sum() == 2:  # one of the two, and nothing tells which
        first, second = (names[k] for k in np.flatnonzero(sure))
        ratio = np.exp(np.ptp(logs[sure]))
        what = f"the scales of the torques of {first!r} and {second!r} disagree by a factor of {ratio:.3g}"
        return [*kept, *(Doubt(name, what, CURE, serious=False) for name in (first, second))]
    k = int(np.argmax(np.where(new, np.abs(off), 0.0)))
    what = f"its torque is {np.exp(off[k]):.3g} times what the torques of the other joints imply"
    return [*kept, Doubt(names[k], what, CURE, serious=False)]


class Piece(NamedTuple):
    """The rows of one joint, k (A x + known) = tau, as a triangle: [A | known | tau] (r, n + 2), and how many rows."""

    factor: np.ndarray
    rows: int


class Fitted(NamedTuple):
    """x (n,), scales k (nv,), the deviations of their logarithms for independent errors, infinite where not shown."""

    x: np.ndarray
    scales: np.ndarray
    deviations: np.ndarray


def fitted(pieces: Sequence[Piece], x: np.ndarray, scales: np.ndarray, free: np.ndarray) -> Fitted:
    """Scales and parameters together by Gauss-Newton, from those given; free (nv,): which scales are unknown.

    Errors are those of tau, as they are in a log: a gain on its side of the equation would come out too small.
    """
    n, count = len(x), len(pieces)
    units = np.array([_noise(pieces, k) for k in range(count)])
    unknown = np.append(np.ones(n, bool), free)
    deviations = np.full(count, np.inf)
    for _ in range(ITERATIONS):
        stack = [_rows(piece, x, scales[k], units[k], k, count) for k, piece in enumerate(pieces)]
        R = triangle(np.concatenate(stack))
        A, b = R[:, :-1][:, unknown], R[:, -1]
        size, visible = column_scale(A)
        U, values, Vt = np.linalg.svd(np.where(visible, A, 0.0) / size, full_matrices=False)
        kept = values > SEEN * values[0]
        step = (Vt[kept].T @ ((U.T @ b)[kept] / values[kept])) / size
        spread = (np.sqrt(np.sum((Vt[kept] / values[kept][:, None]) ** 2, axis=0)) / size)[n:]
        seen = (np.sum(Vt[~kept] ** 2, axis=0)[n:] < 1e-6) & visible[n:]
        rest = float(np.sum((A @ step - b) ** 2)) / max(sum(piece.rows for piece in pieces) - n, 1)
        x = x + step[:n]
        scales = scales.copy()
        scales[free] *= np.where(seen, np.exp(np.clip(step[n:], -LONGEST, LONGEST)), 1.0)
        deviations[free] = np.where(seen, np.sqrt(max(rest, 1.0)) * spread, np.inf)
    return Fitted(x, scales, deviations)


def relative_scales(data: Compressed, log: Samples) -> Scales:
    """The scales of the torques of a log, whose triangles are the data, to that of the strongest."""
    nv, size, squares = len(data.factors), data.columns.size, data.torque_squares
    if not squares.any():
        return Scales(np.zeros(nv), np.full(nv, np.inf), np.ones(nv))
    pieces = [
        Piece(np.insert(factor, size, 0.0, axis=1), int(rows))
        for factor, rows in zip(data.factors, data.rows, strict=True)
    ]
    units = np.array([_noise(pieces, k) for k in range(nv)])
    R, z, _ = data.stacked(units)
    free = np.arange(nv) != int(np.argmax(squares))
    x, scales, deviations = fitted(pieces, nearest(R, z, data.columns.prior()), np.ones(nv), free)
    parameters, part = data.columns, next(log.chunks())  # what is left over in the first piece of the log
    modelled = scales * (parameters.matrix(part.q, part.v, part.a) @ x)
    errors = np.where(part.counted(), part.tau - parameters.known(part.q, part.v, part.a) - modelled, 0.0)
    deviations = deviations * np.sqrt(memory(errors / units))
    deviations[~free] = np.min(deviations[free], initial=np.inf)
    left = [np.linalg.norm(_rows(piece, x, scales[k], 1.0, k, nv)[:, -1]) for k, piece in enumerate(pieces)]
    return Scales(np.log(scales), deviations, np.array(left) / np.sqrt(np.maximum(squares, 1e-300)))


def _rows(piece: Piece, x: np.ndarray, scale: float, unit: float, k: int, count: int) -> np.ndarray:
    """(r, n + count + 1): slopes of k (A x + known) in x and in the logarithms of the scales, and what is left over."""
    A, modelled = piece.factor[:, : len(x)], scale * (piece.factor[:, : len(x)] @ x + piece.factor[:, -2])
    block = np.zeros((len(A), len(x) + count + 1))
    block[:, : len(x)], block[:, len(x) + k], block[:, -1] = scale * A, modelled, piece.factor[:, -1] - modelled
    return block / unit


def _noise(pieces: Sequence[Piece], k: int) -> float:
    """Root mean square of what no parameters and no scale explain of a joint's torque."""
    A, b = pieces[k].factor[:, :-1], pieces[k].factor[:, -1]
    scale, visible = column_scale(A) if len(A) else (np.ones(A.shape[1]), np.zeros(A.shape[1], bool))
    x = np.linalg.lstsq(np.where(visible, A, 0.0) / scale, b, rcond=SEEN)[0]
    left = b - np.where(visible, A, 0.0) @ (x / scale)
    strongest = max(float(np.linalg.norm(piece.factor[:, -1])) / np.sqrt(max(piece.rows, 1)) for piece in pieces)
    return max(float(np.sqrt(left @ left / max(pieces[k].rows, 1))), TRACE * strongest)
