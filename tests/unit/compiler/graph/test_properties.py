"""Random expressions: traced, they mean what they mean in plain floats, and operand order makes no difference."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from dalembert import math
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import Graph, trace

UNARY = ["neg", "sin", "cos", "tanh", "exp", "sqrt", "abs", "sign", "square", "cube", "inverse"]
BINARY = ["add", "sub", "mul", "div", "min", "max", "atan2"]
COMMUTATIVE = {"add", "mul", "min", "max"}
CONSTANTS = [0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.7, 1e-3, -250.0]
SIZE = 3
# Folding may change the last digit of every operation, and up to forty of them may amplify it.
TOLERANCE = 1e-8

leaves = st.one_of(st.sampled_from(CONSTANTS), st.integers(0, SIZE - 1).map(lambda i: ("x", i)))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(UNARY), inner),
        st.tuples(st.sampled_from(BINARY), inner, inner),
        st.tuples(st.just("where"), inner, inner, inner, inner),
    ),
    max_leaves=20,
)
numbers = st.floats(-3, 3).map(lambda x: round(x, 3))


def build(expression, x, constant=float, note=lambda op, values: None, swap=False):
    """Evaluate an expression tree on floats or traced scalars. `note` sees every operation's operands."""
    if not isinstance(expression, tuple):
        return constant(expression)
    op, *rest = expression
    if op == "x":
        return x[rest[0]]
    values = [build(each, x, constant, note, swap) for each in rest]
    note(op, values)
    if swap and op in COMMUTATIVE:
        values.reverse()
    return OPERATIONS[op](*values)


OPERATIONS = {
    "neg": lambda a: -a,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "exp": lambda a: math.exp(math.tanh(a)),
    "sqrt": lambda a: math.sqrt(1.0 + a * a),
    "abs": math.abs,
    "sign": math.sign,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "inverse": lambda a: 1.0 / (1.5 + math.sin(a)),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "min": math.minimum,
    "max": math.maximum,
    "atan2": lambda a, b: math.atan2(a, 1.5 + math.sin(b)),
    "where": lambda a, b, c, d: math.where(a < b, c, d),
}


@given(st.lists(expressions, min_size=1, max_size=3), st.lists(numbers, min_size=SIZE, max_size=SIZE))
def test_traced_equals_plain(trees, x):
    largest = 1.0

    def note(op, values):
        """Leave out what no tolerance can cover: large values, poles, and choices that a rounding error can turn."""
        nonlocal largest
        largest = max(largest, *(abs(v) for v in values))
        assume(largest < 1e4)
        assume(op != "div" or abs(values[1]) > 1e-2)
        assume(op != "sign" or abs(values[0]) > 1e-6)
        assume(op != "where" or abs(values[0] - values[1]) > 1e-6)

    want = [build(tree, x, note=note) for tree in trees]
    function = trace(lambda x: np.array([build(tree, x) for tree in trees], object), {"x": SIZE}, name="f")
    got = interpreter.run(function, {"x": x})["f"]
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE * max(largest, *map(abs, want)))


@given(expressions)
def test_operands_have_one_order(tree):
    graph = Graph()
    x = graph.input("x", SIZE)
    assert build(tree, x, graph.constant) is build(tree, x, graph.constant, swap=True)


@given(expressions)
def test_tracing_twice_makes_no_new_nodes(tree):
    graph = Graph()
    x = graph.input("x", SIZE)
    build(tree, x, graph.constant)
    count = graph.size
    build(tree, x, graph.constant)
    assert graph.size == count


@given(expressions)
def test_constants_and_zeros_are_gone(tree):
    """No operation is left whose operands are all constants, nor a sum with 0 or a product with 0, 1 or -1."""
    function = trace(lambda x: build(tree, x, x[0].graph.constant), {"x": SIZE})
    for node in function.schedule():
        constants = [a.value for a in node.args if a.op == "const"]
        assert len(constants) < max(len(node.args), 1)
        if node.op in ("add", "sub"):
            assert 0.0 not in constants
        if node.op == "mul":
            assert not {0.0, 1.0, -1.0}.intersection(constants)
        if node.op in ("add", "mul", "neg"):
            assert all(a.op != "neg" for a in node.args)
