"""Pseudo-inertia of a body, P = ∫ [r; 1] [r; 1]ᵀ dm: positive definite if it is possible (Wensing et al. 2018)."""

from __future__ import annotations

import numpy as np

# entries of P that a parameter contributes to: m, m·c, Ixx, Iyy, Izz, Ixy, Ixz, Iyz
BASIS = np.zeros((10, 4, 4))
BASIS[0, 3, 3] = 1.0
for _k in range(3):
    BASIS[1 + _k, _k, 3] = BASIS[1 + _k, 3, _k] = 1.0
    BASIS[4 + _k, :3, :3] = 0.5 * np.eye(3)
    BASIS[4 + _k, _k, _k] = -0.5
for _k, (_i, _j) in enumerate(((0, 1), (0, 2), (1, 2))):
    BASIS[7 + _k, _i, _j] = BASIS[7 + _k, _j, _i] = -1.0


def pseudo_inertia(pi: np.ndarray) -> np.ndarray:
    """P (…, 4, 4) of inertial parameters (…, 10)."""
    return (pi @ BASIS.reshape(10, 16)).reshape(*pi.shape[:-1], 4, 4)


def from_pseudo_inertia(P: np.ndarray) -> np.ndarray:
    """Inertial parameters (…, 10) of P (…, 4, 4)."""
    S, h, m = P[..., :3, :3], P[..., :3, 3], P[..., 3, 3]
    trace = np.trace(S, axis1=-2, axis2=-1)
    pi = np.empty((*P.shape[:-2], 10))
    pi[..., 0], pi[..., 1:4] = m, h
    for k in range(3):
        pi[..., 4 + k] = trace - S[..., k, k]
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        pi[..., 7 + k] = -S[..., i, j]
    return pi
