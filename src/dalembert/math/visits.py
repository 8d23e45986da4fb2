"""A loop over items that read and write rows of a table, on numbers and on traced values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .items import check_carried, grouped, one_by_one
from .repeat import first_traced

RESERVED = ("table", "rows", "to")


def visit(
    step: Callable[..., Mapping[str, Any]],
    items: Mapping[str, Any],
    table: Any,
    at: Any = None,
    carry: Mapping[str, Any] | None = None,
    count: Any = None,
    reverse: bool = False,
    groups: Any = None,
    wanted: Any = None,
    unroll: bool = False,
) -> dict[str, np.ndarray]:
    """Item after item, as `scan`; each reads rows of a table and writes others, by numbers that every state has itself.

    table (n, m): where it starts. at (k, r): the rows that each of k items reads; a number below 0 or from n on is no
    row, and reads zeros. step takes these rows (r, m), then what is carried, then one row of each of the items, as in
    `scan`. Among its results, "rows" (w, m) are written to the rows with the numbers "to" (w,), where these are rows;
    it may have neither. All rows of one item are read before any is written.

    Returns "table" (n, m) and the carried parts as they are after the last item, and the other results with the items
    as first axis. count, reverse: as of `scan`. Compiled, the table is changed in place: an item costs what it reads
    and writes, and the code is emitted once.

    groups (k,): a number for each item, the same for neighbours none of which writes a row that another of them reads
    or writes, whatever the state. For one state at a time, these go on SIMD lanes, unless something is carried; so do
    all items where nothing is written. On numbers, groups with a row in common are refused.

    wanted (k,): 1 or 0 for each item; those with 0 change nothing, and their other results are 0. Compiled, they are
    left out, several at once, where there are no other results.

    unroll: write the loop out, as of `scan`; numbers of rows, `count` and `wanted` must be plain numbers.
    """
    begin = np.asarray(table, object if first_traced([table]) is not None else float)
    carried = dict(carry or {})
    each = one_by_one(items)
    arrays = {name: np.asarray(x, object) for name, x in each.items()}
    n = _item_count(arrays, at)
    numbers = np.zeros((n, 0)) if at is None else np.asarray(at)
    _check_shapes(begin, numbers, arrays, carried)
    of_items = None if groups is None else np.asarray(groups)
    flags = None if wanted is None else np.asarray(wanted)
    for name, mark in (("groups", of_items), ("wanted", flags)):
        if mark is not None and mark.shape != (n,):
            raise DalembertError(f"visit: {name} {mark.shape}, expected ({n},), one for each item")

    def checked(*parts: Any) -> dict[str, Any]:
        first = 1 + len(carried)
        results = dict(step(*parts[:first], *grouped(items, parts[first:])))
        results.setdefault("to", np.zeros(0))
        results.setdefault("rows", np.zeros((0, begin.shape[1])))
        if np.shape(results["rows"]) != (*np.shape(results["to"]), begin.shape[1]):
            shapes = f"rows {np.shape(results['rows'])} for the numbers {np.shape(results['to'])}"
            raise DalembertError(f"visit: the step gave {shapes}, expected (w, {begin.shape[1]}) and (w,)")
        check_carried("visit", results, carried)
        return results

    marks = [x for x in (count, of_items, flags) if x is not None]
    known = [begin, numbers, *each.values(), *carried.values(), *marks]
    traced = None if unroll else first_traced(known)
    if traced is None:
        taken = np.arange(n) < (n if count is None else count)
        taken = taken if flags is None else taken & (flags > 0.5)
        results = _one_by_one(checked, each, begin, numbers, carried, taken, reverse, of_items, unroll)
        if isinstance(results, dict):
            return results
        traced = results  # by way of values in scope
    return traced.__visit__(checked, each, begin, numbers, carried, count, reverse, of_items, flags)


def take(table: Any, index: Any) -> np.ndarray:
    """Rows of a table (n, m) by their numbers (k,): (k, m), traced or not; zeros where a number is that of no row."""
    numbers = np.asarray(index)[:, None]
    return visit(lambda rows: {"taken": rows[0]}, {}, table, numbers)["taken"]


def _one_by_one(
    step: Callable[..., dict[str, Any]],
    items: Mapping[str, Any],
    begin: np.ndarray,
    at: np.ndarray,
    carry: Mapping[str, Any],
    taken: np.ndarray,
    reverse: bool,
    groups: np.ndarray | None,
    unroll: bool,
) -> Any:
    """The results, or a traced value where the step gave one and the loop is not to be written out."""
    kind = object if unroll else float
    table, state = np.array(begin, kind), dict(carry)
    shared = None if groups is None else _Shared(groups, len(table))
    records: dict[int, dict[str, Any]] = {}
    order = [int(k) for k in np.flatnonzero(taken)] or [0]
    for k in order[::-1] if reverse else order:
        rows = np.array([table[int(i)] if 0 <= i < len(table) else 0.0 * table[0] for i in at[k]])
        of_item = (np.asarray(x)[k] for x in items.values())
        results = step(rows.reshape(at.shape[1], table.shape[1]), *state.values(), *of_item)
        traced = None if unroll else first_traced(results.values())
        if traced is not None:
            return traced
        records[k] = {name: np.asarray(x) for name, x in results.items() if name not in (*RESERVED, *state)}
        if taken[k]:
            if shared is not None:
                shared.check(k, at[k], results["to"])
            for i, row in zip(results["to"], results["rows"], strict=True):
                if 0 <= i < len(table):
                    table[int(i)] = row
            state = {name: results[name] for name in state}
    ends: dict[str, Any] = {"table": table} | {name: np.asarray(x)[()] for name, x in state.items()}
    shapes = {name: x.shape for name, x in records[order[0]].items()}
    for name, shape in shapes.items():
        ends[name] = np.zeros((len(at), *shape), kind)
        for k in order if taken[order[0]] else ():
            ends[name][k] = records[k][name][()]
    if unroll and first_traced(ends.values()) is None:
        return {name: np.asarray(x, float)[()] for name, x in ends.items()}
    return ends


class _Shared:
    """The rows that items of the present group read and write."""

    def __init__(self, groups: np.ndarray, rows: int) -> None:
        self.groups, self.rows, self.present = groups, rows, None
        self.read: set[int] = set()
        self.written: set[int] = set()

    def check(self, k: int, at: np.ndarray, to: np.ndarray) -> None:
        """Refuse item k where it has a row in common with another one of its group."""
        if self.groups[k] != self.present:
            self.present, self.read, self.written = self.groups[k], set(), set()
        read, written = ({int(i) for i in numbers if 0 <= i < self.rows} for numbers in (at, to))
        common = self.written & (read | written) | self.read & written
        if common:
            raise DalembertError(
                f"visit: item {k} and another one of its group {self.groups[k]:g} have row {min(common)} of the table "
                "in common, expected rows that no other item of the group writes: give them different groups"
            )
        self.read |= read
        self.written |= written


def _item_count(arrays: Mapping[str, np.ndarray], at: Any) -> int:
    lengths = {len(x) for x in arrays.values() if x.ndim} | ({len(at)} if at is not None else set())
    if len(lengths) != 1 or any(x.ndim == 0 for x in arrays.values()) or not max(lengths):
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items()) or "none"
        rows = "none" if at is None else str(np.shape(at))
        raise DalembertError(f"visit: items are {shapes}, at is {rows}: expected arrays (k, …) with one k > 0")
    return lengths.pop()


def _check_shapes(table: np.ndarray, at: np.ndarray, items: Mapping[str, np.ndarray], carry: Mapping[str, Any]) -> None:
    if table.ndim != 2 or not len(table) or at.ndim != 2:
        raise DalembertError(f"visit: table {table.shape} and at {at.shape}, expected (n, m) with n > 0 and (k, r)")
    for name in carry:
        if name in RESERVED or name in items:
            raise DalembertError(f"visit: '{name}' names something else already: call it otherwise")
