"""Quantities of the catalogue on one state, traced and interpreted: no compiler between the law and the number."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.backends.interpreter import run
from dalembert.functions.catalogue import CATALOGUE, METHOD, Options
from dalembert.graph import Function, trace
from dalembert.model import Model


def traced(model: Model, name: str, method: str = METHOD, **options: Any) -> Function:
    """The trace of a quantity."""
    quantity, chosen = CATALOGUE[name], Options(method=method, **options)
    return trace(lambda *x: quantity.way(method)(model, chosen, *x), quantity.arguments(model, chosen), name)


def evaluate(model: Model, name: str, method: str = METHOD, frame: str | None = None, **inputs: np.ndarray) -> Any:
    """A quantity for the given inputs, by name."""
    return run(traced(model, name, method, frame=frame), inputs)[name]


def cost(model: Model, name: str) -> int:
    """Operations of a quantity."""
    return sum(traced(model, name).operations().values())
