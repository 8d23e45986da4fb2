"""Compiled code on this machine's processor: one state, or the rows of a batch on SIMD lanes and threads."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np

from dalembert.compiler.backends.llvm import fastcall, rare, target
from dalembert.compiler.backends.llvm.kernel import ELEMENT, LlvmKernel
from dalembert.errors import DalembertError

from . import batch
from .threads import limit
from .threads import run as run_threads

_ADDRESS = ctypes.c_void_p


class Bound:
    """A batch on fixed arrays, on the calling thread or several: addresses are taken once, a call takes a fraction
    of a µs.

    arrays (rows, size) or, for all rows, (size,); results (rows, *shape); all dense, of one float type. They are read
    and written in place whenever it is called, which returns the status. A loop makes `passes`, and rows of its
    sequences and records hold all of them.
    """

    def __init__(
        self, kernel: NativeKernel, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray], passes: int = 1
    ) -> None:
        dtype, rows = results[0].dtype, len(results[0])
        for x in (*arrays, *results):
            if x.dtype != dtype or not (x.flags.c_contiguous and x.flags.aligned):
                raise DalembertError(f"{kernel.name}: bound arrays must be dense and of one type, {dtype}")
        for x, size in zip(arrays, kernel.sizes, strict=True):
            count = rows if x.ndim > 1 else 1
            if (x.ndim > 1 and len(x) != count) or x.size not in (count * size, count * size * passes):
                raise DalembertError(
                    f"{kernel.name}: a bound input has shape {x.shape}, expected ({rows}, {size}) or ({size},)"
                )
        for x, shape in zip(results, kernel.shapes, strict=True):
            size = prod(shape)
            if len(x) != rows or x.size not in (rows * size, rows * size * passes) or not x.flags.writeable:
                raise DalembertError(f"{kernel.name}: a bound result has shape {x.shape}, expected ({rows}, {size})")
        self._kept = (*arrays, *results)
        self._inputs = (_ADDRESS * len(arrays))(*map(fastcall.address, arrays))
        self._strides = (ctypes.c_int64 * len(arrays))(*[x.strides[0] if x.ndim > 1 else 0 for x in arrays])
        self._outputs = (_ADDRESS * len(results))(*map(fastcall.address, results))
        self._code, self._rows, self._passes = kernel.executable("batch", ELEMENT[dtype]), rows, passes
        self._lanes = kernel.lanes or target.lanes(ELEMENT[dtype])

    @property
    def code_address(self) -> int:
        """The address of the code, for compiled callers."""
        return self._code.address

    @property
    def rows(self) -> int:
        """Rows of the batch."""
        return self._rows

    @property
    def tables(self) -> tuple[int, int, int]:
        """Where the addresses of inputs, their strides, and the addresses of outputs lie."""
        return ctypes.addressof(self._inputs), ctypes.addressof(self._strides), ctypes.addressof(self._outputs)

    def __call__(self) -> int:
        return self._code.call(self._inputs, self._strides, self._outputs, 0, self._rows, self._passes)

    def on_threads(self, threads: int | None) -> int:
        """The same call on several threads: each takes chunks of rows, which computes the same bits."""
        groups = -(-self._rows // self._lanes)
        workers = min(limit(threads), groups)
        if workers <= 1:
            return self()
        step = self._lanes * -(-groups // (batch.CHUNKS_PER_THREAD * workers))
        starts = iter(range(0, self._rows, step))  # its next() is atomic: every chunk goes to one thread
        statuses: list[int] = []

        def work() -> None:
            for begin in starts:
                end, tables = min(begin + step, self._rows), (self._inputs, self._strides, self._outputs)
                statuses.append(self._code.call(*tables, begin, end, self._passes))

        run_threads(work, workers)
        return reduce(operator.or_, statuses, 0)


def complete() -> None:
    """Compile the rare branches of all kernels that are loaded, before any is taken."""
    rare.complete()


class NativeKernel(LlvmKernel):
    """A kernel of LLVM with the ways to run it."""

    def run(
        self,
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        shape: tuple[int, ...],
        passes: int = 1,
        threads: int | None = None,
    ) -> int:
        """See `registry.Executable`."""
        if not shape:
            return self.run_one([np.require(a, results[0].dtype, ["C", "A"]) for a in arrays], results)
        if shape == (1,) and all(r.flags.c_contiguous for r in results):
            return self.run_row(arrays, results, passes)
        return self.run_batch(arrays, results, shape, threads, passes)

    def seconds(self, dtype: np.dtype, rows: int, threads: int | None) -> tuple[float, float]:
        """See `registry.Executable`."""
        element = ELEMENT[dtype]
        code = self.executable("batch", element)
        lanes = min(self.lanes or target.lanes(element), rows)
        group = batch.seconds(code.operations)
        return group if rows <= lanes else group * rows / lanes / limit(threads), group

    def run_one(self, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> int:
        """One state: dense inputs (size,) and outputs of one float type. Returns the status."""
        code = self.executable("one", ELEMENT[results[0].dtype])
        inputs, outputs = ((_ADDRESS * len(x))(*map(fastcall.address, x)) for x in (arrays, results))
        return code.call(inputs, outputs)

    def run_row(self, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray], passes: int = 1) -> int:
        """A batch of one row, results dense: `run_batch` without dividing the work, which takes longer than a row."""
        dtype = results[0].dtype
        code = self.executable("batch", ELEMENT[dtype])
        rows = [np.ascontiguousarray(a, dtype) for a in arrays]
        inputs, outputs = ((_ADDRESS * len(x))(*map(fastcall.address, x)) for x in (rows, results))
        return code.call(inputs, (ctypes.c_int64 * len(rows))(), outputs, 0, 1, passes)

    def bound(self, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray], passes: int = 1) -> Bound:
        """The call of a batch with its addresses bound once."""
        return Bound(self, arrays, results, passes)

    def run_batch(
        self,
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        shape: tuple[int, ...],
        limit: int | None = None,
        passes: int = 1,
    ) -> int:
        """Many states: see `batch.run`. Returns the status.

        A loop makes `passes` ≥ 1; each row of a sequence or record holds all of them.
        """
        element = ELEMENT[results[0].dtype]
        code = self.executable("batch", element)
        return batch.run(
            code.call,
            arrays,
            results,
            shape,
            lanes=self.lanes or target.lanes(element),
            operations=code.operations,
            limit=limit,
            passes=passes,
        )
