"""Telling constants from traced values."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError


def known(x: Any) -> np.ndarray:
    """The numbers of x, NaN where one is traced and depends on the inputs."""
    return np.vectorize(_number, otypes=[float])(x)


def _number(x: Any) -> float:
    try:
        return float(x)
    except DalembertError:
        return np.nan
