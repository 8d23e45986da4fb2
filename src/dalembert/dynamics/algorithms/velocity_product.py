"""Forces of inertia that two velocities make together: the bilinear form behind the quadratic one of `bias`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.model import Joint, Model
from dalembert.spatial import Pose, cross

from .kinematics import joint_pose
from .regroup import regrouped
from .rnea import carried
from .tensors import gathered


class MotionPair(NamedTuple):
    """Two motions of a body and the accelerations that they make together, in its axes: see `BodyMotion`.

    w_u, w_v: angular velocities (3,); alpha, a: of the sum of both motions less those of each alone (3,), and so is
    E = [α]× + [w_u]× [w_v]× + [w_v]× [w_u]×.
    """

    w_u: np.ndarray
    w_v: np.ndarray
    alpha: np.ndarray
    a: np.ndarray
    E: np.ndarray


WORLD = MotionPair(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((3, 3)))


def velocity_product_force(model: Model, q: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """c(u + v) − c(u) − c(v) (nv,) [N·m or N], where c(v) = C(q, v) v: Γ(u, v) + Γ(v, u) with Christoffel's symbols.

    q (nq,), u (nv,), v (nv,). One recursive pass as in `rnea`, with both velocities side by side; O(n).
    """
    X: list[Pose] = []
    S: list[np.ndarray] = []
    pairs: list[MotionPair] = []
    for body in model.bodies:  # root to tips
        q_i, u_i, v_i = q[body.q], u[body.v], v[body.v]
        X.append(joint_pose(body, q))
        S.append(body.joint.subspace(q_i))
        parent = pairs[body.parent] if body.parent >= 0 else WORLD
        pairs.append(_across_joint(parent, X[-1], S[-1] @ u_i, S[-1] @ v_i, _bias_product(body.joint, q_i, u_i, v_i)))
    F = carried(model, X, [mass.wrench(x.a, x.E) for mass, x in zip(regrouped(model), pairs, strict=True)])
    return gathered(model, [S_i.T @ F_i for S_i, F_i in zip(S, F, strict=True)])


def _bias_product(joint: Joint, q: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Ṡ(u) v + Ṡ(v) u (6,) of one joint, from Ṡ(v) v."""
    return joint.bias(q, u + v) - joint.bias(q, u) - joint.bias(q, v)


def _across_joint(parent: MotionPair, X_PB: Pose, U_J: np.ndarray, V_J: np.ndarray, A_J: np.ndarray) -> MotionPair:
    """The pair behind a joint that adds the twists U_J, V_J (6,) and the acceleration A_J (6,): see `across_joint`."""
    R = X_PB.R
    u_P, v_P = R.T @ parent.w_u, R.T @ parent.w_v
    u, v = u_P + U_J[:3], v_P + V_J[:3]
    alpha = R.T @ parent.alpha + cross(u_P, V_J[:3]) + cross(v_P, U_J[:3]) + A_J[:3]
    a = R.T @ (parent.a + parent.E @ X_PB.p) + cross(u_P + u, V_J[3:]) + cross(v_P + v, U_J[3:]) + A_J[3:]
    return MotionPair(u, v, alpha, a, _field(u, v, alpha))


def _field(u: np.ndarray, v: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """E = [α]× + [u]× [v]× + [v]× [u]× (3, 3)."""
    dx, dy, dz = alpha
    xx, yy, zz = 2.0 * u * v
    xy, xz, yz = (u[i] * v[j] + u[j] * v[i] for i, j in ((0, 1), (0, 2), (1, 2)))
    return np.array([[-yy - zz, xy - dz, xz + dy], [xy + dz, -xx - zz, yz - dx], [xz - dy, yz + dx, -xx - yy]])
