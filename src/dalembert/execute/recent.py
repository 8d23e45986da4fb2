"""A cache of the most recently used items, by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakSet


class Recent:
    """The last `size` items that were requested."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._items: dict[Hashable, Any] = {}
        _every.add(self)

    def clear(self) -> None:
        """Drop all items."""
        self._items.clear()

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


_every: WeakSet[Recent] = WeakSet()


def forget() -> None:
    """Drop what is kept for the next call like it, in all caches: traced programs of some 10 MB each."""
    for cache in list(_every):
        cache.clear()
