"""A call on a GPU: addresses and distances of the arrays, new arrays in a suitable layout, launches.

A `LaunchPlan` holds all that follows from the layout of the arguments alone. It is kept with the call, so that the next
call with such arrays has little left to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.compiler.backends.cuda import emit
from dalembert.compiler.backends.cuda.constants import Constants, part
from dalembert.compiler.backends.cuda.kernel import Array, CudaKernel, cupy, on_device
from dalembert.compiler.interop.kinds import FLOATS, LAYOUTS, Library
from dalembert.errors import DalembertError

from .foreign import ForeignCall, shared_batch
from .registry import SLOW, status_of, with_rows

if TYPE_CHECKING:
    from .program import Program

__all__ = ["Array", "Constants", "CudaKernel", "DeviceProgram", "LaunchPlan", "cupy", "emit", "known", "part", "run"]

LONG = 30  # numbers of a result above which the batch comes last in memory: rows that long are slow to write
ELEMENT = {FLOATS[0]: "double", FLOATS[1]: "float"}
PLANS = 256  # kept for a call


class SourceLayout(NamedTuple):
    """Layout of an argument: whether it is first copied to dense rows; strides between states and between numbers."""

    copied: bool
    state: int
    item: int


class TargetLayout(NamedTuple):
    """Layout of a result: its memory's shape, strides, and how many axes of the batch come last in memory."""

    shape: tuple[int, ...]
    state: int
    item: int
    behind: int = 0


class LaunchPlan:
    """A call for arrays of one library, device, type and layout."""

    def __init__(self, call: ForeignCall, kind: Library, arrays: Sequence[Any], check: bool) -> None:
        self.kind, self.dtype, self.batch = kind, kind.dtype(arrays[0]), shared_batch(call, arrays)
        self.count = prod(self.batch)
        self.kernel, self.element = call.device_kernel(check), ELEMENT[self.dtype]
        self.sources = [_source(kind, x, self.batch) for x in arrays]
        columns = any(s.state == 1 and s.item >= self.count > 1 for s in self.sources)
        self.targets = [_target(shape, self.batch, columns or prod(shape) > LONG) for shape in call.shapes]
        rooms = [TargetLayout((size, self.count), 1, self.count) for size in call.scratch]
        self.memories = [*self.targets, *rooms]
        self.used = [bool(x.shape[-1]) for x in arrays]  # empty arrays get no kernel argument
        self.written = [bool(prod(shape)) for shape in call.shapes] + [True] * len(rooms)

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results, queued on the caller's stream. States that fail a check give NaN."""
        kind = self.kind
        with on_device(kind.place):
            alive, places = [], []
            for x, source, used in zip(arrays, self.sources, self.used, strict=True):
                if source.copied:
                    x = kind.dense(x, self.batch)
                alive.append(x)  # alive until the launch is queued
                if used:
                    places.append(Array(kind.address(x), source.state, source.item))
            memories = [kind.empty(t.shape, self.dtype) for t in self.memories]
            for memory, t, written in zip(memories, self.memories, self.written, strict=True):
                if written:
                    places.append(Array(kind.address(memory), t.state, t.item))
            if any(self.written):
                self.kernel.launch(self.element, self.count, places, kind.stream())
            return tuple(_finished(kind, x, t) for x, t in zip(memories, self.targets, strict=False))


def known(call: ForeignCall, arrays: Sequence[Any], check: bool) -> LaunchPlan | None:
    """The plan of an earlier call with arrays like these."""
    layout = LAYOUTS.get(type(arrays[0]))
    if layout is None:
        return None
    try:
        plan = call.operators["plans"].get((check, *map(layout, arrays)))
    except (KeyError, AttributeError):  # none yet; or an array of another library among them
        return None
    return None if plan is None or plan.kind.is_watched(arrays) else plan


def run(call: ForeignCall, kind: Library, arrays: Sequence[Any], out: Any, check: bool) -> tuple[Any, ...]:
    """The results on the device of the arrays."""
    plan = LaunchPlan(call, kind, arrays, check)
    layout = LAYOUTS.get(type(arrays[0]))
    if layout is not None:
        plans = call.operators.setdefault("plans", {})
        if len(plans) >= PLANS:
            plans.clear()
        plans[(check, *map(layout, arrays))] = plan
    results = plan.run(arrays)
    return results if out is None else _written(call, out, results)


