"""Who computes which chunk of rows: threads, executors, Dask, Ray; how large chunks are; what deaths and Ctrl-C do."""

from __future__ import annotations

import logging
import os
import queue
import random
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dalembert.compiler.execute.threads import limit
from dalembert.errors import DalembertError, unknown

from .parts import Range
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


SHORTEST, LONGEST = 0.1, 30.0  # [s] of work in a chunk: far above a scheduler's cost, not too much to lose
COST = 5e-3  # [s] of the process that gives out chunks and writes them, for each, twice over
SHARES = 20  # chunks that each worker gets at least, so that all end together
FIRST, GROWTH = 2, 8  # rows of the first chunk, and how many times larger the next one may be
IMPATIENT = 0.5  # [s] after which the first chunk is slow enough for all workers to begin
ENDING = 5.0  # [s] that chunks get to end after Ctrl-C
HOPELESS = 5  # deaths of workers before any chunk was done
DIED = "the worker died (killed, out of memory, or a crash in compiled code)"


@dataclass
class Pace:
    """How many rows a chunk has, from the time that chunks took."""

    total: int
    workers: int
    most: int
    size: int = FIRST
    known: bool = False

    def learn(self, chunk: Chunk) -> None:
        """Take the time of a chunk into account."""
        each = max(chunk.took / max(1, chunk.end - chunk.begin), 1e-9)
        goal = length(self.total * each, self.workers)
        self.size = int(min(max(FIRST, goal / each), GROWTH * self.size, self.most))
        self.known = self.known or chunk.took >= 0.5 * SHORTEST or self.size == self.most


def length(work: float, workers: int) -> float:
    """Seconds of work that a chunk should have: enough chunks for each worker, not too many to be written."""
    return min(max(SHORTEST, COST * workers, work / (SHARES * workers)), LONGEST)


@dataclass
class Work:
    """Work to be done, work under way, and lost work."""

    workers: Workers
    pace: Pace
    keep: Callable[[Chunk], None]
    left: Callable[[int, int], list[Range]]
    gaps: deque[Range]
    shapes: Shapes | None = None
    suspects: deque[Range] = field(default_factory=deque)
    under_way: dict[Future[Chunk], Range] = field(default_factory=dict)
    alone: dict[Range, int] = field(default_factory=dict)
    deaths: int = 0
    done: int = 0

    def run(self) -> None:
        """All rows. On Ctrl-C those that are done are kept."""
        try:
            while self.gaps or self.suspects or self.under_way:
                self._fill()
                finished, _ = wait(list(self.under_way), timeout=IMPATIENT, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._take(future, self.under_way.pop(future))
        except KeyboardInterrupt:
            self._end()
            raise
        except BaseException:
            self.workers.stop()
            for future in self.under_way:
                future.cancel()
            raise

    def _fill(self) -> None:
        """Give chunks to workers: a suspect alone, the first one alone until it is known how long rows take."""
        if self.suspects:
            if not self.under_way:
                self._submit(self.suspects.popleft())
            return
        slow = self.under_way and not self.pace.known and self._waited()
        most = 2 * self.workers.count if self.pace.known else self.workers.count if slow else 1
        while self.gaps and len(self.under_way) < most:
            begin, end = self.gaps.popleft()
            cut = begin + self.pace.size
            if end - cut > 1:
                self.gaps.appendleft((cut, end))
                end = cut
            for rows in self.left(begin, end):
                self._submit(rows)

    def _submit(self, rows: Range) -> None:
        self._since = time.monotonic()
        self.under_way[self.workers.submit(*rows, self.shapes)] = rows

    def _waited(self) -> bool:
        return time.monotonic() - self._since > IMPATIENT

    def _take(self, future: Future[Chunk], rows: Range) -> None:
        """The result of a chunk, or the death of who computed it."""
        try:
            chunk = future.result()
        except (DalembertError, KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:  # what executors raise for workers that died, each its own
            self._died(rows, error)
            return
        self.deaths = 0
        self.done += 1
        self.alone.pop(rows, None)
        if chunk.shapes is not None and self.shapes is None:
            self.shapes = chunk.shapes
        if chunk.end > chunk.begin:
            self.pace.learn(chunk)
            self.keep(chunk)
        if chunk.end < rows[1]:  # it was told to stop
            self.gaps.appendleft((chunk.end, rows[1]))

    def _died(self, rows: Range, error: BaseException) -> None:
        """Compute rows again, one chunk at a time, in halves, until the row is found that kills workers."""
        self.deaths += 1
        if not self.done and self.deaths >= HOPELESS:
            raise DalembertError(
                f"study: workers die before they give a row ({type(error).__name__}: {error}): do they have dalembert, "
                "the module of the function, and `if __name__ == '__main__':` around the program?"
            ) from None
        was_alone = not self.under_way and rows in self.alone
        self.workers.again()
        begin, end = rows
        tries = self.alone.pop(rows, 0) + was_alone
        if not was_alone or tries < 2:
            self.alone[rows] = tries
            self.suspects.append(rows)
        elif end - begin > 1:
            middle = (begin + end) // 2
            for half in ((begin, middle), (middle, end)):
                self.alone[half] = 1
                self.suspects.append(half)
        else:
            import numpy as np

            self.keep(Chunk(begin, end, {}, [DIED], np.zeros(1), None))

    def _end(self) -> None:
        """Keep what is done when Ctrl-C comes."""
        self.workers.stop()
        waiting = [future for future in self.under_way if not future.cancel()]
        finished, _ = wait(waiting, timeout=ENDING)
        for future in finished:
            with suppress(Exception, KeyboardInterrupt):
                chunk = future.result()
                if chunk.end > chunk.begin:
                    self.keep(chunk)


def gaps_from(gaps: list[Range], fresh: bool) -> deque[Range]:
    """Gaps in the order to fill them. Who comes to a folder with parts begins anywhere, lest two do the same rows."""
    ordered = deque(gaps)
    if not fresh and ordered:
        total = sum(end - begin for begin, end in ordered)
        skip = random.randrange(total)
        while skip >= (length := ordered[0][1] - ordered[0][0]):
            skip -= length
            ordered.rotate(-1)
        begin, end = ordered.popleft()
        if skip > 1 and end - begin - skip > 1:
            ordered.append((begin, begin + skip))
            begin += skip
        ordered.appendleft((begin, end))
    return ordered
