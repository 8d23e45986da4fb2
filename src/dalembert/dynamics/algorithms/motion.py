"""How a body moves: angular velocity and acceleration field, how a joint hands them on, and the rate of its axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.model import Joint
from dalembert.spatial import Pose, cross, cross_motion


class BodyMotion(NamedTuple):
    """Motion of a body, in its axes. The point r of the body accelerates by a + E r, with E = [α]× + [ω]×².

    w: angular velocity ω (3,) [rad/s]; alpha: angular acceleration α (3,) [rad/s²]; a: classical acceleration of the
    origin (3,) [m/s²], the rate of its velocity. The velocity of the origin has no part in the dynamics and is not
    carried.
    """

    w: np.ndarray
    alpha: np.ndarray
    a: np.ndarray
    E: np.ndarray

    def acceleration(self, r: np.ndarray) -> np.ndarray:
        """Classical acceleration (3,) of the point r (3,) of the body [m/s²]."""
        return self.a + self.E @ r


def without_rotation(a: np.ndarray) -> BodyMotion:
    """A body that does not turn and whose points accelerate by a (3,) [m/s²]."""
    return BodyMotion(np.zeros(3), np.zeros(3), a, np.zeros((3, 3)))


def across_joint(parent: BodyMotion, X_PB: Pose, V_J: np.ndarray, A_J: np.ndarray) -> BodyMotion:
    """Motion of the body B behind a joint, from that of its parent P.   Luh, Walker, Paul 1980.

    V_J (6,): twist S v that the joint adds; A_J (6,): its componentwise rate S a + Ṡ v; at B's origin, in B's axes.
    """
    R, w_J, v_J = X_PB.R, V_J[:3], V_J[3:]
    w_P = R.T @ parent.w
    w = w_P + w_J
    alpha = R.T @ parent.alpha + cross(w_P, w_J) + A_J[:3]
    a = R.T @ parent.acceleration(X_PB.p) + cross(w_P + w, v_J) + A_J[3:]  # 2 ω_P × v_J is Coriolis's
    return BodyMotion(w, alpha, a, _field(w, alpha))


def _field(w: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """E = [α]× + [ω]×² (3, 3), so that E r = α × r + ω × (ω × r)."""
    x, y, z = w
    dx, dy, dz = alpha
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return np.array([[-yy - zz, xy - dz, xz + dy], [xy + dz, -xx - zz, yz - dx], [xz - dy, yz + dx, -xx - yy]])


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
