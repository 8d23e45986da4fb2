"""Traced functions that are kept for what may be asked of them next, in bounded memory.

A step of a robot with contact has a million nodes of 250 bytes. Once it is compiled, only another kind of loop or a
derivative needs them, for which it is traced again. The functions used last are kept, up to MOST nodes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from .function import Function

MOST = 500_000  # nodes


class Traced:
    """A function that is traced when it is called for, and again if it was dropped meanwhile.

    keep: it is never dropped, since another trace need not be the same.
    """

    def __init__(self, build: Callable[[], Function], keep: bool = False) -> None:
        self._build, self._keep = build, keep
        self._function: Function | None = None
        self._code: dict[Any, Any] = {}  # of backends: it stays when the graph goes
        self._graphs: dict[int, int] | None = None

    def __call__(self) -> Function:
        function = self._function
        if function is None:
            function = self._function = self._build()
            vars(function).setdefault("kept", self._code)
        if not self._keep:
            with _lock:
                _recent.pop(id(self), None)
                _recent[id(self)] = self
        return function

    def drop(self) -> None:
        """Give up the graph."""
        self._function = self._graphs = None
        _recent.pop(id(self), None)

    def graphs(self) -> dict[int, int]:
        """Sizes of its graphs, by their ids."""
        if self._graphs is None:
            self._graphs = {} if self._function is None else _graphs(self._function)
        return self._graphs


_recent: WeakValueDictionary[int, Traced] = WeakValueDictionary()  # the last one comes last
_lock = threading.Lock()


def bound() -> None:
    """Drop functions, those that were used last kept first, so that at most MOST nodes are kept."""
    with _lock:
        kept: dict[int, int] = {}
        for each in reversed(list(_recent.values())):
            with_it = kept | each.graphs()
            if sum(with_it.values()) > MOST:
                each.drop()
            else:
                kept = with_it


def _graphs(function: Function) -> dict[int, int]:
    sizes: dict[int, int] = {}
    waiting = [function]
    while waiting:
        graph = next((node.graph for output in waiting.pop().outputs for node in output.nodes), None)
        if graph is not None and id(graph) not in sizes:
            sizes[id(graph)] = graph.size
            for node in (node for alike in graph.compounds.values() for node in alike):
                parts = (getattr(node.value, name, None) for name in ("step", "correction", "function"))
                waiting += [part for part in parts if part is not None]
    return sizes
