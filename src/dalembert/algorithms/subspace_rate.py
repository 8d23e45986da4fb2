"""The rate of a joint's motion subspace, column by column."""

from __future__ import annotations

import numpy as np

from dalembert.model import Joint
from dalembert.spatial import cross_motion


def subspace_rate(joint: Joint, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Ṡ (6, nv): the componentwise rate of S(q) along v, in the body's axes; q (nq,), v (nv,) are the joint's own.

    With Ṡ(v) u = Σ vⱼ uₖ ∂Sₖ/∂qⱼ the joint gives Ṡ(v) v, whose polar form is the half of Ṡ(v) u that is symmetric in
    u and v. The other half, for coordinates with v = q̇, follows from ∂Sₖ/∂qⱼ − ∂Sⱼ/∂qₖ = Sₖ × Sⱼ, which holds for the
    twists of any motion with two parameters; where v is not q̇ (quaternions), S is constant.
    """
    if joint.nq != joint.nv:
        return np.zeros((6, joint.nv))
    S = joint.subspace(q)
    columns = [
        joint.bias(q, v + e) - joint.bias(q, v) - joint.bias(q, e) + cross_motion(S_k, S @ v)
        for e, S_k in zip(np.eye(joint.nv), S.T, strict=True)
    ]
    return 0.5 * np.stack(columns, axis=1) if columns else np.zeros((6, 0))
