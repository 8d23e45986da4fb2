"""Estimates without physics: ordinary, weighted and total least squares on a compressed log, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .base import independent_columns
from .compression import Compressed, Samples

REWEIGHTINGS = 5
SEEN = 1e-7  # a direction of the parameters with a singular value below this share of the largest is not seen
REGRESSOR_NOISE = (
    0.01  # of "total": error of each column relative to its size, from noise in velocities and accelerations
)


def ordinary(data: Compressed, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(x, sigma (nv,)): every row counts the same; what the data do not show stays as in the prior."""
    sigma = np.ones(len(data.factors))
    R, z, _ = data.stacked(sigma)
    x = nearest(R, z, prior)
    return x, noise(data, x)


def weighted(data: Compressed, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(x, sigma (nv,)): rows in units of their joint's noise, which is estimated along the way."""
    x, sigma = ordinary(data, prior)
    for _ in range(REWEIGHTINGS):
        R, z, _ = data.stacked(sigma)
        x = nearest(R, z, prior)
        before, sigma = sigma, noise(data, x)
        if np.allclose(before, sigma, rtol=1e-3):
            break
    return x, sigma


def total(data: Compressed, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(x, sigma (nv,)): errors in the regressor as well as in the torques, each column in units of its own size.

    The smallest singular vector of [R z], in the independent columns.   Golub, Van Loan 1980.
    """
    _, sigma = weighted(data, prior)
    R, z, residual = data.stacked(sigma)
    z = z - R @ prior
    scale, visible = column_scale(R)
    chosen = independent_columns(np.where(visible, R, 0.0) / scale)
    # every column in units of its error; columns that others imply stay at the prior
    error, missed = REGRESSOR_NOISE * scale[chosen], np.sqrt(residual)
    if missed == 0.0:
        return weighted(data, prior)
    full = np.column_stack([R[:, chosen] / error, z / missed])
    full = np.concatenate([full, np.append(np.zeros(len(chosen)), 1.0)[None]])
    vector = np.linalg.svd(full)[2][-1]
    if abs(vector[-1]) < 1e-12:
        return weighted(data, prior)
    x = prior.copy()
    x[chosen] += -vector[:-1] / vector[-1] / error * missed
    return x, noise(data, x)


def instrumental(
    data: Compressed, logs: Sequence[Samples], references: Sequence[Samples], prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(x, sigma (nv,)) with (Zᵀ W) x = Zᵀ tau, Z the regressor along the motion that was asked for.

    Noise of the measured motion is in W and not in Z, so that it does not bias x.   Janot, Vandanjon, Gautier 2014.
    """
    columns = data.columns
    _, sigma = weighted(data, prior)
    A, b = np.zeros((columns.size, columns.size)), np.zeros(columns.size)
    for log, reference in zip(logs, references, strict=True):
        for measured, commanded in zip(log.chunks(), reference.chunks(), strict=True):
            W = columns.matrix(measured.q, measured.v, measured.a)
            Z = columns.matrix(commanded.q, commanded.v, commanded.a) / sigma[:, None] ** 2
            tau = measured.tau - columns.known(measured.q, measured.v, measured.a)
            used = measured.counted()
            A += np.einsum("tjc,tjd->cd", Z * used[:, :, None], W)
            b += np.einsum("tjc,tj->c", Z, np.where(used, tau, 0.0))
    R, _, _ = data.stacked(sigma)
    scale, visible = column_scale(R)
    chosen = independent_columns(np.where(visible, R, 0.0) / scale)
    x = prior.copy()
    unit = scale[chosen]
    square = A[np.ix_(chosen, chosen)] / np.outer(unit, unit)
    x[chosen] += np.linalg.solve(square, (b - A @ prior)[chosen] / unit) / unit
    return x, noise(data, x)


def nearest(R: np.ndarray, z: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """The x nearest to the prior of all that minimise ‖R x − z‖, in units of each column's size."""
    scale, visible = column_scale(R)
    U, s, Vt = np.linalg.svd(np.where(visible, R, 0.0) / scale)
    seen = s > SEEN * s.max(initial=0.0)
    return prior + (Vt[seen].T @ ((U.T @ (z - R @ prior))[: len(s)][seen] / s[seen])) / scale


def column_scale(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Length of each column, 1 for those that are only round-off; and which are more than that."""
    scale = np.linalg.norm(R, axis=0)
    visible = scale > SEEN * scale.max(initial=0.0)
    return np.where(visible, scale, 1.0), visible


def noise(data: Compressed, x: np.ndarray) -> np.ndarray:
    """(nv,): root mean square of each joint's residual, at least a trace of its torque."""
    rows = np.maximum(data.rows, 1)
    least = 1e-9 * np.sqrt(max(float(data.torque_squares.sum() / rows.sum()), 1e-12))
    return np.maximum(np.sqrt(data.residuals(x) / rows), least)


def covariance(
    data: Compressed, logs: Sequence[Samples], x: np.ndarray, sigma: np.ndarray, matrix: np.ndarray
) -> np.ndarray:
    """The covariance of β = matrix @ x (k, k), for a matrix of base parameters that the log shows; see `sandwich`."""
    R, _, _ = data.stacked(sigma)
    columns = data.columns
    chosen = [int(np.flatnonzero(row == 1.0)[0]) for row in matrix]  # the parameter each row is named for
    bread = np.linalg.pinv(R[:, chosen].T @ R[:, chosen], rcond=1e-14, hermitian=True)
    if not logs:  # a log that was read piece by piece and not kept
        return bread
    errors = []
    for log in logs:
        slopes, residuals = [], []
        for chunk in log.chunks():
            W = columns.matrix(chunk.q, chunk.v, chunk.a)
            known = columns.known(chunk.q, chunk.v, chunk.a)
            residuals.append(np.where(chunk.counted(), chunk.tau - known - W @ x, 0.0) / sigma)
            slopes.append(np.einsum("tjc,tj->tc", W[:, :, chosen], residuals[-1] / sigma))
        errors.append((np.concatenate(slopes), np.concatenate(residuals)))
    return sandwich(bread, errors, int(data.rows.sum()))


def sandwich(bread: np.ndarray, errors: Sequence[tuple[np.ndarray, np.ndarray]], rows: int) -> np.ndarray:
    """Covariance H⁻¹ (Σ s sᵀ) H⁻¹ of a least-squares estimate, `bread` = H⁻¹ (k, k), with errors that remember.

    errors: of each log the slope of every sample's cost (T, k) and its residuals (T, nv), both in units of the noise;
    rows: how many residuals count in all. Errors of neighbouring samples are alike (filters, unmodelled friction), so
    that formulas for independent errors promise too much. Here each log is cut into pieces longer than its errors
    remember, and s is the slope of a piece's cost: pieces are independent (Liang, Zeger 1986).
    """
    meat, pieces = np.zeros_like(bread), 0
    for slopes, residuals in errors:
        count = max(1, len(slopes) // _memory(residuals))
        sums = np.array([piece.sum(axis=0) for piece in np.array_split(slopes, count)])
        meat += sums.T @ sums
        pieces += count
    freedom = pieces / max(pieces - 1 - len(bread) * pieces / max(rows, 1), 1.0)
    return bread @ meat @ bread * freedom


def unseen(R: np.ndarray) -> np.ndarray:
    """(n,): which parameters the rows R do not tell, alone or because only a sum with others shows."""
    scale, visible = column_scale(R)
    _, s, Vt = np.linalg.svd(np.where(visible, R, 0.0) / scale)
    hidden = Vt[np.append(s, np.zeros(len(Vt) - len(s))) <= SEEN * s.max(initial=0.0)]
    return np.asarray(np.abs(hidden).max(axis=0, initial=0.0) > 1e-6)


def _memory(residual: np.ndarray) -> int:
    """Samples (of T) after which errors (T, nv) have forgotten themselves: three times their correlation length."""
    spectrum = np.abs(np.fft.rfft(residual - residual.mean(axis=0), 2 * len(residual), axis=0)) ** 2
    correlation = np.fft.irfft(spectrum, axis=0)[: len(residual) // 10 + 1]
    correlation = correlation / np.maximum(correlation[0], 1e-300)
    lengths = []
    for row in correlation.T:
        end = int(np.argmax(row < 0.1)) or len(row)
        lengths.append(1.0 + 2.0 * float(row[1:end].sum()))
    return max(1, min(round(3.0 * max(lengths)), len(residual)))
