"""Running a batch kernel over the rows of arrays: read in place where possible, in chunks, on several threads."""

from __future__ import annotations

import ctypes
import itertools
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.backends.llvm.fastcall import FAST_WORK, address

from . import threads as workers_of
from .interruption import ANSWER

CONVERTED = 4096  # rows converted at a time when an input cannot be read in place
OPERATION = 0.5e-9  # [s], an upper bound on most processors; a vector of any width takes as long
BYTE = 0.5e-9  # [s] to read or write one that is not in a cache, page faults included
CHUNKS_PER_THREAD = 4  # so that a thread that was held up leaves its share to the others


def seconds(operations: int) -> float:
    """Roughly how long the rows that are computed together take."""
    return max(operations, 1) * OPERATION


class Rows:
    """An input of a batch seen as `count` rows: in place when one distance leads from each row to the next."""

    def __init__(self, array: np.ndarray, batch: tuple[int, ...], dtype: np.dtype) -> None:
        self.batch, self.dtype = batch, dtype
        self.stride: int | None
        self.row_bytes = array.shape[-1] * dtype.itemsize
        flags = array.flags
        if (
            array.shape[:-1] == batch and array.dtype == dtype and flags.c_contiguous and flags.aligned
        ):  # the usual case
            self.array, self.stride = array, self.row_bytes
        else:
            self.array = np.broadcast_to(array, (*batch, array.shape[-1]))
            self.stride = self._stride()

    def _stride(self) -> int | None:
        """Bytes from row to row, or None when the rows must be converted."""
        a = self.array
        if a.dtype != self.dtype or not a.flags.aligned or (a.shape[-1] > 1 and a.strides[-1] != a.itemsize):
            return None
        axes = [(n, s) for n, s in zip(self.batch, a.strides[:-1], strict=True) if n > 1]
        if any(outer != n * inner for (_, outer), (n, inner) in itertools.pairwise(axes)):
            return None
        return axes[-1][1] if axes else 0

    def read(self, begin: int, end: int) -> tuple[int, int, np.ndarray]:
        """(address of row 0 as the kernel counts, stride, owner) that are valid for rows begin…end−1."""
        if self.stride is not None:
            return address(self.array), self.stride, self.array
        rows = np.empty((end - begin, self.array.shape[-1]), self.dtype)
        rows[...] = self.array[_index(self.batch, begin, end)]
        return address(rows) - begin * self.row_bytes, self.row_bytes, rows


class Results:
    """An output of a batch: written in place when it is dense, else by way of a buffer for the rows at hand."""

    def __init__(self, array: np.ndarray, batch: tuple[int, ...]) -> None:
        self.array, self.batch, self.shape = array, batch, array.shape[len(batch) :]
        self.dense = array.flags.c_contiguous and array.flags.aligned

    def place(self, begin: int, end: int) -> tuple[int, np.ndarray]:
        """(address of row 0 as the kernel counts, where it writes) for rows begin…end−1."""
        if self.dense:
            return address(self.array), self.array
        rows = np.empty((end - begin, *self.shape), self.array.dtype)
        return address(rows) - begin * prod(self.shape) * rows.itemsize, rows

    def keep(self, rows: np.ndarray, begin: int, end: int) -> None:
        """Copy the results into the caller's arrays."""
        if not self.dense:
            self.array[_index(self.batch, begin, end)] = rows


def _index(batch: tuple[int, ...], begin: int, end: int) -> Any:
    """The index of the rows begin…end−1 of a batch."""
    return slice(begin, end) if len(batch) == 1 else np.unravel_index(np.arange(begin, end), batch)


def run(
    kernel: Callable[..., int],
    arrays: Sequence[np.ndarray],
    outs: Sequence[np.ndarray],
    batch: tuple[int, ...],
    *,
    lanes: int,
    operations: int,
    limit: int | None,
    passes: int = 1,
) -> int:
    """Call kernel(inputs, strides, outputs, begin, end, passes) for every row of a batch; returns the statuses or-ed.

    arrays (*some batch, size) broadcast to `batch`; outs (*batch, *shape) are of one float type. Chunks begin at
    multiples of `lanes`, and a row's result does not depend on its neighbours: any split gives the same bits.
    """
    count = prod(batch)
    rows = [Rows(a, batch, outs[0].dtype) for a in arrays]
    results = [Results(o, batch) for o in outs]
    workers = min(workers_of.limit(limit), -(-count // lanes))
    if count * operations * passes <= FAST_WORK:
        workers = 1
    pieces = 1 if workers == 1 else CHUNKS_PER_THREAD * workers
    step = max(lanes, -(-count // (pieces * lanes)) * lanes)
    if any(r.stride is None for r in rows) or not all(r.dense for r in results):
        step = min(step, CONVERTED)
    size = sum(r.array.nbytes for r in results) / count + sum(r.row_bytes for r in rows)
    group = seconds(operations) * passes + lanes * size * BYTE
    step = min(step, lanes * max(1, int(ANSWER / group)))
    starts = iter(range(0, count, step))  # its next() is atomic: every chunk goes to one thread
    statuses: list[int] = []
    stopped: list[bool] = []

    def work() -> None:
        try:
            for begin in starts:
                if stopped:
                    return
                compute(begin)
        except BaseException:  # Ctrl-C, or no memory: the other threads need not go on
            stopped.append(True)
            raise

    def compute(begin: int) -> None:
        end = min(begin + step, count)
        read = [r.read(begin, end) for r in rows]
        inputs = (ctypes.c_void_p * len(read))(*[address for address, _, _ in read])
        strides = (ctypes.c_int64 * len(read))(*[stride for _, stride, _ in read])
        places = [r.place(begin, end) for r in results]
        outputs = (ctypes.c_void_p * len(places))(*[address for address, _ in places])
        statuses.append(kernel(inputs, strides, outputs, begin, end, passes))
        for result, (_, written) in zip(results, places, strict=True):
            result.keep(written, begin, end)

    try:
        workers_of.run(work, workers)
    except BaseException:  # perhaps before this thread began
        stopped.append(True)
        raise
    return reduce(operator.or_, statuses, 0)
