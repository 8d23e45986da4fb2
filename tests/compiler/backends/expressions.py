"""The one list of expressions that every backend must evaluate as the interpreter does, and the comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from dalembert import math
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import Function, Loop, Output, call, gradient, jacobian, jvp, trace

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, np.pi / 2, -np.pi, 12345.678, -1e5, 1e5 + 0.5, 3e9, 1e22, -1e300, 1e-8,
           -1e-300, 2.2250738585072014e-308, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, np.nan)  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """A function of named vectors. values: where it is evaluated. loop: carry, sequence, record and so on of a Loop.

    passes: of that loop. inner: passes of repetitions inside, as far as errors grow with them, or for long sums.
    """

    name: str
    inputs: Mapping[str, int]
    function: Callable[..., Any]
    values: str = "mild"
    loop: tuple[Any, ...] | None = None
    passes: int | None = None
    inner: int = 0

    @cached_property
    def traced(self) -> Function | Loop:
        function = trace(self.function, self.inputs, name=self.name)
        return function if self.loop is None else Loop(function, *self.loop)

    @property
    def straight(self) -> bool:
        """Whether it neither calls, nor repeats, nor looks up numbers, which SymPy cannot."""
        step = self.traced.step if isinstance(self.traced, Loop) else self.traced
        return not any(node.op in ("compound", "lookup") for node in step.schedule())

    def samples(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Inputs (rows, size), sequences (rows, passes, size). The number of rows suits no SIMD width."""
        sequence = self.loop[1] if self.loop else ()
        widths = [size * self.passes if name in sequence else size for name, size in self.inputs.items()]
        table = VALUES[self.values](rng, sum(widths))
        columns = np.split(table, np.cumsum(widths)[:-1], axis=1)
        inputs = dict(zip(self.inputs, columns, strict=True))
        for name in sequence:
            inputs[name] = inputs[name].reshape(len(table), self.passes, self.inputs[name])
        return inputs

    def __str__(self) -> str:
        return self.name


def _mild(rng: np.random.Generator, width: int) -> np.ndarray:
    return rng.uniform(-2, 2, (37, width))


def _wide(rng: np.random.Generator, width: int) -> np.ndarray:
    """Both signs, sixteen decades."""
    return rng.choice([-1.0, 1.0], (101, width)) * 10 ** rng.uniform(-8, 8, (101, width))


def _special(rng: np.random.Generator, width: int) -> np.ndarray:
    """All combinations of special values (a choice of them for more than two numbers), then wide ones."""
    if width <= 2:
        combinations = np.array(list(product(SPECIAL, repeat=width)))
    else:
        combinations = rng.choice(SPECIAL, (400, width))
    return np.concatenate([combinations, np.repeat(combinations[:, :1], width, axis=1), _wide(rng, width)])


VALUES = {"mild": _mild, "wide": _wide, "special": _special}


def _unary(name: str, function: Callable[[Any], Any]) -> Expression:
    return Expression(name, {"x": 1}, lambda x: function(x[0]), "special")


def _binary(name: str, function: Callable[[Any, Any], Any]) -> Expression:
    return Expression(name, {"x": 1, "y": 1}, lambda x, y: function(x[0], y[0]), "special")


def _condition(name: str, function: Callable[[Any, Any, Any], Any]) -> Expression:
    return Expression(name, {"x": 3}, lambda x: function(*x), "special")


