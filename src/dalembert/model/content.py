"""A model's content as a stream of leaves, to make it read-only and to compute its fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

PACKAGE = f"{__name__.partition('.')[0]}."
PLAIN = (str, float, int, slice, type(None))  # the types of most leaves
SHOWN = {"shown": True}  # metadata of a field for display only, without effect on the motion


def leaves(x: Any, *, shown: bool = True) -> Iterator[Any]:
    """Every array, number and text inside nested dataclasses and tuples, in order, with marks of structure.

    A class from outside the package, such as a joint type of a user, is marked by its full name.
    shown: whether to include fields for display only.
    """
    if is_dataclass(x):
        kind = type(x)
        yield kind.__name__ if is_own(kind) else f"{kind.__module__}.{kind.__qualname__}"
        for name in _names(x.__class__, shown):
            yield from leaves(getattr(x, name), shown=shown)
    elif isinstance(x, tuple):
        yield len(x)
        for item in x:
            yield from leaves(item, shown=shown)
    else:
        yield x


def is_own(kind: type) -> bool:
    """Whether a class belongs to the package, not to a user."""
    return kind.__module__.startswith(PACKAGE)


def types(x: Any) -> set[type]:
    """The class of every dataclass inside nested dataclasses and tuples."""
    if isinstance(x, tuple):
        return {kind for item in x for kind in types(item)}
    if type(x) in PLAIN or not is_dataclass(x):
        return set()
    return {type(x)}.union(*(types(getattr(x, name)) for name in _names(x.__class__, True)))


@cache
def _names(kind: Any, shown: bool) -> tuple[str, ...]:
    """The fields of a dataclass; shown: also those that are only shown."""
    return tuple(field.name for field in fields(kind) if shown or not field.metadata.get("shown"))


def freeze(x: Any) -> None:
    """Make every array inside nested dataclasses and tuples read-only."""
    if isinstance(x, np.ndarray):
        x.setflags(write=False)
    elif isinstance(x, tuple):
        for item in x:
            freeze(item)
    elif type(x) not in PLAIN and is_dataclass(x):
        for name in _names(x.__class__, True):
            freeze(getattr(x, name))


def fingerprint(x: Any) -> str:
    """SHA-256 (hex) of the content: equal for equal numbers and names, in any process and on any machine."""
    digest = hashlib.sha256()
    for leaf in leaves(x, shown=False):
        if isinstance(leaf, (np.ndarray, float)):
            array = np.asarray(leaf, "<f8") + 0.0  # -0.0 and 0.0 are the same number
            digest.update(f"{array.shape}".encode() + array.tobytes())
        else:
            digest.update(f"{leaf!r};".encode())
    return digest.hexdigest()
