"""The interpreter is the definition, so it is checked against Python's own arithmetic and known values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compiler.backends.expressions import EXPRESSIONS, SPECIAL
from dalembert import math as dmath
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import Loop, trace
from dalembert.errors import DalembertError
from tolerances import COMPUTED, EPS, ITERATED, REORDERED

inf, nan = math.inf, math.nan


def _quiet(function):
    """Python's math where it has a value, otherwise what IEEE 754 says: NaN, or inf at a pole."""

    def value(x):
        try:
            return function(x)
        except OverflowError:
            return inf
        except ValueError:
            return -inf if function is math.log and x == 0 else nan

    return value


def _sign(x):
    return x if x != x else float((x > 0) - (x < 0))


UNARY = {
    "neg": lambda x: -x, "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "atan": math.atan, "exp": math.exp,
    "log": math.log, "tanh": math.tanh, "abs": abs, "sign": _sign,
}  # fmt: skip
BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y if y else (nan if x == 0 or x != x else math.copysign(inf, x) * math.copysign(1, y)),
    "atan2": math.atan2,
    "minimum": lambda x, y: nan if x != x or y != y else min(x, y),
    "maximum": lambda x, y: nan if x != x or y != y else max(x, y),
    "lt": lambda x, y: float(x < y),
    "le": lambda x, y: float(x <= y),
    "gt": lambda x, y: float(x > y),
    "ge": lambda x, y: float(x >= y),
    "eq": lambda x, y: float(x == y),
    "ne": lambda x, y: float(x != y),
}


def _expression(name):
    return next(e for e in EXPRESSIONS if e.name == name)


@pytest.mark.parametrize("name", UNARY)
def test_unary_operations_are_those_of_python(name):
    expression = _expression(name)
    got = interpreter.run(expression.traced, {"x": np.array(SPECIAL)[:, None]})[name]
    want = [_quiet(UNARY[name])(x) for x in SPECIAL]
    np.testing.assert_array_max_ulp(got, np.array(want), maxulp=2)


@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_are_those_of_python(name):
    special = np.array(SPECIAL)
    x, y = (z.reshape(-1, 1) for z in np.meshgrid(special, special))
    got = interpreter.run(_expression(name).traced, {"x": x, "y": y})[name]
    want = [BINARY[name](a, b) for a, b in zip(x[:, 0].tolist(), y[:, 0].tolist(), strict=True)]
    np.testing.assert_array_max_ulp(got, np.array(want), maxulp=2 if name == "atan2" else 0)


def test_known_values():
    def f(x):
        return np.array([dmath.sin(x), dmath.cos(x), dmath.tan(x), dmath.exp(x), dmath.log(x), dmath.asin(x / 2.0)])

    function = trace(lambda x: f(x[0]), {"x": 1}, name="f")
    # of 1, to 17 digits
    known = [0.84147098480789651, 0.54030230586813972, 1.5574077246549022, 2.7182818284590452, 0.0, 0.52359877559829887]
    np.testing.assert_allclose(interpreter.run(function, {"x": [1.0]})["f"], known, rtol=2 * EPS)


@pytest.mark.parametrize("name", ["rotation", "pendulum", "several", "product", "chain", "folded"])
def test_tracing_changes_nothing(name):
    """The same Python function on plain floats and through the graph."""
    expression = _expression(name)
    inputs = expression.samples(np.random.default_rng(1))
    got = interpreter.run(expression.traced, inputs)
    for row in range(5):
        plain = expression.function(*[x[row] for x in inputs.values()])
        for key, value in (plain if isinstance(plain, dict) else {name: plain}).items():
            np.testing.assert_allclose(got[key][row], np.asarray(value, float), rtol=ITERATED, atol=COMPUTED)


