"""Further inputs of a trace, in which implicit steps differentiate."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.compiler.graph import Scalar


def inputs_beside(values: list[Any], size: int) -> np.ndarray:
    """Inputs (size,) of the same trace."""
    graph = next(x for x in values if isinstance(x, Scalar)).graph
    return graph.input("unknowns", size)
