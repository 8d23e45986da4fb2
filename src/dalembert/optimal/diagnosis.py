"""Why Newton's method has no direction: the term without a slope, the joint that overshoots, the idle control."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import linearised, trace

from .terms import Residual

if TYPE_CHECKING:
    from .solver import Solver
    from .stage import Node

ADVICE = (
    "a cost must be smooth where the robot is: take the square of a distance instead of the distance, or "
    "sqrt(x² + ε²) instead of |x|"
)

GROWTH = 10.0  # of a speed in one step: no motion that is followed grows so fast
UNEVEN = (
    "rounding hides its curvature, since costs are huge beside each other, or the motion is unstable over so many "
    "nodes; bring weights nearer to each other, or plan fewer nodes"
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
    return f"solve: the quadratic model has no minimum: {overshooting(solver) or _idle(solver) or UNEVEN}"


def overshooting(solver: Solver) -> str:
    """Words for the joint whose speed friction or damping turns over, or multiplies, in a step; "": none does."""
    problem, model = solver.problem, solver.problem.robot.model
    if not solver.node.has_gaps or not any(
        np.any([body.joint.friction, body.joint.stribeck, body.joint.damping]) for body in model.bodies
    ):
        return ""
    n = problem.robot.nv
    kept = problem.layout.transitions(solver.direction.transition)[0][:, range(n, 2 * n), range(n, 2 * n)]
    node, joint = np.unravel_index(int(np.argmax(np.abs(kept))), kept.shape)
    factor, step = float(kept[node, joint]), float(solver.steps[node])
    if not (factor < -1.0 or factor > GROWTH):
        return ""
    shorter = f"below {2.0 * step / (1.0 - factor):.2g} s" if factor < 0.0 else "much shorter"
    return (
        f"a step of {step:g} s is too long for {model.freedom_names[joint]!r}, whose friction and damping multiply its "
        f"speed by {factor:.3g} at node {node}: plan for robot.without('friction', 'damping'), or take steps {shorter}"
    )


def _idle(solver: Solver) -> str:
    """Words for the first control that no cost depends on; "": all take part."""
    sizes = np.abs(solver.direction.quadratic[:, solver.problem.layout.control_diagonal])
    idle = np.flatnonzero(np.max(sizes, axis=0) == 0.0)
    if not len(idle):
        return ""
    name = solver.problem.control_names[idle[0]]
    return f"the control of {name!r} takes part in no cost; give effort or acceleration a small weight"


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
