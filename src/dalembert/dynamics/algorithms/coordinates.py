"""Between velocities v and the rates q̇ of the coordinates: q̇ = G(q) v, where G is 1 for most joints."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model


def coordinate_rate(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """q̇ (nq,) = G(q) v, for q (nq,), v (nv,)."""
    rate = np.zeros(model.nq, np.result_type(q, v))
    for body in model.bodies:
        rate[body.q] = body.joint.rate(q[body.q], v[body.v])
    return rate


def along_velocities(model: Model, q: np.ndarray, D: np.ndarray) -> np.ndarray:
    """D G(q) (…, nv): from derivatives D (…, nq) in the entries of q (nq,) to derivatives along velocities.

    What is differentiated need only be right where quaternions have unit length: the columns of G lead nowhere else.
    """
    along = np.zeros((*D.shape[:-1], model.nv), np.result_type(q, D))
    for body in model.bodies:
        joint, D_i = body.joint, D[..., body.q]
        if not joint.flat:
            D_i = D_i @ np.stack([joint.rate(q[body.q], unit) for unit in np.eye(joint.nv)], axis=1)
        along[..., body.v] = D_i
    return along
