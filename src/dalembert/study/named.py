"""Mappings whose unknown names are errors that name the nearest one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Value = TypeVar("Value")


class Named(Mapping[str, Value]):
    """A mapping by name; `[…]` raises a DalembertError for others, `in` and `get` do not."""

    def __contains__(self, name: object) -> bool:
        return any(name == each for each in self)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return self[name] if name in list(self) else default
