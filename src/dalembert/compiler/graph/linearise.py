"""Derivatives at points that were computed: linear models, and least squares by Gauss and Newton."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError

from .capture import placeholders
from .copying import substitute
from .differentiate import forward_rates, gradient, vanishes
from .scalar import Graph, Scalar
from .schedule import depth_first


class Linear(NamedTuple):
    """A function near a point: value + slope · (z − point). value (*shape,), slope (*shape, n)."""

    value: np.ndarray
    slope: np.ndarray


class Quadratic(NamedTuple):
    """cost = ½ Σ w r², its gradient Jᵀ W r (n,), and Jᵀ W J (n, n), the Hessian without second derivatives of r."""

    cost: Any
    gradient: np.ndarray
    hessian: np.ndarray


def linearised(function: Callable[[np.ndarray], Any], at: Any) -> Linear:
    """Value and Jacobian of function(z) at z = at, a vector (n,) of traced values, which may have been computed.

    Derivatives are taken forwards and in reverse, and those with fewer operations are kept.
    """
    point = np.asarray(at, object)
    if point.ndim != 1:
        raise DalembertError(f"linearised: the point has shape {point.shape}, expected a vector")
    graph = _graph(point)
    z = placeholders(graph, len(point))
    value = np.asarray(function(z), object)
    values = dict(zip(z, point, strict=True))
    here = substitute(value, values)
    slopes = [substitute(slope, values) for slope in (_forward(value, z), _reverse(value, z))]
    fewer = min(slopes, key=lambda slope: _operations(here, slope))
    return Linear(here, fewer)


def gauss_newton(residuals: Callable[[np.ndarray], Any], at: Any) -> Quadratic:
    """The quadratic model of a sum of squares at z = at, a vector (n,) of traced values, which may have been computed.

    residuals(z): a vector r (m,), or a list of pairs (weight, r) with a number or one for each residual. Residuals that
    do not depend on an entry of z take no part in its products.
    """
    weights: list[Any] = []

    def stacked(z: np.ndarray) -> np.ndarray:
        result = residuals(z)
        pairs = result if isinstance(result, list) and all(isinstance(x, tuple) for x in result) else [(1.0, result)]
        rows = [np.atleast_1d(np.asarray(r, object)) for _, r in pairs]
        for (weight, _), r in zip(pairs, rows, strict=True):
            if r.ndim != 1 or np.shape(weight) not in ((), r.shape):
                raise DalembertError(
                    f"gauss_newton: residuals {r.shape} with weights {np.shape(weight)}: expected a vector, and one "
                    "weight or one for each"
                )
            weights.extend(np.broadcast_to(np.asarray(weight, object), r.shape))
        return np.concatenate([np.empty(0, object), *rows])

    graph = _graph(np.asarray(at, object))
    known = graph.size
    r, J = linearised(stacked, at)
    for weight in weights:
        if isinstance(weight, Scalar) and any(x.op == "input" and x.id >= known for x in depth_first([weight])):
            raise DalembertError("gauss_newton: a weight depends on z: put its root into the residual")
    n = J.shape[1]
    WJ = np.array([[w * x for x in row] for w, row in zip(weights, J, strict=True)], object).reshape(len(r), n)
    cost = 0.5 * _sum(graph, [w * x * x for w, x in zip(weights, r, strict=True)])
    slope, hessian = np.empty(n, object), np.empty((n, n), object)
    users = [[k for k in range(len(r)) if not vanishes(J[k, i])] for i in range(n)]
    for i in range(n):
        slope[i] = _sum(graph, [WJ[k, i] * r[k] for k in users[i]])
        for j in range(i + 1):
            both = [k for k in users[i] if not vanishes(J[k, j])]
            hessian[i, j] = hessian[j, i] = _sum(graph, [WJ[k, i] * J[k, j] for k in both])
    return Quadratic(cost, slope, hessian)


def _graph(point: np.ndarray) -> Graph:
    for x in point.ravel():
        if isinstance(x, Scalar):
            return x.graph
    raise DalembertError("linearised: the point has no traced value; call it inside of a function that is traced")


def _forward(value: np.ndarray, z: np.ndarray) -> np.ndarray:
    rates = forward_rates(value.ravel(), {x: {k: 1.0} for k, x in enumerate(z)})
    out = np.zeros((value.size, len(z)), object)
    for row, x in zip(out, value.ravel(), strict=True):
        for k, rate in rates[x.id].items() if isinstance(x, Scalar) else ():
            row[k] = rate
    return out.reshape(*value.shape, len(z))


def _reverse(value: np.ndarray, z: np.ndarray) -> np.ndarray:
    rows = [gradient(x, z) for x in value.ravel()]
    return np.array(rows, object).reshape(*value.shape, len(z))


def _operations(*arrays: np.ndarray) -> int:
    """How many operations arrays of expressions take together."""
    roots = [x for array in arrays for x in array.ravel() if isinstance(x, Scalar)]
    leaves = ("const", "input", "result")
    return sum(
        sum(node.value.operations().values()) if node.op == "compound" else max(1, len(node.args) - 1)
        for node in depth_first(roots)
        if node.op not in leaves
    )


def _sum(graph: Graph, terms: Sequence[Any]) -> Any:
    total: Any = graph.constant(0.0)
    for term in terms:
        total = total + term
    return total
