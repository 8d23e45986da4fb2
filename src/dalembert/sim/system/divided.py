"""Pushes of a step that is divided into parts: what runs report of it is their sum."""

from __future__ import annotations

from itertools import repeat as always
from typing import Any

import numpy as np

from dalembert.math import where

from ..elements.contact import Memory


def pushes(memory: Memory) -> np.ndarray:
    """Impulses, moments of friction and normals of a step in one array, as runs report them."""
    return np.concatenate([memory.contacts, memory.turned, memory.normals])


def with_pushes(memory: Memory, x: np.ndarray) -> Memory:
    """The memory with these numbers in the place of its own; see `pushes`."""
    contacts, turned, normals = _split(memory, x)
    return memory._replace(contacts=contacts, turned=turned, normals=normals)


def summed(x: np.ndarray, before: Memory, pushed: Memory) -> np.ndarray:
    """`pushes` of several parts of a step, of which x came before the one that pushed.

    Impulses add up where a slot holds the same contact as before; a normal is that of the last part that pushed.
    """
    k = len(pushed.slip)
    contacts, turned, normals = (part.reshape(k, -1) for part in _split(pushed, x))
    numbers = zip(before.numbers, pushed.numbers, strict=True) if len(pushed.numbers) else always((0, 0), k)
    same = [old == new for old, new in numbers]
    totals: list[Any] = []
    for old, new in ((contacts, pushed.contacts), (turned, pushed.turned)):
        totals += [where(kept, a, 0.0) + b for kept, a, b in zip(same, old, new.reshape(k, -1), strict=True)]
    rows = zip(pushed.contacts.reshape(k, -1), normals, pushed.normals.reshape(k, -1), strict=True)
    totals += [where(p[0] > 0.0, b, a) for p, a, b in rows]
    return np.concatenate(totals)


def _split(memory: Memory, x: np.ndarray) -> list[np.ndarray]:
    return np.split(x, np.cumsum([len(memory.contacts), len(memory.turned)]))
