"""How nearest points and normals move with two shapes of which one at least is round: the slopes of a witness.

Near its witness point a surface has, in the plane across the normal, directions along which it is flat, as the side of
a cylinder along its axis, and others along which it curves: the point moves by K δm where the normal turns by δm, with
the radii of curvature K, which are 0 at a corner. Seen from A, let B move by β at its point and turn its normal by τ.
The ways x_A, x_B of the points over their surfaces and the turn δn of the normal obey, across the normal,

    x_A = −K_A δn,   x_B = K_B (δn − τ),   x_A − x_B − β = d δn   at a distance d,

so that (K_A + K_B + d) δn = K_B τ − β. Along a flat side of A or B it is 0 or τ instead.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import held, logical_and, logical_or, maximum, repeat, sqrt, where
from dalembert.math.tolerances import TINY
from dalembert.shapes import Box, Cone, Cylinder, Ellipsoid
from dalembert.shapes.farthest import tangents
from dalembert.shapes.segment import Segment
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot

from .cores import over_edges, over_faces
from .features import side_normal
from .hulls import Hull, TabledHull
from .opaque import Opaque
from .witness import Witness

ROUND = Cylinder | Ellipsoid | Cone | Opaque
ALONG = 1e-6  # [rad], and of the size of a hull: how far normals and points may be from those of a flat side
TURN = 1e-3  # [rad] either way: over it the farthest point of an opaque shape is differentiated
UNSTABLE = 1e-9  # of the size of the shapes: the least curvature with which nearest points do not jump
ACCURACY = 1e-9
SHARED = 1e-12  # of the flat sides: what else could move as well, so that there is always a solution


class CurvedSurface(NamedTuple):
    """A surface near a point: radii of curvature K [m], and P, which projects onto directions along which it is flat.

    Both (3, 3) along the axes of the shape, or (2, 2) along two tangents.
    """

    K: np.ndarray
    P: np.ndarray

    def seen(self, T: np.ndarray) -> CurvedSurface:
        """Along tangents, the columns of T (3, 2)."""
        return CurvedSurface(T.T @ self.K @ T, T.T @ self.P @ T)

    @property
    def flat(self) -> tuple[Any, Any]:
        """Whether it is flat along one direction at least, and along both."""
        rank = self.P[0, 0] + self.P[1, 1]
        return rank > 0.5, rank > 1.5

    @property
    def direction(self) -> np.ndarray:
        """(2,): one along which it is flat."""
        wider = where(self.P[0, 0] > self.P[1, 1], self.P[:, 0], self.P[:, 1])
        return wider / sqrt(dot(wider, wider) + TINY)


def moving(a: Any, b: Any, X_AB: Pose, w: Witness, size: Any) -> Witness:
    """The witness w of two cores in A's frame, with the slopes that its points and normal have; size [m] of both.

    They are NaN where the points would jump. Where flat sides lie on each other, the normal is that of the shape with
    corners, or of B, and the points move as little as they can.
    """

    def moved(on_a: Any, on_b: Any, n: Any) -> dict[str, Any]:
        on_a, on_b, n = held(on_a), held(on_b), held(n)
        local, m = held(X_AB.inverse().point(on_b)), held(X_AB.R.T @ n)
        T = np.array(tangents(n)).T
        A, B = surface(a, on_a, -n).seen(T), turned(surface(b, local, m), held(X_AB.R)).seen(T)
        A, B = (CurvedSurface(*(held(x) for x in each)) for each in (A, B))
        d = held(w.distance)
        beta, tau = T.T @ (X_AB.point(local) - on_b), T.T @ (X_AB.R @ m - n)
        of_sides = (A, np.zeros(2)), (B, tau)
        turn = turned_by((A.K + B.K + d * np.eye(2)) / size, (B.K @ tau - beta) / size, *by_rank(a, b, of_sides))
        x_a, x_b = -(A.K @ turn), B.K @ (turn - tau)
        slid = solved(A.P + B.P + SHARED * np.eye(2), d * turn + beta - x_a + x_b)
        x_a, x_b = x_a + A.P @ slid, x_b - B.P @ slid
        return {"on_a": on_a + T @ x_a, "on_b": X_AB.point(local) + T @ x_b, "n": n + T @ turn}

    def kept(on_a: Any, on_b: Any, n: Any) -> dict[str, Any]:
        return {"on_a": on_a, "on_b": on_b, "n": n}

    state = repeat(kept, 1, kept(w.a, w.b, w.normal), fixed_point=ACCURACY, correction=moved)
    return Witness(w.distance, state["on_a"], state["on_b"], state["n"])


def by_rank(a: Any, b: Any, sides: tuple[Any, Any]) -> tuple[Any, Any]:
    """The side whose normal counts where both are flat first."""
    return sides if not isinstance(a, ROUND) and isinstance(b, ROUND) else sides[::-1]


def turned_by(
    M: np.ndarray, r: np.ndarray, first: tuple[CurvedSurface, Any], second: tuple[CurvedSurface, Any]
) -> np.ndarray:
    """δn (2,): as flat sides turn, those of the first surface before those of the second; else M δn = r."""
    (A, turn_a), (B, turn_b) = first, second
    (a_flat, a_face), (b_flat, b_face) = A.flat, B.flat
    e, f = A.direction, B.direction
    along = where(a_flat, e, where(b_flat, f, np.array([1.0, 0.0])))
    across = np.array([-along[1], along[0]])
    flat = logical_or(a_flat, b_flat)
    turn = where(a_flat, turn_a, turn_b)
    rows, values = [where(flat, along, M @ along)], [where(flat, dot(along, turn), dot(along, r))]
    crossing = logical_and(logical_and(a_flat, b_flat), absolute(dot(across, f)) > ALONG)
    row = where(crossing, f, M @ across)
    value = where(crossing, dot(f, turn_b), dot(across, r))
    for face, its_turn in ((b_face, turn_b), (a_face, turn_a)):
        row, value = where(face, across, row), where(face, dot(across, its_turn), value)
    return solved(np.array([*rows, row]), np.array([*values, value]), UNSTABLE)


def solved(A: np.ndarray, x: np.ndarray, least: float = 0.0) -> np.ndarray:
    """A⁻¹ x of (2, 2) and (2,); NaN where the determinant of A is no larger than that."""
    determinant = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    scale = where(absolute(determinant) > least, 1.0 / determinant, np.nan)
    return scale * np.array([A[1, 1] * x[0] - A[0, 1] * x[1], A[0, 0] * x[1] - A[1, 0] * x[0]])


def turned(s: CurvedSurface, R: np.ndarray) -> CurvedSurface:
    return CurvedSurface(R @ s.K @ R.T, R @ s.P @ R.T)


@singledispatch
def surface(shape: Any, p: np.ndarray, m: np.ndarray, tolerance: Any = ALONG) -> CurvedSurface:
    """The surface of a shape near its point p with the outward unit normal m (3,), all in its frame."""
    raise TypeError(f"a {type(shape).__name__} has no curvature")


@surface.register
def _(shape: Ellipsoid, p: np.ndarray, m: np.ndarray, tolerance: Any = ALONG) -> CurvedSurface:
    Q = shape.radii * shape.radii
    reach = sqrt(dot(m, Q * m))
    point = Q * m / reach
    return CurvedSurface((np.diag(Q) - np.multiply.outer(point, point)) / reach, np.zeros((3, 3)))


@surface.register(Cylinder)
@surface.register(Cone)
def _(shape: Cylinder | Cone, p: np.ndarray, m: np.ndarray, tolerance: Any = ALONG) -> CurvedSurface:
    """Moving around the axis, point and normal turn by the same angle."""
    out = sqrt(m[0] * m[0] + m[1] * m[1] + TINY)
    x, y = m[0] / out, m[1] / out
    around, end = np.array([-y, x, 0.0]), out < tolerance
    across, along = side_normal(shape)
    straight = np.array([-along * x, -along * y, across])
    on_side = absolute(dot(m, straight)) < tolerance
    K = (sqrt(p[0] * p[0] + p[1] * p[1]) / maximum(out, tolerance)) * np.multiply.outer(around, around)
    P = where(on_side, 1.0, 0.0) * np.multiply.outer(straight, straight)
    return CurvedSurface(where(end, np.zeros((3, 3)), K), where(end, np.diag([1.0, 1.0, 0.0]), P))


@surface.register
def _(shape: Opaque, p: np.ndarray, m: np.ndarray, tolerance: Any = ALONG) -> CurvedSurface:
    """By differences of the farthest point; a flat side is one that curves little."""
    K = np.zeros((3, 3))
    for t in tangents(m):
        moved = (shape.support(m + TURN * t) - shape.support(m - TURN * t)) / (2.0 * TURN)
        K = K + np.multiply.outer(moved, t)
    return CurvedSurface(0.5 * (K + K.T), np.zeros((3, 3)))


@surface.register
def _(shape: Segment, p: np.ndarray, m: np.ndarray, tolerance: Any = ALONG) -> CurvedSurface:
    along = 0.0 if shape.is_point else where(absolute(m[2]) < tolerance, 1.0, 0.0)
    return CurvedSurface(np.zeros((3, 3)), np.diag(np.array([0.0, 0.0, along], object)))


@surface.register
def _(shape: Box, p: np.ndarray, m: np.ndarray, tolerance: Any = ALONG) -> CurvedSurface:
    return CurvedSurface(np.zeros((3, 3)), np.diag([where(absolute(x) < tolerance, 1.0, 0.0) for x in m]))


@surface.register(Hull)
@surface.register(TabledHull)
def _(shape: Hull | TabledHull, p: np.ndarray, m: np.ndarray, tolerance: Any = ALONG) -> CurvedSurface:
    def edge(best: Any, start: Any, direction: Any, left: Any, right: Any) -> dict[str, Any]:
        length = dot(direction, direction)
        away = cross(p - start, direction)
        tilt = dot(direction, m)
        near = dot(away, away) < tolerance * tolerance * length * length
        on_edge = logical_and(near, tilt * tilt < tolerance * tolerance * length)
        return {"best": where(on_edge, direction / sqrt(length), best)}

    def face(best: Any, normal: Any, offset: Any) -> dict[str, Any]:
        off = normal - m
        return {"best": where(dot(off, off) < tolerance * tolerance, normal, best)}

    along, across = over_edges(shape, edge, np.zeros(3)), over_faces(shape, face, np.zeros(3))
    of_face = np.eye(3) - np.multiply.outer(across, across)
    P = where(dot(across, across) > 0.5, of_face, np.multiply.outer(along, along))
    return CurvedSurface(np.zeros((3, 3)), P)
