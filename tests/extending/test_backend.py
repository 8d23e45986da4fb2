"""A backend written outside the package, with public names only; edited, the edit counts."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError
from tolerances import RECURSION, assert_close

OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "dot": lambda *x: sum(a * b for a, b in zip(x[: len(x) // 2], x[len(x) // 2 :], strict=True)),
}


def long_double(function):
    """Node by node in 80-bit numbers."""

    def run(inputs, passes):
        assert passes is None, "functions only"
        values = {}
        for node in function.schedule():
            if node.op == "const":
                values[node.id] = np.longdouble(node.value)
            elif node.op == "input":
                name, index = node.value
                values[node.id] = inputs[name][..., index].astype(np.longdouble)
            else:
                values[node.id] = OPERATIONS[node.op](*(values[argument.id] for argument in node.args))
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in inputs.values()))
        results = {}
        for output in function.outputs:
            columns = [np.broadcast_to(values[node.id], batch) for node in output.nodes]
            results[output.name] = np.stack(columns, axis=-1).reshape(*batch, *output.shape)
        return results

    return run


ROBOT = dalembert.load("2r")
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def registered():
    dalembert.register_backend("long_double", long_double)


@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
def test_it_computes(batch):
    q, v, a = RNG.normal(size=(3, *batch, 2))
    expected = ROBOT.inverse_dynamics(q, v, a)
    for name in ("long_double", "interpreter", "llvm"):
        got = ROBOT.inverse_dynamics(q, v, a, backend=name)
        assert got.shape == expected.shape and got.dtype == np.float64
        assert_close(got, expected, RECURSION)
    single = [x.astype(np.float32) for x in (q, v, a)]
    got = ROBOT.inverse_dynamics(*single, backend="long_double")
    assert got.dtype == np.float32
    out = np.full(expected.shape, np.nan)
    assert ROBOT.inverse_dynamics(q, v, a, backend="long_double", out=out) is out
    assert_close(out, expected, RECURSION)


def test_an_edit_counts():
    q = np.array([0.3, -0.2])
    first = ROBOT.gravity(q, backend="long_double")

    def doubled(function):
        run = long_double(function)
        return lambda inputs, passes: {name: 2.0 * x for name, x in run(inputs, passes).items()}

    dalembert.register_backend("long_double", doubled)
    assert np.array_equal(ROBOT.gravity(q, backend="long_double"), 2.0 * first)
    dalembert.register_backend("long_double", long_double)
    assert np.array_equal(ROBOT.gravity(q, backend="long_double"), first)
    assert np.array_equal(ROBOT.gravity(q), ROBOT.gravity(q, backend="llvm"))  # the usual one is not touched


def test_bad_states_are_found():
    """Checks are made for every backend."""
    with pytest.raises(DalembertError, match=r"q\[1\] is nan"):
        ROBOT.gravity(np.array([0.0, np.nan]), backend="long_double")
    assert np.isnan(ROBOT.gravity(np.array([0.0, np.nan]), backend="long_double", check=False)).any()


def test_what_a_backend_does_wrong():
    def returning(make):
        dalembert.register_backend("wrong", lambda function: lambda inputs, passes: make(function.outputs[0]))
        return lambda: ROBOT.gravity(np.zeros(2), backend="wrong")

    with pytest.raises(DalembertError, match="returned no"):
        returning(lambda output: {})()
    with pytest.raises(DalembertError, match=r"shape \(3,\), expected \(2,\)"):
        returning(lambda output: {output.name: np.zeros(3)})()
    with pytest.raises(DalembertError, match="in float32, expected float64"):
        returning(lambda output: {output.name: np.zeros(2, np.float32)})()


@pytest.mark.parametrize(
    ("name", "compile", "message"),
    [
        ("llvm", long_double, "of dalembert itself"),
        ("a b", long_double, "an identifier"),
        (3, long_double, "an identifier"),
        ("mine", None, "expected a function"),
    ],
)
def test_what_is_refused(name, compile, message):
    with pytest.raises(DalembertError, match=message):
        dalembert.register_backend(name, compile)


def test_an_unknown_name():
    with pytest.raises(DalembertError, match="interpreter"):
        ROBOT.gravity(np.zeros(2), backend="interpeter")
