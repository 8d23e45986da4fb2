"""One function over like items, on numbers and on traced values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .repeat import first_traced


def map(
    step: Callable[..., Mapping[str, Any]], items: Mapping[str, Any], count: Any = None, unroll: bool = False
) -> dict[str, np.ndarray]:
    """step(*item) for each item: the results by name, with the items as first axis.

    items: arrays by name, (n, …) each; step takes one row of each, in this order, and returns numbers and arrays by
    name. Arrays that belong together may be a dict in the place of one array: step takes their rows as a dict.
    Compiled, it is a loop whose code is emitted once, and for one state at a time the items go on SIMD lanes. What the
    step takes from its scope, and rows that are the same for all items, is computed and kept once.

    count, unroll: as of `scan`.
    """
    return scan(step, items, {}, count=count, unroll=unroll)


def scan(
    step: Callable[..., Mapping[str, Any]],
    items: Mapping[str, Any],
    carry: Mapping[str, Any],
    reverse: bool = False,
    count: Any = None,
    unroll: bool = False,
    history: bool = True,
) -> dict[str, Any]:
    """Item after item, as `map`; the carried results for one item are inputs for the next.

    carry: numbers or arrays by name, where that starts. step takes them first and returns them, in their shapes, among
    its results; reverse: from the last item to the first. Results are in the order of the items: of a carried part the
    last one to be computed, [-1] or, in reverse, [0], is where it ends.

    count: a number that each state has of its own; items from this number on change nothing, and their results are 0.
    Compiled, a loop leaves out those that are beyond it in all states that are computed together.

    history: False: of what is carried only where it ends, in its own shape.

    unroll: write the loop out, the step once for each item, for few items: zeros and constants of each item then fold.
    `count` must be a plain number.
    """
    each = one_by_one(items)
    arrays = {name: np.asarray(x, object) for name, x in each.items()}
    if not arrays or any(x.ndim == 0 for x in arrays.values()) or len({len(x) for x in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items()) or "nothing"
        raise DalembertError(f"scan: items are {shapes}, expected arrays (n, …) with one n")
    n = len(next(iter(arrays.values())))
    if not n:
        raise DalembertError("scan: there are no items, so that the shapes of the results are unknown")
    if both := set(items) & set(carry):
        raise DalembertError(f"scan: '{min(both)}' is carried and an item")

    def checked(*parts: Any) -> Mapping[str, Any]:
        results = step(*parts[: len(carry)], *grouped(items, parts[len(carry) :]))
        check_carried("scan", results, carry)
        return results

    known = [*each.values(), *carry.values(), *([] if count is None else [count])]
    traced = None if unroll else first_traced(known)
    state, records = dict(carry), []
    for k in reversed(range(n)) if reverse else range(n):
        if traced is None:
            after = checked(*state.values(), *(np.asarray(x)[k] for x in each.values()))
            traced = None if unroll else first_traced(after.values())  # by way of values in scope
            if count is not None and traced is None and not k < count:
                after = {name: state[name] if name in state else 0.0 * np.asarray(x) for name, x in after.items()}
            state = {name: after[name] for name in state}
            records.append(after)
    if traced is not None:
        return traced.__scan__(checked, each, carry, bool(reverse), count, bool(history))
    ordered = records[::-1] if reverse else records
    ends = {} if history else {name: np.asarray(x)[()] for name, x in state.items()}
    return {name: np.array([record[name] for record in ordered]) for name in records[0] if name not in ends} | ends


def one_by_one(items: Mapping[str, Any]) -> dict[str, Any]:
    """All arrays of items by name, those of dicts as "name.part"."""
    arrays: dict[str, Any] = {}
    for name, x in items.items():
        arrays |= {f"{name}.{part}": y for part, y in x.items()} if isinstance(x, Mapping) else {name: x}
    return arrays


def grouped(items: Mapping[str, Any], rows: Iterable[Any]) -> list[Any]:
    """The rows of such arrays as a step takes them: those of dicts as a dict."""
    rows = iter(rows)
    return [{part: next(rows) for part in x} if isinstance(x, Mapping) else next(rows) for x in items.values()]


def check_carried(loop: str, results: Any, carry: Mapping[str, Any]) -> None:
    """The step gave results by name, the carried parts in their shapes among them."""
    if not isinstance(results, Mapping):
        raise DalembertError(f"{loop}: the step gave {type(results).__name__}, expected a dict of results by name")
    for name, x in carry.items():
        if name not in results:
            raise unknown("result", name, results, f"{loop}: carried, but not among what the step gave")
        if np.shape(results[name]) != np.shape(x):
            raise DalembertError(
                f"{loop}: the step gave {np.shape(results[name])} for '{name}', expected {np.shape(x)}"
            )
