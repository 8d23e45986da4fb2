"""Estimates without physics: ordinary, weighted and total least squares on a compressed log, and how sure they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dalembert.math.blas import one_blas_thread

from .base import independent_columns
from .columns import Columns
from .compression import Compressed, Samples

REWEIGHTINGS = 5
SEEN = 1e-7  # a direction of the parameters with a singular value below this share of the largest is not seen
PRECISION = 1e-14  # likewise of their squares, for the covariance
# Error of each column relative to its size, from noise in velocities and accelerations; of "total".
REGRESSOR_NOISE = 0.01
FEWEST_PIECES, MOST_PIECES = 4, 200  # of a log: 200 tell a standard deviation to 5 %


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
    """The covariance of β = matrix @ x (k, k), for a matrix of base parameters that the log shows; see `jackknife`."""
    R, _, _ = data.stacked(sigma)
    chosen = [int(np.flatnonzero(row == 1.0)[0]) for row in matrix]  # the parameter each row is named for
    square = R[:, chosen].T @ R[:, chosen]
    if not logs:  # a log that was read piece by piece and not kept
        return np.linalg.pinv(square, rcond=PRECISION, hermitian=True)
    return jackknife(square, _pieces(data.columns, logs, x, sigma, chosen))


def _pieces(
    columns: Columns, logs: Sequence[Samples], x: np.ndarray, sigma: np.ndarray, chosen: list[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows (t, nv, k) and residuals (t, nv) of each piece of the logs, in units of the noise."""

    def residuals(part: Samples) -> np.ndarray:
        predicted = columns.matrix(part.q, part.v, part.a) @ x + columns.known(part.q, part.v, part.a)
        return np.where(part.counted(), part.tau - predicted, 0.0) / sigma

    for log in logs:
        errors = np.concatenate([residuals(chunk) for chunk in log.chunks()])
        for at in independent_pieces(errors):
            part = log[at]
            rows = columns.matrix(part.q, part.v, part.a)[:, :, chosen] / sigma[:, None]
            yield np.where(part.counted()[:, :, None], rows, 0.0), errors[at]


@one_blas_thread()
def jackknife(square: np.ndarray, pieces: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Covariance (k, k) of a least-squares estimate whose errors remember, `square` the product AᵀA of all its rows.

    pieces: rows (t, nv, k) and residuals (t, nv) of each piece of the logs, in units of the noise. Errors of
    neighbouring samples are alike (filters, unmodelled friction), so that formulas for independent errors promise too
    much. Here the pieces are independent of each other, and the estimate is made again without each of them: it changes
    by δ = (AᵀA − AᵢᵀAᵢ)⁻¹ Aᵢᵀrᵢ. The residuals themselves would promise too much as well: where a piece is much of
    the data, the fit has followed its errors.   Efron, Tibshirani 1993, §11.
    """
    size, vectors = np.linalg.eigh(square)
    shown = size > PRECISION * size.max(initial=0.0)
    unit = vectors[:, shown] / np.sqrt(size[shown])  # the estimate's own units: unitᵀ (AᵀA) unit = 1
    changes = []
    for rows, residuals in pieces:
        A = rows.reshape(-1, rows.shape[-1]) @ unit
        without = np.eye(len(unit.T)) * (1.0 + PRECISION) - A.T @ A
        changes.append(np.linalg.solve(without, A.T @ residuals.ravel()))
    delta = np.array(changes) @ unit.T
    return np.asarray((len(delta) - 1) / len(delta) * delta.T @ delta)


def independent_pieces(errors: np.ndarray) -> list[slice]:
    """Pieces of a log, longer than its errors (T, nv) remember."""
    count = min(max(len(errors) // memory(errors), FEWEST_PIECES), MOST_PIECES, len(errors))
    ends = np.linspace(0, len(errors), count + 1).round().astype(int)
    return [slice(int(begin), int(end)) for begin, end in itertools.pairwise(ends)]


def unseen(R: np.ndarray) -> np.ndarray:
    """(n,): which parameters the rows R do not tell, alone or because only a sum with others shows."""
    scale, visible = column_scale(R)
    _, s, Vt = np.linalg.svd(np.where(visible, R, 0.0) / scale)
    hidden = Vt[np.append(s, np.zeros(len(Vt) - len(s))) <= SEEN * s.max(initial=0.0)]
    return np.asarray(np.abs(hidden).max(axis=0, initial=0.0) > 1e-6)


def memory(residual: np.ndarray) -> int:
    """Samples (of T) after which errors (T, nv) have forgotten themselves: three times their correlation length."""
    spectrum = np.abs(np.fft.rfft(residual - residual.mean(axis=0), 2 * len(residual), axis=0)) ** 2
    correlation = np.fft.irfft(spectrum, axis=0)[: len(residual) // 10 + 1]
    correlation = correlation / np.maximum(correlation[0], 1e-300)
    lengths = []
    for row in correlation.T:
        end = int(np.argmax(row < 0.1)) or len(row)
        lengths.append(1.0 + 2.0 * float(row[1:end].sum()))
    return max(1, min(round(3.0 * max(lengths)), len(residual)))
