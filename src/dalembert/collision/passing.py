"""Shapes that pass close by each other within a while.

An edge that passes close over a face is nearest to the face's edge, and the line between them hardly leans: along it,
the two would meet. But along the normal of the face they do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.math import held, logical_and, where
from dalembert.model.geometry import Box, Cylinder
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .axes import FACE_A, FACE_B, overlap
from .conditional import computed_where
from .cores import HULLS, core_support, over_faces
from .witness import Witness, chosen

UP = np.array([0.0, 0.0, 1.0])
NONE = np.array([-np.inf, FACE_A, *UP])


def passing(a: Any, b: Any, X_AB: Pose, later: Pose, found: Witness, apart: Any, level: Any) -> Witness:
    """The witness along the normal on which shapes stay apart longest, where their nearest points, found, would meet.

    later: B in A's frame after the while. apart: whether they are now; level [m]: an overlap that is none.
    """
    moved = later.point(X_AB.inverse().point(found.b))
    ahead = dot(found.normal, found.a - moved)
    meets = logical_and(apart, ahead < 0.0)
    if all(isinstance(shape, (Box, *HULLS)) for shape in (a, b)):
        side, longer = overlap(a, b, X_AB, meets, level, later), True
    else:
        separation, *feature = held(computed_where(meets, lambda X: _best_side(a, b, X), later, len(NONE)))
        side, longer = _beside(a, b, X_AB, *feature), separation > ahead
    return chosen(logical_and(logical_and(meets, longer), side.distance >= -level), side, found)


def _best_side(a: Any, b: Any, X_AB: Pose) -> np.ndarray:
    """Of all flat sides of two shapes that along whose normal they are farthest apart: how far, whose, its normal."""
    best = NONE
    for kind, shape, other, X in ((FACE_A, a, b, X_AB), (FACE_B, b, a, X_AB.inverse())):

        def side(best: Any, normal: Any, offset: Any, kind: Any = kind, other: Any = other, X: Pose = X) -> dict:
            first = X.point(core_support(other, -(X.R.T @ normal)))
            separation = dot(normal, first) - offset
            return {"best": where(separation > best[0], np.array([separation, kind, *normal]), best)}

        best = _over_sides(shape, side, best)
    return best


def _over_sides(shape: Any, step: Callable[..., dict[str, Any]], best: np.ndarray) -> np.ndarray:
    """step(best, normal, offset) for each flat side."""
    if isinstance(shape, Cylinder):
        for normal in (UP, -UP):
            best = step(best, normal, 0.5 * shape.length)["best"]
        return best
    return over_faces(shape, step, best) if isinstance(shape, (Box, *HULLS)) else best


def _beside(a: Any, b: Any, X_AB: Pose, kind: Any, *normal: Any) -> Witness:
    """The witness along the normal of a side, in A's frame."""
    n = np.array(normal)
    outward = where(kind == FACE_A, n, -(X_AB.R @ n))
    on_b = X_AB.point(core_support(b, -(X_AB.R.T @ outward)))
    separation = dot(outward, on_b - core_support(a, outward))
    return Witness(separation, on_b - separation * outward, on_b, -outward)
