"""A word to the user while something takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Announce a task on stderr if it takes longer than a second, and how long it took."""
    begin = time.perf_counter()
    shown = threading.Event()

    def show() -> None:
        shown.set()
        print(f"dalembert: {what} …", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(1.0, show)
    timer.daemon = True
    with suppress(RuntimeError):  # no thread can be started, as when the interpreter shuts down
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if shown.is_set():
            print(f" {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
