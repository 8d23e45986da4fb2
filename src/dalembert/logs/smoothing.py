"""Derivatives of measured signals: differences where the numbers are clean, smoothing splines where they are not.

The noise of a second difference is that of the signal times √6/dt²: 0.1 mrad at 1 kHz become 240 rad/s². A spline fit
passes what lies below its bandwidth, without delay, and averages what lies above. The bandwidth is the smallest that
leaves nothing but noise in the residual, so that accelerations carry no more noise than the motion asks for.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .splines import DEGREE, Basis

CLEAN = 0.002  # noise of differences, relative to their RMS, up to which they are used unsmoothed
SHORT = 16  # rows below which there is nothing to average
FINER = np.sqrt(2.0)  # ratio of bandwidths that are tried one after the other
BESIDE = (2, 4)  # a bandwidth does if those so many places finer explain no more
SIGNIFICANT = 3.0  # standard deviations
COLOURED = 0.15  # correlation from row to row that white noise of a hundred rows or more does not have
QUARTICS = (24, 12, 6, 3, 2, 1)  # cells at an end that one quartic may span, the longest first
MOVES = 0.999  # share of a signal's power that is motion for certain
BANDS, AHEAD = 24, 3  # of frequencies above that; an acceleration is at its least if the next so many are louder
UNEXPLAINED = 1.5  # variance of the residual over that of the noise, beyond which finer bandwidths are tried anyway


@dataclass(frozen=True)
class Smoothed:
    """Signals (n, k) with their first and second derivatives.

    bandwidth (k,) [Hz], inf for plain differences; noise (k,): standard deviation of what was averaged away;
    correlation (k,): of that from row to row, about 0 for white noise and the steps of an encoder.
    """

    values: np.ndarray
    first: np.ndarray
    second: np.ndarray
    bandwidth: np.ndarray
    noise: np.ndarray
    correlation: np.ndarray

    @property
    def coloured(self) -> np.ndarray:
        """Whether (k,) what was averaged away is no white noise: the signal was filtered before, or something vibrates.

        Noise below the bandwidth then remains in the derivatives.
        """
        return np.abs(self.correlation) > COLOURED


def smooth(t: np.ndarray, x: np.ndarray, bandwidth: float | None = None, order: int = 2) -> Smoothed:
    """Signals x (n, k) at times t (n,) [s], increasing, with derivatives.

    bandwidth [Hz]: of the splines; None: chosen from the data, each signal on its own. order: the highest derivative
    that is wanted, 1 or 2; differences must be clean up to there.
    """
    result = _differences(t, x)
    if not x.shape[1] or len(t) < SHORT:
        return result
    span = float(t[-1] - t[0])
    most = len(t) // 2 - DEGREE  # cells
    if bandwidth is not None:
        cells = np.full(x.shape[1], np.clip(round(2.0 * bandwidth * span), 1, most), int)
    else:
        rounding = _rounding(x)
        noise = np.maximum(local_noise(t, x), rounding)
        cells = np.zeros(x.shape[1], int)
        noisy = ~_clean(t, result, noise, order)
        if noisy.any():
            cells[noisy] = _choose(t, x[:, noisy], noise[noisy], rounding[noisy], most)
    _fit_all(result, t, x, cells)
    if bandwidth is None and (again := (cells > 0) & result.coloured).any():
        quiet = np.array([_quietest(t, x[:, k]) for k in np.flatnonzero(again)])
        fewer = np.clip(np.round(2.0 * quiet * span), 1, cells[again]).astype(int)
        cells = np.zeros_like(cells)
        cells[again] = fewer
        _fit_all(result, t, x, cells)
    return result


def _quietest(t: np.ndarray, x: np.ndarray) -> float:
    """Bandwidth [Hz] for noise that is not white: where the spectrum of the acceleration turns from motion to noise.

    Accelerations of a motion fall towards high frequencies, those of noise rise; inf where they never turn.
    """
    even = np.linspace(t[0], t[-1], len(t))
    signal = np.interp(even, t, x)
    window = np.hanning(len(t))
    power = np.abs(np.fft.rfft((signal - np.linspace(signal[0], signal[-1], len(t))) * window)) ** 2
    frequency = np.fft.rfftfreq(len(t), float(even[1] - even[0]))
    moves = float(frequency[np.searchsorted(np.cumsum(power), MOVES * power.sum())])
    edges = np.geomspace(max(moves, 2.0 / (t[-1] - t[0])), 0.8 * frequency[-1], BANDS + 1)
    bands = list(itertools.pairwise(np.searchsorted(frequency, edges)))
    loud = np.array([np.mean((frequency**4 * power)[low : max(high, low + 1)]) for low, high in bands])
    for k in range(BANDS - AHEAD):
        if loud[k] < np.min(loud[k + 1 : k + 1 + AHEAD]):
            return float(edges[k + 1])
    return np.inf


def _fit_all(result: Smoothed, t: np.ndarray, x: np.ndarray, cells: np.ndarray) -> None:
    """Put spline fits with so many cells (k,) in their places; 0: the signal stays as it is."""
    for count in np.unique(cells[cells > 0]):
        _fit(result, t, x, int(count), cells == count)


def _fit(result: Smoothed, t: np.ndarray, x: np.ndarray, cells: int, chosen: np.ndarray) -> None:
    """Put the spline fits of the chosen signals (k,) in their places."""
    basis = Basis(t, cells)
    for k in np.flatnonzero(chosen):
        signal = x[:, k : k + 1]
        coefficients = _calm_ends(basis, signal)
        fits = [basis.evaluate(coefficients, order)[:, 0] for order in range(3)]
        result.values[:, k], result.first[:, k], result.second[:, k] = fits
        result.bandwidth[k] = cells / (2.0 * (t[-1] - t[0]))
        left = x[:, k] - fits[0]
        result.noise[k] = np.sqrt(left @ left / (len(t) - basis.count))
        result.correlation[k] = left[1:] @ left[:-1] / max(float(left @ left), np.finfo(float).tiny)


def _calm_ends(basis: Basis, signal: np.ndarray) -> np.ndarray:
    """Coefficients (count, 1) with as long a quartic at either end as explains the signal (n, 1) no worse.

    At the ends a fit has rows on one side only: accelerations there carry some fifty times the noise of those inside.
    """
    sums = basis.sums(signal)
    best, ends = basis.solve(sums), (0, 0)
    left = np.sum((signal - basis.evaluate(best)) ** 2)
    for end in (0, 1):
        for length in [cells for cells in QUARTICS if cells <= basis.cells // 2]:
            tried = (length, ends[1]) if end == 0 else (ends[0], length)
            coefficients = basis.solve(sums, tried)
            more = np.sum((signal - basis.evaluate(coefficients)) ** 2) - left
            if more <= left / (len(signal) - basis.count) * (length + SIGNIFICANT * np.sqrt(2.0 * length)):
                best, ends, left = coefficients, tried, left + more
                break
    return best


def _differences(t: np.ndarray, x: np.ndarray) -> Smoothed:
    """Central differences, and three rows from one side at the ends."""
    size = x.shape[1]
    first, second = np.gradient(x, t, axis=0, edge_order=2 if len(t) > 2 else 1), np.zeros_like(x)
    if len(t) > 2:
        step, pace = np.diff(t)[:, None], np.diff(x, axis=0) / np.diff(t)[:, None]
        second[1:-1] = 2.0 * np.diff(pace, axis=0) / (step[1:] + step[:-1])
        second[[0, -1]] = second[[1, -2]]
    if len(t) > 3:  # accelerations at the ends lie on the line through the two next to them
        for end, near, far in ((0, 1, 2), (-1, -2, -3)):
            second[end] += (second[near] - second[far]) * (t[end] - t[near]) / (t[near] - t[far])
    return Smoothed(x.copy(), first, second, np.full(size, np.inf), np.zeros(size), np.zeros(size))


def local_noise(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Standard deviation (k,) of each row from the cubic through its four neighbours, as the median over rows tells."""
    at, nodes = t[2:-2], np.stack([t[:-4], t[1:-3], t[3:-1], t[4:]])
    weights = np.ones_like(nodes)
    for i in range(4):
        for j in range(4):
            if i != j:
                weights[i] *= (at - nodes[j]) / (nodes[i] - nodes[j])
    predicted = sum(w[:, None] * y for w, y in zip(weights, (x[:-4], x[1:-3], x[3:-1], x[4:]), strict=True))
    deviation = np.abs(x[2:-2] - predicted) / np.sqrt(1.0 + np.sum(weights**2, axis=0))[:, None]
    moving = [column[column > 0.0] for column in deviation.T]  # a standstill carries no information
    return np.array([np.median(column) / 0.6745 if len(column) else 0.0 for column in moving])


