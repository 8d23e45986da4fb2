"""Jacobians of the points of a frame, and their rates."""

from __future__ import annotations

import numpy as np

from dalembert.model import Frame, Model
from dalembert.spatial import cross

from .kinematics import ORIGIN, Axes, chain, chain_poses
from .motion import subspace_rate


def jacobian(model: Model, q: np.ndarray, frame: Frame, point: np.ndarray = ORIGIN, axes: Axes = "world") -> np.ndarray:
    """J (6, nv) with [ω; v] = J v: angular velocity of the frame, velocity of a point fixed in it.

    q (nq,); point (3,) in the frame's own axes [m]; rows along `axes`. Columns of joints that do not carry the frame
    are zero; the column [s; t] of the subspace of a body from which the point is r away gives [s; t + s × r].
    """
    X = chain_poses(model, q, frame, axes)
    x = X[frame.body].point(frame.placement.point(point))
    J = np.zeros((6, model.nv), q.dtype)
    for body in chain(model, frame.body):
        R, r = X[body.index].R, x - X[body.index].p
        for k, S_k in enumerate(body.joint.subspace(q[body.q]).T, body.v.start):
            s = R @ S_k[:3]
            J[:, k] = J[:, k] + np.concatenate([s, R @ S_k[3:] + cross(s, r)])
    return J


def jacobian_rate(
    model: Model, q: np.ndarray, v: np.ndarray, frame: Frame, point: np.ndarray = ORIGIN, axes: Axes = "world"
) -> np.ndarray:
    """J̇ (6, nv), the rate of J along v as seen from the world: acceleration = J a + J̇ v.

    q (nq,), v (nv,); point (3,) in the frame's own axes [m]. Like `acceleration`, the rate is that of vectors, written
    along `axes`; along axes that turn it is not the rate of the entries of J.
    """
    X = chain_poses(model, q, frame, axes)
    x = X[frame.body].point(frame.placement.point(point))
    carriers = chain(model, frame.body)
    w, r, dr = {-1: np.zeros(3)}, {}, {}
    for body in carriers:  # root to frame: angular velocities
        w[body.index] = w[body.parent] + X[body.index].R @ (body.joint.subspace(q[body.q])[:3] @ v[body.v])
    behind, speed = x, np.zeros(3)
    for body in reversed(carriers):  # frame to root: distance r of the point from each body, and its rate
        i, p = body.index, X[body.index].p
        speed = speed + cross(w[i], behind - p)
        r[i], dr[i] = x - p, speed
        speed = speed + X[i].R @ (body.joint.subspace(q[body.q])[3:] @ v[body.v])
        behind = p
    rate = np.zeros((6, model.nv), np.result_type(q, v))
    for body in carriers:
        i, R = body.index, X[body.index].R
        S, dS = body.joint.subspace(q[body.q]), subspace_rate(body.joint, q[body.q], v[body.v])
        for k, column in enumerate(range(model.nv)[body.v]):
            s, t = R @ S[:3, k], R @ S[3:, k]
            ds, dt = cross(w[i], s) + R @ dS[:3, k], cross(w[i], t) + R @ dS[3:, k]
            rate[:, column] = rate[:, column] + np.concatenate([ds, dt + cross(ds, r[i]) + cross(s, dr[i])])
    return rate
