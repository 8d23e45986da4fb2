"""A loop over items that read and write rows of a table by number: the code of one item, and a table changed in place.

    for each item k:   rows = table[at[k]];   rows', to, carry, record = step(rows, carry, item);   table[to] = rows'

Numbers that are none of the table's rows read zeros, and what is written there is lost. A scan has no table, a map has
no carry either; for one state at a time, items that do not change each other go on SIMD lanes. Values from the
enclosing scope are common to all items. Slopes are in `visit_slopes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .capture import as_number, captured, placeholders
from .compound import Compound, Rates, results

if TYPE_CHECKING:
    from .function import Function
    from .scalar import Graph, Scalar

Row = Sequence[Any]  # one number of every item


class Written(NamedTuple):
    """Results of a step: numbers of rows, their contents one after the other, the carry, the record."""

    to: Sequence[Any]
    rows: Sequence[Any]
    carry: Sequence[Any]
    record: Sequence[Any]


Step = Callable[[list["Scalar"], list["Scalar"], list["Scalar"]], Written]  # rows, carry, item


@dataclass(frozen=True)
class VisitSizes:
    """Rows and columns of the table; rows that an item reads and writes; numbers in carry, item and record; items."""

    rows: int
    columns: int
    read: int
    written: int
    carry: int
    item: int
    record: int
    items: int

    @property
    def table(self) -> int:
        """Numbers in the table."""
        return self.rows * self.columns


class VisitParts(NamedTuple):
    """Arguments of a visit: the table row by row, the carry, a row of all items for each number, common values."""

    table: Sequence[Any]
    carry: Sequence[Any]
    at: list[Sequence[Any]]
    item: list[Sequence[Any]]
    common: Sequence[Any]


class Visited(Compound):
    """Arguments: as in `VisitParts`. Results: the table and the carry at the end, then the records, row by row.

    step: function of "rows", "carry", "item" and "captured" that gives "to", "rows", "carry" and "record". reversed:
    from the last item to the first. counted: the place among the common values of a number from which on items change
    nothing and give records of 0 (a record that is the carry: of that), as the step says as well: a backend may leave
    them out. grouped: the place among the
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
        self.step, self.counted = step, counted
        self.grouped, self.wanted = grouped, wanted
        self.to, self.rows, self.following, self.recorded = (output.nodes for output in step.outputs)
        read, carry, item, _ = (i.size for i in step.inputs)
        sizes = len(self.to), carry, item, len(self.recorded)
        self.sizes = VisitSizes(rows, columns, read // max(columns, 1), *sizes, items)
        self.size = self.sizes.table + carry + len(self.recorded) * items
        self.reversed = reverse and bool(self.to or carry)  # else the order does not matter
        of_carry = {x.id: k for k, x in enumerate(self.following)}
        self.carry_records = {k: of_carry[x.id] for k, x in enumerate(self.recorded) if x.id in of_carry}

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
        from .visit_slopes import VisitTangent

        return VisitTangent(self, node, rates).rates()

    def reverse(self, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> dict[int, Any]:
        from .visit_slopes import VisitAdjoint

        return VisitAdjoint(self, node, weights, active).amounts()


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
    known: dict[int, Row] = {x.id: row for x, row in zip(inside[1], varying, strict=True)}  # not computed by the step
    known |= {x.id: [x] * n for x in written.record if x.op == "const"}
    computed = list({x.id: x for x in written.record if x.id not in known}.values())
    if not (start or written.to or computed):
        return begin, [], [known[x.id] for x in written.record]
    outputs = [("to", written.to), ("rows", written.rows), ("carry", written.carry), ("record", computed)]
    function, outside = captured("step", names, outputs, graph)
    counted = next((k for k, x in enumerate(outside) if x is count), None)
    grouped, wanted = (None if mark is None else mark - sum(same[:mark]) for mark in marks)
    rows = len(begin) // max(columns, 1)
    compound = Visited(function, rows, columns, n, reverse, counted, grouped, wanted)
    flat = [*begin, *start, *(x for row in (*places, *varying) for x in row), *outside]
    every = results(graph, compound, flat)
    first = len(begin) + len(start)
    table_after = every[: len(begin)] if written.to else begin
    known |= {x.id: row for x, row in zip(computed, rows_of(every[first:], n), strict=True)}
    return list(table_after), every[len(begin) : first], [known[x.id] for x in written.record]


Named = Callable[..., tuple[Any, Any, Mapping[str, Any]]]  # rows, carry, item → to, rows, results by name


def visit(
    graph: Graph, step: Callable[..., Mapping[str, Any]], items: Mapping[str, Any], table: np.ndarray, *arguments: Any
) -> dict[str, np.ndarray]:
    """Like `dalembert.math.visit`, which checks the arguments, traced into `graph`."""

    def one(*parts: Any) -> tuple[Any, Any, dict[str, Any]]:
        results = dict(step(*parts))
        return results.pop("to"), results.pop("rows"), results

    ends, named = _visited_by_name(graph, one, items, table, *arguments)
    return named | ends


def scan(
    graph: Graph,
    step: Callable[..., Mapping[str, Any]],
    items: Mapping[str, Any],
    carry: Mapping[str, Any],
    reverse: bool,
    count: Any,
    history: bool,
) -> dict[str, Any]:
    """Like `dalembert.math.scan`, which checks the arguments, traced into `graph`."""
    n = len(np.asarray(next(iter(items.values())), object))

    def one(rows: Any, *parts: Any) -> tuple[Any, Any, Mapping[str, Any]]:
        return (), (), step(*parts)

    nothing = np.empty((0, 0)), np.empty((n, 0))
    ends, named = _visited_by_name(graph, one, items, *nothing, carry, count, reverse, history=history)
    if not history:
        return named | {name: ends[name] for name in carry}
    for name in carry:
        named[name][0 if reverse else n - 1] = ends[name]
    return named


def _visited_by_name(
    graph: Graph,
    step: Named,
    items: Mapping[str, Any],
    table: np.ndarray,
    at: np.ndarray,
    carry: Mapping[str, Any],
    count: Any,
    reverse: bool,
    groups: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
    history: bool = False,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """By name: table and carry at the end; the records (n, …) and, with `history`, the carry after each item."""
    arrays = {name: np.asarray(x, object) for name, x in items.items()}
    start = {name: np.asarray(x, object) for name, x in carry.items()}
    (n, read), (rows, columns) = at.shape, table.shape
    shapes = {name: x.shape for name, x in start.items() if history}
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
        to, contents, named = step(*parts)
        results = {name: np.asarray(x, object) for name, x in named.items()}
        shapes.update({name: x.shape for name, x in results.items() if name not in start})
        following = [x for name in start for x in results[name].ravel()]
        written = Written(
            list(np.ravel(to)),
            list(np.ravel(contents)),
            following,
            [x for name in shapes if name not in start for x in results[name].ravel()],
        )
        for taken in (None if limit is None or place is None else place < limit, None if flag is None else flag > 0.5):
            written = written if taken is None else _counted(written, state, taken, graph)
        return written._replace(record=[*written.carry, *written.record]) if history else written

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
    last = {"table": shaped(ends, [(rows, columns)])[0]}
    last |= dict(zip(start, shaped(after, [x.shape for x in start.values()]), strict=True))
    each = iter(records)
    return last, {name: _by_item(list(islice(each, int(np.prod(shape)))), shape, n) for name, shape in shapes.items()}


def _by_item(rows: list[Row], shape: tuple[int, ...], n: int) -> np.ndarray:
    """Rows with a number of every item each as an array (n, *shape)."""
    matrix = np.empty((len(rows), n), object)
    for k, row in enumerate(rows):
        matrix[k, :] = list(row)
    return matrix.T.reshape(n, *shape)


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


def rows_of(numbers: Sequence[Any], items: int) -> list[Sequence[Any]]:
    """Numbers in a row, cut into rows with one for each item."""
    return [numbers[k : k + items] for k in range(0, len(numbers), max(items, 1))]


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
