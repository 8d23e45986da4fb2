"""Telling constants from traced values."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError


def known(x: Any) -> np.ndarray:
    """The numbers of x, NaN where one is traced and depends on the inputs."""
    array = np.asarray(x)
    if array.dtype != object:
        return array.astype(float)
    return np.array([_number(y) for y in array.ravel()], float).reshape(array.shape)


def _number(x: Any) -> float:
    try:
        return float(x)
    except DalembertError:
        return np.nan
