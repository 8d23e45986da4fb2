"""Progress of work that takes longer than a second: on stderr, with the time left where the end is known.

On a terminal a bar that is redrawn; elsewhere (logs, notebooks) a line after about 1, 2, 4, 8 … seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TypeVar

FAR = 1e6  # [s]: longer than that is no forecast
FIRST, OFTEN, WIDTH = 1.0, 0.2, 30  # s until something is shown, s between two bars, characters of a bar

Item = TypeVar("Item")
_lock = threading.Lock()
_silence = threading.local()


@contextmanager
def silenced() -> Iterator[None]:
    """No progress of tasks that begin in this block, on this thread: parts of a larger task that shows its own."""
    before = getattr(_silence, "asked", False)
    _silence.asked = True
    try:
        yield
    finally:
        _silence.asked = before


class Progress:
    """Progress of one task: `with Progress("fitting", 40) as task: … task.show(12)`.

    what: the task. total: where `show` ends; None: unknown. unit: of both. shown: True for a bar, False for nothing,
    None for a bar on a terminal and lines elsewhere.
    """

    _unfinished: Progress | None = None  # whose line is not ended

    def __init__(self, what: str, total: float | None = None, unit: str = "", shown: bool | None = None) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.active = shown is not False and not getattr(_silence, "asked", False)
        self.bar = sys.stderr.isatty() if shown is None else shown
        self._begin = self._last = time.monotonic()
        self._next, self._timer = FIRST, threading.Timer(FIRST, self._announce)

    def __enter__(self) -> Progress:
        if self.active:
            self._timer.daemon = True
            with suppress(RuntimeError):  # no thread can be started, as when the interpreter shuts down
                self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self.close()

    def show(self, done: float, note: str = "") -> None:
        """Show that the task has come to `done` of its total, and a note on what is done now."""
        now = time.monotonic()
        spent = now - self._begin
        if not self.active or spent < FIRST or (now - self._last < OFTEN if self.bar else spent < self._next):
            return
        self._last, self._next = now, 2.0 * spent
        text = f"{self.what} {self._far(done, spent)}" + (f", {note}" if note else "")
        self._write(f"\r{text} " if self.bar else f"dalembert: {text}\n", ended=not self.bar)

    @staticmethod
    def end_line() -> None:
        """End the line of a task that did not come to its end, before an error is printed."""
        if Progress._unfinished is not None:
            Progress._unfinished._write("\n", ended=True)

    def close(self) -> None:
        """End the line."""
        if Progress._unfinished is self:
            self._write(f" {time.monotonic() - self._begin:.1f} s\n", ended=True)

    def _far(self, done: float, spent: float) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.total is None:
            return f"{_short(done)}{unit}, {spent:.0f} s so far"
        share = min(done / self.total, 1.0) if self.total else 1.0
        left = spent * (1.0 - share) / share if share > 0.0 else FAR
        known = f"{left:.0f} s left" if left < FAR else f"{spent:.0f} s so far"
        bar = "█" * round(WIDTH * share) + "·" * (WIDTH - round(WIDTH * share)) + " " if self.bar else ""
        return f"{bar}{_short(done)} of {_short(self.total)}{unit}, {known}"

    def _announce(self) -> None:
        """Name the task if nothing was shown in the first second."""
        if self._next == FIRST:
            self._write(f"dalembert: {self.what} …", ended=False)

    def _write(self, text: str, ended: bool) -> None:
        with _lock, suppress(OSError, ValueError):  # stderr is closed
            if Progress._unfinished not in (None, self) or (ended and text[0] not in " \n" and Progress._unfinished):
                text = "\n" + text
            Progress._unfinished = None if ended else self
            print(text, end="", file=sys.stderr, flush=True)


def _short(x: float) -> str:
    return f"{x:.3g}" if abs(x) < 1000.0 else f"{x:.0f}"


def each(items: Iterable[Item], what: str) -> Iterator[Item]:
    """The items one by one, with the progress of the loop that takes them."""
    listed = list(items)
    with Progress(what, len(listed)) as task:
        for done, item in enumerate(listed):
            task.show(done)
            yield item