def _rounding(x: np.ndarray) -> np.ndarray:
    """Standard deviation (k,) of the rounding of signals that only take multiples of some step; 0 for others."""
    quanta = np.zeros(x.shape[1])
    for k, column in enumerate(x.T):
        steps = np.abs(np.diff(column))
        steps = steps[steps > 1e-12 * max(1.0, float(np.max(np.abs(column))))]
        if len(steps) < SHORT:
            continue
        quantum = float(np.median(steps[steps < 1.5 * steps.min()]))
        counts = steps / quantum
        if np.quantile(np.abs(counts - np.round(counts)) / np.maximum(1.0, 1e-3 * counts), 0.99) < 0.05:
            quanta[k] = quantum / np.sqrt(12.0)
    return quanta


def _clean(t: np.ndarray, differences: Smoothed, noise: np.ndarray, order: int) -> np.ndarray:
    """Which signals (k,) have so little noise that their differences can be used unsmoothed."""
    step = float(np.median(np.diff(t)))
    amplified = noise * (np.sqrt(6.0) / step**2 if order == 2 else 1.0 / (np.sqrt(2.0) * step))
    rates = differences.second if order == 2 else differences.first
    rounding = 8 * np.finfo(float).eps * np.max(np.abs(differences.values), axis=0)
    return (noise <= rounding) | (amplified <= CLEAN * np.sqrt(np.mean(rates**2, axis=0)))


