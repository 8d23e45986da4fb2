"""Rows one after the other with a time limit for each, so that one that hangs costs no other row."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

from dalembert.progress import silenced

OFTEN = 0.05  # [s] between two looks at the rows
GRACE = 1.0  # [s] that a row gets to end once it was told to


class _Over(BaseException):
    """Signal to a row that takes too long or is not wanted any more; no `except Exception` catches it."""


class TimeLimit(Exception):
    """The reason of a row that took too long."""


class _Rows(threading.Thread):
    """Rows from `first` on, each answer or error in `answers`. A daemon: a row that never ends does not hold Python."""

    def __init__(self, evaluate: Callable[[int], Any], first: int, count: int, limit: float | None) -> None:
        super().__init__(daemon=True, name="dalembert study")
        self.evaluate, self.first, self.count, self.limit = evaluate, first, count, limit
        self.answers: list[Any] = []
        self.seconds: list[float] = []
        self.began = time.monotonic()
        self.left = False

    def run(self) -> None:
        """Row after row, until all are done or nobody waits for them."""
        with silenced():
            while not self.left and self.at < self.count:
                try:
                    self._next()
                except _Over:  # told between two rows, or by its time: the next round decides
                    if self.limit is not None and time.monotonic() - self.began > self.limit:
                        self._keep(TimeLimit(f"took longer than {self.limit:g} s"))

    @property
    def at(self) -> int:
        """The row that is computed now."""
        return self.first + len(self.answers)

    def _next(self) -> None:
        self.began = time.monotonic()
        try:
            answer = self.evaluate(self.at)
        except _Over:
            raise
        except BaseException as error:  # also SystemExit: a row ends itself, not the study
            answer = error
        self._keep(answer)

    def _keep(self, answer: Any) -> None:
        self.seconds.append(time.monotonic() - self.began)
        self.answers.append(answer)

    def tell(self) -> None:
        """Raise `_Over` where the thread is, as soon as Python's own code runs there."""
        if self.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(_Over))


def rows(
    evaluate: Callable[[int], Any], count: int, limit: float | None, stopped: Callable[[], bool]
) -> tuple[list[Any], list[float]]:
    """Answers, or errors, of evaluate(0) … evaluate(count − 1), and the seconds that each took.

    limit [s] for each row. Once `stopped()`, or with Ctrl-C, fewer: those that are done.
    """
    answers: list[Any] = []
    seconds: list[float] = []
    while len(answers) < count:
        thread = _Rows(evaluate, len(answers), count, limit)
        thread.start()
        try:
            complete = _attend(thread, stopped)
        except KeyboardInterrupt:
            complete = False
        thread.left = True
        done = len(thread.seconds)
        answers += thread.answers[:done]
        seconds += thread.seconds[:done]
        if complete:
            continue
        thread.tell()
        if limit is None or stopped() or time.monotonic() - thread.began < limit:
            break
        if len(answers) < count:
            answers.append(TimeLimit(f"took longer than {limit:g} s, and does not end"))
            seconds.append(limit)
    return answers, seconds


def _attend(thread: _Rows, stopped: Callable[[], bool]) -> bool:
    """Wait for the thread: true once it is done, false where it was stopped or hangs."""
    told = -1
    while True:
        limit = thread.limit
        thread.join(OFTEN if limit is None else min(OFTEN, limit))
        if not thread.is_alive():
            return True
        if stopped():
            return False
        took = time.monotonic() - thread.began
        if limit is None or took <= limit:
            continue
        if told != thread.at:
            told = thread.at
            thread.tell()
        elif took > limit + GRACE:
            return False
