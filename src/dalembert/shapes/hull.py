"""Convex hulls of meshes: vertices, faces and edges, kept small enough to be compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError

from .farthest import TILT, around, farthest
from .files import CURE
from .shape import Shape, Triangles

MOST_VERTICES = 64  # of a hull; one with more is replaced by that of the vertices that lie farthest out
FLAT = 1e-9  # of the size: what is thinner has no hull
COPLANAR = 1e-6  # sine of the angle between two triangles of one face
LIKE = 0.99999872  # cosine of the angle between two triangles of one polygon, as MuJoCo has it


class Edges(NamedTuple):
    """Edges of a hull (n, …): where each begins, its direction, and the outward normals of the faces on both sides."""

    start: np.ndarray  # (n, 3) [m]
    direction: np.ndarray  # (n, 3) from its start to its end [m]
    left: np.ndarray  # (n, 3)
    right: np.ndarray  # (n, 3)


@dataclass(frozen=True, eq=False)
class Hull(Shape):
    """A convex solid: vertices (n, 3) [m] and triangles (m, 3) of vertex numbers, seen counter-clockwise.

    sides: its polygons, where something else than the triangles says what they are.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    sides: tuple[tuple[np.ndarray, tuple[int, ...]], ...] | None = None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all its numbers."""
        rings = [number for normal, ring in self.sides or () for number in (*normal, len(ring), *ring)]
        parts = self.vertices, self.triangles, np.array(rings, float)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()

    @cached_property
    def faces(self) -> tuple[np.ndarray, np.ndarray]:
        """Outward unit normals (k, 3) and offsets (k,) [m] of the planes of its faces, each once."""
        normals, offsets = self._planes
        kept: list[int] = []
        new = np.ones(len(normals), bool)
        for i, n in enumerate(normals):
            if new[i]:
                kept.append(i)
                new &= np.linalg.norm(normals - n, axis=1) >= COPLANAR
        return normals[kept], offsets[kept]

    @cached_property
    def edges(self) -> Edges:
        """The edges between faces that are not in one plane."""
        normals, _ = self._planes
        sides = {(int(t[k]), int(t[(k + 1) % 3])): i for i, t in enumerate(self.triangles) for k in range(3)}
        rows = []
        for (i, j), left in sides.items():
            right = sides[j, i]
            if i < j and np.linalg.norm(np.cross(normals[left], normals[right])) > COPLANAR:
                p, q = self.vertices[i], self.vertices[j]
                rows.append((p, q - p, normals[left], normals[right]))
        return Edges(*(np.array(column) for column in zip(*rows, strict=True)))

    @cached_property
    def polygons(self) -> Sequence[tuple[np.ndarray, Sequence[int]]]:
        """Its sides: outward unit normal (3,) and vertex numbers, seen counter-clockwise.

        Triangles whose normals are almost that of a first one, and that hang together with it, are one side.
        """
        if self.sides is not None:
            return self.sides
        normals, _ = self._planes
        sides = {(int(t[k]), int(t[(k + 1) % 3])): i for i, t in enumerate(self.triangles) for k in range(3)}
        left, found = set(range(len(self.triangles))), []
        for first, n in enumerate(normals):
            if first not in left:
                continue
            left.remove(first)
            ring, members = {}, [first]
            for i in members:
                for k in range(3):
                    edge = int(self.triangles[i][k]), int(self.triangles[i][(k + 1) % 3])
                    beyond = sides[edge[::-1]]
                    if beyond in left and normals[beyond] @ n > LIKE:
                        left.remove(beyond)
                        members.append(beyond)
                    if beyond not in members:
                        ring[edge[0]] = edge[1]
            begin = next(iter(ring))
            corners = [begin]
            while ring[corners[-1]] != begin:
                corners.append(ring[corners[-1]])
            found.append((n, corners))
        return found

    @cached_property
    def _planes(self) -> tuple[np.ndarray, np.ndarray]:
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        normals = normals / np.linalg.norm(normals, axis=1)[:, None]
        return normals, np.einsum("ij,ij->i", normals, a)

    def support(self, d: np.ndarray) -> np.ndarray:
        return farthest(self.vertices, d)

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        return np.max(d @ self.vertices.T, axis=1)

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        return around(self, d, TILT)

    @property
    def extent(self) -> Any:
        return float(np.max(np.linalg.norm(self.vertices, axis=1)))

    @property
    def middle(self) -> np.ndarray:
        """A point (3,) inside it."""
        return self.vertices.mean(axis=0)

    def thickness(self) -> float:
        """Along the normals of its faces."""
        normals, offsets = self.faces
        return float(np.min(offsets - np.min(normals @ self.vertices.T, axis=1)))

    def depth(self, point: np.ndarray) -> float:
        normals, offsets = self.faces
        return float(np.min(offsets - normals @ point))

    def surface(self) -> Triangles:
        return self.vertices, self.triangles


def hull(points: Any, most: int = MOST_VERTICES) -> Hull:
    """The convex hull of a shape, such as a mesh, or of points (n, 3), of at most so many vertices."""
    points = points.surface()[0] if isinstance(points, Shape) else points
    vertices = np.unique(np.asarray(points, float), axis=0)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.all(np.isfinite(vertices)):
        raise DalembertError(f"hull: points have shape {vertices.shape}, expected finite numbers (n, 3)")
    extreme, _ = quickhull(vertices)
    if len(extreme) > most:
        extreme = extreme[_spread(extreme, most)]
    return Hull(*quickhull(extreme))


def deviation(points: np.ndarray, reduced: Hull) -> float:
    """How far points (n, 3) lie beyond a hull with fewer vertices [m]."""
    normals, offsets = reduced.faces
    return max(0.0, float(np.max(np.asarray(points, float) @ normals.T - offsets)))


def _spread(vertices: np.ndarray, count: int) -> np.ndarray:
    """Numbers of `count` vertices: first those farthest out along the axes, then those farthest from all chosen."""
    chosen = list(dict.fromkeys(int(k) for d in (*np.eye(3), *-np.eye(3)) for k in [np.argmax(vertices @ d)]))
    distance = np.min(np.linalg.norm(vertices[:, None] - vertices[chosen], axis=2), axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(vertices - vertices[chosen[-1]], axis=1))
    return np.array(sorted(chosen))


def quickhull(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Extreme points and outward triangles of points (n, 3)."""
    try:
        from scipy.spatial import ConvexHull, QhullError
    except ImportError:
        raise DalembertError(f"convex hulls need scipy: {CURE}") from None
    spread = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False) if len(vertices) > 3 else np.zeros(3)
    if spread[-1] <= FLAT * spread[0]:
        raise DalembertError(f"hull: {len(vertices)} points that lie in one plane enclose no volume: give a thin box")
    try:
        qhull = ConvexHull(vertices)
    except QhullError as error:
        raise DalembertError(f"hull: no convex hull of {len(vertices)} points: {str(error).splitlines()[0]}") from None
    number = np.full(len(vertices), -1)
    number[qhull.vertices] = np.arange(len(qhull.vertices))
    corners = vertices[qhull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, qhull.equations[:, :3]) < 0.0
    triangles = np.where(inward[:, None], qhull.simplices[:, ::-1], qhull.simplices)
    return vertices[qhull.vertices], number[triangles]
