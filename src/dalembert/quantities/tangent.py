"""Derivatives of traced quantities along velocities: column k is the rate along q ⊕ e_k t."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count, pairwise
from typing import Any

import numpy as np

from dalembert.compiler.graph import Scalar, jacobian, jvp, substitute, vjp
from dalembert.dynamics.algorithms import along_velocities, coordinate_rate
from dalembert.errors import DalembertError
from dalembert.model import Model

_NUMBERS = count()


def pushed(model: Model, outputs: Any, q: np.ndarray, dq: np.ndarray, *others: tuple[np.ndarray, Any]) -> np.ndarray:
    """The rate of `outputs` along dq (nv,) at q (nq,), while others, pairs (inputs, rates), change too."""
    pairs = [(q, coordinate_rate(model, q, dq)), *others]
    return jvp(outputs, {x: rate for inputs, rates in pairs for x, rate in zip(inputs, rates, strict=True)})


def pulled(model: Model, outputs: Any, weights: Any, q: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Derivatives of weights·outputs along velocities at q (nv,), and in each of the other inputs."""
    slopes = vjp(outputs, weights, np.concatenate([q, *others]))
    ends = np.cumsum([0, len(q), *map(len, others)])
    in_q, *in_others = [slopes[i:j] for i, j in pairwise(ends)]
    return [along_velocities(model, q, in_q), *in_others]


def spread(model: Model, outputs: Any, q: np.ndarray) -> np.ndarray:
    """∂outputs/∂q (*shape, nv) along velocities at q (nq,)."""
    return along_velocities(model, q, jacobian(outputs, q))


def differentiated(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of vectors that differentiates in them, also where they are not inputs of the trace.

    Inside another function they may be constants, or depend on each other. Then the function is traced on new inputs,
    for which the values are substituted afterwards.
    """

    def whole(*vectors: np.ndarray) -> Any:
        values = [x for vector in vectors for x in vector]
        inputs = {x.id for x in values if isinstance(x, Scalar) and x.op == "input"}
        if len(inputs) == len(values):
            return compute(*vectors)
        fresh = [new_inputs(values, len(vector)) for vector in vectors]
        by_input = dict(zip(np.concatenate(fresh), values, strict=True))
        outputs = compute(*fresh)
        if isinstance(outputs, Mapping):
            return {name: substitute(output, by_input) for name, output in outputs.items()}
        return substitute(outputs, by_input)

    return whole


def new_inputs(beside: Iterable[Any], size: int) -> np.ndarray:
    """Inputs (size,) of the graph of some traced values, different from all others."""
    graph = next((x.graph for x in beside if isinstance(x, Scalar)), None)
    if graph is None:
        raise DalembertError("a derivative inside a traced function: at least one of its inputs must be traced")
    return graph.input(f"new input {next(_NUMBERS)}", size)
