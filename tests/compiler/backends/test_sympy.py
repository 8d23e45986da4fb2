"""SymPy expressions against the interpreter: on numbers for every expression of the list, on symbols for some."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from compiler.backends.expressions import EXPRESSIONS
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import Function, Loop, Output, trace
from dalembert.errors import DalembertError
from tolerances import COMPUTED, REORDERED

sympy = pytest.importorskip("sympy")

from dalembert.compiler.backends import sympy as symbolic  # noqa: E402

ROWS = 3
TOLERANCE = 1e-13  # of the largest value on the way: SymPy rounds each operation as the interpreter does


def rows_and_scale(expression):
    """Inputs for which every operation is finite (SymPy has no NaN to propagate), and the largest value of each row."""
    calm = replace(expression, values="wide" if expression.values == "special" else expression.values)
    inputs = calm.samples(np.random.default_rng(7))
    if isinstance(expression.traced, Loop):
        return {n: x[:ROWS] for n, x in inputs.items()}, np.full(ROWS, 1e3)
    nodes = tuple(x for x in expression.traced.schedule() if not x.boolean and x.op != "const")
    every = Function("every", expression.traced.inputs, (Output("every", (len(nodes),), nodes),))
    values = np.abs(interpreter.run(every, inputs)["every"])
    good = np.flatnonzero(np.isfinite(values).all(axis=-1) & (values < 1e300).all(axis=-1))[:ROWS]
    assert len(good) == ROWS
    return {n: x[good] for n, x in inputs.items()}, np.max(values[good], axis=-1, initial=1.0)


@pytest.mark.parametrize("expression", [e for e in EXPRESSIONS if e.straight], ids=str)
def test_agrees_with_the_interpreter_on_numbers(expression):
    inputs, scale = rows_and_scale(expression)
    wanted = interpreter.run(expression.traced, inputs, expression.passes)
    number = np.vectorize(symbolic.number, otypes=[object])
    for row in range(ROWS):
        given = {name: number(x[row]) for name, x in inputs.items()}
        results = symbolic.run(expression.traced, given, expression.passes)
        assert results.keys() == wanted.keys()
        for name, got in results.items():
            values = np.array([float(x) for x in got.ravel()]).reshape(got.shape)
            np.testing.assert_allclose(values, wanted[name][row], rtol=REORDERED, atol=TOLERANCE * scale[row])


@pytest.mark.parametrize("name", ["several", "folded", "rotation", "pendulum", "logic", "clamp", "any_power"])
def test_agrees_with_the_interpreter_on_symbols(name):
    expression = next(e for e in EXPRESSIONS if e.name == name)
    inputs, scale = rows_and_scale(expression)
    symbols = symbolic.symbols(expression.traced)
    wanted = interpreter.run(expression.traced, inputs)
    flat = [s for each in symbols.values() for s in each]
    for output, found in symbolic.run(expression.traced).items():
        call = sympy.lambdify(flat, list(found.ravel()), modules="numpy")
        for row in range(ROWS):
            values = np.array(call(*[x for each in inputs.values() for x in each[row]]), float).reshape(found.shape)
            np.testing.assert_allclose(values, wanted[output][row], rtol=COMPUTED, atol=TOLERANCE * scale[row])


def test_numbers_and_names():
    q, v = symbolic.symbols(trace(lambda q, v: q + v, {"q": 2, "v": 2})).values()
    assert [x.name for x in (*q, *v)] == ["q_1", "q_2", "v_1", "v_2"]
    assert symbolic.number(2.0) == sympy.Integer(2) and symbolic.number(-np.inf) == -sympy.oo
    assert float(symbolic.number(0.1)) == 0.1


def test_a_loop_needs_its_length():
    loop = next(e for e in EXPRESSIONS if e.name == "loop").traced
    with pytest.raises(DalembertError, match="number of passes"):
        symbolic.run(loop)


def test_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(DalembertError, match=r"pip install 'dalembert\[equations\]'"):
        symbolic.sympy()
