"""Caches of the most recently used items: by key, or by the identity of objects."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakSet

from dalembert.compiler.graph.collection import kept_in_trace

T = TypeVar("T")


class Recent:
    """The last `size` items that were requested."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._items: dict[Hashable, Any] = {}
        _every.add(self)

    def clear(self) -> None:
        """Drop all items."""
        self._items.clear()

    def known(self, key: Hashable) -> Any:
        """The item of this key, or None."""
        return self._items.get(key)

    def drop(self, key: Hashable) -> None:
        """Forget the item of this key."""
        self._items.pop(key, None)

    def get(self, key: Hashable | None, prepare: Callable[[], Any]) -> Any:
        """The item of this key, prepared now if it is new; key None: it has no identity and is always new."""
        if key is None:
            return prepare()
        item = self._items.pop(key, None)
        if item is None:
            item = prepare()
        self._items[key] = item  # the newest comes last
        while len(self._items) > self.size:
            try:
                self._items.pop(next(iter(self._items)), None)
            except (RuntimeError, StopIteration):  # another thread was faster
                break
        return item


class RecentSame:
    """Things prepared for the last `size` groups of objects, recognised by their identity: no digest is computed.

    For large objects that do not change and that are asked for in every call, as models and lists of candidates. Of
    those that come up within a trace, which may hold traced values, nothing stays beyond it, unless they are `lasting`.
    """

    def __init__(self, size: int, lasting: bool = False) -> None:
        self._items: deque[tuple[tuple[Any, ...], Any]] = deque(maxlen=size)
        self.lasting = lasting
        _every.add(self)

    def clear(self) -> None:
        """Drop all items."""
        self._items.clear()

    def get(self, objects: tuple[Any, ...], prepare: Callable[[], T]) -> T:
        """The item of these very objects, prepared now if it is new."""
        kept = None if self.lasting else kept_in_trace()
        passing = () if kept is None else kept.setdefault(self, deque(maxlen=self._items.maxlen))
        for known, item in (*passing, *self._items):
            if len(known) == len(objects) and all(a is b for a, b in zip(known, objects, strict=True)):
                return item
        item = prepare()
        (self._items if kept is None else kept[self]).append((objects, item))
        return item


_every: WeakSet[Recent | RecentSame] = WeakSet()


def forget() -> None:
    """Drop what is kept for the next call like it, in all caches: traced programs of some 10 MB each."""
    for cache in list(_every):
        cache.clear()
