"""Articulated-body inertias: how a body resists a push when the joints behind it are free to give way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.linear import Factor, factor
from dalembert.model import Joint, Model
from dalembert.spatial import Pose, so3

from .regroup import regrouped
from .tensors import known, mirror, rotate, rotate_symmetric


class Articulation(NamedTuple):
    """A joint with everything behind it free.

    X: X_PB; S (6, nv_i): the joint's subspace; D = SᵀI^A S + armature (nv_i, nv_i), factored; K = I^A S D⁻¹ (6, nv_i):
    the wrench on the body that goes with a unit of generalised force.
    """

    X: Pose
    S: np.ndarray
    D: Factor
    K: np.ndarray


def articulated(model: Model, q: np.ndarray) -> list[Articulation]:
    """The articulation of every body at q (nq,).   Featherstone 2008, §7.3; O(n).

    I^A = I + Σ X* (I^A − K Uᵀ) X*ᵀ over the children, with U = I^A S and K = U D⁻¹. Inertias (6, 6) are in body axes.
    """
    inertia = [mass.inertia().matrix() for mass in regrouped(model)]
    joints = []
    for body in reversed(model.bodies):  # tips to root
        X_JB, S = body.joint.pose(q[body.q]), body.joint.subspace(q[body.q])
        IA = inertia[body.index]
        U = IA @ S
        D = factor((S.T @ U + np.diag(body.joint.armature)).T)
        refuse_massless(D.r, body.joint)
        K = D.solve(U.T).T
        free = _free_directions(body.joint, S)
        for row, k in free:
            K[row] = S[row, k] * np.eye(body.joint.nv)[k]  # Sᵀ K = 1 in exact arithmetic
        joints.append(Articulation(body.placement @ X_JB, S, D, K))
        if body.parent >= 0:
            remaining = mirror(IA - K @ U.T)
            for row, _ in free:
                remaining[row, :] = remaining[:, row] = 0.0  # no inertia is felt through a freedom: (I^A − K Uᵀ) S = 0
            inertia[body.parent] = inertia[body.parent] + _carried(body.placement, _carried(X_JB, remaining))
    return joints[::-1]


def _free_directions(joint: Joint, S: np.ndarray) -> list[tuple[int, int]]:
    """Pairs (i, k): column k of S is ± the unit vector i, and no rotor resists it. There, zeros and ones are exact."""
    units = [np.flatnonzero((np.eye(6) == np.abs(known(column))).all(axis=1)) for column in S.T]
    return [(int(i[0]), k) for k, i in enumerate(units) if len(i) and known(joint.armature[k]) == 0.0]


def refuse_massless(r: np.ndarray, joint: Joint) -> None:
    """A pivot 1/r that is zero in every configuration is a mistake in the model."""
    if np.any(np.isinf(known(r))):
        raise DalembertError(
            f"joint {joint.name!r} moves no mass, so that forces on it have no finite effect: give the bodies behind "
            "it inertia, or the joint an armature"
        )


def _carried(X_AB: Pose, inertia: np.ndarray) -> np.ndarray:
    """A symmetric inertia [I H; Hᵀ M] (6, 6) of B, seen from A: X* [I H; Hᵀ M] X*ᵀ."""
    I, H, M = inertia[:3, :3], inertia[:3, 3:], inertia[3:, 3:]
    R, p = X_AB.R, so3.skew(X_AB.p)
    I, H, M = rotate_symmetric(R, I), rotate(R, H), rotate_symmetric(R, M)
    H_A = H + p @ M
    I_A = mirror(I + p @ H.T - H_A @ p)
    return np.block([[I_A, H_A], [H_A.T, M]])
