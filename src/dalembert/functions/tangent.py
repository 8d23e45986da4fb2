"""Derivatives of traced quantities along velocities: column k is the rate along q ⊕ e_k t."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.algorithms import along_velocities, coordinate_rate
from dalembert.graph import Scalar, jacobian, jvp, substitute, vjp
from dalembert.model import Model

from .quantity import Options


def pushed(model: Model, outputs: Any, q: np.ndarray, dq: np.ndarray, *others: tuple[np.ndarray, Any]) -> np.ndarray:
    """The rate of `outputs` along dq (nv,) at q (nq,), while others, pairs (inputs, rates), change too."""
    pairs = [(q, coordinate_rate(model, q, dq)), *others]
    return jvp(outputs, {x: rate for inputs, rates in pairs for x, rate in zip(inputs, rates, strict=True)})


def pulled(model: Model, outputs: Any, weights: Any, q: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Derivatives of weights·outputs along velocities at q (nv,), and in each of the other inputs."""
    slopes = vjp(outputs, weights, np.concatenate([q, *others]))
    ends = np.cumsum([0, len(q), *map(len, others)])
    along, *rest = [slopes[i:j] for i, j in pairwise(ends)]
    return [along_velocities(model, q, along), *rest]


def spread(model: Model, outputs: Any, q: np.ndarray) -> np.ndarray:
    """∂outputs/∂q (*shape, nv) along velocities at q (nq,)."""
    return along_velocities(model, q, jacobian(outputs, q))


def differentiated(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A quantity that differentiates in its inputs, made to work where those are not inputs of the trace.

    Inside another function they may be constants, or depend on each other. Then the quantity is traced on inputs of its
    own, whose values are put in afterwards.
    """

    def whole(model: Model, options: Options, *inputs: np.ndarray) -> Any:
        given = [x for array in inputs for x in array]
        nodes = [x for x in given if isinstance(x, Scalar)]
        if len({x.id for x in nodes if x.op == "input"}) == len(given):
            return compute(model, options, *inputs)
        own = [own_inputs(given, len(array), k) for k, array in enumerate(inputs)]
        result = compute(model, options, *own)
        return substitute(result, dict(zip(np.concatenate(own), given, strict=True)))

    return whole


def own_inputs(beside: Iterable[Any], size: int, number: int = 0) -> np.ndarray:
    """Inputs (size,) of the graph of some traced values, such as no caller has."""
    graph = next(x for x in beside if isinstance(x, Scalar)).graph
    return graph.input(f"own input {number}", size)
