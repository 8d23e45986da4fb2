"""The definition of every operation: a traced function evaluated node by node with NumPy.

Slow and simple. Every other backend must agree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.compiler.graph import Function, Loop, Scalar
from dalembert.compiler.graph.calls import Called
from dalembert.compiler.graph.operations import MEANING
from dalembert.compiler.graph.product import Weighted
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.schedule import depth_first
from dalembert.compiler.graph.visit import Visited
from dalembert.errors import DalembertError, unknown
from dalembert.math.tables import taken

Arrays = dict[str, np.ndarray]


def run(
    function: Function | Loop, inputs: Mapping[str, Any], n: int | None = None, *, dtype: Any = np.float64
) -> Arrays:
    """Outputs by name, (*batch, *shape), of inputs (*batch, size); batch shapes broadcast.

    A loop makes n passes; its sequences are (*batch, n, size) and its records (*batch, n, *shape). n may be left out
    if there is a sequence. All arithmetic is done in `dtype`, a NumPy floating type.
    """
    if isinstance(function, Loop):
        return _run_loop(function, inputs, n, dtype)[0]
    arrays, batch = _prepare(function, inputs, dtype)
    return _outputs(function, _values(function.schedule(), arrays, dtype), batch, dtype)


def guards_hold(
    function: Function | Loop, inputs: Mapping[str, Any], n: int | None = None, *, dtype: Any = np.float64
) -> np.ndarray:
    """Whether every guard holds (in every pass of a loop): booleans of the batch shape."""
    if isinstance(function, Loop):
        return _run_loop(function, inputs, n, dtype)[1]
    arrays, batch = _prepare(function, inputs, dtype)
    return _guards(function, _values(depth_first(function.guards), arrays, dtype), batch)


def _run_loop(loop: Loop, inputs: Mapping[str, Any], n: int | None, dtype: Any) -> tuple[Arrays, np.ndarray]:
    """Results of a loop, and whether the guards held in every pass."""
    step, order = loop.step, loop.step.schedule()
    arrays, batch = _prepare(step, inputs, dtype, loop.sequence)
    state, valid = dict(arrays), np.ones(batch, bool)
    shapes = {output.name: output.shape for output in step.outputs}
    last = {produced: arrays[taken].reshape((*batch, *shapes[produced])) for produced, taken in loop.carry}
    n = _passes(loop, arrays, n)
    records = {name: np.empty((n, *batch, *shapes[name]), dtype) for name in loop.record}
    for k in range(n):
        chosen_rows = {name: state[index].astype(int)[..., None] for name, index in loop.rows_by.items()}
        at = {name: n - 1 - k if name in loop.backwards else k for name in (*loop.sequence, *loop.record)}
        state.update({name: _row(arrays[name], chosen_rows.get(name, at[name])) for name in loop.sequence})
        values = _values(order, state, dtype)
        valid &= _guards(step, values, batch)
        last = _outputs(step, values, batch, dtype)
        state.update({taken: last[produced].reshape(arrays[taken].shape) for produced, taken in loop.carry})
        for name in loop.record:
            records[name][at[name]] = last[name]
    ends = {name: np.moveaxis(rows, 0, len(batch)) for name, rows in records.items()}
    return {o.name: ends[o.name] if recorded else np.array(last[o.name]) for o, recorded in loop.results()}, valid


def _row(rows: np.ndarray, at: Any) -> np.ndarray:
    """Row `at`, a number or numbers (*batch, 1, 1), of rows (*batch, n, size)."""
    return rows[..., at, :] if isinstance(at, int) else np.take_along_axis(rows, at, -2)[..., 0, :]


def _values(order: Sequence[Scalar], arrays: Mapping[str, np.ndarray], dtype: Any) -> dict[int, Any]:
    """Value of every node, by its id."""
    values: dict[int, Any] = {}  # of a compound, the list of its results
    with np.errstate(all="ignore"):
        for node in order:
            if node.op == "const":
                values[node.id] = np.dtype(dtype).type(node.value)
            elif node.op == "input":
                name, index = node.value
                values[node.id] = arrays[name][..., index]
            elif node.op == "compound":
                arguments = [values[a.id] for a in node.args]
                values[node.id] = COMPOUNDS[type(node.value)](node.value, arguments, dtype)
            elif node.op == "lookup":
                table, column = node.value
                numbers = table.numbers[:, column].astype(dtype)
                values[node.id] = taken(numbers, np.asarray(values[node.args[0].id], dtype))
            elif node.op == "result":
                values[node.id] = values[node.args[0].id][node.value]
            else:
                values[node.id] = MEANING[node.op](*[values[argument.id] for argument in node.args])
    return values


def _called(called: Called, arguments: list[Any], dtype: Any) -> list[Any]:
    """The results of a call, one after the other."""
    return _evaluated(called.function, arguments, dtype)


def _evaluated(function: Function, arguments: list[Any], dtype: Any) -> list[Any]:
    """All outputs of a function as a flat list of numbers, from such a list of its inputs."""
    flat = np.stack(np.broadcast_arrays(*arguments), axis=-1) if arguments else np.empty(0, dtype)
    ends = np.cumsum([i.size for i in function.inputs])
    inputs = {i.name: flat[..., end - i.size : end] for i, end in zip(function.inputs, ends, strict=True)}
    values = _values(function.schedule(), inputs, dtype)
    return [values[node.id] for output in function.outputs for node in output.nodes]


def _repeated(repeated: Repeated, arguments: list[Any], dtype: Any) -> list[Any]:
    """The state after the last pass of each lane, which then no longer changes, and the number of its passes."""
    every = np.broadcast_arrays(*arguments)
    state, outside = list(every[: repeated.width]), every[repeated.body.taken]
    going, passes = np.ones(state[0].shape, bool), np.zeros(state[0].shape, dtype)
    for _ in range(repeated.times):
        if repeated.settled is not None:
            going = state[repeated.settled] == 0
        if not going.any():
            break
        following = _evaluated(repeated.step, [*state, *outside], dtype)
        state = [np.where(going, new, old) for new, old in zip(following, state, strict=True)]
        passes = passes + going
    return [*state, passes]


def _weighted(weighted: Weighted, arguments: list[Any], dtype: Any) -> list[Any]:
    """The entries of W x."""
    x = np.stack(np.broadcast_arrays(*arguments), axis=-1)
    return list(np.moveaxis(x @ weighted.W.T.astype(dtype), -1, 0))


def _visited(visited: Visited, arguments: list[Any], dtype: Any) -> list[Any]:
    """The table and the carry at the end, then rows of the records."""
    every, s = np.broadcast_arrays(*arguments), visited.sizes
    parts, batch = visited.split(list(every)), np.shape(every[0])
    table = np.stack([np.zeros(batch), *parts.table], -1)[..., 1:].reshape(*batch, s.rows, s.columns).astype(dtype)
    carry, columns = parts.carry, [[None] * s.items for _ in range(s.record)]
    for i in reversed(range(s.items)) if visited.reversed else range(s.items):
        rows = [x for row in parts.at for x in np.moveaxis(_table_row(table, row[i]), -1, 0)]
        outputs = _evaluated(visited.step, [*rows, *carry, *(row[i] for row in parts.item), *parts.common], dtype)
        cut = s.written * (1 + s.columns)
        to, written, rest = outputs[: s.written], outputs[s.written : cut], outputs[cut:]
        for k, number in enumerate(to):
            place = np.broadcast_to(number, batch)
            row = np.stack(np.broadcast_arrays(*written[k * s.columns : (k + 1) * s.columns], place), -1)[..., :-1]
            here = np.arange(s.rows) == np.floor(place)[..., None]
            table = np.where(here[..., None], row[..., None, :], table)
        carry = rest[: s.carry]
        for column, x in zip(columns, rest[s.carry :], strict=True):
            column[i] = x
    ends = list(np.moveaxis(table.reshape(*batch, s.table), -1, 0))
    return [*ends, *carry, *(x for column in columns for x in column)]


def _table_row(table: np.ndarray, number: Any) -> np.ndarray:
    """Row `number` (*batch,) of a table (*batch, n, m): (*batch, m), zeros where there is no such row."""
    n = table.shape[-2]
    known = (number >= 0) & (number < n)
    place = np.where(known, number, 0).astype(int)[..., None, None]
    return np.where(known[..., None], np.take_along_axis(table, place, -2)[..., 0, :], 0)


COMPOUNDS: dict[type, Callable[..., list[Any]]] = {
    Called: _called,
    Repeated: _repeated,
    Visited: _visited,
    Weighted: _weighted,
}


def _outputs(function: Function, values: Mapping[int, Any], batch: tuple[int, ...], dtype: Any) -> Arrays:
    results = {}
    for output in function.outputs:
        flat = np.empty((*batch, len(output.nodes)), dtype)
        for i, node in enumerate(output.nodes):
            flat[..., i] = values[node.id]
        results[output.name] = flat.reshape((*batch, *output.shape))
    return results


def _guards(function: Function, values: Mapping[int, Any], batch: tuple[int, ...]) -> np.ndarray:
    valid = np.ones(batch, bool)
    for guard in function.guards:
        valid &= values[guard.id]
    return valid


def _prepare(
    function: Function, inputs: Mapping[str, Any], dtype: Any, sequence: Sequence[str] = ()
) -> tuple[Arrays, tuple[int, ...]]:
    """The inputs as arrays (*batch, size), sequences (*batch, n, size), and the batch shape they share."""
    sizes = {each.name: each.size for each in function.inputs}
    for name in inputs:
        if name not in sizes:
            raise unknown("input", name, sizes, function.name)
    arrays = {}
    for name, size in sizes.items():
        if name not in inputs:
            raise DalembertError(f"{function.name}: input '{name}' (…, {size}) is missing")
        arrays[name] = np.asarray(inputs[name], dtype)
        trailing = 2 if name in sequence else 1
        if arrays[name].ndim < trailing or arrays[name].shape[-1] != size:
            wanted = f"(…, n, {size})" if name in sequence else f"(…, {size})"
            raise DalembertError(f"{function.name}: {name} has shape {arrays[name].shape}, expected {wanted}")
    tails = {name: x.shape[-2:] if name in sequence else x.shape[-1:] for name, x in arrays.items()}
    try:
        batch = np.broadcast_shapes(*[x.shape[: x.ndim - len(tails[name])] for name, x in arrays.items()])
    except ValueError as error:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        raise DalembertError(f"{function.name}: batch shapes do not broadcast: {shapes}") from error
    return {name: np.broadcast_to(x, (*batch, *tails[name])) for name, x in arrays.items()}, batch


def _passes(loop: Loop, arrays: Arrays, n: int | None) -> int:
    """The number of passes, which every sequence must agree with."""
    lengths = {name: arrays[name].shape[-2] for name in loop.sequence if name not in loop.rows_by}
    counts = {*lengths.values(), *([] if n is None else [n])}
    if len(counts) != 1 or min(counts) < 0:
        stated = ", ".join([f"n = {n}", *(f"{name} has {length} rows" for name, length in lengths.items())])
        raise DalembertError(f"loop over '{loop.step.name}': the number of passes is not clear: {stated}")
    return counts.pop()
