"""Which term has no slope where Newton's method needs one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.backends import interpreter
from dalembert.graph import linearised, trace

from .terms import Residual

if TYPE_CHECKING:
    from .solver import Solver
    from .stage import Node

ADVICE = (
    "a cost must be smooth where the robot is: take the square of a distance instead of the distance, or "
    "sqrt(x² + ε²) instead of |x|"
)


def slope_complaint(solver: Solver) -> str:
    """Words for the first cost or constraint whose slope is no number at a node of the current trajectory."""
    N = solver.problem.nodes
    for node, rows in ((solver.node, slice(0, N)), (solver.end, slice(N, N + 1))):
        for name, slopes in _slopes(solver, node, rows).items():
            bad = ~np.isfinite(slopes).reshape(len(slopes), -1).all(axis=1)
            if np.any(bad):
                place = int(np.argmax(bad)) + (N if node.is_end else 0)
                return f"solve: {name} has no finite slope at node {place}: {ADVICE}"
    return (
        "solve: the quadratic model has no minimum: the control takes part in no cost, or costs are huge beside each "
        "other; give effort or acceleration a small weight"
    )


def _slopes(solver: Solver, node: Node, rows: slice) -> dict[str, np.ndarray]:
    """Slopes of each named term at these nodes, by the interpreter."""
    sizes = node.variables()
    arrays = {name: array for name, array in solver.common(solver.side, rows).items() if name in sizes}

    def compute(*vectors: Any) -> dict[str, np.ndarray]:
        values = dict(zip(sizes, vectors, strict=True))
        point, slopes = node.point(values), {}

        def term(k: int, z: np.ndarray) -> np.ndarray:
            return _value(node.point(node.values_at(values, z)).terms[k].term)

        def constraint(k: int, z: np.ndarray) -> np.ndarray:
            return node.point(node.values_at(values, z)).constraints[k].value

        for k, (each, _) in enumerate(point.terms):
            slopes[f"cost {each.name!r}"] = linearised(partial(term, k), node.coordinates(values)).slope
        for k, row in enumerate(point.constraints):
            slopes[f"constraint {row.names[0]!r}"] = linearised(partial(constraint, k), node.coordinates(values)).slope
        return slopes

    return interpreter.run(trace(compute, sizes, "slopes"), arrays, None, dtype=np.dtype(float))


def _value(term: Any) -> np.ndarray:
    return term.value if isinstance(term, Residual) else np.array([term.value], object)
