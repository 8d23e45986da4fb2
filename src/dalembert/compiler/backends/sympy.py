"""SymPy expressions of a traced function, for reading and for computer algebra.

Mathematics, not machine numbers: nothing overflows, the root of a negative number is imaginary, and there is no NaN to
propagate. Where every operation of the interpreter is finite and inside its domain, the values agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.compiler.graph import Function, Loop, Scalar
from dalembert.errors import DalembertError

Values = Mapping[str, Sequence[Any]]


def sympy() -> ModuleType:
    """SymPy itself, loaded when used."""
    try:
        import sympy
    except ImportError:
        raise DalembertError("equations need SymPy: pip install 'dalembert[equations]'") from None
    return sympy


@cache
def meaning() -> dict[str, Callable[..., Any]]:
    """Every operation in SymPy."""
    s = sympy()
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "sqrt": s.sqrt,
        "sin": s.sin,
        "cos": s.cos,
        "atan2": s.atan2,
        "exp": s.exp,
        "log": s.log,
        "tanh": s.tanh,
        "abs": s.Abs,
        "floor": s.floor,
        "sign": s.sign,
        "min": s.Min,
        "max": s.Max,
        "lt": s.Lt,
        "le": s.Le,
        "eq": s.Eq,
        "ne": s.Ne,
        "and": s.And,
        "or": s.Or,
        "not": s.Not,
        "where": lambda condition, a, b: s.Piecewise((a, condition), (b, True)),
        "dot": lambda *x: s.Add(*[a * b for a, b in zip(x[: len(x) // 2], x[len(x) // 2 :], strict=True)]),
    }


def number(x: float) -> Any:
    """A float as SymPy has it: whole numbers exactly, others with their 53 bits."""
    s = sympy()
    if not np.isfinite(x):
        return s.nan if np.isnan(x) else s.oo * (1 if x > 0 else -1)
    return s.Integer(int(x)) if x == int(x) and abs(x) < 2**53 else s.Float(float(x))


def run(function: Function | Loop, inputs: Values | None = None, n: int | None = None) -> dict[str, np.ndarray]:
    """Outputs by name, object arrays of SymPy expressions, (*shape) each.

    inputs: a sequence of SymPy expressions per input; by default symbols such as q_1, q_2. A loop is written out, n
    passes of it; its sequences are (n, size) and its records (n, *shape).
    """
    if isinstance(function, Loop):
        if inputs is None or n is None:
            raise DalembertError(f"loop over '{function.step.name}': give its inputs and the number of passes n")
        return _run_loop(function, inputs, n)
    numbers = symbols(function) if inputs is None else inputs
    values = _values(function.straight("SymPy").schedule(), numbers)
    return {o.name: _shaped([values[node.id] for node in o.nodes], o.shape) for o in function.outputs}


def symbols(function: Function) -> dict[str, list[Any]]:
    """A symbol for every element of every input: q_1, q_2, …"""
    s = sympy()
    return {each.name: [s.Symbol(f"{each.name}_{k + 1}") for k in range(each.size)] for each in function.inputs}


def _run_loop(loop: Loop, inputs: Values, n: int) -> dict[str, np.ndarray]:
    state: dict[str, Sequence[Any]] = dict(inputs)
    shapes = {o.name: o.shape for o in loop.in_order("SymPy").step.outputs}
    last = {produced: _shaped(inputs[taken], shapes[produced]) for produced, taken in loop.carry}
    records: dict[str, list[Any]] = {name: [] for name in loop.record}
    for k in range(n):
        row = {name: n - 1 - k if name in loop.backwards else k for name in loop.sequence}
        state.update({name: inputs[name][row[name]] for name in loop.sequence})
        last = run(loop.step, state)
        state.update({taken: list(last[produced].ravel()) for produced, taken in loop.carry})
        for name in loop.record:
            records[name].extend(last[name].ravel())
    ends = {name: _shaped(rows, (n, *shapes[name])) for name, rows in records.items()}
    ends = {name: x[::-1] if name in loop.backwards else x for name, x in ends.items()}
    return {o.name: ends[o.name] if recorded else last[o.name] for o, recorded in loop.results()}


def _values(order: Sequence[Scalar], inputs: Values) -> dict[int, Any]:
    """The expression of every node, by its id."""
    table = meaning()
    values: dict[int, Any] = {}
    for node in order:
        if node.op == "const":
            values[node.id] = number(node.value)
        elif node.op == "input":
            name, index = node.value
            values[node.id] = inputs[name][index]
        else:
            values[node.id] = table[node.op](*[values[argument.id] for argument in node.args])
    return values


def _shaped(items: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(len(items), object)
    out[:] = list(items)
    return out.reshape(shape)
