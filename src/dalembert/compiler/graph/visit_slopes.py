"""Slopes of a visit: further columns and numbers forwards, a loop in the other direction in reverse.

In reverse the loop goes over the weights of the table, where what an item overwrote has none before it, and over those
of the carry; weights of common values are summed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from .calls import seeded
from .compound import Rates, results
from .copying import inlined
from .differentiate import forward_rates, vanishes, vjp
from .visit import Row, Visited, VisitParts, Written, rows_of, visited

if TYPE_CHECKING:
    from .scalar import Scalar


class VisitTangent:
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
        compound, s = self.visited, self.visited.sizes
        rows_in, carry_in, item_in, common_in = self.inputs
        values: dict[Scalar, Any] = dict(zip(common_in, compound.split(self.node.args).common, strict=True))
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
            y for row in rows_of(compound.rows, s.columns) for y in (*row, *(rate(row[c], d) for c, d in self.columns))
        ]
        carried = [*compound.following, *(rate(compound.following[k], d) for k, d in self.carried)]
        record = [rate(compound.recorded[k], d) for k, d in self.recorded]
        nodes = inlined([*compound.to, *wide, *carried, *record], values, self.node.graph)
        ends = np.cumsum([len(compound.to), len(wide), len(carried)]).tolist()
        return Written(*(nodes[a:b] for a, b in zip([0, *ends], [*ends, len(nodes)], strict=True)))


class VisitAdjoint:
    """carried: numbers of the carry that carry weight before some item; recorded: those of the record that do."""

    def __init__(self, visited: Visited, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> None:
        self.visited, self.node, s = visited, node, visited.sizes
        self.weights = [weights.get(k, 0.0) for k in range(visited.size)]
        on_records = rows_of(self.weights[s.table + s.carry :], s.items)
        self.on_records = {k: row for k, row in enumerate(on_records) if not all(map(vanishes, row))}
        known = visited.split(active)
        self.items = [k for k, row in enumerate(known.item) if any(row)]
        self.common = [k for k, wanted in enumerate(known.common) if wanted]
        rows, carry, item, common = visited.inputs()
        ends = [*rows, *carry, *(item[k] for k in self.items), *(common[k] for k in self.common)]
        first, graph = len(rows), (*visited.to, *visited.following, *visited.recorded)[0].graph
        places = {k for k in range(s.carry) if not vanishes(self.weights[s.table + k])}
        while True:
            self.carried = sorted(places)
            nodes = [*visited.rows, *(visited.following[k] for k in self.carried)]
            nodes += [visited.recorded[k] for k in self.on_records]
            self.names = graph.input(f"weights {graph.size}", len(nodes))
            pulled = vjp(nodes, self.names, ends)
            grown = places | {k for k, x in enumerate(pulled[first : first + s.carry]) if not vanishes(x)}
            if grown == places:
                break
            places = grown
        carried = [pulled[first + k] for k in self.carried]
        self.pulled = [*pulled[:first], *carried, *pulled[first + s.carry :]]
        self.cuts = np.cumsum([first, len(carried), len(self.items)]).tolist()
        self.sums = len(self.common) if carried or s.read or s.written else 0  # else recorded, so that items are lanes

    def amounts(self) -> dict[int, Any]:
        """Weights of the arguments."""
        s, graph, parts = self.visited.sizes, self.node.graph, self.visited.split(self.node.args)
        before, to = self._history(parts)
        read, rows = [*to, *parts.at], [*to, *parts.at, *before, *parts.item, *self.on_records.values()]
        carry = [*(self.weights[s.table + k] for k in self.carried), *([0.0] * self.sums)]
        back = not self.visited.reversed
        table, after, amounts = visited(
            graph, self._step, self.weights[: s.table], s.columns, carry, read, rows, s.items, back
        )
        out = dict(enumerate(table)) | {s.table + k: x for k, x in zip(self.carried, after, strict=False)}
        first = s.table + s.carry + s.read * s.items
        for k, row in zip(self.items, amounts, strict=False):
            out |= {first + k * s.items + i: x for i, x in enumerate(row)}
        first += s.item * s.items
        totals = after[len(self.carried) :] if self.sums else [reduce(add, row) for row in amounts[len(self.items) :]]
        return out | {first + k: x for k, x in zip(self.common, totals, strict=True)}

    def _history(self, parts: VisitParts) -> tuple[list[Row], list[Row]]:
        """Rows and carry that each item read, and the numbers of the rows that it wrote."""
        compound, s, graph = self.visited, self.visited.sizes, self.node.graph
        if not (s.carry or s.read or s.written):
            return [], []
        records = {x.id: k for k, x in enumerate(compound.recorded)}
        if (
            not s.read
            and not s.written
            and compound.counted is None
            and all(x.id in records for x in compound.following)
        ):
            every = rows_of(results(graph, compound, self.node.args)[s.table + s.carry :], s.items)
            after = [every[records[x.id]] for x in compound.following]  # the carry that each item left
            if compound.reversed:
                return [[*row[1:], x] for row, x in zip(after, parts.carry, strict=True)], []
            return [[x, *row[:-1]] for row, x in zip(after, parts.carry, strict=True)], []
        inputs = compound.inputs()

        def step(rows: list[Scalar], carry: list[Scalar], item: list[Scalar]) -> Written:
            values = dict(zip([x for part in inputs for x in part], [*rows, *carry, *item, *parts.common], strict=True))
            nodes = inlined([*compound.to, *compound.rows, *compound.following], values, graph)
            cut = s.written, s.written * (1 + s.columns)
            return Written(nodes[: cut[0]], nodes[cut[0] : cut[1]], nodes[cut[1] :], [*rows, *carry, *nodes[: cut[0]]])

        listed = visited(
            graph, step, parts.table, s.columns, parts.carry, parts.at, parts.item, s.items, compound.reversed
        )[2]
        kept = s.read * s.columns + s.carry
        return list(listed[:kept]), list(listed[kept:])

    def _step(self, rows: list[Scalar], carry: list[Scalar], item: list[Scalar]) -> Written:
        """rows: weights of what was written, then of what was read; item: to, at, what was read, what came with it."""
        s, graph, parts = self.visited.sizes, self.node.graph, self.visited.split(self.node.args)
        ends = np.cumsum([s.written, s.read, s.read * s.columns + s.carry, s.item]).tolist()
        to, at, before, values_of_item, on_record = (
            item[a:b] for a, b in zip([0, *ends], [*ends, len(item)], strict=True)
        )
        weights, n = rows_of(rows, s.columns), len(self.carried)
        written = [
            [_unless(any_equal(to[i], to[i + 1 :]), x) for x in row] for i, row in enumerate(weights[: s.written])
        ]
        due = [*(x for row in written for x in row), *carry[:n], *on_record]
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
        following = [*on_carry, *(a + b for a, b in zip(carry[n:], on_common, strict=False))]
        record = on_items if self.sums else [*on_items, *on_common]
        return Written([*to, *at], [*([0.0] * (s.written * s.columns)), *totals], following, record)


def any_equal(number: Scalar, others: Sequence[Scalar]) -> Any:
    """Whether a number is one of others; None: there are none."""
    conditions = [number == other for other in others]
    return reduce(lambda x, y: y.__traced__("or", x, y), conditions) if conditions else None


def _unless(condition: Any, x: Scalar) -> Any:
    return x if condition is None else condition.__traced__("where", condition, 0.0, x)


def _only(condition: Any, x: Any) -> Any:
    return condition.__traced__("where", condition, x, 0.0)
