"""Compiled code on this machine's processor: one state, or the rows of a batch on SIMD lanes and threads."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from dalembert.backends.llvm import fastcall, target
from dalembert.backends.llvm.kernel import ELEMENT, Kernel

from . import batch
from .threads import limit

_ADDRESS = ctypes.c_void_p


class NativeKernel(Kernel):
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
