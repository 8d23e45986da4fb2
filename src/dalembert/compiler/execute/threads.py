"""Threads that work on the chunks of a batch. Kernels run without the interpreter lock."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

POOL = 64  # threads at most, unless there are more processors

_pool: ThreadPoolExecutor | None = None
_pool_process = 0


def available() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit(threads: int | None) -> int:
    """Threads to use: the caller's choice, else DALEMBERT_THREADS, else every processor."""
    if threads is None:
        setting = os.environ.get("DALEMBERT_THREADS", "")
        if not setting:
            return available()
        if not (setting.isascii() and setting.isdigit() and int(setting) >= 1):
            raise DalembertError(f"environment variable DALEMBERT_THREADS is {setting!r}: expected a whole number ≥ 1")
        return min(int(setting), _most())
    try:
        number = 0 if isinstance(threads, bool) else operator.index(threads)
    except TypeError:
        number = 0
    if number < 1:
        raise DalembertError(f"threads={threads!r}: expected a whole number ≥ 1, or None for all processors")
    return min(number, _most())


def _most() -> int:
    return max(POOL, available())


def run(work: Callable[[], None], workers: int) -> None:
    """Run `work` on this thread and on workers − 1 others; returns when all have returned, and raises their errors."""
    others: list[Future[None]] = []
    with suppress(RuntimeError):  # no thread can be started, as when the interpreter shuts down: work on this one
        for _ in range(workers - 1):
            others.append(_threads().submit(work))
    try:
        work()
    finally:
        errors = [e for e in (f.exception() for f in others) if e is not None]
    if errors:
        raise errors[0]


def _threads() -> ThreadPoolExecutor:
    """The pool, created on first use; a forked child creates another."""
    global _pool, _pool_process
    from concurrent.futures import ThreadPoolExecutor  # not needed until there are several threads

    if _pool is None or _pool_process != os.getpid():
        _pool, _pool_process = ThreadPoolExecutor(_most(), "dalembert"), os.getpid()
    return _pool
