"""Stored reference numbers, and comparison with them to the digits they were printed with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import Robot

DATA_FILES = Path(__file__).parent / "data"


def data(name: str) -> dict[str, Any]:
    """The numbers of data/<name>.json, whose "source" says where they come from."""
    return json.loads((DATA_FILES / f"{name}.json").read_text(encoding="utf-8"))


def with_gravity(robot: Robot, g: float) -> Robot:
    """The robot where gravity is g [m/s²] along −z."""
    return Robot(replace(robot.model, gravity=np.array([0.0, 0.0, -g])))


def assert_decimals(actual: Any, printed: Any, decimals: int) -> None:
    """Equal to within half a unit of the last decimal."""
    actual, printed = np.asarray(actual), np.asarray(printed, float)
    assert actual.shape == printed.shape
    error, bound = np.abs(actual - printed), 0.5 * 10.0**-decimals
    assert np.all(error <= bound), f"differs by {error.max():.3g} > {bound:.3g}\nactual {actual}\nprinted {printed}"


def assert_significant(actual: Any, printed: Any, digits: int) -> None:
    """Each entry equal to within half a unit of its last significant digit; zeros to as many decimals."""
    actual, printed = np.asarray(actual), np.asarray(printed, float)
    assert actual.shape == printed.shape
    leading = np.floor(np.log10(np.where(printed == 0.0, 0.1, np.abs(printed))))
    error, bound = np.abs(actual - printed), 0.5 * 10.0 ** (leading + 1 - digits)
    assert np.all(error <= bound), f"errors {error} > {bound}\nactual {actual}\nprinted {printed}"
