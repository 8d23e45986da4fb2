"""Inverse masses of links and freedoms in a robot's first state: MuJoCo's scale for the softness of constraints.

MuJoCo scales the regularisation of a constraint by the diagonal of J M⁻¹ Jᵀ, estimated once for all: for a link the
mean over three directions at its centre of mass, for a freedom the diagonal of M⁻¹, averaged over those of a ball.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.contact.rows import point_motion
from dalembert.dynamics.algorithms import mass_matrix, neutral, poses
from dalembert.model import Body, Model, Part


class Mobility(NamedTuple):
    """Inverse masses in the first state q (nq,): freedoms (nv,); links: name → (linear [1/kg], angular [1/(kg·m²)])."""

    q: np.ndarray
    inverse: np.ndarray  # M⁻¹ (nv, nv)
    freedoms: np.ndarray
    links: dict[str, tuple[float, float]]

    def along(self, J: np.ndarray) -> float:
        """J M⁻¹ Jᵀ of one row (nv,) in the first state."""
        return float(J @ self.inverse @ J)


def mobility(model: Model) -> Mobility:
    """The mobility of a model in the state that its file gives."""
    q = reference(model)
    inverse = np.linalg.inv(mass_matrix(model, q)) if model.nv else np.zeros((0, 0))
    freedoms = np.diag(inverse).copy()
    for body in model.independent:
        for begin in range(body.v.start, body.v.stop, 3):
            if body.joint.nv in (3, 6):
                freedoms[begin : begin + 3] = freedoms[begin : begin + 3].mean()
    X = poses(model, q)
    links = {}
    for body in model.bodies:
        for part in body.parts:
            J = point_motion(model, X, q, body.index, X[body.index].point(_centre(part)))
            each = np.einsum("ij,jk,ik->i", J, inverse, J)
            links[part.name] = float(each[3:].mean()), float(each[:3].mean())
    return Mobility(q, inverse, freedoms, links)


def reference(model: Model) -> np.ndarray:
    """The first state of the file (nq,), or the neutral one."""
    q = neutral(model)
    for body in model.independent:
        stated = model.mujoco.joint(body.joint.name) if model.mujoco else None
        if stated is not None:
            q[body.q] = stated.reference
    return q


def _centre(part: Part) -> np.ndarray:
    """The centre of mass of a link (3,), in its body; the origin of one without mass."""
    mass = part.inertia.mass
    return part.placement.point(part.inertia.com if mass else np.zeros(3))


def body_of(model: Model, link: str) -> Body | None:
    """The body that a link or frame is fixed in; None: the world."""
    frame = next((each for each in model.frames if each.name == link), None)
    return None if frame is None or frame.body < 0 else model.bodies[frame.body]
