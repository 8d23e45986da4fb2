"""A cache of the most recently used items, by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


class Recent:
    """The last `size` items that were requested."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._items: dict[Hashable, Any] = {}

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
