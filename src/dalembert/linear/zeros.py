"""Which entries of an array are the constant 0, and so take part in nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError


def is_zero(x: Any) -> bool:
    """Whether a number or traced scalar is the constant 0."""
    if isinstance(x, (int, float)):
        return x == 0
    try:
        return float(x) == 0.0
    except DalembertError:  # a traced value that depends on inputs
        return False


def nonzeros(A: np.ndarray) -> np.ndarray:
    """The pattern of A: True where an entry is not the constant 0."""
    if A.dtype != object:
        return A != 0.0
    return np.array([not is_zero(x) for x in A.ravel()], bool).reshape(A.shape)
