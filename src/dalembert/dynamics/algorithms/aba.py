"""Forward dynamics by the articulated-body algorithm."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.model import Model

from .articulated import articulated
from .passive import passive
from .rnea import body_wrenches


def aba(
    model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray, external: Mapping[int, np.ndarray] | None = None
) -> np.ndarray:
    """Forward dynamics: a = M(q)⁻¹ (tau − C(q, v) v − g(q) − passive(q, v) + Σ Jᵢᵀ Fᵢ).   Featherstone 2008, §7.3.

    q (nq,), v (nv,), tau (nv,) [N·m or N]; external: body index → wrench [τ; f] (6,) on that body, at its origin, in
    its axes [N·m, N]. Returns a (nv,). O(n). Accelerations are counted from those at a = 0, so that velocities enter
    only once: through the wrenches F that the motion at a = 0 takes. Joints must not be coupled.
    """
    assert not model.coupled, "see `forward_dynamics`"
    joints = articulated(model, q)
    _, _, F = body_wrenches(model, q, v, np.zeros(model.nv), external)
    tau = tau - passive(model, q, v)
    u = [np.empty(0)] * len(joints)
    for body, (X, S, _, K) in zip(reversed(model.bodies), reversed(joints), strict=True):  # tips to root: forces
        i = body.index
        u[i] = tau[body.v] - S.T @ F[i]
        if body.parent >= 0:
            F[body.parent] = F[body.parent] + X.force(F[i] + K @ u[i])
    a: list[np.ndarray] = []
    A: list[np.ndarray] = []
    for body, (X, S, D, K) in zip(model.bodies, joints, strict=True):  # root to tips: accelerations
        A_P = X.inverse_motion(A[body.parent]) if body.parent >= 0 else np.zeros(6)
        a.append(D.solve(u[body.index]) - K.T @ A_P)
        A.append(A_P + S @ a[-1])
    return np.concatenate(a)
