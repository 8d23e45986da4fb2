"""Operational space, hybrid dynamics, inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dalembert import algorithms
from dalembert.model import Frame, Model

from ..quantity import Options, Quantity, loaded, open_tree, square


def tasked(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """An algorithm on a task: rows of one or several frames, at a point, along stated axes; damped."""

    def compute(model: Model, options: Options, *inputs: np.ndarray) -> Any:
        frames = [model.frame(name) for name in (options.frame or "", *options.others)]
        axes: Any = options.axes if options.axes in ("world", "body") else model.frame(options.axes)

        def at_point(model: Model, *numbers: np.ndarray, **external: Any) -> Any:
            *state, damping, point = numbers if options.point else (*numbers, np.zeros(3))
            return algorithm(model, *state, damping[0], algorithms.Task(frames, point, axes, options.rows), **external)

        return loaded(at_point)(model, options, *inputs)

    return compute


def _rows(options: Options) -> int:
    """Number of rows of the task."""
    return 6 * (1 + len(options.others)) if options.rows is None else len(options.rows)


def _hybrid(model: Model, options: Options, *inputs: np.ndarray) -> Any:
    return loaded(partial(algorithms.hybrid_dynamics, given=options.joints))(model, options, *inputs)


def _step(model: Model, options: Options, q: np.ndarray, target: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    damping, lower, upper, mobile = rest
    frame: Frame = model.frame(options.frame or "")
    bounds = algorithms.Bounds(lower, upper, mobile)
    return algorithms.inverse_kinematics_step(model, q, target, damping[0], bounds, frame, options.rows)


OPERATIONAL: dict[str, Quantity] = {
    "operational_inertia": Quantity(
        ("q", "task_damping"),
        lambda model, options: (_rows(options), _rows(options)),
        tasked(algorithms.operational_inertia),
        framed=True,
        refuses=open_tree,
    ),
    "operational_dynamics": Quantity(
        ("q", "v", "task_damping"),
        lambda model, options: (_rows(options) + 2 + model.nv, _rows(options)),
        tasked(algorithms.operational_dynamics),
        framed=True,
        loaded=True,
        refuses=open_tree,
    ),
    "null_space": Quantity(
        ("q", "task_damping"), square, tasked(algorithms.null_space), framed=True, refuses=open_tree
    ),
    "hybrid_dynamics": Quantity(
        ("q", "v", "known"), lambda model, options: (2, model.nv), _hybrid, loaded=True, refuses=open_tree
    ),
    "inverse_kinematics_step": Quantity(
        ("q", "target", "task_damping", "lower", "upper", "mobile"),
        lambda model, options: (model.nq + 6,),
        _step,
        framed=True,
    ),
}
