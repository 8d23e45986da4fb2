"""Which axis matters: Sobol's indices of Saltelli's rows, else correlations, each with an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError
from dalembert.study.distributions.counter import uniforms
from dalembert.study.distributions.inverse_normal import inverse_normal

RESAMPLES = 200  # of the bootstrap
CONFIDENCE = 0.95
CLASSES, LEAST_OF_CLASS = 20, 10  # of a factor, and rows of each


@dataclass(frozen=True)
class Sensitivity:
    """Indices of each factor; print it to read it.

    kind "sobol": first, the share of the variance that the factor explains by itself; total, with all its interactions.
    kind "correlation": first, Pearson's coefficient; total, Spearman's, of ranks; explained, the share of the variance
    that the factor explains by itself, whether or not the output rises with it (the correlation ratio over classes of
    equal size, without what chance gives). Intervals (n, 2) hold the number with 95 %.
    """

    output: str
    kind: str
    factors: tuple[str, ...]
    first: np.ndarray
    total: np.ndarray
    first_interval: np.ndarray
    total_interval: np.ndarray
    rows: int
    explained: np.ndarray | None = None

    @property
    def order(self) -> np.ndarray:
        """The factors, that with the most weight first."""
        weight = np.abs(np.nan_to_num(self.total))
        if self.explained is not None:
            weight = np.maximum(weight, np.sqrt(np.maximum(np.nan_to_num(self.explained), 0.0)))
        return np.argsort(-weight, kind="stable")

    def __str__(self) -> str:
        words = ("first order", "total") if self.kind == "sobol" else ("Pearson", "Spearman")
        long = max(map(len, (*self.factors, "factor")))
        lines = [f"{self.output}, of {self.rows} rows", f"{'factor':{long}s}  {words[0]:>24s}  {words[1]:>24s}"]
        if self.explained is not None:
            lines[1] += f"  {'explained':>10s}"
        for k in self.order:
            cells = [
                f"{x[k]:8.3f} [{interval[k, 0]:6.3f}, {interval[k, 1]:6.3f}]"
                for x, interval in ((self.first, self.first_interval), (self.total, self.total_interval))
            ]
            more = "" if self.explained is None else f"  {self.explained[k]:10.1%}"
            lines.append(f"{self.factors[k]:{long}s}  {cells[0]:>24s}  {cells[1]:>24s}{more}")
        return "\n".join(lines)


def sobol_indices(output: str, factors: list[str], y: np.ndarray, *, intervals: bool = True) -> Sensitivity:
    """First-order and total indices of values y (n, 2 + factors) at A, B and A with each factor of B.

    Saltelli et al. 2010 (first order, estimator b), Jansen 1999 (total); intervals by the bootstrap over points, NaN
    where they are not asked for.
    """
    good = np.isfinite(y).all(axis=1)
    y = y[good]
    if len(y) < 8:
        raise DalembertError(f"sensitivity: {len(y)} complete points of {output!r}, expected 8 or more: add samples")
    first, total = _indices(y, np.ones((1, len(y))))
    if not intervals:
        unknown = np.full((len(factors), 2), np.nan)
        return Sensitivity(output, "sobol", tuple(factors), first[0], total[0], unknown, unknown, y.size)
    picks = (uniforms(0, "bootstrap", 0, RESAMPLES, len(y)) * len(y)).astype(int)
    weights = np.stack([np.bincount(row, minlength=len(y)) for row in picks]).astype(float)
    some_first, some_total = _indices(y, weights)
    tail = 50.0 * (1.0 - CONFIDENCE)
    one, two = (np.percentile(x, (tail, 100.0 - tail), axis=0).T for x in (some_first, some_total))
    return Sensitivity(output, "sobol", tuple(factors), first[0], total[0], one, two, y.size)


def _indices(y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices (m, factors) of m sets of weights (m, n) of the points."""
    a, b, mixed = y[:, 0], y[:, 1], y[:, 2:]
    n = weights.sum(axis=1)
    both = 0.5 * (a + b)
    mean = weights @ both / n
    variance = weights @ (0.5 * (a * a + b * b)) / n - mean**2
    variance = np.where(variance > 0.0, variance, np.nan)
    # about the mean, which leaves the first-order estimate as it is and takes the large numbers out of it
    first = weights @ ((b - both.mean())[:, None] * (mixed - a[:, None])) / n[:, None]
    total = weights @ (0.5 * (a[:, None] - mixed) ** 2) / n[:, None]
    return first / variance[:, None], total / variance[:, None]


