"""The result of a quantity: an array, a number, or a named tuple of arrays, and its memory layout.

A compiled function with one output has a fast call, so that the fields of a named tuple are computed as one array where
their declared shapes allow it: fields of one shape are stacked along a new axis (…, n, *shape), fields with the same
last axis lie below one another as rows. Otherwise each field is an array of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.backends.signature import View
from dalembert.model import Model

from .kinds import dimension

Dim = int | str  # of an axis: 6, "nv", "10 nb"; see `kinds.dimension`
Shape = tuple[Dim, ...]
Shapes = dict[str, tuple[int, ...]]
Choices = Mapping[str, Any]


class ArrayResult:
    """One array, or a number where the shape is ()."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def shapes(self, name: str, model: Model, choices: Choices) -> Shapes | None:
        """Output name → shape for one state; None: as the algorithm computes them. name: of a single output."""
        return {name: _sizes(self.shape, model, choices)}

    def pack(self, value: Any) -> Any:
        """The outputs, from the algorithm's return value: one array, or several by name."""
        return value

    def unpacker(self, model: Model, choices: Choices) -> Callable[[Any], Any] | None:
        """The function from the outputs to the caller's result; None: they are the same."""
        return None

    def parts(self, model: Model, choices: Choices) -> tuple[type[tuple] | None, list[View]]:
        """The named tuple of the caller's result, and where its fields lie in the only output, if that is one."""
        return None, []


class UndeclaredResult(ArrayResult):
    """An array of the shape that the algorithm computes."""

    def __init__(self) -> None:
        super().__init__(())

    def shapes(self, name: str, model: Model, choices: Choices) -> None:
        return None


class StackedResult(ArrayResult):
    """A named tuple of arrays of one shape, as one array (…, n, *shape)."""

    def __init__(self, kind: type[tuple], shape: Shape) -> None:
        super().__init__(shape)
        self.kind = kind

    def shapes(self, name: str, model: Model, choices: Choices) -> Shapes:
        return {name: (len(self.kind._fields), *_sizes(self.shape, model, choices))}  # type: ignore[attr-defined]

    def pack(self, value: Any) -> Any:
        return np.stack([np.asarray(part, object) for part in value])

    def unpacker(self, model: Model, choices: Choices) -> Callable[[Any], Any]:
        kind, rank = self.kind, len(self.shape) + 1
        inner = (slice(None),) * (rank - 1)

        def unpack(x: Any) -> Any:
            if isinstance(x, np.ndarray):
                return tuple.__new__(kind, x if x.ndim == rank else np.moveaxis(x, -rank, 0))
            return tuple.__new__(kind, [x[(..., k, *inner)] for k in range(x.shape[-rank])])

        return unpack

    def parts(self, model: Model, choices: Choices) -> tuple[type[tuple], list[View]]:
        shape = _sizes(self.shape, model, choices)
        count = len(self.kind._fields)  # type: ignore[attr-defined]
        return self.kind, [View.dense(k * prod(shape), shape) for k in range(count)]


class RowsResult(ArrayResult):
    """A named tuple of vectors (k,) and matrices (m, k), below one another in one array (…, rows, k)."""

    def __init__(self, kind: type[tuple], fields: dict[str, Shape]) -> None:
        super().__init__(())
        self.kind, self.fields = kind, fields

    def shapes(self, name: str, model: Model, choices: Choices) -> Shapes:
        sizes = [_sizes(shape, model, choices) for shape in self.fields.values()]
        return {name: (sum(prod(size[:-1]) for size in sizes), sizes[0][-1])}

    def pack(self, value: Any) -> Any:
        return np.concatenate([np.atleast_2d(np.asarray(part, object)) for part in value])

    def unpacker(self, model: Model, choices: Choices) -> Callable[[Any], Any]:
        sizes = [_sizes(shape, model, choices) for shape in self.fields.values()]
        ends = accumulate([0, *(prod(size[:-1]) for size in sizes)])
        places = [
            (..., begin, slice(None)) if len(size) == 1 else (..., slice(begin, end), slice(None))
            for size, (begin, end) in zip(sizes, pairwise(ends), strict=True)
        ]
        return lambda x: tuple.__new__(self.kind, [x[place] for place in places])

    def parts(self, model: Model, choices: Choices) -> tuple[type[tuple], list[View]]:
        shapes = [_sizes(shape, model, choices) for shape in self.fields.values()]
        begins = accumulate([0, *map(prod, shapes)])
        return self.kind, [View.dense(begin, shape) for begin, shape in zip(begins, shapes, strict=False)]


class SeparateResult(ArrayResult):
    """A named tuple of arrays, each a separate output; fields None: with the shapes that the algorithm computes."""

    def __init__(self, kind: type[tuple], fields: dict[str, Shape] | None) -> None:
        super().__init__(())
        self.kind, self.fields = kind, fields

    def shapes(self, name: str, model: Model, choices: Choices) -> Shapes | None:
        if self.fields is None:
            return None
        return {field: _sizes(shape, model, choices) for field, shape in self.fields.items()}

    def pack(self, value: Any) -> Any:
        return value._asdict()

    def unpacker(self, model: Model, choices: Choices) -> Callable[[Any], Any]:
        return lambda x: tuple.__new__(self.kind, x)

    def parts(self, model: Model, choices: Choices) -> tuple[type[tuple], list[View]]:
        return self.kind, []


def result(kind: Any, shape: Shape | dict[str, Shape] | None) -> ArrayResult:
    """The result of a quantity whose function is annotated to return `kind`."""
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        return UndeclaredResult() if shape is None else ArrayResult(tuple(shape))
    if not isinstance(shape, dict):
        return SeparateResult(kind, None) if shape is None else StackedResult(kind, shape)
    last_axes = {field[-1:] for field in shape.values()}
    alike = len(last_axes) == 1 and all(0 < len(field) < 3 for field in shape.values())
    return RowsResult(kind, shape) if alike else SeparateResult(kind, shape)


def _sizes(shape: Shape, model: Model, choices: Choices) -> tuple[int, ...]:
    return tuple(dimension(axis, model, choices) for axis in shape)
