"""Products with constants, powers and choices, folded where something is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scalar import Scalar

# odd (-1) and even (+1) functions pull a negation through
REFLECTED = {"sin": -1, "tanh": -1, "sign": -1, "cos": 1, "abs": 1}

# functions that are expressions of others, so that no backend needs to know them
DERIVED: dict[str, Callable[..., Scalar]] = {
    "tan": lambda x: x.sin() / x.cos(),
    "asin": lambda x: x.__traced__("atan2", x, ((1.0 - x) * (1.0 + x)).sqrt()),
    "acos": lambda x: x.__traced__("atan2", ((1.0 - x) * (1.0 + x)).sqrt(), x),
    "atan": lambda x: x.__traced__("atan2", x, 1.0),
}


def moderate(c: float) -> bool:
    """Whether products and reciprocals of such constants neither overflow nor lose digits by underflow."""
    return 1e-300 < abs(c) < 1e300


def scaled(x: Scalar, c: float) -> Scalar:
    """c·x for a constant c."""
    if x.op == "const":
        return x.graph.constant(c * x.value)
    if c == 0 or c != c:
        return x.graph.constant(c)
    if c == 1:
        return x
    if c == -1:
        return -x
    if x.op == "neg":
        return scaled(x.args[0], -c)
    if x.op == "mul" and x.args[0].op == "const" and moderate(c * x.args[0].value):
        return scaled(x.args[1], c * x.args[0].value)
    graph = x.graph
    opposite = graph.find("mul", graph.constant(-c), x)  # c·x and -c·x share one product
    if opposite is not None:
        return graph.node("neg", opposite)
    return graph.node("mul", graph.constant(c), x)


def power(x: Scalar, n: int) -> Scalar:
    """xⁿ by repeated squaring."""
    result: Any = 1.0
    while n:
        if n & 1:
            result = x * result
        x, n = x * x, n >> 1
    return x.lift(result)


def choose(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """where(condition, a, b)."""
    if condition.op == "const":
        return a if condition.value else b
    if a is b:
        return a
    if condition.op == "not":
        return choose(condition.args[0], b, a)
    return condition.graph.node("where", condition, a, b)