def _several(q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
    """Scalar, vector and matrix outputs; constants; inputs passed on; one node in several places."""
    s = math.sin(q[0] * v[1])
    return {
        "energy": s * s + q @ v,
        "q": q,
        "matrix": np.array([[s, 1.0, 0.0, q[2]], [-s, s, -1.5, v[0]], [v[1], s, q[0] + q[1], math.cos(q[0])]], object),
        "cube": np.array([[[q[0] - v[0], v[0] - q[0], 2.0]], [[s, 2.0, -q[1]]]], object),
        "reversed": q[::-1],
    }


def _constants(x: np.ndarray) -> np.ndarray:
    return np.array([0.0, -0.0, 1.5, -1 / 3, np.pi, 1e300, 1e-300, np.inf, -np.inf, np.nan, 16777217.0, 0.1])


def _folded(x: np.ndarray) -> np.ndarray:
    a, b = x[0], x[1]
    return np.array([a / 3.0, 7.0 * (0.1 * a), -(a - b), b - a, -2.0 * b, 2.0 * b, a * -b, a - -b, a / -b, (-a) ** 3])


def _power(name: str, n: float) -> Expression:
    return _unary(name, lambda x: x**n)


def _rotation(w: np.ndarray) -> np.ndarray:
    """Rodrigues' formula, with the division kept away from 0."""
    square = w @ w
    small = square < 1e-12
    angle = math.sqrt(math.where(small, 1.0, square))
    a = math.where(small, 1.0 - square / 6.0, math.sin(angle) / angle)
    b = math.where(small, 0.5 - square / 24.0, (1.0 - math.cos(angle)) / (angle * angle))
    W = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]], object)
    return np.eye(3) + a * W + b * (W @ W)


