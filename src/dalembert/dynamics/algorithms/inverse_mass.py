"""Inverse of the mass matrix, without making the mass matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.model import Model

from .articulated import articulated
from .coupled import MassSolver
from .tensors import mirror


def inverse_mass_matrix(model: Model, q: np.ndarray) -> np.ndarray:
    """M(q)⁻¹ (nv, nv), symmetric, armature included.   Carpentier 2018; O(n²).

    q (nq,). The articulated-body algorithm on unit generalised forces, at rest and without gravity: column j is the
    acceleration that a unit force on coordinate j causes. On the way in, a body feels only the forces on joints of its
    subtree; on the way out, the columns j ≥ i of row i are enough, the others follow from symmetry.
    With coupled joints, M is computed and factored.
    """
    if model.coupled:
        return mirror(MassSolver(model, q).solve(np.eye(model.nv)))
    n, bodies, joints = model.nv, model.bodies, articulated(model, q)
    end = _subtree_ends(model)
    F = [np.zeros((6, n), q.dtype) for _ in bodies]
    u = [np.zeros((body.joint.nv, n), q.dtype) for body in bodies]
    for body, (X, S, _, K) in zip(reversed(bodies), reversed(joints), strict=True):  # tips to root: forces
        i, j = body.index, slice(body.v.start, end[body.index])
        u[i][:, j] = np.eye(n)[body.v, j] - S.T @ F[i][:, j]
        if body.parent >= 0:
            F[body.parent][:, j] = F[body.parent][:, j] + _each(X.force, F[i][:, j] + K @ u[i][:, j])
    inverse, A = np.zeros((n, n), q.dtype), [np.zeros((6, n), q.dtype) for _ in bodies]
    for body, (X, S, D, K) in zip(bodies, joints, strict=True):  # root to tips: accelerations
        i, j = body.index, slice(body.v.start, n)
        A_P = _each(X.inverse_motion, A[body.parent][:, j]) if body.parent >= 0 else np.zeros((6, n - body.v.start))
        inverse[body.v, j] = D.solve(u[i][:, j]) - K.T @ A_P
        A[i][:, j] = A_P + S @ inverse[body.v, j]
    return mirror(inverse)


def _subtree_ends(model: Model) -> list[int]:
    """For every body, where the velocities of its subtree end (bodies are numbered depth first)."""
    end = [body.v.stop for body in model.bodies]
    for body in reversed(model.bodies[1:]):
        end[body.parent] = max(end[body.parent], end[body.index])
    return end


def _each(move: Callable[[np.ndarray], np.ndarray], columns: np.ndarray) -> np.ndarray:
    """`move` applied to every column of (6, k)."""
    return np.stack([move(c) for c in columns.T], axis=1) if columns.shape[1] else columns
