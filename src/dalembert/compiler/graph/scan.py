"""One function over like items: bodies, joints, nodes. Items stay where they are; several at a time go on SIMD lanes.

    for each item:   carry, record = step(carry, item)

A map is a scan without a carry. Values from the enclosing scope are common to all items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from .calls import seeded
from .capture import as_number, captured, placeholders
from .compound import Compound, Rates, results
from .copying import inlined
from .differentiate import forward_rates, vanishes, vjp

if TYPE_CHECKING:
    from .function import Function
    from .scalar import Graph, Scalar

Row = Sequence[Any]  # one number of every item
Step = Callable[[list["Scalar"], list["Scalar"]], tuple[Sequence[Any], Sequence[Any]]]  # carry, item → carry, record


@dataclass(frozen=True)
class Sizes:
    """The number of values in the carry, in an item, and in its record; and the number of items."""

    carry: int
    item: int
    record: int
    items: int


class Scanned(Compound):
    """Arguments: the carry at the start, each number of all items (row by row), the common values.

    step: function of "carry", "item" and "captured" that gives "carry" and "record". reverse: from the last item to the
    first. counted: the place among the common values of a number from which on items change no carry and give records
    of 0, as the step says as well: a backend may leave them out. Results: the carry after each item, each of its
    numbers a row; each number of the record, a row.
    """

    verb = "goes over items"

    def __init__(self, step: Function, items: int, reverse: bool, counted: int | None = None) -> None:
        self.step, self.counted = step, counted
        self.following, self.recorded = (output.nodes for output in step.outputs)
        self.reversed = reverse and len(self.following) > 0  # the order of a map does not matter
        self.sizes = Sizes(len(self.following), step.inputs[1].size, len(self.recorded), items)
        self.size = (self.sizes.carry + self.sizes.record) * items

    def identity(self) -> tuple[Any, ...]:
        return self.step.fingerprint(), self.sizes.items, self.reversed, self.counted

    def operations(self) -> Counter[str]:
        return Counter({op: self.sizes.items * n for op, n in self.step.operations().items()})

    def split(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], list[Sequence[Any]], Sequence[Any]]:
        """The carry at the start, the rows of the items, the common values."""
        begin, end = self.sizes.carry, self.sizes.carry + self.sizes.item * self.sizes.items
        return arguments[:begin], rows_of(arguments[begin:end], self.sizes.items), arguments[end:]

    def inputs(self) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """The inputs of the step, in the step's graph."""
        graph = (*self.following, *self.recorded)[0].graph
        carry, item, common = (list(graph.input(i.name, i.size)) for i in self.step.inputs)
        return carry, item, common

    def forward(self, node: Scalar, rates: Sequence[Rates]) -> list[dict[int, Any]]:
        """Rates are further numbers of carry, items and records."""
        start, rows, common = self.split(rates)
        moving = [set(row) for row in start]  # directions in which some item changes a number of the carry
        in_items = [sorted({direction for x in row for direction in x}) for row in rows]
        carry, item, outside = self.inputs()
        while True:
            known = [*(dict.fromkeys(sorted(x)) for x in moving), *(dict.fromkeys(x) for x in in_items), *common]
            standing, seeds = seeded([*carry, *item, *outside], known)
            node_rates = forward_rates([*self.following, *self.recorded], seeds)
            grown = [x | set(node_rates[y.id]) for x, y in zip(moving, self.following, strict=True)]
            if grown == moving:
                break
            moving = grown
        carried = [(k, d) for k, x in enumerate(moving) for d in sorted(x)]
        item_directions = [(k, d) for k, x in enumerate(in_items) for d in x]
        recorded = [(k, d) for k, x in enumerate(self.recorded) for d in node_rates[x.id]]
        begin, items, fixed = self.split(node.args)
        n, m, graph = self.sizes.carry, self.sizes.item, node.graph
        constants = dict(zip(outside, fixed, strict=True)) | {x: r for x, r in standing.items() if r is not None}

        def step(state: list[Scalar], one: list[Scalar]) -> tuple[list[Any], list[Any]]:
            values = constants | dict(zip([*carry, *item], [*state[:n], *one[:m]], strict=True))
            values |= {seeds[carry[k]][d]: x for (k, d), x in zip(carried, state[n:], strict=True)}
            values |= {seeds[item[k]][d]: x for (k, d), x in zip(item_directions, one[m:], strict=True)}
            wanted = [*self.following, *(node_rates[self.following[k].id].get(d, 0.0) for k, d in carried)]
            nodes = inlined([*wanted, *(node_rates[self.recorded[k].id][d] for k, d in recorded)], values, graph)
            return nodes[: len(wanted)], nodes[len(wanted) :]

        start_rates = [start[k].get(d, 0.0) for k, d in carried]
        item_rates = [[x.get(d, 0.0) for x in rows[k]] for k, d in item_directions]
        every = [*begin, *start_rates], [*items, *item_rates]
        after, records = scanned(graph, step, *every, self.reversed, self.sizes.items)
        by_item: list[list[dict[int, Any]]] = [
            [{} for _ in range(self.sizes.items)] for _ in range(self.sizes.carry + self.sizes.record)
        ]
        places = [*carried, *((n + k, d) for k, d in recorded)]
        for (k, d), row in zip(places, [*after[n:], *records], strict=True):
            for i, x in enumerate(row):
                by_item[k][i][d] = x
        return [x for row in by_item for x in row]

    def reverse(self, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> dict[int, Any]:
        return _ScanAdjoint(self, node, weights, active).amounts()


class _ScanAdjoint:
    """A scan in the other direction, over the carry before each item; weights of common values are summed."""

    def __init__(self, scan: Scanned, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> None:
        self.scan, self.node, sizes = scan, node, scan.sizes
        n = sizes.items
        rows = rows_of([weights.get(k, 0.0) for k in range(scan.size)], n)
        self.after = {k: row for k, row in enumerate(rows[: sizes.carry]) if not all(map(vanishes, row))}
        self.on_record = {k: x for k, x in enumerate(rows[sizes.carry :]) if not all(map(vanishes, x))}
        carry, item, common = scan.inputs()
        _, active_rows, active_common = scan.split(active)
        self.items = [k for k, row in enumerate(active_rows) if any(row)]
        self.common = [k for k, wanted in enumerate(active_common) if wanted]
        ends = [*carry, *(item[k] for k in self.items), *(common[k] for k in self.common)]
        graph, places = ends[0].graph if ends else node.graph, set(self.after)
        while True:
            listed = sorted(places)
            nodes = [*(scan.following[k] for k in listed), *(scan.recorded[k] for k in self.on_record)]
            self.names = graph.input(f"weights {graph.size}", len(nodes))
            pulled = vjp(nodes, self.names, ends)
            grown = places | {k for k, x in enumerate(pulled[: sizes.carry]) if not vanishes(x)}
            if grown == places:
                break
            places = grown
        self.places, cut = listed, sizes.carry + len(self.items)
        self.pulled = [*(pulled[k] for k in listed), *pulled[sizes.carry : cut], *pulled[cut:]]

    def amounts(self) -> dict[int, Any]:
        scan, node, graph = self.scan, self.node, self.node.graph
        sizes, (begin, items, fixed) = scan.sizes, scan.split(node.args)
        carry, item, common = scan.inputs()
        constants = dict(zip(common, fixed, strict=True))
        m, p = len(self.places), len(self.common)
        sums = p if m else 0  # carried; without a carry they are recorded, so that items can be lanes

        def step(state: list[Scalar], one: list[Scalar]) -> tuple[list[Any], list[Any]]:
            before, values_of_item = one[: sizes.carry], one[sizes.carry : sizes.carry + sizes.item]
            on_after, on_record = (
                one[sizes.carry + sizes.item :][: len(self.after)],
                one[len(one) - len(self.on_record) :],
            )
            due = dict(zip(self.after, on_after, strict=True))
            weights = [x + due.get(k, 0.0) for k, x in zip(self.places, state[:m], strict=True)]
            values = constants | dict(zip([*carry, *item], [*before, *values_of_item], strict=True))
            values |= dict(zip(self.names, [*weights, *on_record], strict=True))
            nodes = inlined(self.pulled, values, graph)
            on_common = nodes[m + len(self.items) :]
            totals = [a + b for a, b in zip(state[m:], on_common, strict=False)]
            return [*nodes[:m], *totals], [*nodes[m : m + len(self.items)], *(on_common if not sums else [])]

        rows = [*self._before(begin), *items, *self.after.values(), *self.on_record.values()]
        after, records = scanned(graph, step, [0.0] * (m + sums), rows, not scan.reversed, sizes.items)
        last = [row[-1 if scan.reversed else 0] for row in after]
        amounts = dict(zip(self.places, last[:m], strict=True))
        for k, row in zip(self.items, records, strict=False):
            amounts |= {sizes.carry + k * sizes.items + i: x for i, x in enumerate(row)}
        totals = last[m:] if sums else [reduce(add, row) for row in records[len(self.items) :]]
        first = sizes.carry + sizes.item * sizes.items
        return amounts | {first + k: x for k, x in zip(self.common, totals, strict=True)}

    def _before(self, begin: Sequence[Any]) -> list[Row]:
        """The rows of the carry before each item."""
        scan = self.scan
        after = rows_of(results(self.node.graph, scan, self.node.args), scan.sizes.items)[: scan.sizes.carry]
        if scan.reversed:
            return [[*row[1:], x] for row, x in zip(after, begin, strict=True)]
        return [[x, *row[:-1]] for row, x in zip(after, begin, strict=True)]


def rows_of(numbers: Sequence[Any], items: int) -> list[Sequence[Any]]:
    """Numbers in a row, cut into rows with one for each item."""
    return [numbers[k : k + items] for k in range(0, len(numbers), items)]


def scanned(
    graph: Graph,
    step: Step,
    start: Sequence[Any],
    rows: Sequence[Row],
    reverse: bool,
    n: int,
    count: Scalar | None = None,
) -> tuple[list[Row], list[Row]]:
    """The rows of the carry after each item, and those of the records; count: see `Scanned`."""
    begin = [as_number(x, graph) for x in start]
    numbers = [[as_number(x, graph) for x in row] for row in rows]
    same = [all(x is row[0] for x in row) for row in numbers]  # for all items: folded, or common
    inside = placeholders(graph, len(begin)), placeholders(graph, len(rows) - sum(same))
    moving = iter(inside[1])
    item = [row[0] if alike else next(moving) for row, alike in zip(numbers, same, strict=True)]
    following, record = ([as_number(x, graph) for x in part] for part in step(list(inside[0]), item))
    names = [("carry", inside[0]), ("item", inside[1])]
    varying = [row for row, alike in zip(numbers, same, strict=True) if not alike]
    known: dict[int, Row] = {x.id: row for x, row in zip(inside[1], varying, strict=True)}  # not computed by the step
    known |= {x.id: [x] * n for x in record if x.op == "const"}
    computed = list({x.id: x for x in record if x.id not in known}.values())
    if not begin and not computed:
        return [], [known[x.id] for x in record]
    function, outside = captured("step", names, [("carry", following), ("record", computed)], graph)
    arguments = [*begin, *(x for row in varying for x in row), *outside]
    counted = next((k for k, x in enumerate(outside) if x is count), None)
    every = rows_of(results(graph, Scanned(function, n, reverse, counted), arguments), n)
    known |= {x.id: row for x, row in zip(computed, every[len(begin) :], strict=True)}
    return list(every[: len(begin)]), [known[x.id] for x in record]


def scan(
    graph: Graph,
    step: Callable[..., Mapping[str, Any]],
    items: Mapping[str, Any],
    carry: Mapping[str, Any],
    reverse: bool,
    count: Any = None,
) -> dict[str, np.ndarray]:
    """Like `dalembert.math.scan`, which checks the arguments, traced into `graph`."""
    arrays = {name: np.asarray(x, object) for name, x in items.items()}
    start = {name: np.asarray(x, object) for name, x in carry.items()}
    n = len(next(iter(arrays.values())))
    shapes: dict[str, tuple[int, ...]] = {}

    def flat(state: list[Scalar], item: list[Scalar]) -> tuple[list[Any], list[Any]]:
        parts = [
            *shaped(state, [x.shape for x in start.values()]),
            *shaped(item, [x.shape[1:] for x in arrays.values()]),
        ]
        results = {name: np.asarray(x, object) for name, x in step(*parts).items()}
        shapes.update({name: x.shape for name, x in results.items() if name not in start})
        return (
            [x for name in start for x in results[name].ravel()],
            [x for name in shapes for x in results[name].ravel()],
        )

    rows = [list(row) for array in arrays.values() for row in array.reshape(n, -1).T]
    begin = [x for part in start.values() for x in part.ravel()]
    if count is None:
        after, records = scanned(graph, flat, begin, rows, reverse, n)
    else:
        number = as_number(count, graph)
        after, records = scanned(graph, _counted(flat, number), begin, [range(n), *rows], reverse, n, number)
    named = {}
    for names, numbers in (({k: x.shape for k, x in start.items()}, iter(after)), (shapes, iter(records))):
        for name, shape in names.items():
            columns = np.empty((int(np.prod(shape)), n), object)
            for k in range(len(columns)):
                columns[k, :] = list(next(numbers))
            named[name] = columns.T.reshape(n, *shape)
    return named


def _counted(step: Step, count: Scalar) -> Step:
    """The step for items whose first number is theirs: none is taken from `count` on."""

    def counted(state: list[Scalar], item: list[Scalar]) -> tuple[list[Any], list[Any]]:
        taken = item[0] < count
        following, record = step(state, item[1:])

        def chosen(x: Any, otherwise: Any) -> Scalar:
            return taken.__traced__("where", taken, as_number(x, count.graph), otherwise)

        kept = [chosen(x, before) for x, before in zip(following, state, strict=True)]
        return kept, [chosen(x, 0.0) for x in record]

    return counted


def shaped(numbers: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Numbers in a row as arrays of these shapes, those of no axes as scalars."""
    parts, start = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        part = np.empty(size, object)
        part[:] = list(numbers[start : start + size])
        parts.append(part.reshape(shape)[()])
        start += size
    return parts
