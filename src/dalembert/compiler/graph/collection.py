"""Tracing and code generation without garbage collection, and what is kept while a trace lasts."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uncollected() -> Iterator[None]:
    """No cyclic garbage collection meanwhile: expression graphs make many objects and drop few, and the collector
    would go through all of them, and through everything else in the process, again and again."""
    wanted = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if wanted:
            gc.enable()


class _Trace(threading.local):
    kept: dict[Any, Any] | None = None


_current = _Trace()


@contextmanager
def tracing() -> Iterator[None]:
    """A trace, during which `kept_in_trace` answers with one dict, dropped at the end of the outermost trace."""
    if _current.kept is not None:
        yield
        return
    _current.kept = {}
    try:
        yield
    finally:
        _current.kept = None


def kept_in_trace() -> dict[Any, Any] | None:
    """Things that last as long as the trace that is made now; None outside of any."""
    return _current.kept
