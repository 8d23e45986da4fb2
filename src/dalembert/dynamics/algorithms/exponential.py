"""Exponential of matrices of numbers."""

from __future__ import annotations

import numpy as np

# Numerator of the Padé approximant of order 13; exact to double precision for norms up to RADIUS.   Higham 2005
PADE = np.array([
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
], float)  # fmt: skip
RADIUS = 5.37


def matrix_exponential(A: np.ndarray) -> np.ndarray:
    """exp(A) (…, n, n), by scaling, the Padé approximant and squaring."""
    norm = float(np.max(np.abs(A).sum(axis=-2), initial=0.0))
    squarings = max(0, int(np.ceil(np.log2(norm / RADIUS)))) if norm > 0.0 else 0
    A = A / 2.0**squarings
    one, square = np.broadcast_to(np.eye(A.shape[-1]), A.shape), A @ A
    even, odd, power = np.zeros_like(A), np.zeros_like(A), one
    for b_even, b_odd in PADE.reshape(-1, 2):
        even, odd = even + b_even * power, odd + b_odd * power
        power = power @ square
    odd = A @ odd
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        result = result @ result
    return result
