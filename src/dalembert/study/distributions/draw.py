"""The rows of a space: numbers of row i depend on the seed and on i alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from . import designs
from .counter import uniforms
from .laws import Distribution
from .space import Space

REDRAWS = 1000  # times that a row is drawn again until its condition holds


@dataclass(frozen=True, eq=False)
class Draw:
    """Samples of a space: `samples` random ones by a method, each at all points of the grids.

    Row i is sample i // points at point i % points of the grids: all points have the same random numbers, so that they
    can be compared. Of method "saltelli" each sample is a point with columns exchanged, and counts as many rows.
    """

    space: Space
    samples: int
    method: str
    seed: int

    def __post_init__(self) -> None:
        whole = isinstance(self.samples, (int, np.integer)) and not isinstance(self.samples, bool)
        if not whole or self.samples < 1:
            raise DalembertError(f"study: samples is {self.samples!r}, expected a whole number ≥ 1")
        if self.method not in designs.METHODS:
            raise unknown("method", self.method, designs.METHODS, "study")
        if not isinstance(self.seed, (int, np.integer)) or isinstance(self.seed, bool) or self.seed < 0:
            raise DalembertError(f"study: seed is {self.seed!r}, expected a whole number ≥ 0")
        if not self.space.random and self.samples > 1:
            raise DalembertError(f"study: samples is {self.samples}, but no axis is random: leave samples out")
        if self.method == "saltelli":
            cure = "use study.choice in its place" if self.space.grids else "use method='sobol'"
            if self.space.grids or self.space.condition is not None:
                what = "a grid" if self.space.grids else "a condition"
                raise DalembertError(f"study: method 'saltelli' exchanges columns, which {what} does not allow: {cure}")
            if not self.space.random:
                raise DalembertError("study: method 'saltelli' needs random axes")

    @cached_property
    def factors(self) -> list[tuple[str, np.ndarray]]:
        """Independent factors and their columns; see `Space.factors`."""
        return self.space.factors()

    @property
    def per_sample(self) -> int:
        """Rows of a sample."""
        return len(self.factors) + 2 if self.method == "saltelli" else self.space.grid_size

    def __len__(self) -> int:
        return int(self.samples) * self.per_sample

    @cached_property
    def widths(self) -> dict[str, int]:
        """Uniform numbers of each random axis."""
        return {name: axis.width for name, axis in self.space.random.items()}

    def rows(self, begin: int, end: int) -> dict[str, np.ndarray]:
        """Values of each axis (n,) or (n, k) in rows begin … end − 1; with a condition also `drawn`, the times drawn.

        model: errors, see `ModelErrors.live`; start: shifts, see `States.states`.
        """
        if not 0 <= begin <= end <= len(self):
            raise DalembertError(f"study: rows {begin} to {end}, of {len(self)}")
        if self.method == "saltelli":
            return self._transformed(self._saltelli(begin, end))
        points = self.space.grid_size
        first, last = begin // points, -(-end // points)
        index = np.arange(begin, end)
        values = self._transformed(self._uniforms(first, last)) if self.widths else {}
        if points > 1:
            values = {name: x[index // points - first] for name, x in values.items()}
        if self.space.grids:
            values |= self.space.grid_values(index % points)
        ordered = {name: values[name] for name in self.space.axes}
        return ordered if self.space.condition is None else self._conditioned(ordered, index)

    def at(self, u: np.ndarray, points: np.ndarray) -> dict[str, np.ndarray]:
        """Values of each axis (n, …) at uniform numbers u (n, columns) and points (n,) of the grids."""
        return self._transformed(u) | self.space.grid_values(points)

    def uniforms(self, row: int) -> np.ndarray:
        """Uniform numbers (columns,) of a row; those before its condition made it drawn again."""
        if self.method == "saltelli":
            return self._saltelli(row, row + 1)[0]
        return self._uniforms(row // self.per_sample, row // self.per_sample + 1)[0]

    def holds(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which rows (n,) meet the condition of the space."""
        n = len(next(iter(values.values())))
        return np.ones(n, bool) if self.space.condition is None else self._holds(values)

    def _uniforms(self, begin: int, end: int) -> np.ndarray:
        """Uniform numbers (n, columns) of samples begin … end − 1."""
        if self.method == "random":
            return designs.random(self.seed, self.widths, begin, end)
        if self.method == "lhs":
            return designs.latin(self.seed, self.widths, begin, end, int(self.samples))
        return designs.sobol(self.seed, sum(self.widths.values()), begin, end)

    def _saltelli(self, begin: int, end: int) -> np.ndarray:
        columns = sum(self.widths.values())

        def base(first: int, last: int) -> np.ndarray:
            if 2 * columns <= designs.SOBOL_MOST:
                return designs.sobol(self.seed, 2 * columns, first, last)
            return designs.random(self.seed, {"A": columns, "B": columns}, first, last)

        return designs.saltelli(base, [places for _, places in self.factors], columns, begin, end)

    def _transformed(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Values of the random axes of uniform numbers u (n, columns)."""
        values, begin = {}, 0
        for name, axis in self.space.random.items():
            values[name] = axis.values(np.ascontiguousarray(u[:, begin : begin + axis.width]))
            begin += axis.width
        return values

    def _conditioned(self, values: dict[str, np.ndarray], index: np.ndarray) -> dict[str, np.ndarray]:
        """The rows with those that break the condition drawn again, each from a stream of its own."""
        drawn = np.ones(len(index), int)
        wrong = ~self._holds(values)
        while wrong.any():
            time = int(drawn.max())
            if time > REDRAWS or not self.widths:
                row = int(index[wrong][0])
                raise DalembertError(
                    f"study: row {row} meets the condition of the space in none of {time} draws: widen the axes, or "
                    "leave the condition to the function"
                )
            for name, axis in self.space.random.items():
                values[name][wrong] = self._again(name, axis, index, wrong, time)
            drawn[wrong] += 1
            wrong &= ~self._holds(values)
        return values | {"drawn": drawn}

    def _again(self, name: str, axis: Distribution, index: np.ndarray, wrong: np.ndarray, time: int) -> np.ndarray:
        """Other values of an axis in the wrong rows, from a stream of this draw alone."""
        rows = index[wrong]
        u = uniforms(self.seed, f"{name} again {time}", int(rows.min()), int(rows.max()) + 1, axis.width)
        return axis.values(u[rows - rows.min()])

    def _holds(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        assert self.space.condition is not None
        n = len(next(iter(values.values())))
        holds: Any = np.asarray(self.space.condition(values))
        if holds.shape not in ((n,), ()) or holds.dtype != bool:
            raise DalembertError(
                f"study: the condition of the space gave {holds.dtype} of shape {holds.shape}, expected true or false "
                f"for each of {n} rows, such as x['low'] < x['high']"
            )
        return np.broadcast_to(holds, (n,)).copy()
