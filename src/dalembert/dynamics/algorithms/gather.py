"""From parts per body to coordinates: the parts of bodies that share coordinates (coupled joints) add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.model import Model


def gathered(model: Model, parts: Sequence[np.ndarray]) -> np.ndarray:
    """(nv,) from one part (nv_i,) per body."""
    total = np.zeros(model.nv, np.result_type(float, *parts))
    for body, part in zip(model.bodies, parts, strict=True):
        total[body.v] = total[body.v] + part
    return total


def add_to_both(M: np.ndarray, i: int, j: int, x: Any) -> None:
    """Add x to the entries ij and ji of a symmetric M of which the upper triangle is kept; if they are one, twice."""
    i, j = min(i, j), max(i, j)
    M[i, j] = M[i, j] + (2.0 * x if i == j else x)
