"""Joints held by springs: their stiffness, stated or advised for a time step."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.model import Frame, Model
from dalembert.model.closures import CLOSURES, Closure
from dalembert.sim.elements.bushing import Bushing
from dalembert.spatial import Pose, so3

from .build import Parts
from .kinds import KINDS
from .parts import JointPart

SHARE = 0.25  # of |ω h| = 2, where explicit steps of an oscillation become unstable; rows of one body add up
DAMPED = 0.2  # damping ratio of every row


def closure_of(joint: JointPart) -> Closure:
    """The rows of a joint, between frames that coincide with its points."""
    shape = {key: joint.shape[key] for key in KINDS[joint.kind].shape}
    ends = (Frame(end.name, -1, Pose.identity()) for end in (joint.a, joint.b))
    return CLOSURES[KINDS[joint.kind].closure](joint.name, *ends, **shape)


def bushing(parts: Parts, model: Model, q: np.ndarray, joint: JointPart, step: float | None) -> Bushing:
    """The springs and dampers instead of a joint.

    A stiffness that is stated is that of rows in m, and per m² that of rows in rad. Without one every row gets
    k = (SHARE / step)² / A, A the inverse of the mass that it feels.
    """
    assert joint.springs is not None
    stiffness, damping = joint.springs
    closure = closure_of(joint)
    if joint.compliance is not None:
        linear, angular = joint.compliance
        yielding = np.where(_angular(closure), angular, linear)
        ends = joint.a.name, joint.b.name
        return Bushing(
            joint.name, *ends, closure, tuple((1.0 / yielding).tolist()), (0.0,) * closure.count, implicit=True
        )
    if stiffness is None and step is None:
        raise DalembertError(
            f"{parts.what}: joint {joint.name!r} is held by springs: give its stiffness=… and damping=…, or the "
            "time step "
            "for which they are advised, build(step=1e-5)"
        )
    mobility = _mobility(model, q, joint, closure)
    k = (SHARE / step) ** 2 / mobility if stiffness is None and step is not None else np.full(closure.count, stiffness)
    d = 2.0 * DAMPED * np.sqrt(k / mobility) if damping is None else np.full(closure.count, damping)
    return Bushing(
        joint.name,
        joint.a.name,
        joint.b.name,
        closure,
        tuple(k.astype(float).tolist()),
        tuple(d.astype(float).tolist()),
    )


def _angular(closure: Closure) -> np.ndarray:
    """Whether each row is an angle: shifts do not change it."""
    rng = np.random.default_rng(0)
    X = Pose(so3.exp(rng.uniform(-0.5, 0.5, 3)), rng.uniform(0.5, 1.0, 3))
    shifts = np.array([closure.rate(X, V) for V in np.eye(6)[3:]])
    return np.all(np.abs(shifts) < 1e-12, axis=0)


def _mobility(model: Model, q: np.ndarray, joint: JointPart, closure: Closure) -> np.ndarray:
    """How easily each row gives way: the diagonal of J M⁻¹ Jᵀ (n,)."""
    frames = [model.frame(end.name) for end in (joint.a, joint.b)]
    K, L = (algorithms.frame_pose(model, q, frame) for frame in frames)
    X = Pose(K.R.T @ L.R, K.R.T @ (L.p - K.p))
    J_K, J_L = (algorithms.jacobian(model, q, frame, np.zeros(3)) for frame in frames)
    turning = K.R.T @ (J_L[:3] - J_K[:3])
    p = L.p - K.p
    moving = K.R.T @ (J_L[3:] - J_K[3:] - np.cross(J_K[:3].T, p).T)
    rows = np.array([closure.rate(X, V) for V in np.concatenate([turning, moving]).T]).T
    M = algorithms.mass_matrix(model, q)
    mobility = np.einsum("ij,ji->i", rows, np.linalg.solve(M, rows.T))
    return np.maximum(mobility, 1e-12)