def _pendulum(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Acceleration of a double pendulum with Coulomb friction and saturated torques."""
    c, s = math.cos(q[1]), math.sin(q[1])
    m11, m12, m22 = 3.0 + 2.0 * c, 1.0 + c, 1.0
    f = np.array([math.maximum(-1.0, math.minimum(1.0, t)) for t in tau], object)
    b1 = f[0] + s * v[1] * (2.0 * v[0] + v[1]) - 9.81 * (2.0 * math.sin(q[0]) + math.sin(q[0] + q[1]))
    b2 = f[1] - s * v[0] * v[0] - 9.81 * math.sin(q[0] + q[1]) - 0.1 * math.tanh(v[1] / 0.01)
    determinant = m11 * m22 - m12 * m12
    return np.array([m22 * b1 - m12 * b2, m11 * b2 - m12 * b1]) / determinant


def _chain(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """2 500 operations, each of which waits for the one before: more than one function holds, in every backend."""
    a = x[0]
    for k in range(500):
        a = 0.5 * math.sin(a * y[k % len(y)] + 0.01 * k) + 0.25 * x[k % len(x)]
    return np.array([a])


def _product(a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    """Two dense products, 11 000 operations; every value of the first lives until the second."""
    A, B = a.reshape(14, 14), b.reshape(14, 14)
    C = A @ B / 14.0
    return {"C": C, "D": C @ A}


def _block_product(a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    """A product large enough to be a loop, with zeros, shared entries, constants, and users of its entries."""
    A, B = a.reshape(17, 20), b.reshape(20, 23)
    B = np.where((np.arange(20)[:, None] + np.arange(23)) % 3 == 0, 0.0, B * B)
    B[:, 4], B[3, 5] = 0.0, 2.5
    C = math.product(A, B)
    return {"C": C, "D": C[:3, :4] @ C[:4, :2] / 400.0, "E": math.sin(C[0, 0])}


def _network(x: np.ndarray) -> dict[str, Any]:
    """Large matrices of constants, one of which float32 holds exactly; and their slopes."""
    y = math.product(WEIGHTS[0], x)
    z = math.product(WEIGHTS[1], math.map(lambda y: {"y": math.tanh(y)}, {"y": y})["y"])
    return {"y": y[::-1], "z": z, "slope": gradient(math.sin(z[0]) + z[-1] * z[1], x[:3])}


def _far_conditions(x: np.ndarray) -> dict[str, Any]:
    """Conditions made at the start and used again after thousands of operations."""
    conditions = [x[i] < x[i + 1] for i in range(len(x) - 1)]
    first = [math.where(c, 1.0 + x[0], x[1]) for c in conditions]
    chain = _chain(x, x[::-1])[0]
    last = [math.where(c, chain, 2.0 * x[2]) for c in conditions]
    return {"first": np.array(first), "chain": chain, "last": np.array(last)}


def _oscillator(x: np.ndarray, v: np.ndarray, u: np.ndarray, step: np.ndarray) -> dict[str, Any]:
    v = v + step[0] * (u - x)
    x = x + step[0] * v
    return {"x_next": x, "v_next": v, "energy": 0.5 * (x @ x + v @ v), "left": x - v, "twice": np.array([x, v])}


def _swap(a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    return {"a": b, "b": a + 0.125 * b, "c": np.array([1.0, a[0] * b[1]])}


def _root(a: np.ndarray, fixed_point: float | None = None) -> dict[str, Any]:
    """Newton's root of 1 + a₀², from a start of any quality; no pass is made where a₁ is negative."""
    square = 1.0 + a[0] * a[0]

    def step(x: Any, done: Any) -> dict[str, Any]:
        following = 0.5 * (x + square / x)
        return {"x": following, "done": math.abs(following - x) <= 1e-9 * following}

    done = a[1] < 0.0 if fixed_point is None else False
    return math.repeat(step, 40, {"x": math.abs(a[1]) + 0.01, "done": done}, "done", fixed_point)


def _turned(x: np.ndarray) -> dict[str, Any]:
    """Exactly three passes over a matrix and a vector, with sines; one part of the state is passed on to another."""
    weight = math.exp(0.1 * x[4])

    def step(M: np.ndarray, v: np.ndarray, last: np.ndarray) -> dict[str, Any]:
        turned = np.array([math.sin(v[0]) + 0.5 * v[1], math.cos(v[1]) - weight * v[0]])
        return {"M": 0.5 * (M @ M) + x[0] * np.eye(2), "v": turned, "last": v}

    return math.repeat(step, 3, {"M": x[:4].reshape(2, 2), "v": x[2:4], "last": np.zeros(2)})


def _nested(x: np.ndarray) -> dict[str, Any]:
    """A repetition in the step of another, both stopping, with a condition and values from both outsides."""
    up = x[0] < x[1]

    def outer(total: Any, k: Any, done: Any) -> dict[str, Any]:
        def inner(part: Any, j: Any, enough: Any) -> dict[str, Any]:
            return {"part": part + math.where(up, 0.25, 0.5) * k + x[2] * j, "j": j + 1.0, "enough": j + 1.0 >= k}

        sums = math.repeat(inner, 5, {"part": 0.125 * total, "j": 0.0, "enough": False}, "enough")
        return {"total": sums["part"], "k": k + 1.0, "done": k >= 2.5 + x[1]}

    return math.repeat(outer, 6, {"total": x[0], "k": 1.0, "done": False}, "done")


def _branches(x: np.ndarray) -> np.ndarray:
    """A branch in a branch, each with what it alone needs: a loop over items, an exponential, a condition."""
    common, flag = math.cos(x[1]), x[1] < x[2]

    def outer() -> dict[str, Any]:
        def inner() -> dict[str, Any]:
            items = {"a": np.array([x[0] * x[1], x[1], x[2]])}
            return {"y": math.map(lambda a: {"y": math.where(flag, math.sin(a), a) * x[2]}, items)["y"]}

        return {"y": math.branch(x[2] > 0.5, inner, {"y": x})["y"] * common + math.exp(x[0])}

    return math.branch(x[0] > 0.0, outer, {"y": common * x})["y"]


def _branching_items(x: np.ndarray) -> dict[str, Any]:
    """Branches with what they alone need in the steps of a visit, a map, a scan and a repetition."""

    def chosen(a: Any, b: Any) -> dict[str, Any]:
        return math.branch(a > 0.0, lambda: {"y": [math.sin(b) * x[0], a - 0.5 * b]}, {"y": [a, b]})

    def one(rows: np.ndarray, sum: Any, a: Any, to: Any) -> dict[str, Any]:
        y = chosen(a, rows[0, 0])["y"]
        return {"rows": [[y[1], 0.5 * y[0]]], "to": [to], "sum": sum + y[0], "record": y[0] * rows[0, 1]}

    def apart(rows: np.ndarray, a: Any) -> dict[str, Any]:
        return {"found": chosen(a, rows[0, 1])["y"]}

    def on(s: Any, a: Any) -> dict[str, Any]:
        return {"s": 0.5 * s + chosen(a, s)["y"][0]}

    items, at = {"a": x, "to": np.array([1.0, 2.0, 0.0, 1.0])}, np.array([[0.0], [1.0], [2.0], [0.0]])
    visited = math.visit(one, items, np.array([[x[0], 1.0], [x[1], x[2]], [0.5, x[3]]]), at, carry={"sum": 0.0})
    read = math.visit(apart, {"a": x}, visited["table"], at)
    mapped = math.map(lambda a: chosen(a, x[1]), {"a": x})
    scanned = math.scan(on, {"a": x}, {"s": x[2]})
    repeated = math.repeat(lambda s: {"s": on(s, x[3])["s"]}, 3, {"s": x[1]})
    return {**visited, **read, **mapped, "s": scanned["s"], "end": repeated["s"]}


def _settling(x: np.ndarray, c: np.ndarray) -> dict[str, Any]:
    """A loop whose every step looks for a solution from the last one on: y = c + sin(y + x) / 2."""

    def step(y: Any, done: Any) -> dict[str, Any]:
        following = c[0] + 0.5 * math.sin(y + x[1])
        return {"y": following, "done": math.abs(following - y) < 1e-14}

    y = math.repeat(step, 100, {"y": x[0], "done": 0.0}, "done")["y"]
    return {"x": [y, x[1] + 0.1 * y]}


GRID = np.array([-1.5, -0.75, 0.0, 0.75, 1.5])  # equal distances, exactly
UNEVEN = np.array([-1.9, -1.0, -0.5, 0.1, 0.5, 1.7])
CURVE = np.array([0.5, -1.25, 2.0, 0.75, 0.5])
WEIGHTS = (
    np.cos(np.arange(3132.0)).reshape(108, 29) / 16.0,
    np.sin(np.arange(3996.0)).astype(np.float32).reshape(37, 108) / 16.0,
)
FIELD = np.cos(np.add.outer(GRID, 2.0 * UNEVEN))


def _interpolated(x: np.ndarray) -> dict[str, Any]:
    """Every kind of interpolant, with every kind of ends, between equal and unequal distances."""
    ends = ("clamp", "extend", "periodic")
    uneven = np.array([1.0, 0.5, -0.25, 2.0, 1.5, 1.0])
    return {
        "linear": [math.interp(1.3 * x[0], GRID, CURVE, "linear", end) for end in ends],
        "cubic": [math.interp(1.3 * x[0], GRID, CURVE, "cubic", end) for end in ends],
        "uneven": [math.interp(x[1], UNEVEN, uneven, kind) for kind in ("linear", "cubic", "nearest", "previous")],
        "rows": math.interp(x[0], GRID, np.stack([CURVE, CURVE**2], axis=1)),
        "field": [
            math.interp2(x[0], x[1], GRID, UNEVEN, FIELD),
            math.interp2(x[0], x[1], GRID, UNEVEN, FIELD, "nearest"),
        ],
    }


def _table(x: np.ndarray) -> np.ndarray:
    """Rows by number, beyond the ends, at infinity and NaN too."""
    table = np.stack([np.arange(7.0), np.arange(7.0) ** 2 - 0.1], axis=1)
    return np.array([*math.lookup(table, x[0]), *math.lookup(table, x[1] * 7.0), math.lookup(CURVE, x[0] + x[1])])


def _items(x: np.ndarray) -> dict[str, Any]:
    """A map over items in rows, gathered, alike, constant; results of all kinds; a scan of them in reverse."""
    rows = x.reshape(3, 7).T
    neighbours = rows[[1, 2, 3, 4, 5, 6, 0]]

    def one(a: np.ndarray, b: np.ndarray, c: Any, same: Any, known: Any) -> dict[str, Any]:
        turned = math.sin(a[0]) * b + c * x[0]
        return {"y": turned, "z": [a[2], 1.5, x[1], math.where(a[0] < known, same, math.exp(0.1 * b[2]))]}

    items = {
        "a": rows,
        "b": neighbours,
        "c": np.arange(7.0),
        "same": np.full(7, x[2], object),
        "known": np.full(7, 0.5),
    }
    made = math.map(one, items)

    def on(s: np.ndarray, last: Any, y: np.ndarray) -> dict[str, Any]:
        return {"s": 0.5 * s[::-1] + y[:2] * x[3], "last": s[0], "dot": s @ y[1:]}

    back = math.scan(on, {"y": made["y"]}, {"s": x[4:6], "last": 0.0}, reverse=True)
    return {**made, **back, "end": back["s"][0]}


def _filtered(x: np.ndarray) -> Any:
    """A scan forwards, whose step repeats, over the results of a map."""
    squares = math.map(lambda a: {"square": 1.0 + a * a}, {"a": x[1:]})["square"]

    def root(r: Any, square: Any) -> dict[str, Any]:
        step = lambda y: {"y": 0.5 * (y + square / y)}  # noqa: E731
        return {"r": 0.5 * r + math.repeat(step, 4, {"y": square})["y"]}

    return math.scan(root, {"square": squares}, {"r": x[0]})["r"]


def _counted(x: np.ndarray) -> dict[str, Any]:
    """A map and scans over as many of the items as a number of the state says: none, some, more than there are."""
    count = math.where(x[0] < 0.27, 0.0, math.where(x[0] < 0.72, 3.0, 20.0))  # jumps between the points of slopes
    made = math.map(lambda a: {"y": 1.0 + a * a}, {"a": x[1:]}, count)

    def on(s: Any, y: Any, a: Any) -> dict[str, Any]:
        return {"s": 0.5 * s + y, "z": s * a + 1.0}

    start, items = {"s": x[1]}, {"y": made["y"], "a": x[1:]}
    back = math.scan(on, items, start, reverse=True, count=count)
    onwards = math.scan(on, items, start, count=count)
    return {**made, **onwards, "back": back["s"], "back z": back["z"], "slope": gradient(onwards["s"][-1], x)}


def _visits(x: np.ndarray) -> dict[str, Any]:
    """Rows of a table by numbers of the state, some of them no rows; a carry, records, a count; slopes in reverse."""
    count = math.where(x[0] < 0.27, 0.0, math.where(x[0] < 0.72, 3.0, 20.0))  # jumps between the points of slopes
    first = math.where(x[0] < 0.27, 1.0, math.where(x[0] < 0.72, 3.0, -1.0))
    at = np.array([[first, 0.0], [2.0, first], [first, 4.0], [0.0, 1.0]], object)

    def step(rows: np.ndarray, total: Any, a: Any, to: np.ndarray) -> dict[str, Any]:
        return {"rows": 0.5 * rows[::-1] + a * rows, "to": to, "total": total + a * rows[0, 1], "y": rows[1] * a}

    start, items = np.array([x[:2], x[1:3], x[2:4], [1.0, x[3]]]), {"a": x, "to": at[:, ::-1]}
    found = math.visit(step, items, start, at, {"total": x[1]}, count)
    taken = math.take(found["table"], at[:, 0])
    back = math.visit(step, items, start, at, {"total": x[1]}, count, reverse=True)
    return {
        **found,
        "back": back["table"],
        "back y": back["y"],
        "back slope": gradient(back["table"][0, 1], x),
        "taken": taken,
        "slope": gradient(found["table"][0, 1] + found["total"], x),
    }


_rotated = trace(
    lambda a, b: {"c": [math.cos(a[0]) * b[0] - b[1], math.sin(a[0]) + b[1]], "d": a[0] * b}, {"a": 1, "b": 2}
)


def _calls(x: np.ndarray) -> dict[str, Any]:
    """Two calls of one function, the second on results of the first, and its derivative in reverse."""
    c, _ = call(_rotated, x[:1], x[1:])
    e, f = call(_rotated, c[:1], np.array([c[1], 2.0], object))
    return {"e": e, "f": f, "slope": gradient(e[0] * f[1], x), "rates": jvp(f, {x[0]: 1.0, x[2]: 0.5})}


OSCILLATOR = {"x": 2, "v": 2, "u": 2, "step": 1}
FED = (("x_next", "x"), ("v_next", "v"))

EXPRESSIONS: Sequence[Expression] = (
    _unary("neg", lambda x: -x),
    _unary("sqrt", math.sqrt),
    _unary("sin", math.sin),
    _unary("cos", math.cos),
    _unary("tan", math.tan),
    _unary("asin", math.asin),
    _unary("acos", math.acos),
    _unary("atan", math.atan),
    _unary("exp", math.exp),
    _unary("log", math.log),
    _unary("tanh", math.tanh),
    _unary("abs", math.abs),
    _unary("sign", math.sign),
    _unary("floor", math.floor),
    _unary("fraction", lambda x: x - math.floor(x)),
    _unary("reciprocal", lambda x: 1.0 / x),
    _unary("scaled", lambda x: 0.1 * x),
    _unary("clamp", lambda x: math.minimum(math.maximum(x, -1.0), 1.0)),
    _unary("is_nan", lambda x: x != x),
    _unary("safe_root", lambda x: math.where(x > 0.0, math.sqrt(math.where(x > 0.0, x, 1.0)), 0.0)),
    _binary("add", lambda x, y: x + y),
    _binary("sub", lambda x, y: x - y),
    _binary("mul", lambda x, y: x * y),
    _binary("div", lambda x, y: x / y),
    _binary("atan2", math.atan2),
    _binary("minimum", math.minimum),
    _binary("maximum", math.maximum),
    _binary("lt", lambda x, y: x < y),
    _binary("le", lambda x, y: x <= y),
    _binary("gt", lambda x, y: x > y),
    _binary("ge", lambda x, y: x >= y),
    _binary("eq", lambda x, y: x == y),
    _binary("ne", lambda x, y: x != y),
    _condition("where", lambda x, y, z: math.where(x < 0.5, y, z)),
    _condition("and", lambda x, y, z: (x < y) & (y < z)),
    _condition("or", lambda x, y, z: (x < y) | (y < z)),
    _condition("not", lambda x, y, z: math.where(~(x < y), z, x)),
    _condition("logic", lambda x, y, z: math.where((x < y) & ~(y == z) | (z >= 1.0), x, -z)),
    Expression("constants", {"x": 2}, _constants),
    Expression("folded", {"x": 2}, _folded, "wide"),
    _power("square", 2),
    _power("seventh", 7),
    _power("inverse_square", -2),
    _power("three_halves", 1.5),
    Expression("any_power", {"x": 2}, lambda x: math.abs(x[0]) ** x[1]),
    Expression("several", {"q": 3, "v": 3}, _several),
    Expression("unused", {"a": 2, "b": 3, "c": 1}, lambda a, b, c: b[1] * c[0]),
    Expression("empty", {"a": 0, "b": 2}, lambda a, b: {"none": a, "both": b * b}),
    Expression("sincos", {"x": 3}, lambda x: np.array([math.sin(x), math.cos(x)]), "wide"),
    Expression("rotation", {"w": 3}, _rotation),
    Expression("pendulum", {"q": 2, "v": 2, "tau": 2}, _pendulum),
    Expression("chain", {"x": 3, "y": 5}, _chain),
    Expression("product", {"a": 196, "b": 196}, _product),
    Expression("block_product", {"a": 340, "b": 460}, _block_product),
    Expression("network", {"x": 29}, _network, inner=8),
    Expression("far_conditions", {"x": 6}, _far_conditions),
    Expression("table", {"x": 2}, _table, "special"),
    Expression("interpolated", {"x": 2}, _interpolated),
    Expression("interpolated_slopes", {"x": 2}, lambda x: gradient(math.interp2(*x, GRID, UNEVEN, FIELD), x)),
    Expression("calls", {"x": 3}, _calls),
    Expression("repeat_root", {"a": 2}, lambda a: _root(a)["x"]),
    Expression("repeat_root_slopes", {"a": 2}, lambda a: gradient(_root(a)["x"], a)),
    Expression("repeat_fixed_point_slopes", {"a": 2}, lambda a: gradient(_root(a, 1e-9)["x"], a)),
    Expression("repeat_fixed_point_rates", {"a": 2}, lambda a: jvp(_root(a, 1e-9)["x"], {a[0]: 2.0})),
    Expression("repeat_turned", {"x": 5}, _turned, inner=3),
    Expression("repeat_turned_jacobian", {"x": 5}, lambda x: jacobian(_turned(x)["v"], x), inner=3),
    Expression("repeat_turned_rates", {"x": 5}, lambda x: jvp(_turned(x)["M"], dict.fromkeys(x, 1.0)), inner=3),
    Expression("repeat_nested", {"x": 3}, _nested, inner=3),
    Expression("repeat_nested_slopes", {"x": 3}, lambda x: gradient(_nested(x)["total"], x), inner=3),
    Expression("branches", {"x": 3}, _branches),
    Expression("branches_slopes", {"x": 3}, lambda x: gradient(np.sum(_branches(x)), x)),
    Expression("branches_of_items", {"x": 4}, _branching_items, inner=4),
    Expression(
        "branches_of_items_slopes",
        {"x": 4},
        lambda x: gradient(_branching_items(x)["sum"] + np.sum(_branching_items(x)["found"]), x),
        inner=4,
    ),
    Expression("items", {"x": 21}, _items, inner=7),
    Expression(
        "items_slopes", {"x": 21}, lambda x: gradient(np.sum(_items(x)["end"]) + _items(x)["z"][3, 3], x), inner=7
    ),
    Expression("items_rates", {"x": 21}, lambda x: jvp(_items(x)["dot"], dict.fromkeys(x[::2], 1.0)), inner=7),
    Expression("items_counted", {"x": 12}, _counted, inner=4),
    Expression("visits", {"x": 4}, _visits, inner=4),
    Expression("items_filtered", {"x": 12}, _filtered, inner=4),
    Expression("items_filtered_slopes", {"x": 12}, lambda x: gradient(_filtered(x)[-1], x), inner=4),
    Expression("repeat_in_a_loop", {"x": 2, "c": 1}, _settling, loop=((("x", "x"),), ("c",), ("x",)), passes=3),
    Expression("loop", OSCILLATOR, _oscillator, loop=(FED, ("u",), ("energy", "twice")), passes=5),
    Expression(
        "loop_backwards",
        OSCILLATOR,
        _oscillator,
        passes=5,
        loop=(FED, ("u", "step"), ("energy", "twice", "x_next"), None, None, ("u", "energy", "x_next")),
    ),
    Expression("loop_carried_and_recorded", OSCILLATOR, _oscillator, loop=(FED, (), ("x_next",)), passes=4),
    Expression("loop_once", OSCILLATOR, _oscillator, loop=(FED, ("u", "step"), ()), passes=1),
    Expression("loop_of_none", OSCILLATOR, _oscillator, loop=(FED, (), ("energy",)), passes=0),
    Expression("loop_without_state", OSCILLATOR, _oscillator, loop=((), ("x", "v"), ("left",)), passes=3),
    Expression("loop_that_swaps", {"a": 2, "b": 2}, _swap, loop=((("a", "a"), ("b", "b")), (), ("c",)), passes=6),
)

Runner = Callable[[Function | Loop, dict[str, np.ndarray], dict[str, np.ndarray], int | None], None]


def check(
    expression: Expression,
    run: Runner,
    ulps: float,
    dtype: Any = np.float64,
    rows: int | None = None,
    largest: float | None = None,
    flush: bool = False,
) -> None:
    """Compare `run(function, inputs, outputs, n)`, which fills the poisoned outputs, with the float64 interpreter.

    An error is counted in units of the last place of the largest finite value in the evaluation of that row (of the
    result itself where there is one operation; twice as many for each pass); NaN and infinity must be the
    same, the sign of zero may differ. Only the first `rows` samples are taken, and none with finite numbers above
    `largest`. flush: the backend takes subnormal numbers as zero, so none are given and zero is right for them.
    """
    function, n = expression.traced, expression.passes
    ulps *= 1 + 2 * ((n or 0) + expression.inner)
    inputs = expression.samples(np.random.default_rng(len(expression.name)))
    with np.errstate(over="ignore"):
        inputs = {name: x[:rows].astype(dtype) for name, x in inputs.items()}
    tiny = np.finfo(dtype).tiny if flush else 0.0
    sizes = np.concatenate([np.abs(x.reshape(len(x), -1)) for x in inputs.values()], axis=1)
    fits = ((sizes <= (largest or np.inf)) | ~np.isfinite(sizes)) & ~((sizes > 0) & (sizes < tiny))
    inputs = {name: x[fits.all(axis=1)] for name, x in inputs.items()}
    exact = interpreter.run(function, inputs, n)
    with np.errstate(over="ignore"):
        expected = {name: x.astype(dtype) for name, x in exact.items()}
    poison = {name: np.where(np.isnan(x), dtype(4321.0), dtype(np.nan)) for name, x in expected.items()}
    outputs = {name: x.copy() for name, x in poison.items()}
    run(function, inputs, outputs, n)
    assert outputs.keys() == expected.keys()
    scale = np.minimum(_scale(function, inputs, exact), np.finfo(dtype).max)
    for name, want in expected.items():
        got = outputs[name]
        assert got.shape == want.shape
        size = np.maximum(np.abs(want).T, scale.T).T if want.size else want
        with np.errstate(all="ignore"):
            error = np.abs(got - want) / np.spacing(np.where(np.isfinite(size), size, 1.0).astype(dtype))
        flushed = (got == 0) & (np.abs(want) < tiny)
        wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)) | (error <= ulps) | flushed)
        if wrong.any():
            at = tuple(int(i[0]) for i in np.nonzero(wrong))
            row = {key: x[at[0]].tolist() for key, x in inputs.items() if x[at[0]].size < 20}
            raise AssertionError(
                f"{expression}: {name}{list(at)} is {got[at]!r}, expected {want[at]!r} ({error[at]:.3g} ulp; "
                f"{wrong.sum()} of {wrong.size} wrong) for {row}"
            )


def _scale(function: Function | Loop, inputs: dict[str, np.ndarray], exact: dict[str, np.ndarray]) -> np.ndarray:
    """Largest finite value that occurs in each row; 0 where a single operation leaves nothing to cancel."""
    if isinstance(function, Loop):
        values = [x.reshape(len(x), -1) for x in (*inputs.values(), *exact.values())]
    else:
        nodes = tuple(node for node in function.schedule() if not node.boolean and node.op != "compound")
        if sum(node.op not in ("const", "input") for node in nodes) <= 1:
            return np.zeros(1)
        every = Function("every", function.inputs, (Output("every", (len(nodes),), nodes),))
        values = [interpreter.run(every, inputs)["every"]]
    table = np.abs(np.concatenate(values, axis=1))
    return np.max(np.where(np.isfinite(table), table, 0.0), axis=1)