def _source(kind: Library, x: Any, batch: tuple[int, ...]) -> SourceLayout:
    """Layout of an input, after copying if necessary."""
    shape, strides = tuple(x.shape[:-1]), kind.strides(x)
    if prod(shape) == 1 and shape != batch and strides[-1] >= 0:
        return SourceLayout(False, 0, strides[-1])
    if shape != batch or not _even(shape, strides):
        return SourceLayout(True, x.shape[-1], 1)
    return SourceLayout(False, strides[-2] if shape else 0, strides[-1])


def _even(shape: tuple[int, ...], strides: Sequence[int]) -> bool:
    """Whether the states of a batch with several axes have one common stride, and no stride is negative."""
    return min(strides) >= 0 and all(strides[k] == strides[k + 1] * shape[k + 1] for k in range(len(shape) - 1))


def _target(shape: tuple[int, ...], batch: tuple[int, ...], columns: bool) -> TargetLayout:
    """columns: the batch comes last in memory, and the result is a view with the batch in front."""
    if columns and batch and shape:
        return TargetLayout((*shape, *batch), 1, prod(batch), len(batch))
    return TargetLayout((*batch, *shape), prod(shape), 1)


def _finished(kind: Library, memory: Any, target: TargetLayout) -> Any:
    """The result in the caller's hands."""
    x = kind.finish(memory)
    return kind.batch_first(x, target.behind) if target.behind else x


def _written(call: ForeignCall, out: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results copied into the arrays of the caller."""
    targets = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    shapes = [tuple(x.shape) for x in results]
    if len(targets) != len(results) or [tuple(getattr(x, "shape", ())) for x in targets] != shapes:
        raise DalembertError(f"{call.name}: out does not fit, expected arrays of shapes {shapes} on the same device")
    for target, result in zip(targets, results, strict=True):
        target[...] = result
    return targets


class DeviceProgram:
    """A program on a graphics processor: launches on device memory, and runs on NumPy arrays that are copied to it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernel = CudaKernel(program.name, program.identity, program.function)

    def launch(
        self, element: str, count: int, arrays: Sequence[Array], stream: int | None = None, passes: int | None = None
    ) -> None:
        """See `CudaKernel.launch`."""
        self.kernel.launch(element, count, arrays, stream, passes)

    def seconds(self, dtype: np.dtype, rows: int, threads: int | None) -> tuple[float, float]:
        """See `registry.Executable`."""
        return SLOW, SLOW

    def run(
        self,
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        shape: tuple[int, ...],
        passes: int = 1,
        threads: int | None = None,
    ) -> int:
        """See `registry.Executable`."""
        memory, dtype, repetition = cupy(), results[0].dtype, self.program.repetition
        sequence, record = ((), ()) if repetition is None else (repetition.sequence, repetition.record)
        places, targets, kept = [], [], []
        for (name, size), a in zip(self.program.sizes.items(), arrays, strict=True):
            rows = np.broadcast_to(a, (*shape, a.shape[-1]))
            on_device = memory.asarray(np.ascontiguousarray(rows, dtype))
            kept.append(on_device)
            if size:
                places.append(Array(on_device.data.ptr, a.shape[-1], 1, size if name in sequence else None))
        for (name, form), result in zip(self.program.shapes.items(), results, strict=True):
            on_device, size = memory.empty(result.shape, dtype), prod(form)
            targets.append(on_device)
            if size:
                row = size * (passes if name in record else 1)
                places.append(Array(on_device.data.ptr, row, 1, size if name in record else None))
        self.launch(ELEMENT[dtype], prod(shape), places, None, None if repetition is None else passes)
        for on_device, result in zip(targets, results, strict=True):
            result[...] = on_device.get()
        return status_of(self.program.function(), with_rows(self.program, arrays, dtype, shape), passes, dtype)
