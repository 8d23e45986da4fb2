"""How visits begin: which of them may change the table of another one where it lies, and which entries are copied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.visit import Visited


def constant(row: Sequence[Scalar]) -> bool:
    """Whether all of these nodes are constants."""
    return all(x.op == "const" for x in row)


def sole_readers(order: Iterable[Scalar], kept: Iterable[Scalar]) -> dict[int, int | None]:
    """Map ids of results of visits to the id of the node that reads them; None where several do or it is kept."""
    readers: dict[int, int | None] = {node.id: None for node in kept}
    for node in order:
        for x in node.args:
            if x.op == "result" and readers.setdefault(x.id, node.id) != node.id:
                readers[x.id] = None
    return readers


def table_source(node: Scalar, readers: Mapping[int, int | None]) -> Scalar | None:
    """The visit whose table, as it is at its end, is that with which the visit `node` begins, and nothing else's."""
    s, parts = node.value.sizes, node.value.split(node.args)
    source = parts.table[0].args[0] if parts.table[0].op == "result" else None
    if source is None or not isinstance(source.value, Visited):
        return None
    if (source.value.sizes.rows, source.value.sizes.columns) != (s.rows, s.columns):
        return None
    handed_over = all(
        x.op == "result" and x.args[0] is source and x.value == k and readers[x.id] == node.id
        for k, x in enumerate(parts.table)
    )
    of_table = {x.id for x in parts.table}
    read_twice = any(x.id in of_table for x in node.args[s.table :])
    return source if handed_over and not read_twice else None


def where_not_zero(table: Sequence[Scalar]) -> tuple[bool, list[int]]:
    """Whether a table is cleared at first, since most of it is the constant 0, and the places that are copied then."""
    zeros = [x.op == "const" and x.value == 0.0 for x in table]
    cleared = 2 * sum(zeros) > len(zeros)
    return cleared, [k for k, zero in enumerate(zeros) if not (zero and cleared)]
