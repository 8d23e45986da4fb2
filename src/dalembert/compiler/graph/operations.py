"""The meaning of every operation on floats: the one table that folding and the interpreter share.

All functions work on floats and on NumPy arrays; comparisons and logic give booleans. NaN propagates
through `min`, `max` and `sign`; `where` takes the chosen side only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from .scalar import Scalar

MEANING: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": np.divide,
    "neg": operator.neg,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "atan2": np.arctan2,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "abs": np.abs,
    "floor": np.floor,
    "sign": np.sign,
    "min": np.minimum,
    "max": np.maximum,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "where": np.where,
    "dot": lambda *x: sum(a * b for a, b in zip(x[: len(x) // 2], x[len(x) // 2 :], strict=True)),
}

COMMUTATIVE = frozenset({"add", "mul", "min", "max", "eq", "ne", "and", "or"})
BOOLEAN = frozenset({"lt", "le", "eq", "ne", "and", "or", "not"})
CHOOSY = frozenset({"and", "or", "not", "where"})  # operations that take conditions


def evaluate(op: str, *values: float) -> float:
    """Value of one operation on floats, quiet about domain errors (they give NaN or inf)."""
    with np.errstate(all="ignore"):
        return float(MEANING[op](*values))


def check_kinds(op: str, nodes: Iterable[Scalar]) -> None:
    """Logic needs conditions, `where` one condition and two numbers, everything else numbers."""
    for position, node in enumerate(nodes):
        wants_boolean = op in CHOOSY and (op != "where" or position == 0)
        if wants_boolean and not node.boolean and node.op != "const":
            raise DalembertError(
                f"{op}: expected a condition such as x < 0, got a number: compare it with something first"
            )
        if node.boolean and not wants_boolean:
            raise DalembertError(f"{op}: expected a number, got a condition: write where(condition, 1.0, 0.0)")
