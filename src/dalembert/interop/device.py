"""A call on a GPU: addresses and distances of the arrays, new arrays in a suitable layout, one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from dalembert.backends.cuda.kernel import Array, cupy
from dalembert.errors import DalembertError

from .calls import Call, batch_shape
from .kinds import FLOATS, Library

LONG = 30  # numbers of a result above which the batch comes last in memory: rows that long are slow to write
ELEMENT = {FLOATS[0]: "double", FLOATS[1]: "float"}


def run(call: Call, kind: Library, arrays: Sequence[Any], out: Any, check: bool) -> tuple[Any, ...]:
    """The results on the device of the arrays, queued on the caller's stream. States that fail a check give NaN."""
    dtype, batch = kind.dtype(arrays[0]), batch_shape(call, arrays)
    count = prod(batch)
    with cupy().cuda.Device(kind.place):
        sources = [_source(kind, x, batch) for x in arrays]
        columns = any(s.state == 1 and s.item >= count > 1 for s, _ in sources)
        targets = [_target(kind, shape, batch, dtype, columns or prod(shape) > LONG) for shape in call.shapes]
        places = [place for place, x in sources if x.shape[-1]]
        places += [place for (place, _), shape in zip(targets, call.shapes, strict=True) if prod(shape)]
        rooms = [kind.empty((size, count), dtype) for size in call.scratch]
        places += [Array(kind.memory(room)[0], 1, count) for room in rooms]
        if any(prod(shape) for shape in call.shapes):
            call.device_kernel(check).launch(ELEMENT[dtype], count, places, kind.stream())
        results = tuple(finish() for _, finish in targets)
    return results if out is None else _written(call, out, results)


def _source(kind: Library, x: Any, batch: tuple[int, ...]) -> tuple[Array, Any]:
    """Where an input lies, and the array that owns the memory."""
    own = tuple(x.shape[:-1])
    address, strides = kind.memory(x)
    if prod(own) == 1 and own != batch and strides[-1] >= 0:
        return Array(address, 0, strides[-1]), x
    if own != batch or not _even(own, strides):
        x = kind.dense(x, batch)
        address, strides = kind.memory(x)
    return Array(address, strides[-2] if own else 0, strides[-1]), x


def _even(own: tuple[int, ...], strides: Sequence[int]) -> bool:
    """Whether the states of a batch with several axes follow each other at one distance, and nothing runs backwards."""
    return min(strides) >= 0 and all(strides[k] == strides[k + 1] * own[k + 1] for k in range(len(own) - 1))


def _target(
    kind: Library, shape: tuple[int, ...], batch: tuple[int, ...], dtype: np.dtype, columns: bool
) -> tuple[Array, Callable[[], Any]]:
    """Where an output goes, and what gives the result once it is under way.

    columns: the batch comes last in memory, and the result is a view with the batch in front.
    """
    if columns and batch and shape:
        memory = kind.empty((*shape, *batch), dtype)
        place = Array(kind.memory(memory)[0], 1, prod(batch))
        return place, lambda: kind.batch_first(kind.finish(memory), len(batch))
    memory = kind.empty((*batch, *shape), dtype)
    return Array(kind.memory(memory)[0], prod(shape), 1), lambda: kind.finish(memory)


def _written(call: Call, out: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results copied into the arrays of the caller."""
    given = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    shapes = [tuple(x.shape) for x in results]
    if len(given) != len(results) or [tuple(getattr(x, "shape", ())) for x in given] != shapes:
        raise DalembertError(f"{call.name}: out does not fit, expected arrays of shapes {shapes} on the same device")
    for target, result in zip(given, results, strict=True):
        target[...] = result
    return given
