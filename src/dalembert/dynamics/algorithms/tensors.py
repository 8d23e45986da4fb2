"""Arrays of scalars that may be traced: second-order tensors under rotation with few operations, sums, constants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model


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


def mirror(T: np.ndarray) -> np.ndarray:
    """A symmetric matrix with its lower triangle taken from the upper one, so that no entry is computed twice."""
    T = T.copy()
    lower = _below_diagonal(len(T))
    T[lower] = T.T[lower]
    return T


@cache
def _below_diagonal(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.tril_indices(n, -1)


def rotate(R: np.ndarray, T: np.ndarray) -> np.ndarray:
    """R T Rᵀ (3, 3). About a coordinate axis, as most joints turn, it takes half the operations of the products."""
    numbers = known(R)
    for k, axis in enumerate(np.eye(3)):
        if (numbers[k] == axis).all() and (numbers[:, k] == axis).all():
            return _rotate_about(k, R, T)
    return R @ T @ R.T


def rotate_symmetric(R: np.ndarray, T: np.ndarray) -> np.ndarray:
    """R T Rᵀ of a symmetric T (3, 3)."""
    return mirror(rotate(R, T))


def _rotate_about(k: int, R: np.ndarray, T: np.ndarray) -> np.ndarray:
    """R T Rᵀ for a rotation about axis k.

    In the plane of rotation the mean of the diagonal and the antisymmetric part of T stay, the rest turns by twice the
    angle: with c, s its cosine and sine and w = s (T_ii − T_jj) + c (T_ij + T_ji), the four entries become
    T_ii − s w, T_jj + s w, c w − T_ji, c w − T_ij.
    """
    i, j = (k + 1) % 3, (k + 2) % 3
    c, s = R[i, i], R[j, i]
    w = s * (T[i, i] - T[j, j]) + c * (T[i, j] + T[j, i])
    turned = np.empty((3, 3), np.result_type(R, T))
    turned[i, i], turned[i, j] = T[i, i] - s * w, c * w - T[j, i]
    turned[j, i], turned[j, j] = c * w - T[i, j], T[j, j] + s * w
    turned[i, k], turned[j, k] = c * T[i, k] - s * T[j, k], s * T[i, k] + c * T[j, k]
    turned[k, i], turned[k, j] = c * T[k, i] - s * T[k, j], s * T[k, i] + c * T[k, j]
    turned[k, k] = T[k, k]
    return turned
