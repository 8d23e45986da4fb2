"""Memory of large results, reused once no result or view refers to it.

Fresh memory costs a page fault for every 4 kB, which takes longer than many a kernel. An array of LARGE_RESULT bytes or
more gets its memory from here; its `base` is a `Lease`, which every view and export keeps alive. When the last of them
is gone, the memory waits for the next result of about that size. At most `limit()` bytes wait; beyond that the longest
unused is returned to the system. DALEMBERT_KEEP sets the limit in MiB; 0 switches this off.
"""

from __future__ import annotations

import mmap
import os
import threading
from contextlib import suppress
from functools import cache
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.backends.limits import LARGE_RESULT
from dalembert.errors import DalembertError

SMALL = LARGE_RESULT // 8  # numbers, of which none has more than 8 bytes
MOST = 1 << 30  # most bytes kept for reuse, unless DALEMBERT_KEEP sets another limit
SHARE = 8  # and at most this part of the machine's memory


@cache
def limit() -> int:
    """Bytes that may wait for use."""
    setting = os.environ.get("DALEMBERT_KEEP", "")
    if setting:
        if not (setting.isascii() and setting.isdigit()):
            raise DalembertError(f"environment variable DALEMBERT_KEEP is {setting!r}: expected a number of MiB, or 0")
        return int(setting) << 20
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return MOST // 4
    return min(MOST, machine // SHARE)


class Lease:
    """The owner of an array's memory, as long as something refers to it."""

    def __init__(self, block: mmap.mmap, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.block = block
        address = np.frombuffer(block, np.uint8, 1).ctypes.data
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": dtype.str, "version": 3}

    def __del__(self) -> None:
        if _store is not None:  # else the interpreter is shutting down
            _store.keep(self.block)


class Store:
    """Blocks that wait for use, the longest unused first."""

    def __init__(self) -> None:
        self.blocks: list[mmap.mmap] = []
        self.waiting = 0  # bytes
        # Never waited for: `keep` runs wherever an array is dropped, in the garbage collector too, while this thread or
        # one that was stopped holds it. Then the block is not kept, or a new one is taken.
        self.lock = threading.Lock()

    def take(self, size: int) -> mmap.mmap | None:
        """A block of exactly this size, if one waits: the one used last, which may still be in the caches."""
        if not self.lock.acquire(blocking=False):
            return None
        try:
            for k in range(len(self.blocks) - 1, -1, -1):
                if len(self.blocks[k]) == size:
                    self.waiting -= size
                    return self.blocks.pop(k)
            return None
        finally:
            self.lock.release()

    def keep(self, block: mmap.mmap) -> None:
        """Let a block wait; drop the oldest ones if that is too much."""
        if not self.lock.acquire(blocking=False):
            return
        dropped = []
        try:
            self.blocks.append(block)
            self.waiting += len(block)
            while self.blocks and self.waiting > limit():
                dropped.append(self.blocks.pop(0))
                self.waiting -= len(dropped[-1])
        finally:
            self.lock.release()

    def clear(self) -> None:
        """Give everything that waits back to the system."""
        if self.lock.acquire(blocking=False):
            self.blocks, self.waiting = [], 0
            self.lock.release()


_store = Store()


def _new_lock() -> None:
    _store.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)  # the thread that held it is not in the child


def empty(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Like np.empty, but reuses memory where the array is large."""
    count = prod(shape)
    if count < SMALL:
        return np.empty(shape, dtype)
    kind = np.dtype(dtype)
    size = count * kind.itemsize
    if not LARGE_RESULT <= size <= limit():
        return np.empty(shape, kind)
    unit = 1 << (size.bit_length() - 4)  # eight sizes up to twice as much: results of nearly one size share blocks
    size = -(-size // unit) * unit
    block = _store.take(size) or _block(size)
    return np.empty(shape, kind) if block is None else np.asarray(Lease(block, shape, kind))


def _block(size: int) -> mmap.mmap | None:
    """New memory; None where the system has none of this kind."""
    try:
        if os.name == "nt":
            return mmap.mmap(-1, size)
        block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError, OverflowError):
        _store.clear()
        return None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            block.madvise(mmap.MADV_HUGEPAGE)
    return block
