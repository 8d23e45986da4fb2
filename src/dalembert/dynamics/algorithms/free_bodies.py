"""Bodies that move freely in the world, whose velocities are written along axes that turn with them."""

from __future__ import annotations

import numpy as np

from dalembert.model import Body, Model
from dalembert.model.joints import Free
from dalembert.spatial import cross


def drifts(model: Model, body: Body) -> bool:
    """Whether a body moves freely in the world."""
    parent = body.parent
    while parent >= 0:
        if model.bodies[parent].joint.nv:
            return False
        parent = model.bodies[parent].parent
    return isinstance(body.joint, Free)


def carries_nothing(model: Model, body: Body) -> bool:
    """Whether no other body hangs on a body."""
    return all(other.parent != body.index for other in model.bodies)


def turning(model: Model, v: np.ndarray) -> np.ndarray:
    """(nv,): accelerations of free bodies along axes that do not turn with them, beyond those along their own axes."""
    extra = np.zeros(model.nv, np.result_type(v, float))
    for body in model.bodies:
        if drifts(model, body):
            w, linear = v[body.v][:3], v[body.v][3:]
            extra[body.v] = np.concatenate([np.zeros(3), cross(w, linear)])
    return extra
