"""Derivatives on the graph against differences, complex steps, each other, and their cost."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.backends.expressions import EXPRESSIONS
from dalembert import math
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import Function, Loop, Scalar, gradient, jacobian, jvp, trace, vjp
from dalembert.errors import DalembertError
from tolerances import COMPUTED, CONVERGED, PRODUCT, REORDERED, ROUNDING

# eighth-order central differences: truncation about 1e-16 at this step, rounding about 1e-14
STEP = 0.01
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}

SMOOTH = [e for e in EXPRESSIONS if e.loop is None and e.name not in ("product", "constants", "empty")]


def evaluate(function, x):
    """`function(x)` traced and run at the numbers x."""
    return interpreter.run(trace(function, {"x": len(x)}, name="f"), {"x": x})["f"]


def differences(function: Function, inputs, direction):
    """Rate of every output, concatenated, when the inputs move along `direction`."""

    def moved(k):
        at = {name: x + k * STEP * direction[name] for name, x in inputs.items()}
        return np.concatenate([y.ravel() for y in interpreter.run(function, at, dtype=np.longdouble).values()])

    return sum(w * (moved(k) - moved(-k)) for k, w in WEIGHTS.items()) / STEP


@pytest.mark.parametrize("expression", SMOOTH, ids=str)
def test_forward_and_reverse_agree_with_differences(expression):
    """Every expression of the list, every output, along a random direction, away from kinks."""
    function = expression.traced
    rng = np.random.default_rng(5)
    total = sum(expression.inputs.values())
    cuts = np.cumsum(list(expression.inputs.values()))[:-1]
    rates = rng.uniform(-1, 1, total)
    apart = rng.permutation(np.linspace(0.24, 0.86, total)) if total > 1 else np.array([0.4])  # no ties within reach
    point = dict(zip(expression.inputs, np.split(apart, cuts), strict=True))
    direction = dict(zip(expression.inputs, np.split(rates, cuts), strict=True))
    weights = rng.uniform(-1, 1, sum(len(output.nodes) for output in function.outputs))

    def derivatives(*arguments):
        result, inputs = expression.function(*arguments), np.concatenate(arguments)
        parts = result.values() if isinstance(result, dict) else [result]
        outputs = [as_number(y) for part in parts for y in np.ravel(np.asarray(part, object))]
        return {"pushed": jvp(outputs, dict(zip(inputs, rates, strict=True))), "pulled": vjp(outputs, weights, inputs)}

    got = interpreter.run(trace(derivatives, expression.inputs), point)
    want = differences(function, point, direction)
    scale = 1 + np.max(np.abs(want))
    np.testing.assert_allclose(got["pushed"], want.astype(float), rtol=0, atol=CONVERGED * scale)
    np.testing.assert_allclose(got["pulled"] @ rates, got["pushed"] @ weights, rtol=COMPUTED, atol=REORDERED * scale)


def as_number(value):
    return math.where(value, 1.0, 0.0) if isinstance(value, Scalar) and value.boolean else value


def analytic(x):
    """Works on complex arrays too, for complex steps."""
    a = np.sin(x[0] * x[1]) / np.sqrt(1.0 + x[2] * x[2])
    b = np.exp(-x[3]) * np.tanh(x[0] - x[2]) + np.log(2.0 + x[1] * x[3])
    return a * b + np.cos(a) ** 3 / b, a - b, x[0] ** 2.5


def test_complex_step():
    """Exact to rounding: Im f(x + ih) / h with h = 1e-200."""
    x = np.array([0.7, -0.3, 1.1, 0.2])
    want = np.array([np.imag(analytic(x + 1e-200j * row)) / 1e-200 for row in np.eye(4)]).T
    assert evaluate(lambda x: jacobian(analytic(x), x), x) == pytest.approx(want, rel=PRODUCT, abs=ROUNDING)
    for k in range(3):
        assert evaluate(lambda x, k=k: gradient(analytic(x)[k], x), x) == pytest.approx(
            want[k], rel=PRODUCT, abs=ROUNDING
        )


def test_jacobian_shapes_and_modes():
    """Tall (forward) and wide (reverse) agree, for matrices of outputs and inputs."""
    x = np.array([0.4, -0.8, 0.3, 1.2])

    def wide(x):
        y = x.reshape(2, 2)
        return jacobian((y @ y)[0], y)

    def tall(x):
        y = x.reshape(2, 2)
        return jacobian(np.array([y @ y, y @ y]), y)[0, 0]

    assert evaluate(wide, x).shape == (2, 2, 2)
    np.testing.assert_allclose(evaluate(wide, x), evaluate(tall, x), rtol=ROUNDING)
    assert evaluate(lambda x: jacobian(x[0] * x[1], x), x).tolist() == [-0.8, 0.4, 0, 0]
    assert evaluate(lambda x: jacobian([x[0] ** 2] * 3, x[0]), x).tolist() == [0.8] * 3


def test_second_derivatives():
    x = np.array([0.7, -0.3, 1.1, 0.2])
    hessian = evaluate(lambda x: jacobian(gradient(analytic(x)[0], x), x), x)
    np.testing.assert_allclose(hessian, hessian.T, rtol=REORDERED, atol=PRODUCT)
    function = trace(lambda x: gradient(analytic(x)[0], x), {"x": 4})
    want = [differences(function, {"x": x}, {"x": row}) for row in np.eye(4)]
    np.testing.assert_allclose(hessian, np.array(want, float), rtol=CONVERGED, atol=COMPUTED)


@pytest.mark.parametrize(
    ("function", "x", "slope"),
    [
        (lambda x: math.abs(x[0]), 0.0, 0),
        (lambda x: math.abs(x[0]), -3.0, -1),
        (lambda x: math.sign(x[0]) * 2.0, 0.5, 0),
        (lambda x: math.maximum(x[0], 0.0), 0.0, 0),  # on the clamp: the constant's side
        (lambda x: math.minimum(x[0], 0.0), 0.0, 0),
        (lambda x: math.maximum(x[0], 0.0), 1e-300, 1),
        (lambda x: math.minimum(x[0], 3.0 * x[0]), 0.0, 1),  # a tie: the value made first
        (lambda x: math.maximum(3.0 * x[0], x[0]), 0.0, 1),
        (lambda x: math.minimum(x[0], x[0]), 2.0, 1),
        (lambda x: math.where(x[0] < 1.0, 2.0 * x[0], 5.0 * x[0]), 1.0, 5),
        (lambda x: math.where(x[0] > 0.0, math.sqrt(math.where(x[0] > 0.0, x[0], 1.0)), 7.0 * x[0]), 0.0, 7),
        (lambda x: math.sqrt(x[0]), 0.0, np.inf),
        (lambda x: (x[0] < 1.0) & (x[0] > 0.0), 0.5, 0),
    ],
)
def test_conventions_at_kinks(function, x, slope):
    def both(x):
        value = as_number(function(x))
        return {"forward": jvp(value, {x[0]: 1.0}), "reverse": gradient(value, x)[0]}

    result = interpreter.run(trace(both, {"x": 1}), {"x": [x]})
    assert (result["forward"], result["reverse"]) == (slope, slope)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda x: math.where(x[0] > 0.0, math.sqrt(x[0]), 0.0), 0),
        (lambda x: math.where(x[0] > 0.0, 1.0 / x[0], 7.0 * x[0]), 7),
        (lambda x: math.maximum(math.log(x[0]), -5.0 + x[0]), 1),
    ],
)
def test_forward_mode_ignores_infinite_slopes_of_the_other_side(function, slope):
    assert evaluate(lambda x: jvp(function(x), {x[0]: 1.0}), [0.0]) == slope


def test_what_cannot_change_is_a_plain_zero():
    function = trace(lambda x: {"d": check_zeros(x)}, {"x": 2})
    assert function.operations() == {}


def check_zeros(x):
    zeros = [*jacobian([3.0, x[1], math.sign(x[0])], x[:1]).ravel(), *gradient(2.0, x), *vjp([x[0]], [0.0], x)]
    assert all(type(z) is float and z == 0 for z in zeros)
    return zeros


@pytest.mark.parametrize(
    "how", [lambda y, s: gradient(y, [s]), lambda y, s: jvp(y, {s: 1.0}), lambda y, s: jacobian([y, y], [s])]
)
def test_a_computed_value_is_no_input(how):
    """Folding may go past it: -s·x is made from s·x, not from -s."""

    def f(x):
        s = -math.sin(x[0])
        return how(s * x[1], s)

    with pytest.raises(DalembertError, match="which was computed: make it an input"):
        trace(f, {"x": 2})


def test_seeds_and_cotangents_may_be_traced():
    x = np.array([0.5, 2.0])
    assert evaluate(lambda x: jvp(x[0] * x[0], {x[0]: x[1]}), x) == 2.0
    assert evaluate(lambda x: vjp([x[0] * x[0], x[1]], [x[1], 3.0], x), x).tolist() == [2.0, 3.0]


def test_only_traced_inputs():
    with pytest.raises(DalembertError, match="expected traced inputs, got float"):
        trace(lambda x: gradient(x[0], [1.0]), {"x": 1})


def many(x):
    """A scalar function of many inputs, with every smooth operation."""
    total = 0.0
    for a, b in zip(x, np.roll(x, 1), strict=True):
        total = math.sqrt(1.0 + total * total) * math.cos(a * b) + math.tanh(a) / (2.0 + math.sin(b)) - math.exp(-a * a)
        total = math.where(total > 1.0, math.log(total), math.atan2(total, 1.0 + a * a))
    return total


@pytest.mark.parametrize("size", [5, 80])
def test_reverse_mode_costs_a_small_multiple(size):
    """Value and gradient together take at most 5 times the operations of the value, however many inputs."""
    alone = trace(many, {"x": size}).operations()
    both = trace(lambda x: {"value": many(x), "gradient": gradient(many(x), x)}, {"x": size}).operations()
    assert sum(both.values()) <= 5 * sum(alone.values())


def test_products_cost_a_small_multiple():
    """The worst case for reverse mode: nothing but products and sums, where one operation becomes five at most."""

    def f(x):
        A = x.reshape(6, 6)
        return np.sum((A @ A) @ A)

    alone = trace(f, {"x": 36}).operations()
    both = trace(lambda x: {"value": f(x), "gradient": gradient(f(x), x)}, {"x": 36}).operations()
    assert sum(both.values()) <= 5 * sum(alone.values())


def test_deep_graphs_need_no_recursion():
    def deep(x):
        a = x[0]
        for _ in range(20_000):
            a = a * 0.5 + x[1]
        return {"forward": jvp(a, {x[0]: 1.0, x[1]: 1.0}), "reverse": gradient(a, x)}

    result = interpreter.run(trace(deep, {"x": 2}), {"x": [1.0, 1.0]})
    assert result["forward"] == pytest.approx(2.0) and result["reverse"].sum() == pytest.approx(2.0)


def test_derivatives_inside_a_loop():
    """Newton's method for the square root: the slope is traced with the step."""
    step = trace(lambda x, c: {"y": x - (x**2 - c) / gradient(x[0] ** 2, x)}, {"x": 1, "c": 1})
    loop = Loop(step, (("y", "x"),))
    assert interpreter.run(loop, {"x": [1.0], "c": [2.0]}, 6)["y"] == pytest.approx(np.sqrt(2), rel=ROUNDING)
