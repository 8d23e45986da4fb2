"""Quantities of the catalogue on one state, traced and interpreted: no compiler between the law and the number."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import Function, trace
from dalembert.model import Model
from dalembert.quantities import CATALOGUE
from dalembert.robot import Robot


def traced(model: Model, name: str, method: str | None = None, **options: Any) -> Function:
    """The trace of a quantity."""
    quantity, robot = CATALOGUE[name], Robot(model)
    variant = quantity.variant(model, method=method, **options)
    return trace(partial(quantity.outputs, robot, variant), quantity.sizes(model, variant), name)


def evaluate(model: Model, name: str, method: str | None = None, frame: str | None = None, **inputs: np.ndarray) -> Any:
    """A quantity for the given inputs, by name."""
    return run(traced(model, name, method, frame=frame), inputs)[name]


def cost(model: Model, name: str) -> int:
    """Operations of a quantity."""
    return sum(traced(model, name).operations().values())
