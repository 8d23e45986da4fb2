"""Products of 3-vectors, twists and wrenches, written out: short object arrays trace fastest that way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def components(a: Any) -> Sequence[Any]:
    """The elements along the last axis: scalars for one vector, arrays for a batch."""
    a = np.asarray(a)
    return a.tolist() if a.ndim == 1 else tuple(np.moveaxis(a, -1, 0))


def stack(*elements: Any) -> np.ndarray:
    """The inverse of `components`: a vector from its elements, along a new last axis."""
    if any(isinstance(x, np.ndarray) for x in elements):
        return np.stack(np.broadcast_arrays(*elements), axis=-1)
    return np.array(elements)


def stack_matrix(rows: Sequence[Sequence[Any]]) -> np.ndarray:
    """A matrix from its elements, along two new last axes."""
    flat = stack(*[x for row in rows for x in row])
    return flat.reshape(*flat.shape[:-1], len(rows), len(rows[0]))


def dot(a: Any, b: Any) -> Any:
    """Scalar product of two vectors (…, n)."""
    return sum_of(x * y for x, y in zip(components(a), components(b), strict=True))


def sum_of(terms: Any) -> Any:
    """Sum without the leading zero of the builtin, which would promote what it meets."""
    terms = iter(terms)
    total = next(terms)
    for term in terms:
        total = total + term
    return total


def cross(a: Any, b: Any) -> np.ndarray:
    """Vector product a × b of (…, 3)."""
    a0, a1, a2 = components(a)
    b0, b1, b2 = components(b)
    return stack(a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)


def cross_motion(V: np.ndarray, U: np.ndarray) -> np.ndarray:
    """V × U of two twists (6,): the rate of U when carried by V.   [ω × ω'; ω × v' + v × ω']"""
    w, u = V[:3], U[:3]
    return np.concatenate([cross(w, u), cross(w, U[3:]) + cross(V[3:], u)])


def cross_force(V: np.ndarray, F: np.ndarray) -> np.ndarray:
    """V ×* F of a twist and a wrench (6,): the rate of F when carried by V.   [ω × τ + v × f; ω × f]"""
    w, f = V[:3], F[3:]
    return np.concatenate([cross(w, F[:3]) + cross(V[3:], f), cross(w, f)])
