"""Convex hulls of meshes: vertices, faces and edges, kept small enough to be compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import lookup
from dalembert.model.geometry import Mesh, MujocoHull, Polyhedron
from dalembert.solids.meshes import CURE, triangles_of

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
class Hull:
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


class HullTable:
    """Several hulls as tables of numbers with as many rows for each, for loops whose code is emitted once.

    Rows that a hull does not need repeat its last one.
    """

    def __init__(self, hulls: Sequence[Hull]) -> None:
        self.hulls = hulls
        self.vertices, self.vertex_count = _stacked([hull.vertices for hull in hulls])
        self.extents = np.array([np.max(np.linalg.norm(hull.vertices, axis=1)) for hull in hulls])
        self.middles = np.array([hull.vertices.mean(axis=0) for hull in hulls])

    @property
    def face_count(self) -> int:
        """Rows for the faces of each hull."""
        return len(self.faces) // len(self.hulls)

    @property
    def edge_count(self) -> int:
        """Rows for the edges of each hull."""
        return len(self.edges) // len(self.hulls)

    @cached_property
    def faces(self) -> np.ndarray:
        """Outward unit normals and offsets (n, 4)."""
        return _stacked([np.column_stack(hull.faces) for hull in self.hulls])[0]

    @cached_property
    def edges(self) -> np.ndarray:
        """Start, direction, and normals on both sides (n, 12)."""
        return _stacked([np.column_stack(hull.edges) for hull in self.hulls])[0]


def _stacked(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """Arrays (n, m) below each other, each with as many rows as the longest, and that number."""
    count = max(len(part) for part in parts)
    rows = [np.concatenate([part, np.repeat(part[-1:], count - len(part), axis=0)]) for part in parts]
    return np.concatenate(rows), count


class TabledHull(NamedTuple):
    """One hull of a table; number: which one, perhaps a traced value."""

    table: HullTable
    number: Any

    @property
    def extent(self) -> Any:
        """How far it reaches from its origin [m]."""
        return lookup(self.table.extents, self.number)

    @property
    def middle(self) -> np.ndarray:
        """A point (3,) inside it."""
        return lookup(self.table.middles, self.number)

    def vertex(self, k: Any) -> np.ndarray:
        """(3,)."""
        return lookup(self.table.vertices, self.number * float(self.table.vertex_count) + k)

    def face(self, k: Any) -> tuple[np.ndarray, Any]:
        """Outward unit normal (3,) and offset of the plane of a face."""
        row = lookup(self.table.faces, self.number * float(self.table.face_count) + k)
        return row[:3], row[3]

    def edge(self, k: Any) -> Edges:
        """One edge: numbers (3,) instead of (n, 3)."""
        row = lookup(self.table.edges, self.number * float(self.table.edge_count) + k)
        return Edges(row[:3], row[3:6], row[6:9], row[9:])


def hull(shape: Mesh | Polyhedron | Any, most: int = MOST_VERTICES) -> Hull:
    """The convex hull of a mesh, a polyhedron or points (n, 3), of at most so many vertices."""
    points = triangles_of(shape)[0] if isinstance(shape, Mesh | Polyhedron) else shape
    vertices = np.unique(np.asarray(points, float), axis=0)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.all(np.isfinite(vertices)):
        raise DalembertError(f"hull: points have shape {vertices.shape}, expected finite numbers (n, 3)")
    extreme, _ = _quickhull(vertices)
    if len(extreme) > most:
        extreme = extreme[_spread(extreme, most)]
    return Hull(*_quickhull(extreme))


def stated_hull(stated: MujocoHull) -> Hull:
    """The hull that an MJCF file's mesh has in MuJoCo, with all its vertices."""
    number = {point.tobytes(): k for k, point in enumerate(stated.points)}
    extreme, triangles = _quickhull(stated.points)
    numbers = np.array([number[point.tobytes()] for point in extreme])
    rings = np.split(stated.corners, np.cumsum(stated.counts)[:-1])
    sides = zip(stated.normals, (tuple(int(k) for k in ring) for ring in rings), strict=True)
    return Hull(stated.points, numbers[triangles], tuple(sides))


def deviation(shape: Mesh | Polyhedron, reduced: Hull) -> float:
    """How far the mesh reaches beyond a hull with fewer vertices [m]."""
    points = np.asarray(triangles_of(shape)[0], float)
    normals, offsets = reduced.faces
    return max(0.0, float(np.max(points @ normals.T - offsets)))


def _spread(vertices: np.ndarray, count: int) -> np.ndarray:
    """Numbers of `count` vertices: first those farthest out along the axes, then those farthest from all chosen."""
    chosen = list(dict.fromkeys(int(k) for d in (*np.eye(3), *-np.eye(3)) for k in [np.argmax(vertices @ d)]))
    distance = np.min(np.linalg.norm(vertices[:, None] - vertices[chosen], axis=2), axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(vertices - vertices[chosen[-1]], axis=1))
    return np.array(sorted(chosen))


def _quickhull(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
