"""Two designs under the same random numbers: row i of one beside row i of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.study.distributions.inverse_normal import inverse_normal

from ..result import Result

CONFIDENCE = 0.95
LEAST = 4  # pairs
SAME = ("space", "seed", "method", "numbers")


@dataclass(frozen=True)
class Comparison:
    """The difference second − first of an output, row by row; print it to read it.

    difference (n,), of rows that both have; mean, and interval (2,) that holds it with 95 %; lower: share of rows in
    which the second is lower; gain: how many times as many rows unpaired samples would need for the same interval.
    """

    output: str
    difference: np.ndarray
    mean: float
    interval: np.ndarray
    lower: float
    gain: float

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.output}: second − first = {self.mean:.4g} [{low:.4g}, {high:.4g}], lower in {self.lower:.1%} of "
            f"{len(self.difference)} rows; the same random numbers save a factor of {self.gain:.3g} of rows"
        )


def compared(first: Result, second: Result, output: str, entry: int | None = None) -> Comparison:
    """Compare two studies over the same space with the same seed, such as those of two designs or two laws.

    entry: of an output that is an array; default its largest entry.
    """
    for result in (first, second):
        if not isinstance(result, Result):
            raise DalembertError(f"compared: got {type(result).__name__}, expected results of two studies")
        if output not in result.outputs:
            raise unknown("output", output, result.outputs, f"study {result.folder}")
    wrong = [word for word in SAME if first.facts[word] != second.facts[word]]
    if wrong:
        raise DalembertError(
            f"compared: the studies have another {' and '.join(wrong)}, so that row i of one is not row i of the "
            "other: run both over the same space with the same seed and method"
        )
    tables = first.table(), second.table()
    rows, one, two = np.intersect1d(tables[0]["row"], tables[1]["row"], return_indices=True)
    values = []
    for table, places in zip(tables, (one, two), strict=True):
        y = table[output][places].reshape(len(rows), -1)
        if entry is not None and not 0 <= entry < y.shape[1]:
            raise DalembertError(f"compared: {output!r} has {y.shape[1]} entries, entry is {entry}")
        values.append(np.where(table.sound()[places], y.max(axis=1) if entry is None else y[:, entry], np.nan))
    good = np.isfinite(values[0]) & np.isfinite(values[1])
    a, b = values[0][good], values[1][good]
    if len(a) < LEAST:
        raise DalembertError(f"compared: {len(a)} rows have {output!r} in both studies, expected {LEAST} or more")
    difference = b - a
    half = inverse_normal(np.array([0.5 + 0.5 * CONFIDENCE]))[0] * difference.std(ddof=1) / np.sqrt(len(a))
    mean, spread = float(difference.mean()), float(difference.var())
    gain = float((a.var() + b.var()) / spread) if spread > 0.0 else np.inf
    return Comparison(
        output, difference, mean, np.array([mean - half, mean + half]), float(np.mean(difference < 0.0)), gain
    )
