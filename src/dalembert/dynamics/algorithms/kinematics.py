"""Where frames are and how their points move. Only the bodies between the frame and the base are visited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Body, Frame, Model
from dalembert.spatial import Pose, cross

from .motion import across_joint, without_rotation

Axes = Literal["world", "body"] | Frame  # "body": the frame's own axes

ORIGIN = np.zeros(3)


def poses(model: Model, q: np.ndarray) -> list[Pose]:
    """X_WB of every body, at q (nq,)."""
    X: list[Pose] = []
    for body in model.bodies:
        X_PB = joint_pose(body, q)
        X.append(X[body.parent] @ X_PB if body.parent >= 0 else X_PB)
    return X


def frame_pose(model: Model, q: np.ndarray, frame: Frame) -> Pose:
    """X_WF of one frame, at q (nq,)."""
    return chain_poses(model, q, frame, "world")[frame.body] @ frame.placement


def velocity(
    model: Model, q: np.ndarray, v: np.ndarray, frame: Frame, point: np.ndarray = ORIGIN, axes: Axes = "world"
) -> np.ndarray:
    """[ω; v] (6,): angular velocity of the frame and velocity of a point fixed in it, relative to the world.

    q (nq,), v (nv,); point (3,) in the frame's own axes [m]; result along `axes` [rad/s, m/s].
    """
    V = np.zeros(6)
    for body in chain(model, frame.body):  # root to frame, in body axes
        V = joint_pose(body, q).inverse_motion(V) + body.joint.subspace(q[body.q]) @ v[body.v]
    w, r = V[:3], frame.placement.point(point)
    R_AB = chain_poses(model, q, frame, axes)[frame.body].R
    return np.concatenate([R_AB @ w, R_AB @ (V[3:] + cross(w, r))])


def acceleration(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    frame: Frame,
    point: np.ndarray = ORIGIN,
    axes: Axes = "world",
) -> np.ndarray:
    """[α; a] (6,): classical acceleration of a frame and of a point fixed in it, without gravity.

    The rates of the angular velocity and of the point's velocity, as seen from the world, written along `axes`: not the
    spatial acceleration, not the rate of components along moving axes, and not what an accelerometer reads.
    q (nq,), v (nv,), a (nv,); point (3,) in the frame's own axes [m]. [rad/s², m/s²].
    """
    motion = without_rotation(np.zeros(3))
    for body in chain(model, frame.body):  # root to frame, in body axes
        q_i, v_i, S = q[body.q], v[body.v], body.joint.subspace(q[body.q])
        motion = across_joint(motion, joint_pose(body, q), S @ v_i, S @ a[body.v] + body.joint.bias(q_i, v_i))
    R_AB = chain_poses(model, q, frame, axes)[frame.body].R
    return np.concatenate([R_AB @ motion.alpha, R_AB @ motion.acceleration(frame.placement.point(point))])


def joint_pose(body: Body, q: np.ndarray) -> Pose:
    """X_PB: a body in its parent (the base: in the world), at q (nq,) of the whole robot."""
    return body.placement @ body.joint.pose(q[body.q])


def chain(model: Model, index: int) -> list[Body]:
    """The bodies from the base to body `index`, both included."""
    bodies = []
    while index >= 0:
        bodies.append(model.bodies[index])
        index = bodies[-1].parent
    return bodies[::-1]


def chain_poses(model: Model, q: np.ndarray, frame: Frame, axes: Axes) -> dict[int, Pose]:
    """X_AB of the bodies that carry the frame, seen from A, the world or a frame; "body" is the frame itself."""
    return poses_from(model, q, frame if axes == "body" else axes, chain(model, frame.body))


def poses_from(model: Model, q: np.ndarray, axes: Axes, bodies: Iterable[Body]) -> dict[int, Pose]:
    """X_AB of bodies, given parents first, seen from A, the world or a frame.

    The walk starts at A and takes the shortest way, so that joints which carry both A and a body do not matter.
    """
    if axes == "world":
        X = {-1: Pose.identity()}
    elif isinstance(axes, Frame):
        X = {axes.body: axes.placement.inverse()}
        for body in reversed(chain(model, axes.body)):
            X[body.parent] = X[body.index] @ joint_pose(body, q).inverse()
    else:
        raise DalembertError(f"axes is {axes!r}, expected 'world', 'body' or a Frame")
    for body in bodies:
        if body.index not in X:
            X[body.index] = X[body.parent] @ joint_pose(body, q)
    return X
