"""A space: axes by name, each a distribution or a grid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model import Model

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
