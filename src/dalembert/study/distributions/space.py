"""A space, axes by name, and its rows: numbers of row i depend on the seed and on i alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown, whole_number
from dalembert.model import Model

from . import designs
from .counter import uniforms
from .laws import Distribution, Grid, distribution
from .model_errors import ModelErrors
from .states import States

MODEL, START = "model", "start"  # axes that change the robot and its first state
RESERVED = ("row", "failed", "seconds", "drawn")  # columns of every study


class Space:
    """Axes by name: `Space(payload=uniform(0, 5), gain=grid(5, 10, 20), model=cad_errors(), start=states(robot))`.

    Grids multiply each other and the samples; those with the same axis="…" go together. `model` takes errors of the
    model, `start` states; all others are numbers, vectors or texts.
    """

    def __init__(self, **axes: Distribution | Grid) -> None:
        if not axes:
            raise DalembertError("Space: it has no axis: give at least one, such as payload=study.uniform(0.0, 5.0)")
        for name, axis in axes.items():
            _check_axis(name, axis)
        self.axes: dict[str, Distribution | Grid] = dict(axes)
        self.condition: Callable[[Mapping[str, np.ndarray]], Any] | None = None
        lengths: dict[str, dict[str, int]] = {}
        for name, each in self.grids.items():
            lengths.setdefault(each.axis or f" {name}", {})[name] = len(each.points)
        for axis_name, group in lengths.items():
            if len(set(group.values())) > 1:
                counts = ", ".join(f"{name} has {count}" for name, count in group.items())
                raise DalembertError(f"Space: grids of axis {axis_name!r} go together, but {counts} values")
        self._groups = {axis_name: next(iter(group.values())) for axis_name, group in lengths.items()}

    @property
    def random(self) -> dict[str, Distribution]:
        """The axes with random values."""
        return {name: axis for name, axis in self.axes.items() if isinstance(axis, Distribution)}

    @property
    def grids(self) -> dict[str, Grid]:
        """The axes with given values."""
        return {name: axis for name, axis in self.axes.items() if isinstance(axis, Grid)}

    @property
    def grid_size(self) -> int:
        """Number of points of all grids together."""
        return int(np.prod(list(self._groups.values()), dtype=int))

    def such_that(self, condition: Callable[[Mapping[str, np.ndarray]], Any]) -> Space:
        """The part of the space in which a condition holds: `space.such_that(lambda x: x["low"] < x["high"])`.

        condition: of a dict of arrays (n,), true or false for each row. Rows that do not meet it are drawn again.
        """
        if not callable(condition):
            raise DalembertError(f"such_that: got {type(condition).__name__}, expected a function of the axes")
        other = Space(**self.axes)
        before = self.condition
        other.condition = condition if before is None else lambda x: np.logical_and(before(x), condition(x))
        return other

    def bound(self, model: Model) -> Space:
        """The space for one robot: errors of models know its bodies."""
        axes = {n: a.bound(model) if isinstance(a, ModelErrors) else a for n, a in self.axes.items()}
        if START in axes and len(axes[START].v) != model.nv:  # type: ignore[union-attr]
            raise DalembertError(f"Space: start has states of another robot than {model.name!r}")
        other = Space(**axes)
        other.condition = self.condition
        return other

    def grid_values(self, index: np.ndarray) -> dict[str, np.ndarray]:
        """Values (n,) of the grids at points of their product; the last grid changes fastest."""
        sizes = tuple(self._groups.values())
        places = dict(zip(self._groups, np.unravel_index(index, sizes), strict=True)) if sizes else {}
        return {name: np.array(g.points)[places[g.axis or f" {name}"]] for name, g in self.grids.items()}

    def factors(self) -> list[tuple[str, np.ndarray]]:
        """Independent factors, by name, and their columns among all uniform numbers of a row."""
        found, begin = [], 0
        for name, axis in self.random.items():
            found += [(label, begin + np.arange(axis.width)[columns]) for label, columns in axis.factors(name)]
            begin += axis.width
        return found

    def check_name(self, name: str, where: str) -> None:
        """Refuse the name of an axis that there is not."""
        if name not in self.axes:
            raise unknown("axis", name, self.axes, where)

    def plain(self) -> dict[str, Any]:
        """The axes in JSON's types."""
        return {name: axis.plain() for name, axis in self.axes.items()}

    def digest(self) -> str:
        """SHA-256 (hex) of the axes; a condition counts by itself."""
        return hashlib.sha256(json.dumps(self.plain(), sort_keys=True).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Space({', '.join(self.axes)})"


def space_of(plain: Mapping[str, Any]) -> Space:
    """The space of its JSON form."""
    return Space(**{name: distribution(axis) for name, axis in plain.items()})


def _check_axis(name: str, axis: Any) -> None:
    if name in RESERVED:
        raise DalembertError(f"Space: {name!r} is a column of every study: give the axis another name")
    if not isinstance(axis, (Distribution, Grid)):
        cure = "study.grid(…) for given values, or study.uniform(low, high)"
        raise DalembertError(f"Space: {name} is {axis!r}, expected a distribution or a grid: {cure}")
    for word, kind, cure in ((MODEL, ModelErrors, "study.model_errors(…)"), (START, States, "study.states(robot)")):
        if (name == word) != isinstance(axis, kind):
            raise DalembertError(
                f"Space: {name} is a {type(axis).__name__}: axis {word!r}, and no other, is made by {cure}"
            )


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
        whole_number("study: samples", self.samples)
        if self.method not in designs.METHODS:
            raise unknown("method", self.method, designs.METHODS, "study")
        whole_number("study: seed", self.seed, 0)
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