def _choose(t: np.ndarray, x: np.ndarray, noise: np.ndarray, rounding: np.ndarray, most: int) -> np.ndarray:
    """Cells (k,) for each signal: the fewest beside which twice and four times as many explain no more than noise."""
    n, ladder = len(t), _ladder(most)
    residual: list[np.ndarray] = []
    chosen = np.zeros(x.shape[1], int)
    for place, cells in enumerate(ladder):
        basis = Basis(t, cells)
        residual.append(np.sum((x - basis.evaluate(basis.fit(x))) ** 2, axis=0))
        tried = place - BESIDE[-1]
        if tried >= 0:
            fits = _explained(residual, ladder, tried, n) & (residual[tried] <= UNEXPLAINED * n * noise**2)
            fits |= residual[tried] <= n * rounding**2  # the steps of an encoder are not to be followed
            chosen[(chosen == 0) & fits] = ladder[tried]
        if np.all(chosen):
            return chosen
    for tried in range(max(len(ladder) - BESIDE[-1], 0), len(ladder)):
        chosen[(chosen == 0) & _explained(residual, ladder, tried, n)] = ladder[tried]
    return chosen


def _explained(residual: list[np.ndarray], ladder: list[int], tried: int, n: int) -> np.ndarray:
    """Whether finer splines leave as much as this one, but for the noise that every further coefficient takes up."""
    fits = np.ones(len(residual[tried]), bool)
    for place in [tried + finer for finer in BESIDE if tried + finer < len(ladder)]:
        more = ladder[place] - ladder[tried]
        variance = residual[place] / (n - ladder[place] - DEGREE)
        fits &= residual[tried] - residual[place] <= variance * (more + SIGNIFICANT * np.sqrt(2.0 * more))
    return fits


def _ladder(most: int) -> list[int]:
    """Numbers of cells from 1 to `most`, each about √2 times the one before."""
    ladder = [1]
    while ladder[-1] < most:
        ladder.append(min(max(ladder[-1] + 1, round(ladder[-1] * FINER)), most))
    return ladder
