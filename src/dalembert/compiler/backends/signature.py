"""The signature of a function as fast calls from Python take it: its parameters, and the fields of its result."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple


class Role(IntEnum):
    """Kind of an argument."""

    ARRAY = 0  # an input
    SCALAR = 1  # an input that is a number of Python, by default the default
    CHOICE = 2  # a word, a tuple or the default, by which the code is chosen
    OPTIONAL = 3  # an input that another code has; the default is no input
    RECORDS = 4  # objects of one type with slots: words by which the code is chosen, vectors that are inputs


class Record(NamedTuple):
    """A type with slots whose objects are arguments: names of two words and of three vectors; an example of it."""

    words: tuple[str, str]
    vectors: tuple[str, str, str]
    example: Any


class Parameter(NamedTuple):
    """A parameter of a fast call; default: of a number or a choice, where it is not required; record: of records."""

    name: str
    role: Role = Role.ARRAY
    default: Any = None
    required: bool = True
    record: Record | None = None


class View(NamedTuple):
    """A part of an output, which is a field of a named tuple: its begin and its strides in numbers, its shape."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def dense(cls, offset: int, shape: tuple[int, ...]) -> View:
        """A part whose numbers lie one behind the other."""
        strides, step = [], 1
        for size in reversed(shape):
            strides.append(step)
            step *= size
        return cls(offset, shape, tuple(reversed(strides)))
