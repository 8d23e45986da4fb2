"""Velocities of touching points as rows of the velocities of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.algorithms import poses
from dalembert.algorithms.kinematics import chain
from dalembert.math import sign
from dalembert.model import Model
from dalembert.spatial import Pose, cross

from .candidates import WORLD, Patch


class Rows(NamedTuple):
    """Geometry of k candidates: gap (k,) [m], position (k, 3), axes (k, 3, 3) with the normal and two tangents as rows.

    J (3 k, nv): how fast the first body moves past the second along these axes, contact by contact; spin (3 k, nv): how
    fast it turns against it about them.
    """

    gap: np.ndarray
    position: np.ndarray
    axes: np.ndarray
    J: np.ndarray
    spin: np.ndarray


def contact_rows(model: Model, q: np.ndarray, patches: Sequence[Patch]) -> Rows:
    """The rows of all points that may touch at q (nq,)."""
    X = poses(model, q)
    gaps, positions, axes, J, spins = [], [], [], [], []
    for patch in patches:
        for witness in patch.witnesses(X):
            on_world = patch.second == WORLD
            position = witness.a if on_world else witness.position
            motion = point_motion(model, X, q, patch.first, position)
            if not on_world:
                motion = motion - point_motion(model, X, q, patch.second, position)
            frame = tangent_frame(witness.normal)
            gaps.append(witness.distance)
            positions.append(position)
            axes.append(frame)
            J.append(_along(frame, motion[3:]))
            spins.append(_along(frame, motion[:3]))
    return Rows(np.array(gaps), np.array(positions), np.array(axes), np.concatenate(J), np.concatenate(spins))


def _along(frame: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """Rows of a frame times a motion (3, nv), column by column: zeros stay zeros."""
    return np.array([[_dot(axis, column) for column in motion.T] for axis in frame])


def _dot(a: np.ndarray, b: np.ndarray) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def point_motion(model: Model, X: Sequence[Pose], q: np.ndarray, index: int, position: np.ndarray) -> np.ndarray:
    """[ω; v] (6, nv) in the world of the point of a body that is at `position` (3,)."""
    J = np.zeros((6, model.nv), np.result_type(q, position))
    for body in chain(model, index):
        R, r = X[body.index].R, position - X[body.index].p
        for k, S in enumerate(body.joint.subspace(q[body.q]).T, body.v.start):
            s = R @ S[:3]
            J[:, k] = J[:, k] + np.concatenate([s, R @ S[3:] + cross(s, r)])
    return J


def tangent_frame(normal: np.ndarray) -> np.ndarray:
    """(3, 3): rows normal, and two tangents that turn smoothly with it but where it points straight down.

    Duff et al. 2017, "Building an orthonormal basis, revisited".
    """
    x, y, z = normal
    s = sign(z + 1e-300)
    a = -1.0 / (s + z)
    b = x * y * a
    return np.array([normal, [1.0 + s * x * x * a, s * b, -s * x], [b, s + y * y * a, -y]])
