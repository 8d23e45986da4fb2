"""Chunks of rows given to workers: how large, what happens when a worker dies, and what Ctrl-C keeps."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field

from dalembert.errors import DalembertError

from .executors import Workers
from .parts import Range
from .rows import Shapes
from .work import Chunk

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
