"""Robot descriptions in TOML: typed access to tables, with file, line and entry in every error."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from ..xml import LARGEST, read_bytes

MAX_BYTES = 2**20
"""Largest file that is parsed [bytes]."""
MAX_LINE = 10_000
"""Longest line; dotted keys of many thousand parts would take the parser minutes."""

_HEADER = re.compile(r"\s*\[")
_SYNTAX = re.compile(r"^(.*?) \(at (?:line (\d+), column \d+|end of document)\)$", re.DOTALL)


@dataclass(frozen=True)
class TomlTable:
    """One table of a file: its content, and its place in the file for messages."""

    label: str  # the file
    title: str  # as in "joint 'elbow' (entry 3)"; empty for the file itself
    content: Mapping[str, Any]
    lines: Sequence[str]
    start: int = 0  # line of its header, from 1; 0: the file itself, or unknown

    def where(self, key: str = "") -> str:
        """File, line and entry, as in "arm.dh.toml:12 joint 'elbow' (entry 3)"; the line of `key` if known."""
        line = self._line(key) or self.start
        return f"{self.label}:{line} {self.title}".rstrip() if line else f"{self.label} {self.title}".rstrip()

    def error(self, message: str, key: str = "") -> DalembertError:
        """An error about this table, or one key of it."""
        return DalembertError(f"{self.where(key)}: {message}")

    def _line(self, key: str) -> int:
        if not key:
            return 0
        quoted = rf"[\"']?{re.escape(key)}[\"']?\s*"
        wanted, table = re.compile(rf"\s*{quoted}[=.]"), re.compile(rf"\s*\[+\s*{quoted}[\].]")
        inside = True
        for number, line in enumerate(self.lines[self.start :], self.start + 1):
            inside = inside and not _HEADER.match(line)
            if (inside and wanted.match(line)) or (not self.start and table.match(line)):
                return number
            if self.start and not inside:
                return 0
        return 0

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def check_keys(self, known: Iterable[str]) -> None:
        """Raise at the first key that has no meaning."""
        names = sorted(known)
        for key in self.content:
            if key not in names:
                raise unknown("key", key, names, self.where(key))

    def text(self, key: str, default: str | None = None, *, among: Iterable[str] = ()) -> str:
        """Text that is not empty, one of `among` if any."""
        names = list(among)
        value = self._value(key, default, " or ".join(f'"{name}"' for name in names) or "…")
        if not isinstance(value, str) or not value.strip():
            raise self.error(f'{key} is {_shown(value)}, expected text: write {key} = "…"', key)
        if names and value not in names:
            raise unknown(key, value, names, self.where(key))
        return value

    def number(self, key: str, default: float | None = None, *, least: float = -LARGEST) -> float:
        """A finite number, at least `least`."""
        return self._number(key, self._value(key, default), least)

    def vector(self, key: str, default: Sequence[float] | None = None, *, size: int = 3) -> np.ndarray:
        """A list of `size` finite numbers."""
        return np.array([self._number(key, x) for x in self._list(key, self._value(key, default), size)])

    def matrix(self, key: str) -> np.ndarray:
        """A symmetric matrix (3, 3), from three rows, or from the three numbers of its diagonal."""
        rows = self._value(key, None)
        if isinstance(rows, list) and len(rows) == 6:
            cure = f"write {key} = [xx, yy, zz], or three rows: [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]"
            raise self.error(f"{key} has 6 numbers, whose order differs from book to book: {cure}", key)
        rows = self._list(key, rows, 3)
        if not any(isinstance(row, list) for row in rows):
            return np.diag([self._number(key, x) for x in rows])
        matrix = np.array([[self._number(key, x) for x in self._list(key, row, 3)] for row in rows])
        if np.max(np.abs(matrix - matrix.T)) > 1e-9 * np.max(np.abs(matrix)):
            raise self.error(f"{key} = {matrix.tolist()} is not symmetric: make it symmetric", key)
        return 0.5 * (matrix + matrix.T)

    def table(self, key: str) -> TomlTable | None:
        """The table [key] inside this one, or None."""
        if key not in self.content:
            return None
        return self._inner(key, self.content[key], key, self._header(key, 1))

    def tables(self, key: str) -> Iterator[TomlTable]:
        """The tables [[key]] inside this one."""
        tables = self.content.get(key, [])
        if not isinstance(tables, list):
            raise self.error(f"{key} is {_shown(tables)}, expected a list of tables: write [[{key}]]", key)
        for number, content in enumerate(tables, 1):
            name = content.get("name") if isinstance(content, dict) else None
            entry = f"{key} {name!r} (entry {number})" if isinstance(name, str) else f"{key} (entry {number})"
            yield self._inner(key, content, entry, self._header(key, number))

    def _inner(self, key: str, content: Any, title: str, start: int) -> TomlTable:
        if not isinstance(content, dict):
            raise self.error(f"{key} is {_shown(content)}, expected a table", key)
        inside = f"{self.title}, {title}" if self.title else title
        return TomlTable(self.label, inside, content, self.lines, start or self.start)

    def _header(self, key: str, number: int) -> int:
        """The line of the number-th header of that name after this table's; 0 if it is written in another form."""
        header = re.compile(rf"\s*\[+\s*(?:\w+\s*\.\s*)*{re.escape(key)}\s*\]")
        rows = [row for row, line in enumerate(self.lines[self.start :], self.start + 1) if header.match(line)]
        return rows[number - 1] if len(rows) >= number else 0

    def _value(self, key: str, default: Any, expected: str = "…") -> Any:
        value = self.content.get(key, default)
        if value is None:
            raise self.error(f"{key} is missing: write {key} = {expected}")
        return value

    def _list(self, key: str, value: Any, size: int) -> list[Any]:
        if not isinstance(value, list | tuple) or len(value) != size:
            came = f"{len(value)} values" if isinstance(value, list | tuple) else _shown(value)
            raise self.error(f"{key} has {came}, expected {size} numbers: write {key} = [{', '.join('…' * size)}]", key)
        return list(value)

    def _number(self, key: str, value: Any, least: float = -LARGEST) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"{key} has {_shown(value)}, expected a number like 0.25", key)
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(f"{key} has {value}, expected a finite number (for no limit omit it)", key)
        if abs(value) > LARGEST:
            raise self.error(f"{key} has {_shown(value)}, expected at most {LARGEST:g}", key)
        if value < least:
            raise self.error(f"{key} is {value:g}, expected at least {least:g}", key)
        return float(value)


def parse_toml(source: str | bytes | os.PathLike[str]) -> tuple[TomlTable, Path | None]:
    """The table of a whole file, given by path or as bytes, and the folder it lies in (None: bytes)."""
    label, data = read_bytes(source, MAX_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DalembertError(f"{label}: not UTF-8 text; save the file as UTF-8") from None
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise DalembertError(f"{label}:{number}: a line of {len(line)} characters, expected at most {MAX_LINE}")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(label, str(error)) from None
    except (RecursionError, ValueError) as error:  # brackets a thousand deep, integers of a thousand digits
        raise DalembertError(f"{label}: not TOML that can be read: {error}; correct the file") from None
    return TomlTable(label, "", content, lines), None if isinstance(source, bytes) else Path(label).parent


def _syntax_error(label: str, message: str) -> DalembertError:
    match = _SYNTAX.match(message)
    reason, line = (match[1], f":{match[2]}" if match[2] else "") if match else (message, "")
    return DalembertError(f"{label}{line}: not TOML: {reason}; correct the file")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
