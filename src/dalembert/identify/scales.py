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
from .doubt import Doubt
from .least_squares import SEEN, column_scale, memory, nearest

DISAGREES = 1.3  # factor by which a scale may differ from those of the others
SURE = 6.0  # standard deviations
ITERATIONS, LONGEST = 6, 0.7  # steps, and how far the logarithm of a scale may go in one
TRACE = 1e-6  # of the strongest torque: noise counts as at least that much
CURE = "is its scale (gear ratio, torque constant, unit) right?"
EXPLAINED = 0.1  # share of a torque that may be left over where the other joints speak for it
CERTAIN = 0.1  # deviation of the logarithm of a scale that takes part in a comparison


class Scales(NamedTuple):
    """Of each joint (nv,): logarithm of the scale k, its deviation (infinite where the log does not show it), and the
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


def relative_scales(data: Compressed, log: Samples) -> Scales:
    """The scales of the torques of a log, whose triangles are the data, to that of the strongest.

    Gauss-Newton on x and k together, from the x nearest to the file's with all k = 1.
    """
    nv, size, squares = len(data.factors), data.columns.size, data.torque_squares
    logs, deviations, left = np.zeros(nv), np.full(nv, np.inf), np.ones(nv)
    if not squares.any():
        return Scales(logs, deviations, left)
    strongest = int(np.argmax(squares))
    others = np.delete(np.arange(nv), strongest)
    units = np.array([_noise(data, k) for k in range(nv)])
    R, z, _ = data.stacked(units)
    x = nearest(R, z, data.columns.prior())
    for _ in range(ITERATIONS):
        R = triangle(np.concatenate([_rows(data, k, x, np.exp(logs[k]), units[k]) for k in range(nv)]))
        A, b = np.delete(R[:, :-1], size + strongest, axis=1), R[:, -1]
        scale, visible = column_scale(A)
        U, values, Vt = np.linalg.svd(np.where(visible, A, 0.0) / scale, full_matrices=False)
        kept = values > SEEN * values[0]
        step = (Vt[kept].T @ ((U.T @ b)[kept] / values[kept])) / scale
        spread = (np.sqrt(np.sum((Vt[kept] / values[kept][:, None]) ** 2, axis=0)) / scale)[size:]
        seen = (np.sum(Vt[~kept] ** 2, axis=0)[size:] < 1e-6) & visible[size:]
        rest = float(np.sum((A @ step - b) ** 2)) / max(float(data.rows.sum()) - size, 1.0)
        x = x + step[:size]
        logs[others] += np.where(seen, np.clip(step[size:], -LONGEST, LONGEST), 0.0)
    errors = _errors(data, log, x, np.exp(logs)) / units
    deviations[others] = np.where(seen, np.sqrt(max(rest, 1.0) * memory(errors)) * spread, np.inf)
    deviations[strongest] = float(np.min(deviations[others], initial=np.inf))
    for k, factor in enumerate(data.factors):
        left[k] = np.linalg.norm(_rows(data, k, x, np.exp(logs[k]), 1.0)[:, -1]) / max(
            float(np.linalg.norm(factor[:, -1])), 1e-300
        )
    return Scales(logs, deviations, left)


def _errors(data: Compressed, log: Samples, x: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """(T, nv): what is left over in the first piece of a log."""
    columns, part = data.columns, next(log.chunks())
    known = columns.known(part.q, part.v, part.a)
    left = part.tau - known - scales * (columns.matrix(part.q, part.v, part.a) @ x)
    return np.where(part.counted(), left, 0.0)


def _rows(data: Compressed, k: int, x: np.ndarray, scale: float, unit: float) -> np.ndarray:
    """(rows, size + nv + 1): slopes of scale · W x in x and in the logarithms of the scales, and what is left over."""
    factor, size = data.factors[k], data.columns.size
    A, modelled = factor[:, :size], scale * (factor[:, :size] @ x)
    block = np.zeros((len(factor), size + len(data.factors) + 1))
    block[:, :size], block[:, size + k], block[:, -1] = scale * A, modelled, factor[:, size] - modelled
    return block / unit


def _noise(data: Compressed, k: int) -> float:
    """Root mean square of what no parameters explain of a joint's torque."""
    A, b = data.factors[k][:, : data.columns.size], data.factors[k][:, -1]
    scale, visible = column_scale(A) if len(A) else (np.ones(A.shape[1]), np.zeros(A.shape[1], bool))
    x = np.linalg.lstsq(np.where(visible, A, 0.0) / scale, b, rcond=SEEN)[0]
    left = b - np.where(visible, A, 0.0) @ (x / scale)
    least = TRACE * np.sqrt(float(data.torque_squares.max()) / max(int(data.rows.max()), 1))
    return max(float(np.sqrt(left @ left / max(int(data.rows[k]), 1))), float(least))
