"""CSV: names, then rows of numbers, whatever separates them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from dalembert.errors import DalembertError

from .table import Table, check_unique

SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "blanks"}
ROUNDED = 1e6  # from here on float64 rounds seconds to more than 0.1 ns: such columns stay exact
COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")  # 0,5 and 1,2e-3
EMPTY = ("", "-", "--")


def write_csv(path: Path, columns: dict[str, np.ndarray], notes: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        if notes:
            file.write(f"# {notes}\n")
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([repr(float(x)) for x in row] for row in zip(*columns.values(), strict=True))


def read_csv(path: Path) -> Table:
    """The columns of a table with one line of names, and perhaps one of units, separated in any usual way."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = file.read().splitlines()
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    if not kept:
        raise DalembertError(f"{path}: the file is empty; expected a line of names, then rows of numbers")
    log = []
    separator = _separator(kept)
    if separator not in (",", None):
        log.append(f"cells are separated by {SEPARATORS[separator]}")
    head, *rows = _cells(kept, separator)
    if all(map(_is_number, head)):
        names, note = _names(comments, separator, len(head))
        head, rows = names, [head, *rows]
        log.append(note)
    head, rows = _without_trailing(head, rows)
    for number, row in enumerate(rows, 1):
        if len(row) != len(head):
            decimal = "; decimal commas need cells separated by ; or tabs" if separator == "," else ""
            raise DalembertError(f"{path}: row {number} has {len(row)} cells, the header {len(head)}{decimal}")
    check_unique(path, head)
    units: dict[str, str] = {}
    if len(rows) > 1 and not any(map(_is_number, rows[0])) and any(map(_is_number, rows[1])):
        units = {name: unit.strip("[]() ") for name, unit in zip(head, rows.pop(0), strict=True) if unit}
        log.append("the row below the names is taken as units")
    if separator != "," and any(COMMA.fullmatch(cell) for cell in (rows[0] if rows else ())):
        rows = [[cell.replace(",", ".") if COMMA.fullmatch(cell) else cell for cell in row] for row in rows]
        log.append("numbers have decimal commas")
    columns = zip(*rows, strict=True) if rows else ((),) * len(head)
    table = {name: _column(cells) for name, cells in zip(head, columns, strict=True)}
    return Table(table, "\n".join(comments), units, tuple(log))


def _separator(lines: Sequence[str]) -> str | None:
    """The separator of cells: the same number of cells in the first two lines; None for a single column."""
    counts = {s: [len(row) for row in _cells(lines[:2], s)] for s in SEPARATORS}
    for separator, count in counts.items():
        if count[0] > 1 and len(set(count)) == 1:
            return separator
    return next((separator for separator, count in counts.items() if count[0] > 1), None)


def _cells(lines: Sequence[str], separator: str | None) -> list[list[str]]:
    if separator == " ":
        return [line.split() for line in lines]
    return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator or ",")]


def _without_trailing(head: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Drop the empty last column of lines that end with a separator."""
    if len(head) > 1 and not head[-1] and all(len(row) == len(head) and not row[-1] for row in rows):
        return head[:-1], [row[:-1] for row in rows]
    return head, rows


def _names(comments: list[str], separator: str | None, width: int) -> tuple[list[str], str]:
    """Names of columns that have no line of names: those in the last comment, or c1, c2, …; and what was done."""
    names = _cells(comments[-1:], separator)[0] if comments else []
    if len(names) == width:
        return names, f"names of the columns come from the comment '# {comments[-1]}'"
    return [f"c{k}" for k in range(1, width + 1)], f"no line of names: the columns are called c1 to c{width}"


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _column(cells: Sequence[str]) -> np.ndarray:
    """Numbers, exact where float64 would round stamps; an empty cell is NaN; anything else stays text."""
    try:
        numbers = np.array([cell if cell not in EMPTY else "nan" for cell in cells], float)
    except ValueError:
        return np.array(cells, str)
    if not len(numbers) or not np.all(np.isfinite(numbers)) or np.max(np.abs(numbers)) < ROUNDED:
        return numbers
    if np.max(np.abs(numbers)) < 2**62 and all(cell.lstrip("+-").isdigit() for cell in cells):
        return np.array([int(cell) for cell in cells], np.int64)
    return np.array([Decimal(cell) for cell in cells], object)