def correlations(
    output: str, factors: list[str], x: np.ndarray, y: np.ndarray, sample: np.ndarray | None = None
) -> Sensitivity:
    """Pearson's and Spearman's correlation of factors x (n, k) with y (n,), intervals by Fisher's transform.

    sample: numbers (n,); the points of a grid at one sample share their random factors, for which they count once.
    """
    good = np.isfinite(y) & np.isfinite(x).all(axis=1)
    place = np.arange(len(y)) if sample is None else sample
    x, y, place = x[good], y[good], place[good]
    if len(y) < 4:
        raise DalembertError(f"sensitivity: {len(y)} rows with {output!r}, expected 4 or more: add samples")
    values = [_correlation(x, y), _correlation(_ranks(x), _ranks(y[:, None])[:, 0])]
    _, first, place = np.unique(place, return_index=True, return_inverse=True)
    shared = (x == x[first][place]).all(axis=0)
    independent = np.where(shared, len(first), len(y)) - 3.0
    half = inverse_normal(np.array([0.5 + 0.5 * CONFIDENCE]))[0] / np.sqrt(np.maximum(independent, 1e-12))
    intervals = []
    for r in values:
        z = np.arctanh(np.clip(r, -1.0 + 1e-15, 1.0 - 1e-15))
        intervals.append(np.tanh(np.stack([z - half, z + half], axis=1)))
    mean = np.bincount(place, y) / np.bincount(place)
    parts = [explained(x[first, k], mean, y.var()) if alike else explained(x[:, k], y, y.var())
             for k, alike in enumerate(shared)]  # fmt: skip
    (pearson, spearman), (one, two) = values, intervals
    return Sensitivity(output, "correlation", tuple(factors), pearson, spearman, one, two, len(y), np.array(parts))


def explained(x: np.ndarray, y: np.ndarray, variance: float) -> float:
    """Share of a variance that classes of x (n,) explain through y (n,), without what chance gives."""
    values, place = np.unique(x, return_inverse=True)
    most = min(CLASSES, len(y) // LEAST_OF_CLASS)
    if len(values) > most:
        place = (_ranks(x[:, None])[:, 0] * most / len(y)).astype(int).clip(0, max(0, most - 1))
    counts = np.bincount(place)
    used = counts > 0
    classes = int(used.sum())
    if classes < 2 or len(y) <= classes or not variance > 0.0:
        return 0.0
    means = np.bincount(place, y)[used] / counts[used]
    share = float((counts[used] * (means - y.mean()) ** 2).sum() / (len(y) * variance))
    rest = y.var() / variance - share
    return max(0.0, share - rest * (classes - 1) / (len(y) - classes))


def _correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = x - x.mean(axis=0), y - y.mean()
    scale = np.sqrt((x * x).sum(axis=0) * (y @ y))
    return np.divide(y @ x, scale, out=np.zeros(x.shape[1]), where=scale > 0.0)


def _ranks(x: np.ndarray) -> np.ndarray:
    """Ranks (n, k) of the values in each column; equal ones share the mean of theirs."""
    ranks = np.empty(x.shape)
    for k in range(x.shape[1]):
        _, place, counts = np.unique(x[:, k], return_inverse=True, return_counts=True)
        ranks[:, k] = (np.cumsum(counts) - 0.5 * (counts - 1))[place]
    return ranks
