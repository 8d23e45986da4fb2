"""Rows of a study: what a function gets for each, and how its answers and errors become numbers."""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from dalembert.errors import unknown
from dalembert.robot import Robot
from dalembert.study.distributions.model_errors import ModelErrors
from dalembert.study.distributions.space import MODEL, START, Space
from dalembert.study.distributions.states import Start, States

TEXT = 300  # characters of a reason that are kept

Value = TypeVar("Value")


class Named(Mapping[str, Value]):
    """A mapping by name; `[…]` raises a DalembertError for others, `in` and `get` do not."""

    def __contains__(self, name: object) -> bool:
        return any(name == each for each in self)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return self[name] if name in list(self) else default


class Row(Named[Any]):
    """One row: `row["payload"]` is the value of that axis. row.index: its number.

    row["start"]: a state with .q and .v. row["model"]: errors of the model; the robot that the function gets has them
    as constants, so that its functions are compiled anew. row.live: the same as live parameters of row.nominal, as
    `rollout(parameters=row.live)` takes them, compiled once for all rows.
    """

    def __init__(self, space: Space, nominal: Robot, values: Mapping[str, np.ndarray], place: int, index: int) -> None:
        self._space, self.nominal, self._values, self._place, self.index = space, nominal, values, place, index

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise unknown("axis", name, self._values, f"row {self.index}")
        x = self._values[name][self._place]
        if name == START:
            q, v = self._axis(START, States).states(self.nominal, x[None])
            return Start(q[0], v[0])
        return x.item() if isinstance(x, np.generic) else x

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        plain = {name: self[name] for name in self if name not in (MODEL, START)}
        return f"Row({self.index}, {plain})"

    @cached_property
    def live(self) -> dict[str, np.ndarray]:
        """Live groups of the model with this row's errors, such as {"inertia": (10 nb,)}; {} without a `model` axis."""
        if MODEL not in self._space.axes:
            return {}
        errors = self._axis(MODEL, ModelErrors)
        groups = errors.live(self.nominal.model, self._values[MODEL][self._place][None])
        return {name: x[0] for name, x in groups.items()}

    @cached_property
    def robot(self) -> Robot:
        """The robot of this row."""
        if MODEL not in self._space.axes:
            return self.nominal
        errors = self._axis(MODEL, ModelErrors)
        return Robot(errors.model(self.nominal.model, self._values[MODEL][self._place]))

    def _axis(self, name: str, kind: Any) -> Any:
        axis = self._space.axes[name]
        assert isinstance(axis, kind)
        return axis


class Failed(Exception):
    """A row without a result; the text is the reason."""


def reason(error: BaseException) -> str:
    """Why a row failed, on one line: the kind of error, its text, and where the user's code raised it."""
    if isinstance(error, Failed):
        return str(error)[:TEXT]
    text = " ".join(str(error).split())
    own = Path(__file__).parent.parent
    frames = [f for f in traceback.extract_tb(error.__traceback__) if own not in Path(f.filename).parents]
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {text[:TEXT]}{where}" if text else f"{type(error).__name__}{where}"


Shapes = dict[str, tuple[int, ...]]


class Outputs:
    """Names and shapes of what rows give: those asked for, else those of the first row that gave something.

    taken: names of columns that every row has already.
    """

    def __init__(
        self, names: tuple[str, ...] | None, shapes: Shapes | None = None, taken: Collection[str] = ()
    ) -> None:
        self.names, self.shapes, self.taken = names, shapes, taken

    def checked(self, answer: Any) -> dict[str, np.ndarray]:
        """The answer of a function as arrays of numbers; raises `Failed` with what is wrong."""
        if not isinstance(answer, Mapping):
            raise Failed(f"the function returned {type(answer).__name__}, expected a dict of numbers")
        names = self.names or (tuple(self.shapes) if self.shapes is not None else tuple(answer))
        if not names:
            raise Failed("the function returned an empty dict, expected numbers by name")
        missing = [name for name in names if name not in answer]
        if missing:
            raise Failed(f"the function returned no {missing[0]!r}, but {', '.join(map(repr, answer)) or 'nothing'}")
        if self.names is None and len(answer) > len(names):
            extra = next(name for name in answer if name not in names)
            raise Failed(f"the function returned {extra!r}, which other rows do not have: name them in outputs=(…)")
        for name in names:
            if not isinstance(name, str) or not name:
                raise Failed(f"the function returned the name {name!r}, expected a text")
            if name in self.taken:
                raise Failed(f"the function returned {name!r}, which is an axis or a column of every study: rename it")
        found = {name: numbers(name, answer[name]) for name in names}
        if self.shapes is None:
            self.shapes = {name: x.shape for name, x in found.items()}
        for name, x in found.items():
            if x.shape != self.shapes[name]:
                raise Failed(f"output {name!r} has shape {x.shape}, that of other rows {self.shapes[name]}")
        return found


class Chunked(ABC):
    """A function that computes many rows at once; `Motion` is one. Subclass it, state `names`, and write `chunk`."""

    names: tuple[str, ...]
    kind: ClassVar[str] = "chunk"
    how: ClassVar[str] = "all rows of a chunk at once"

    def check(self, robot: Robot, space: Space) -> None:  # noqa: B027 - optional
        """Refuse names that nothing has, and axes that nothing takes."""

    @abstractmethod
    def chunk(
        self, robot: Robot, space: Space, values: Mapping[str, np.ndarray], n: int
    ) -> tuple[dict[str, np.ndarray], dict[int, str]]:
        """Outputs (n, …) of n rows, and why some of them failed."""

    def repeated(self, robot: Robot, space: Space, values: Mapping[str, np.ndarray]) -> Any:
        """One row again, values (1, …)."""
        twice = {name: np.concatenate([x, x]) for name, x in values.items()}
        return {name: x[0] for name, x in self.chunk(robot, space, twice, 2)[0].items()}


def numbers(name: str, x: Any) -> np.ndarray:
    """An output as an array of numbers."""
    try:
        array = np.ma.filled(x.astype(float), np.nan) if np.ma.isMaskedArray(x) else np.asarray(x)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise Failed(f"output {name!r} is of type {type(x).__name__}, expected a number or an array of numbers")
    if not array.size:
        raise Failed(f"output {name!r} is an array without numbers")
    return array.astype(float)
