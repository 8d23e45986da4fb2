"""Velocities of touching points as rows of the velocities of a robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import poses
from dalembert.dynamics.algorithms.kinematics import chain
from dalembert.math import sign
from dalembert.model import Model
from dalembert.spatial import Pose, cross

from .candidates import WORLD, Patch

LEAST = 1e-37  # the normal of a wall has z = 0, and 0 has no sign; float32 has this number, but none much smaller
FACE = 3  # points from which on the velocities of two bodies are fewer than those of the points where they touch


class Rows(NamedTuple):
    """Geometry of k candidates: gap (k,) [m], position (k, 3), axes (k, 3, 3) with the normal and two tangents as rows.

    J (3 k, nv): how fast the first body moves past the second along these axes, contact by contact; spin (3 k, nv): how
    fast it turns against it about them. aside (k, 3): from the position to the place on the first body, and minus that
    to the place on the second [m].
    """

    gap: np.ndarray
    position: np.ndarray
    axes: np.ndarray
    J: np.ndarray
    spin: np.ndarray
    aside: np.ndarray


def contact_rows(model: Model, q: np.ndarray, patches: Sequence[Patch], ahead: Sequence[Pose] | None = None) -> Rows:
    """The rows of all points that may touch at q (nq,); ahead: poses of all bodies after a step."""
    X = poses(model, q)
    gaps, positions, axes, J, spins, asides = [], [], [], [], [], []
    for patch in patches:
        for witness in patch.witnesses(X, ahead):
            on_world = patch.second == WORLD
            position = witness.a if on_world else witness.position
            aside = np.zeros(3) if on_world else witness.half_apart(ahead is not None and patch.is_aside)
            motion = point_motion(model, X, q, patch.first, position + aside)
            if not on_world:  # each body is pushed at its own place, where these are to meet
                motion = motion - point_motion(model, X, q, patch.second, position - aside)
                for body in set(chain(model, patch.first)) & set(chain(model, patch.second)):
                    motion[:, body.v] = 0.0  # what carries both moves neither past the other
            frame = tangent_frame(witness.normal)
            gaps.append(witness.distance)
            positions.append(position)
            asides.append(aside)
            axes.append(frame)
            J.append(_along(frame, motion[3:]))
            spins.append(_along(frame, motion[:3]))
    every = np.array(gaps), np.array(positions), np.array(axes), np.concatenate(J), np.concatenate(spins)
    return Rows(*every, np.array(asides))


class PairMotions(NamedTuple):
    """Rows of k candidates as those of the pairs of bodies that touch there: J = P B, spin = S B.

    B (m, nv): of a pair with three points or more, the six velocities at which one body moves past the other, and the
    sum of how both turn, since each is pushed at its own places; of others the rows of their points. P, S (3 k, m).
    """

    B: np.ndarray
    P: np.ndarray
    S: np.ndarray


def pair_motions(model: Model, q: np.ndarray, patches: Sequence[Patch], rows: Rows) -> PairMotions | None:
    """The rows of all points that may touch at q (nq,), by pairs of bodies; None: no pair has three points."""
    X, pairs = poses(model, q), [(patch.first, patch.second) for patch in patches for _ in patch.names]
    counts = Counter(pairs)
    faces = [pair for pair, count in counts.items() if count >= FACE]
    if not faces:
        return None
    places = {pair: slice(9 * i, 9 * i + 9) for i, pair in enumerate(faces)}
    alone, behind = [i for i, pair in enumerate(pairs) if counts[pair] < FACE], 9 * len(faces)
    at = {i: slice(behind + 6 * n, behind + 6 * n + 6) for n, i in enumerate(alone)}
    B = np.zeros((behind + 6 * len(alone), model.nv), object)
    P, S = np.zeros((2, 3 * len(pairs), len(B)), object)
    for first, second in faces:
        a, b = point_motion(model, X, q, first, X[first].p), np.zeros((6, model.nv))
        if second != WORLD:
            b = point_motion(model, X, q, second, X[first].p)
            for body in set(chain(model, first)) & set(chain(model, second)):
                a[:, body.v] = b[:, body.v] = 0.0  # what carries both moves neither past the other
        B[places[first, second]] = np.concatenate([a - b, a[:3] + b[:3]])
    for i, pair in enumerate(pairs):
        here = slice(3 * i, 3 * i + 3)
        if i in at:
            B[at[i]] = np.concatenate([rows.spin[here], rows.J[here]])
            S[here, at[i]], P[here, at[i]] = np.eye(6)[:3], np.eye(6)[3:]
        else:
            arm, frame = rows.position[i] - X[pair[0]].p, rows.axes[i]
            turned, both = (np.array([cross(x, axis) for axis in frame]) for x in (arm, rows.aside[i]))
            S[here, places[pair]] = np.concatenate([frame, np.zeros((3, 6))], axis=1)
            P[here, places[pair]] = np.concatenate([turned, frame, both], axis=1)
    return PairMotions(B, P, S)


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
    s = sign(z + LEAST)
    a = -1.0 / (s + z)
    b = x * y * a
    return np.array([normal, [1.0 + s * x * x * a, s * b, -s * x], [b, s + y * y * a, -y]])
