"""Where chunks of rows are computed: threads here, any executor of concurrent.futures, Dask, Ray."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from typing import Any

from dalembert.compiler.execute.threads import limit
from dalembert.errors import DalembertError, unknown

from .rows import Shapes
from .work import Chunk, Task, compute, packed, remote

RETRIES = 3  # times that Dask and Ray give the chunk of a worker that died to another one
NAMED = ("threads", "processes", "ray", "slurm", "dask://HOST:PORT")
POLL = 0.2  # [s] between two questions to a job that is no future


class Workers(ABC):
    """Workers that take chunks; `count` of them work at a time."""

    count: int

    @abstractmethod
    def submit(self, begin: int, end: int, shapes: Shapes | None) -> Future[Chunk]:
        """Begin with rows begin … end − 1."""

    def again(self) -> None:  # noqa: B027 - optional
        """Replace workers that died with the executor that had them."""

    def stop(self) -> None:  # noqa: B027 - optional
        """Let chunks under way end early, with the rows that are done."""

    def close(self) -> None:  # noqa: B027 - optional
        """Release what was opened here; executors of the user's stay open."""


class Threads(Workers):
    """Daemon threads of this process: a row that hangs does not keep the process from ending."""

    def __init__(self, task: Task, count: int) -> None:
        self.task, self.count, self.stopped = task, count, threading.Event()
        self.waiting: queue.SimpleQueue[tuple[Future[Chunk], int, int, Shapes | None] | None] = queue.SimpleQueue()
        for _ in range(count):
            threading.Thread(target=self._work, daemon=True, name="dalembert study").start()

    def submit(self, begin: int, end: int, shapes: Shapes | None) -> Future[Chunk]:
        """See `Workers.submit`."""
        future: Future[Chunk] = Future()
        self.waiting.put((future, begin, end, shapes))
        return future

    def stop(self) -> None:
        """See `Workers.stop`."""
        self.stopped.set()

    def close(self) -> None:
        """See `Workers.close`."""
        self.stopped.set()
        for _ in range(self.count):
            self.waiting.put(None)

    def _work(self) -> None:
        while (item := self.waiting.get()) is not None:
            future, begin, end, shapes = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(compute(self.task, begin, end, shapes, self.stopped.is_set))
            except BaseException as error:
                future.set_exception(error)


class Remote(Workers):
    """An executor of concurrent.futures, or an object with `submit` whose jobs have `done` and `result`."""

    def __init__(self, task: Task, executor: Any, count: int | None, own: bool = False) -> None:
        self.data, self.executor, self.own = packed(task), executor, own
        self.count = count or getattr(executor, "_max_workers", None) or os.cpu_count() or 1

    def submit(self, begin: int, end: int, shapes: Shapes | None) -> Future[Chunk]:
        """See `Workers.submit`."""
        try:
            job = self.executor.submit(remote, self.data, begin, end, shapes)
        except BrokenExecutor as error:  # the death of a worker was not told yet
            job = Future()
            job.set_exception(error)
        return job if isinstance(job, Future) else _followed(job)

    def again(self) -> None:
        """A new pool of processes like the one that is broken; other executors replace their workers themselves."""
        old = self.executor
        if not (isinstance(old, ProcessPoolExecutor) and getattr(old, "_broken", False)):
            return
        new = ProcessPoolExecutor(
            self.count,
            mp_context=getattr(old, "_mp_context", None),
            initializer=getattr(old, "_initializer", None),
            initargs=getattr(old, "_initargs", ()),
        )
        if self.own:
            old.shutdown(wait=False)
        self.executor, self.own = new, True

    def close(self) -> None:
        """See `Workers.close`."""
        if self.own:
            self.executor.shutdown(wait=False, cancel_futures=True)


class Ray(Executor):
    """Ray's tasks as an executor."""

    def __init__(self) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise DalembertError("executor 'ray' needs Ray: pip install 'dalembert[ray]'") from None
        self.ray, self.opened = ray, not ray.is_initialized()
        if self.opened:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        self._max_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        """A task of Ray as a future."""
        task = self.ray.remote(max_retries=RETRIES)(function)
        return task.remote(*arguments, **keywords).future()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave Ray, if it was started here."""
        if self.opened:
            self.ray.shutdown()


def workers_of(task: Task, executor: Any, count: int | None) -> Workers:
    """The workers of an executor: None, an Executor, a Dask client, or a name."""
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        raise DalembertError(f"study: workers is {count!r}, expected a whole number ≥ 1")
    if executor is None or executor == "threads":
        return Threads(task, count or limit(None))
    if isinstance(executor, str):
        return _named(task, executor, count)
    if hasattr(executor, "get_executor"):  # a client of Dask
        return _dask(task, executor, count)
    if not hasattr(executor, "submit"):
        raise DalembertError(
            f"study: executor is of type {type(executor).__name__}, expected None (threads), an Executor of "
            f"concurrent.futures, a Dask client, or one of {', '.join(NAMED)}"
        )
    return Remote(task, executor, count)


def _named(task: Task, name: str, count: int | None) -> Workers:
    if name == "processes":
        import multiprocessing

        pool = ProcessPoolExecutor(count or limit(None), mp_context=multiprocessing.get_context("spawn"))
        return Remote(task, pool, count, own=True)
    if name == "ray":
        return Remote(task, Ray(), count, own=True)
    if name.startswith("dask://"):
        try:
            from distributed import Client
        except ImportError:
            raise DalembertError(f"executor {name!r} needs Dask: pip install 'dalembert[dask]'") from None
        return _dask(task, Client(name.replace("dask://", "tcp://", 1)), count)
    raise unknown("executor", name, NAMED, "study")


def _dask(task: Task, client: Any, count: int | None) -> Workers:
    threads = sum(client.nthreads().values())
    if not threads:
        raise DalembertError("study: the Dask client has no workers: start some, and wait: client.wait_for_workers(1)")
    return Remote(task, client.get_executor(pure=False, retries=RETRIES), count or threads)


def _followed(job: Any) -> Future[Chunk]:
    """A job that is asked again and again, such as submitit's, as a future."""
    future: Future[Chunk] = Future()

    def follow() -> None:
        with suppress(Exception):  # a future that was cancelled
            while not job.done():
                time.sleep(POLL)
            try:
                future.set_result(job.result())
            except Exception as error:
                future.set_exception(error)

    threading.Thread(target=follow, daemon=True).start()
    return future
