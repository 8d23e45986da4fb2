"""Loops over large arrays: the largest and the sum of the first ones of as many places as there are; choices."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from dalembert.linear.block_elimination import NOTHING
from dalembert.math import abs as absolute
from dalembert.math import map, maximum, visit, where


def largest_and_total(x: np.ndarray, y: np.ndarray, count: Any) -> tuple[Any, Any]:
    """The largest of x (k,), which are not below 0, and the sum of y (k,), of the first `count`."""

    def step(_: Any, most: Any, total: Any, x: Any, y: Any) -> dict[str, Any]:
        return {"most": maximum(most, x), "total": total + y}

    end = visit(step, {"x": x, "y": y}, NOTHING, carry={"most": 0.0, "total": 0.0}, count=count)
    return end["most"], end["total"]


def total(x: np.ndarray, count: Any) -> Any:
    """The sum of x (k,), of the first `count`."""
    return visit(lambda _, total, x: {"total": total + x}, {"x": x}, NOTHING, carry={"total": 0.0}, count=count)[
        "total"
    ]


def largest_size(x: np.ndarray, count: Any, unroll: bool = False) -> Any:
    """The largest size of a number in the first `count` rows of x (k, m) or numbers x (k,)."""

    def step(_: Any, most: Any, x: Any) -> dict[str, Any]:
        return {"most": reduce(maximum, [most, *absolute(np.ravel(x))])}

    return visit(step, {"x": x}, NOTHING, carry={"most": 0.0}, count=count, unroll=unroll)["most"]


def chosen(condition: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x (n, m) where a condition, one for all, holds, else y."""
    flat = map(lambda x, y: {"x": where(condition, x, y)}, {"x": x.ravel(), "y": y.ravel()})["x"]
    return flat.reshape(x.shape)


def flat(x: np.ndarray) -> np.ndarray:
    """Numbers (k, m) of contacts in one row, as a `Problem` has them: the first of each, then the second of each, …"""
    return x.T.ravel()


def by_contact(x: np.ndarray, m: int) -> np.ndarray:
    """(k, m) from such a row."""
    return x.reshape(m, -1).T


def filled_rows(x: np.ndarray, rows: list[int], width: int) -> np.ndarray:
    """Rows x among `width` rows, with 0 in the others."""
    if len(rows) == width:
        return x
    full = np.zeros((width, *x.shape[1:]), object)
    full[rows] = x
    return full
