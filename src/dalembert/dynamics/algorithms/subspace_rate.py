"""The rate of a joint's motion subspace, column by column."""

from __future__ import annotations

import numpy as np

from dalembert.model import Joint
from dalembert.spatial import cross_motion


def subspace_rate(joint: Joint, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Ṡ (6, nv): the componentwise rate of S(q) along v, in the body's axes; q (nq,), v (nv,) are the joint's own.

    With Ṡ(v) u = Σ vⱼ uₖ ∂Sₖ/∂qⱼ the joint gives Ṡ(v) v, whose polar form is the half of Ṡ(v) u that is symmetric in
    u and v. The other half follows from Ṡ(v) u − Ṡ(u) v = S u × S v − S [u, v], which holds for the twists of any
    motion with two parameters; [u, v] is the bracket of the joint's velocities, zero where v = q̇.
    """
    S, brackets = joint.subspace(q), joint.displacement_rate(v)  # column k: [eₖ, v]
    columns = [
        joint.bias(q, v + e) - joint.bias(q, v) - joint.bias(q, e) + cross_motion(S_k, S @ v) - S @ bracket
        for e, S_k, bracket in zip(np.eye(joint.nv), S.T, brackets.T, strict=True)
    ]
    return 0.5 * np.stack(columns, axis=1) if columns else np.zeros((6, 0))
