"""C text: constants, tables of them, functions and their heads, and what the functions of a file share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


def literal(value: float, real: str) -> str:
    """A constant that reads back as the same number."""
    with np.errstate(over="ignore"):
        number = (np.float32 if real == "float" else np.float64)(value)
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{number!s}f" if real == "float" else str(number)


def table_of(head: str, values: np.ndarray, real: str) -> str:
    """The definition of an array of constants; head: all that stands before its size."""
    return f"{head}[{values.size}] = {{\n{rows_of(values, real)}\n}};"


def rows_of(values: np.ndarray, real: str) -> str:
    """Numbers of an array for an initialiser, five in a line."""
    numbers = [literal(x, real) for x in values.ravel()] or ["0"]
    return ",\n".join("    " + ", ".join(numbers[i : i + 5]) for i in range(0, len(numbers), 5))


def block(head: str, lines: Iterable[str]) -> str:
    """A C function: its declaration and its statements."""
    return "\n".join([head, "{", *(f"    {line}" for line in lines), "}"])


def declaration(name: str, arguments: Sequence[str]) -> str:
    """A C function's head, on several lines if it is long."""
    line = f"{name}({', '.join(arguments) or 'void'})"
    return line if len(line) <= 110 else f"{name}(\n    " + ",\n    ".join(arguments) + ")"


@dataclass
class Source:
    """Definitions that the functions of one file share. name: how their names begin.

    helpers: definitions by operation; tables: identifiers by contents, texts: definitions of tables and functions in
    order; functions: those that are called, by what they compute and where they find their numbers.
    """

    name: str
    real: str
    constant: str = "static const"  # an array of constants
    helpers: dict[str, str] = field(default_factory=dict)
    tables: dict[Hashable, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    functions: dict[Hashable, Any] = field(default_factory=dict)

    def table(self, numbers: Sequence[float] | np.ndarray, single: bool = False) -> str:
        """The identifier of an array of constants; single: float holds them exactly."""
        values, kind = np.asarray(numbers, float).ravel(), "float" if single else self.real
        key = kind, values.tobytes()
        if key not in self.tables:
            self.tables[key] = f"{self.name}_table{len(self.tables)}"
            self.texts.append(table_of(f"{self.constant} {kind} {self.tables[key]}", values, kind))
        return self.tables[key]