def test_batch_shapes_broadcast():
    function = trace(lambda a, b: {"s": a @ b, "m": np.outer(a, b)}, {"a": 2, "b": 2})
    a, b = np.ones((5, 1, 2)), np.ones((3, 2))
    result = interpreter.run(function, {"a": a, "b": b})
    assert result["s"].shape == (5, 3) and result["m"].shape == (5, 3, 2, 2)
    assert interpreter.run(function, {"a": [1, 2], "b": [3, 4]})["s"] == 11
    assert interpreter.run(function, {"a": a[:0], "b": b})["m"].shape == (0, 3, 2, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_arithmetic_is_done_in_the_given_type(dtype):
    function = trace(lambda x: np.array([1.0 + x[0] - 1.0, 0.5]), {"x": 1}, name="f")
    eps = np.finfo(dtype).eps
    result = interpreter.run(function, {"x": [eps]}, dtype=dtype)["f"]
    assert result.dtype == dtype and result[0] == eps


def test_loop_is_the_function_repeated():
    expression = _expression("loop")
    inputs = {name: x[0] for name, x in expression.samples(np.random.default_rng(2)).items()}
    result = interpreter.run(expression.traced, inputs)
    x, v = inputs["x"], inputs["v"]
    for k in range(5):
        out = expression.function(x, v, inputs["u"][k], inputs["step"])
        x, v = out["x_next"], out["v_next"]
        np.testing.assert_allclose(result["energy"][k], out["energy"], rtol=REORDERED)
        np.testing.assert_allclose(result["twice"][k], out["twice"], rtol=REORDERED)
    np.testing.assert_allclose(result["x_next"], x, rtol=REORDERED)
    assert result.keys() == {"x_next", "v_next", "energy", "twice"}


def test_loop_batches_and_no_passes():
    step = trace(lambda x, u: {"y": x + u, "r": x * u}, {"x": 2, "u": 2}, name="step")
    loop = Loop(step, (("y", "x"),), ("u",), ("r",))
    result = interpreter.run(loop, {"x": np.zeros((4, 2)), "u": np.ones((3, 2))})
    assert result["y"].shape == (4, 2) and (result["y"] == 3).all()
    assert result["r"].shape == (4, 3, 2) and (result["r"][:, :, 0] == [0, 1, 2]).all()
    result = interpreter.run(loop, {"x": np.full((4, 2), 7.0), "u": np.ones((0, 2))}, 0)
    assert (result["y"] == 7).all() and result["r"].shape == (4, 0, 2)


def test_a_recorded_state_comes_back_as_its_record():
    loop = Loop(trace(lambda x: {"y": 2.0 * x}, {"x": 1}), (("y", "x"),), (), ("y",))
    assert interpreter.run(loop, {"x": [1.0]}, 3)["y"].tolist() == [[2], [4], [8]]


def test_guards():
    function = trace(lambda x: x, {"x": 2}, guards=lambda x: [x[0] > 0.0, x @ x < 4.0, 1.0 < 2.0])
    rows = np.array([[1.0, 1.0], [-1.0, 0.0], [1.0, 3.0], [nan, 0.0]])
    assert interpreter.guards_hold(function, {"x": rows}).tolist() == [True, False, False, False]
    assert interpreter.guards_hold(trace(lambda x: x, {"x": 2}), {"x": rows}).tolist() == [True] * 4
    loop = Loop(trace(lambda x: {"y": x - 1.0}, {"x": 1}, guards=lambda x: [x[0] > 0.0]), (("y", "x"),))
    assert interpreter.guards_hold(loop, {"x": [[2.5], [3.5]]}, 3).tolist() == [True, True]
    assert interpreter.guards_hold(loop, {"x": [[2.5], [3.5]]}, 4).tolist() == [False, True]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"x": [1.0, 2.0]}, "input 'speed' .* is missing"),
        ({"x": [1.0, 2.0], "speed": [1.0], "sped": [1.0]}, "unknown input 'sped': did you mean 'speed'"),
        ({"x": [1.0], "speed": [1.0]}, r"x has shape \(1,\), expected \(…, 2\)"),
        ({"x": 1.0, "speed": [1.0]}, r"x has shape \(\)"),
        ({"x": np.ones((3, 2)), "speed": np.ones((2, 1))}, "do not broadcast"),
    ],
)
def test_wrong_inputs(inputs, message):
    with pytest.raises(DalembertError, match=message):
        interpreter.run(trace(lambda x, v: x * v, {"x": 2, "speed": 1}, name="f"), inputs)


def test_wrong_number_of_passes():
    loop = Loop(trace(lambda x, u: {"y": x + u}, {"x": 1, "u": 1}, name="f"), (("y", "x"),), ("u",))
    with pytest.raises(DalembertError, match="n = 4, u has 3 rows"):
        interpreter.run(loop, {"x": [0.0], "u": np.ones((3, 1))}, 4)
    with pytest.raises(DalembertError, match=r"u has shape \(3,\), expected \(…, n, 1\)"):
        interpreter.run(loop, {"x": [0.0], "u": np.ones(3)}, 3)
    free = Loop(trace(lambda x: {"y": x}, {"x": 1}, name="f"), (("y", "x"),))
    for n in (None, -1):
        with pytest.raises(DalembertError, match="number of passes"):
            interpreter.run(free, {"x": [0.0]}, n)
