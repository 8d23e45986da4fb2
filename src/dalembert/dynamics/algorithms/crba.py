"""Mass matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model

from .kinematics import joint_pose
from .passive import armature
from .regroup import composites
from .tensors import add_to_both, mirror


def mass_matrix(model: Model, q: np.ndarray) -> np.ndarray:
    """M(q) (nv, nv), symmetric, with the armature on its diagonal [kg·m², kg·m, kg].   Featherstone 2008, §6.2; O(n d).

    q (nq,). Column k of joint i: the bodies behind it, rigid, are given the unit acceleration S_k; the wrench F that
    this takes is felt by every joint on the way to the base, M_ji = S_jᵀ F.
    """
    X = [joint_pose(body, q) for body in model.bodies]
    S = [body.joint.subspace(q[body.q]) for body in model.bodies]
    composite = composites(model, q)
    M = np.zeros((model.nv, model.nv), q.dtype)
    for body in reversed(model.bodies):  # tips to root
        i = body.index
        for k, S_k in enumerate(S[i].T, body.v.start):
            F, j = composite[i].momentum(S_k), i
            M[body.v, k] = M[body.v, k] + S[i].T @ F
            while (parent := model.bodies[j].parent) >= 0:
                F, j = X[j].force(F), parent
                for row, x in enumerate(S[j].T @ F, model.bodies[j].v.start):
                    add_to_both(M, row, k, x)
    return mirror(M) + np.diag(armature(model))
