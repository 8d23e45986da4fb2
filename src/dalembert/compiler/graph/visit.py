"""A loop over items that read and write rows of a table by number: the code of one item, and a table changed in place.

    for each item k:   rows = table[at[k]];   rows', to, carry, record = step(rows, carry, item);   table[to] = rows'

Numbers that are none of the table's rows read zeros, and what is written there is lost. Slopes: forwards, rates are
further columns of the table. In reverse, the same loop runs from the last item to the first over the weights of the
table, where what an item overwrote has none before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from .calls import seeded
from .capture import as_number, captured, placeholders
from .compound import Compound, Rates, results
from .copying import inlined
from .differentiate import forward_rates, vjp
from .scan import Row, rows_of, shaped
from .visit_parts import Step, VisitParts, VisitSizes, Written

if TYPE_CHECKING:
    from .function import Function
    from .scalar import Graph, Scalar


class Visited(Compound):
    """Arguments: as in `VisitParts`. Results: the table and the carry at the end, then the records, row by row.

    step: function of "rows", "carry", "item" and "captured" that gives "to", "rows", "carry" and "record". reversed:
    from the last item to the first. counted: the place among the common values of a number from which on items change
    nothing and give records of 0, as the step says as well: a backend may leave them out. grouped: the place among the
    numbers of an item of that of its group; items of one group, which follow each other, write no row that another of
    them reads or writes: a backend may compute them together. wanted: likewise of a number that is 0 for items that
    change nothing and give records of 0, as the step says as well.
    """

    verb = "goes over items"

    def __init__(
        self,
        step: Function,
        rows: int,
        columns: int,
        items: int,
        reverse: bool,
        counted: int | None = None,
        grouped: int | None = None,
        wanted: int | None = None,
    ) -> None:
        self.step, self.reversed, self.counted = step, reverse, counted
        self.grouped, self.wanted = grouped, wanted
        self.to, self.rows, self.following, self.recorded = (output.nodes for output in step.outputs)
        read, carry, item, _ = (i.size for i in step.inputs)
        sizes = len(self.to), carry, item, len(self.recorded)
        self.sizes = VisitSizes(rows, columns, read // columns, *sizes, items)
        self.size = self.sizes.table + carry + len(self.recorded) * items

    def identity(self) -> tuple[Any, ...]:
        return self.step.fingerprint(), self.sizes, self.reversed, self.counted, self.grouped, self.wanted

    def operations(self) -> Counter[str]:
        return Counter({op: self.sizes.items * n for op, n in self.step.operations().items()})

    def split(self, arguments: Sequence[Any]) -> VisitParts:
        """The arguments, by name."""
        s = self.sizes
        ends = np.cumsum([s.table, s.carry, s.read * s.items, s.item * s.items]).tolist()
        table, carry, at, item, common = (
            arguments[a:b] for a, b in zip([0, *ends], [*ends, len(arguments)], strict=True)
        )
        return VisitParts(table, carry, rows_of(at, s.items), rows_of(item, s.items), common)

    def inputs(self) -> list[list[Scalar]]:
        """The inputs of the step, in the step's graph: rows, carry, item, captured."""
        graph = (*self.to, *self.following, *self.recorded)[0].graph
        return [list(graph.input(i.name, i.size)) for i in self.step.inputs]

    def forward(self, node: Scalar, rates: Sequence[Rates]) -> list[dict[int, Any]]:
        return _VisitTangent(self, node, rates).rates()

    def reverse(self, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> dict[int, Any]:
        return _VisitAdjoint(self, node, weights, active).amounts()


class _VisitTangent:
    """Rates are further columns of the table, and further numbers of carry, items and records."""

    def __init__(self, visited: Visited, node: Scalar, rates: Sequence[Rates]) -> None:
        self.visited, self.node, self.parts = visited, node, visited.split(rates)
        s, self.inputs = visited.sizes, visited.inputs()
        columns = [
            {d for row in range(s.rows) for d in self.parts.table[row * s.columns + c]} for c in range(s.columns)
        ]
        carried = [set(x) for x in self.parts.carry]
        in_items = [sorted({d for x in row for d in x}) for row in self.parts.item]
        rows, carry, item, common = self.inputs
        while True:
            known = [dict.fromkeys(sorted(columns[k % s.columns])) for k in range(len(rows))]
            known += [dict.fromkeys(sorted(x)) for x in carried] + [dict.fromkeys(x) for x in in_items]
            self.standing, self.seeds = seeded([*rows, *carry, *item, *common], [*known, *self.parts.common])
            every = forward_rates([*visited.rows, *visited.following, *visited.recorded], self.seeds)
            wider = [x | {d for y in visited.rows[c :: s.columns] for d in every[y.id]} for c, x in enumerate(columns)]
            longer = [x | set(every[y.id]) for x, y in zip(carried, visited.following, strict=True)]
            if (wider, longer) == (columns, carried):
                break
            columns, carried = wider, longer
        self.of_nodes = every
        self.columns = [(c, d) for c, x in enumerate(columns) for d in sorted(x)]
        self.carried = [(k, d) for k, x in enumerate(carried) for d in sorted(x)]
        self.in_items = [(k, d) for k, x in enumerate(in_items) for d in x]
        self.recorded = [(k, d) for k, x in enumerate(visited.recorded) for d in every[x.id]]

    def rates(self) -> list[dict[int, Any]]:
        """Rates of all results."""
        s, parts = self.visited.sizes, self.visited.split(self.node.args)
        width = s.columns + len(self.columns)
        table = [
            x
            for row, known in zip(rows_of(parts.table, s.columns), rows_of(self.parts.table, s.columns), strict=True)
            for x in (*row, *(known[c].get(d, 0.0) for c, d in self.columns))
        ]
        carry = [*parts.carry, *(self.parts.carry[k].get(d, 0.0) for k, d in self.carried)]
        items = [*parts.item, *([x.get(d, 0.0) for x in self.parts.item[k]] for k, d in self.in_items)]
        ends, after, records = visited(
            self.node.graph, self._step, table, width, carry, parts.at, items, s.items, self.visited.reversed
        )
        out: list[dict[int, Any]] = [{} for _ in range(self.visited.size)]
        for row in range(s.rows):
            for (c, d), x in zip(self.columns, ends[row * width + s.columns : (row + 1) * width], strict=True):
                out[row * s.columns + c][d] = x
        for (k, d), x in zip(self.carried, after[s.carry :], strict=True):
            out[s.table + k][d] = x
        for (k, d), row_of_items in zip(self.recorded, records, strict=True):
            for i, x in enumerate(row_of_items):
                out[s.table + s.carry + k * s.items + i][d] = x
        return out

    def _step(self, rows: list[Scalar], carry: list[Scalar], item: list[Scalar]) -> Written:
        visited, s = self.visited, self.visited.sizes
        rows_in, carry_in, item_in, common_in = self.inputs
        values: dict[Scalar, Any] = dict(zip(common_in, visited.split(self.node.args).common, strict=True))
        values |= {x: rate for x, rate in self.standing.items() if rate is not None}
        for j, row in enumerate(rows_of(rows, s.columns + len(self.columns))):
            values |= dict(zip(rows_in[j * s.columns : (j + 1) * s.columns], row, strict=False))
            more = zip(self.columns, row[s.columns :], strict=True)
            values |= {self.seeds[rows_in[j * s.columns + c]][d]: x for (c, d), x in more}
        values |= dict(zip([*carry_in, *item_in], [*carry[: s.carry], *item[: s.item]], strict=True))
        values |= {self.seeds[carry_in[k]][d]: x for (k, d), x in zip(self.carried, carry[s.carry :], strict=True)}
        values |= {self.seeds[item_in[k]][d]: x for (k, d), x in zip(self.in_items, item[s.item :], strict=True)}

        def rate(x: Scalar, d: int) -> Any:
            return self.of_nodes[x.id].get(d, 0.0)

        wide = [
            y for row in rows_of(visited.rows, s.columns) for y in (*row, *(rate(row[c], d) for c, d in self.columns))
        ]
        carried = [*visited.following, *(rate(visited.following[k], d) for k, d in self.carried)]
        record = [rate(visited.recorded[k], d) for k, d in self.recorded]
        nodes = inlined([*visited.to, *wide, *carried, *record], values, self.node.graph)
        ends = np.cumsum([len(visited.to), len(wide), len(carried)]).tolist()
        return Written(*(nodes[a:b] for a, b in zip([0, *ends], [*ends, len(nodes)], strict=True)))


class _VisitAdjoint:
    """The loop from the last item to the first, over weights: of the table, of the carry, and sums of common values."""

    def __init__(self, visited: Visited, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> None:
        self.visited, self.node, self.weights, s = visited, node, weights, visited.sizes
        known = visited.split(active)
        self.items = [k for k, row in enumerate(known.item) if any(row)]
        self.common = [k for k, wanted in enumerate(known.common) if wanted]
        rows, carry, item, common = visited.inputs()
        nodes = [*visited.rows, *visited.following, *visited.recorded]
        graph = nodes[0].graph
        self.names = graph.input(f"weights {graph.size}", len(nodes))
        ends = [*rows, *carry, *(item[k] for k in self.items), *(common[k] for k in self.common)]
        self.pulled = list(vjp(nodes, self.names, ends))
        self.cuts = np.cumsum([len(rows), s.carry, len(self.items)]).tolist()

    def amounts(self) -> dict[int, Any]:
        """Weights of the arguments."""
        s, graph, parts = self.visited.sizes, self.node.graph, self.visited.split(self.node.args)
        before, to = self._history(parts)
        weight = [self.weights.get(k, 0.0) for k in range(self.visited.size)]
        records = rows_of(weight[s.table + s.carry :], s.items)
        read, rows = [*to, *parts.at], [*to, *parts.at, *before, *parts.item, *records]
        carry = [*weight[s.table : s.table + s.carry], *([0.0] * len(self.common))]
        back = not self.visited.reversed
        table, after, amounts = visited(
            graph, self._step, weight[: s.table], s.columns, carry, read, rows, s.items, back
        )
        out = dict(enumerate(table)) | {s.table + k: x for k, x in enumerate(after[: s.carry])}
        first = s.table + s.carry + s.read * s.items
        for k, row in zip(self.items, amounts, strict=True):
            out |= {first + k * s.items + i: x for i, x in enumerate(row)}
        first += s.item * s.items
        return out | {first + k: x for k, x in zip(self.common, after[s.carry :], strict=True)}

    def _history(self, parts: VisitParts) -> tuple[list[Row], list[Row]]:
        """Rows and carry that each item read, and the numbers of the rows that it wrote."""
        s, visited_, graph = self.visited.sizes, self.visited, self.node.graph
        inputs = visited_.inputs()

        def step(rows: list[Scalar], carry: list[Scalar], item: list[Scalar]) -> Written:
            values = dict(zip([x for part in inputs for x in part], [*rows, *carry, *item, *parts.common], strict=True))
            nodes = inlined([*visited_.to, *visited_.rows, *visited_.following], values, graph)
            cut = s.written, s.written * (1 + s.columns)
            return Written(nodes[: cut[0]], nodes[cut[0] : cut[1]], nodes[cut[1] :], [*rows, *carry, *nodes[: cut[0]]])

        records = visited(
            graph, step, parts.table, s.columns, parts.carry, parts.at, parts.item, s.items, visited_.reversed
        )[2]
        kept = s.read * s.columns + s.carry
        return list(records[:kept]), list(records[kept:])

    def _step(self, rows: list[Scalar], carry: list[Scalar], item: list[Scalar]) -> Written:
        """rows: weights of what was written, then of what was read; item: to, at, what was read, what came with it."""
        s, graph, parts = self.visited.sizes, self.node.graph, self.visited.split(self.node.args)
        ends = np.cumsum([s.written, s.read, s.read * s.columns + s.carry, s.item]).tolist()
        to, at, before, values_of_item, on_record = (
            item[a:b] for a, b in zip([0, *ends], [*ends, len(item)], strict=True)
        )
        weights = rows_of(rows, s.columns)
        written = [
            [_unless(any_equal(to[i], to[i + 1 :]), x) for x in row] for i, row in enumerate(weights[: s.written])
        ]
        due = [*(x for row in written for x in row), *carry[: s.carry], *on_record]
        inputs = [x for part in self.visited.inputs() for x in part]
        values = dict(zip(inputs, [*before, *values_of_item, *parts.common], strict=True))
        values |= dict(zip(self.names, due, strict=True))
        nodes = inlined(self.pulled, values, graph)
        on_rows, on_carry, on_items, on_common = (
            nodes[a:b] for a, b in zip([0, *self.cuts], [*self.cuts, len(nodes)], strict=True)
        )
        pulled = rows_of(on_rows, s.columns)
        totals = []
        for j, row in enumerate(weights[s.written :]):
            kept = [_unless(any_equal(at[j], to), x) for x in row]
            same = [[_only(at[i] == at[j], x) for x in pulled[i]] for i in range(s.read) if i != j]
            totals += [reduce(add, column) for column in zip(kept, pulled[j], *same, strict=True)]
        sums = [a + b for a, b in zip(carry[s.carry :], on_common, strict=True)]
        return Written([*to, *at], [*([0.0] * (s.written * s.columns)), *totals], [*on_carry, *sums], on_items)


def any_equal(number: Scalar, others: Sequence[Scalar]) -> Any:
    """Whether a number is one of others; None: there are none."""
    conditions = [number == other for other in others]
    return reduce(lambda x, y: y.__traced__("or", x, y), conditions) if conditions else None


def _unless(condition: Any, x: Scalar) -> Any:
    return x if condition is None else condition.__traced__("where", condition, 0.0, x)


def _only(condition: Any, x: Any) -> Any:
    return condition.__traced__("where", condition, x, 0.0)


def visited(
    graph: Graph,
    step: Step,
    table: Sequence[Any],
    columns: int,
    carry: Sequence[Any],
    at: Sequence[Row],
    items: Sequence[Row],
    n: int,
    reverse: bool,
    count: Scalar | None = None,
    marks: tuple[int | None, int | None] = (None, None),
) -> tuple[list[Any], list[Any], list[Row]]:
    """The table row by row and the carry at the end, and the rows of the records; count: see `Visited`.

    marks: places among the rows of the items of the numbers of their groups, and of which of them are wanted.
    """
    begin = [as_number(x, graph) for x in table]
    start = [as_number(x, graph) for x in carry]
    numbers, places = ([[as_number(x, graph) for x in row] for row in rows] for rows in (items, at))
    same = [k not in marks and all(x is row[0] for x in row) for k, row in enumerate(numbers)]
    rows_in = placeholders(graph, len(at) * columns)
    inside = placeholders(graph, len(start)), placeholders(graph, len(items) - sum(same))
    moving = iter(inside[1])
    item = [row[0] if alike else next(moving) for row, alike in zip(numbers, same, strict=True)]
    written = Written(*([as_number(x, graph) for x in part] for part in step(list(rows_in), list(inside[0]), item)))
    names = [("rows", rows_in), ("carry", inside[0]), ("item", inside[1])]
    varying = [row for row, alike in zip(numbers, same, strict=True) if not alike]
    outputs = [("to", written.to), ("rows", written.rows), ("carry", written.carry), ("record", written.record)]
    function, outside = captured("step", names, outputs, graph)
    counted = next((k for k, x in enumerate(outside) if x is count), None)
    grouped, wanted = (None if mark is None else mark - sum(same[:mark]) for mark in marks)
    compound = Visited(function, len(begin) // columns, columns, n, reverse, counted, grouped, wanted)
    flat = [*begin, *start, *(x for row in (*places, *varying) for x in row), *outside]
    every = results(graph, compound, flat)
    first = len(begin) + len(start)
    table_after = every[: len(begin)] if written.to else begin
    return list(table_after), every[len(begin) : first], list(rows_of(every[first:], n))


def visit(
    graph: Graph,
    step: Callable[..., Mapping[str, Any]],
    items: Mapping[str, Any],
    table: np.ndarray,
    at: np.ndarray,
    carry: Mapping[str, Any],
    count: Any,
    reverse: bool,
    groups: np.ndarray | None,
    wanted: np.ndarray | None,
) -> dict[str, np.ndarray]:
    """Like `dalembert.math.visit`, which checks the arguments, traced into `graph`."""
    arrays = {name: np.asarray(x, object) for name, x in items.items()}
    start = {name: np.asarray(x, object) for name, x in carry.items()}
    (n, read), (rows, columns) = at.shape, table.shape
    shapes: dict[str, tuple[int, ...]] = {}
    limit = None if count is None else as_number(count, graph)

    def flat(read_rows: list[Scalar], state: list[Scalar], item: list[Scalar]) -> Written:
        place, item = (None, item) if limit is None else (item[0], item[1:])
        item = item if groups is None else item[1:]
        flag, item = (None, item) if wanted is None else (item[0], item[1:])
        parts = [
            *shaped(read_rows, [(read, columns)]),
            *shaped(state, [x.shape for x in start.values()]),
            *shaped(item, [x.shape[1:] for x in arrays.values()]),
        ]
        results = {name: np.asarray(x, object) for name, x in step(*parts).items()}
        to, contents = results.pop("to"), results.pop("rows")
        shapes.update({name: x.shape for name, x in results.items() if name not in start})
        following = [x for name in start for x in results[name].ravel()]
        written = Written(
            list(to.ravel()), list(contents.ravel()), following, [x for name in shapes for x in results[name].ravel()]
        )
        for taken in (None if limit is None or place is None else place < limit, None if flag is None else flag > 0.5):
            written = written if taken is None else _counted(written, state, taken, graph)
        return written

    listed = [list(row) for array in arrays.values() for row in array.reshape(n, -1).T]
    before = [] if limit is None else [list(range(n))]
    marks: list[int | None] = []
    for mark in (groups, wanted):
        marks.append(None if mark is None else len(before))
        before += [] if mark is None else [list(mark)]
    listed = before + listed
    begin = [x for part in start.values() for x in part.ravel()]
    places = [list(row) for row in np.asarray(at, object).T]
    ends, after, records = visited(
        graph, flat, list(table.ravel()), columns, begin, places, listed, n, reverse, limit, (marks[0], marks[1])
    )
    named: dict[str, Any] = {"table": shaped(ends, [(rows, columns)])[0]}
    named |= dict(zip(start, shaped(after, [x.shape for x in start.values()]), strict=True))
    each = iter(records)
    for name, shape in shapes.items():
        matrix = np.empty((int(np.prod(shape)), n), object)
        for k in range(len(matrix)):
            matrix[k, :] = list(next(each))
        named[name] = matrix.T.reshape(n, *shape)
    return named


def _counted(written: Written, state: Sequence[Any], taken: Scalar, graph: Graph) -> Written:
    """Give what an item beyond the count gives: it writes to no row."""

    def chosen(x: Any, otherwise: Any) -> Scalar:
        return taken.__traced__("where", taken, as_number(x, graph), otherwise)

    return Written(
        [chosen(x, -1.0) for x in written.to],
        written.rows,
        [chosen(x, before) for x, before in zip(written.carry, state, strict=True)],
        [chosen(x, 0.0) for x in written.record],
    )
