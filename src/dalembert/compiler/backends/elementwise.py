"""A traced function as operations of an array library, so that the library can trace or differentiate it.

`jax` and `torch` hold the tables from operations to the library's functions. The straight-line code is long: for
numbers alone the compiled backends are faster by orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.compiler.graph import Function, Loop
from dalembert.compiler.graph.calls import Called
from dalembert.compiler.graph.product import Weighted
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.visit import Visited
from dalembert.errors import DalembertError


@dataclass(frozen=True)
class ArrayMath:
    """table: operation → function of arrays. constant(value, like): an array of no axes. stack: along a new last axis.

    numbers(x, like): a NumPy array as one of the library. take(numbers, index, like): of a NumPy array, those at
    indices that are floats and within its ends. take_rows(x, index): row index (*batch,) of x (*batch, rows, size), as
    floats. flip: the first axis turned around.

    scan(step, state, sequences, n) → (state, records): step(state, row of each sequence) → (state, records), n times;
    sequences and records are dicts of arrays with the passes as first axis.
    repeat(step, state, n, going) → state: a list of arrays, step(state) at most n times while going(state) holds.
    """

    table: Mapping[str, Callable[..., Any]]
    asarray: Callable[[Any], Any]
    constant: Callable[[float, Any], Any]
    broadcast: Callable[[Any, tuple[int, ...]], Any]
    stack: Callable[[list[Any]], Any]
    empty: Callable[[tuple[int, ...], Any], Any]
    moveaxis: Callable[[Any, int, int], Any]
    scan: Callable[..., tuple[Any, Any]]
    repeat: Callable[..., Sequence[Any]]
    numbers: Callable[[np.ndarray, Any], Any]
    take: Callable[[np.ndarray, Any, Any], Any]
    take_rows: Callable[[Any, Any], Any]
    flip: Callable[[Any], Any]


def run(library: ArrayMath, program: Function | Loop, inputs: Mapping[str, Any], n: int | None) -> dict[str, Any]:
    """Like `interpreter.run`: outputs by name, (*batch, *shape), of inputs (*batch, size); a loop makes n passes."""
    step = program.step if isinstance(program, Loop) else program
    sequence = program.sequence if isinstance(program, Loop) else ()
    missing = [i.name for i in step.inputs if i.name not in inputs]
    if missing:
        raise DalembertError(f"{step.name}: input {missing[0]!r} is missing")
    arrays = {i.name: library.asarray(inputs[i.name]) for i in step.inputs}
    trailing = {name: 2 if name in sequence else 1 for name in arrays}
    batch = np.broadcast_shapes(*[tuple(x.shape[: x.ndim - trailing[name]]) for name, x in arrays.items()])
    if not isinstance(program, Loop):
        return _outputs(library, step, arrays, batch)
    by_number = {name: library.broadcast(arrays[name], (*batch, *arrays[name].shape[-2:])) for name in program.rows_by}
    rows = {name: library.moveaxis(arrays[name], -2, 0) for name in sequence if name not in by_number}
    rows = {name: library.flip(x) if name in program.backwards else x for name, x in rows.items()}
    n = len(next(iter(rows.values()))) if n is None and rows else n
    if n is None:
        raise DalembertError(f"loop over '{step.name}': how many passes? pass n")
    fixed = {name: x for name, x in arrays.items() if name not in sequence}
    shapes = {output.name: output.shape for output in step.outputs}
    state = {taken: library.broadcast(arrays[taken], (*batch, arrays[taken].shape[-1])) for _, taken in program.carry}

    def one(state: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        now = {**fixed, **state, **row}
        numbers = {name: library.broadcast(now[number][..., 0], batch) for name, number in program.rows_by.items()}
        now |= {name: library.take_rows(x, numbers[name]) for name, x in by_number.items()}
        outputs = _outputs(library, step, now, batch)
        following = {taken: outputs[name].reshape(state[taken].shape) for name, taken in program.carry}
        return following, {name: outputs[name] for name in program.record}

    if n:
        state, records = library.scan(one, state, rows, n)
        records = {name: library.flip(x) if name in program.backwards else x for name, x in records.items()}
    else:
        like = next(iter(arrays.values()))
        records = {name: library.empty((0, *batch, *shapes[name]), like) for name in program.record}
    ends = {produced: state[taken].reshape((*batch, *shapes[produced])) for produced, taken in program.carry}
    ends |= {name: library.moveaxis(rows, 0, len(batch)) for name, rows in records.items()}
    return {output.name: ends[output.name] for output, _ in program.results()}


def _outputs(
    library: ArrayMath, function: Function, arrays: Mapping[str, Any], batch: tuple[int, ...]
) -> dict[str, Any]:
    like = next(iter(arrays.values()))
    numbers = {i.name: [arrays[i.name][..., k] for k in range(i.size)] for i in function.inputs}
    values = _values(library, function, numbers, like)
    results = {}
    for output in function.outputs:
        flat = [library.broadcast(values[node.id], batch) for node in output.nodes]
        stacked = library.stack(flat) if flat else library.empty((*batch, 0), like)
        results[output.name] = stacked.reshape((*batch, *output.shape))
    return results


def _values(library: ArrayMath, function: Function, arrays: Mapping[str, Sequence[Any]], like: Any) -> dict[int, Any]:
    """The value of every node by its id (of a compound, the list of its results), from the arrays of the inputs."""
    values: dict[int, Any] = {}
    for node in function.schedule():
        if node.op == "const":
            values[node.id] = library.constant(node.value, like)
        elif node.op == "input":
            values[node.id] = arrays[node.value[0]][node.value[1]]
        elif node.op == "compound":
            arguments = [values[argument.id] for argument in node.args]
            values[node.id] = COMPOUNDS[type(node.value)](library, node.value, arguments, like)
        elif node.op == "lookup":
            table, column = node.value
            values[node.id] = _taken(library, table.numbers[:, column], values[node.args[0].id], like)
        elif node.op == "result":
            values[node.id] = values[node.args[0].id][node.value]
        else:
            values[node.id] = library.table[node.op](*[values[argument.id] for argument in node.args])
    return values


def _taken(library: ArrayMath, numbers: np.ndarray, index: Any, like: Any) -> Any:
    """numbers[floor(index)], the first or last beyond the ends, NaN for NaN."""
    first, last = (library.constant(x, like) for x in (0.0, len(numbers) - 1.0))
    least, most, where = (library.table[op] for op in ("min", "max", "where"))
    known = library.table["eq"](index, index)
    return where(known, library.take(numbers, where(known, least(most(index, first), last), first), like), index)


def _called(library: ArrayMath, called: Called, arguments: Sequence[Any], like: Any) -> list[Any]:
    return _evaluated(library, called.function, arguments, like)


def _evaluated(library: ArrayMath, function: Function, arguments: Sequence[Any], like: Any) -> list[Any]:
    """All outputs of a function as a flat list of numbers, from such a list of its inputs."""
    ends = np.cumsum([i.size for i in function.inputs])
    inputs = {i.name: arguments[end - i.size : end] for i, end in zip(function.inputs, ends, strict=True)}
    values = _values(library, function, inputs, like)
    return [values[node.id] for output in function.outputs for node in output.nodes]


def _repeated(library: ArrayMath, repeated: Repeated, arguments: Sequence[Any], like: Any) -> list[Any]:
    """Repeat a step as the interpreter does: a lane that has settled no longer changes."""
    batch = np.broadcast_shapes(*[tuple(x.shape) for x in arguments])
    begin = [library.broadcast(x, batch) for x in arguments[: repeated.width]]
    where, equal = library.table["where"], library.table["eq"]
    zero, one = (library.broadcast(library.constant(x, like), batch) for x in (0.0, 1.0))

    def going(state: Sequence[Any]) -> Any:
        return equal(zero if repeated.settled is None else state[repeated.settled], zero)

    def step(state: Sequence[Any]) -> list[Any]:
        moving = going(state)
        following = _evaluated(library, repeated.step, [*state[:-1], *arguments[repeated.body.taken]], like)
        return [where(moving, new, old) for new, old in zip([*following, state[-1] + one], state, strict=True)]

    return list(library.repeat(step, [*begin, zero], repeated.times, lambda state: going(state).any()))


def _weighted(library: ArrayMath, weighted: Weighted, arguments: Sequence[Any], like: Any) -> list[Any]:
    """The entries of W x."""
    batch = np.broadcast_shapes(*[tuple(x.shape) for x in arguments])
    y = library.stack([library.broadcast(x, batch) for x in arguments]) @ library.numbers(weighted.W.T, like)
    return [y[..., k] for k in range(weighted.size)]


def _visited(library: ArrayMath, visited: Visited, arguments: Sequence[Any], like: Any) -> list[Any]:
    """The table and the carry at the end, then rows of the records."""
    batch = np.broadcast_shapes(*[tuple(x.shape) for x in arguments])
    parts, s = visited.split([library.broadcast(x, batch) for x in arguments]), visited.sizes
    where, floor = library.table["where"], library.table["floor"]
    first, last = (library.constant(x, like) for x in (0.0, s.rows - 1.0))
    numbers = library.stack([library.constant(float(k), like) for k in range(s.rows)]) if s.written else None

    def read(table: Any, number: Any) -> list[Any]:
        """The columns of row `number`, zeros where there is no such row."""
        place = library.table["min"](library.table["max"](floor(number), first), last)
        known = library.table["eq"](place, floor(number))
        row = library.take_rows(table, where(known, place, first))
        return [where(known, row[..., c], first) for c in range(s.columns)]

    def one(state: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        state = dict(state)
        rows = [x for k in range(s.read) for x in read(state["table"], row[f"at {k}"])]
        carry, item = ([state[str(k)] for k in range(s.carry)], [row[str(k)] for k in range(s.item)])
        outputs = _evaluated(library, visited.step, [*rows, *carry, *item, *parts.common], like)
        outputs = [library.broadcast(x, batch) for x in outputs]
        for k in range(s.written):
            contents = library.stack(outputs[s.written + k * s.columns : s.written + (k + 1) * s.columns])
            here = library.table["eq"](numbers, floor(outputs[k])[..., None])
            state["table"] = where(here[..., None], contents[..., None, :], state["table"])
        rest = outputs[s.written * (1 + s.columns) :]
        state |= {str(k): x for k, x in enumerate(rest[: s.carry])}
        return state, {str(k): x for k, x in enumerate(rest[s.carry :])} or {"0": first}

    begin = {str(k): x for k, x in enumerate(parts.carry)}
    if s.table:
        begin["table"] = library.stack(list(parts.table)).reshape((*batch, s.rows, s.columns))
    listed = {f"at {k}": row for k, row in enumerate(parts.at)} | {str(k): row for k, row in enumerate(parts.item)}
    order = slice(None, None, -1 if visited.reversed else 1)
    stacked = {name: library.moveaxis(library.stack(list(row)[order]), -1, 0) for name, row in listed.items()}
    end, records = library.scan(one, begin, stacked, s.items)
    flat = end["table"].reshape((*batch, s.table)) if s.table else first
    ends = [*(flat[..., k] for k in range(s.table)), *(end[str(k)] for k in range(s.carry))]
    return [*ends, *(x for k in range(s.record) for x in list(records[str(k)])[order])]


COMPOUNDS: dict[type, Callable[..., list[Any]]] = {
    Called: _called,
    Repeated: _repeated,
    Visited: _visited,
    Weighted: _weighted,
}
