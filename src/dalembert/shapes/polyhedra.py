"""Solids bounded by triangles: integrals over tetrahedra from the origin, exact for any closed surface."""

from __future__ import annotations

import numpy as np

from dalembert.spatial import Inertia, Pose


def is_closed(triangles: np.ndarray) -> bool:
    """Whether every edge is run through once in each direction: a surface without holes, consistently oriented."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    forth, counts = np.unique(edges, axis=0, return_counts=True)
    back = np.unique(edges[:, ::-1], axis=0)
    return len(triangles) > 0 and bool(np.all(counts == 1)) and np.array_equal(forth, back)


def joined(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same surface with equal vertices merged, which files repeat, and triangles without area removed."""
    unique, number = np.unique(vertices, axis=0, return_inverse=True)
    triangles = number.reshape(-1)[triangles]
    a, b, c = triangles.T
    return unique, triangles[(a != b) & (b != c) & (c != a)]


def turned_outward(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, int, int]:
    """The triangles, with every shell turned outward that encloses a negative volume and is not a cavity.

    Also the number of shells turned, and of all shells. A shell is a set of triangles connected by their vertices.
    """
    shells = _shells(len(vertices), triangles)
    volumes = np.bincount(shells, _volumes(vertices, triangles))
    turned = [
        shell
        for shell in np.flatnonzero(volumes < 0.0)
        if not _is_cavity(vertices, triangles, shells, int(shell), np.flatnonzero(volumes > 0.0))
    ]
    over = np.isin(shells, turned)
    triangles = np.where(over[:, None], triangles[:, ::-1], triangles)
    return triangles, len(turned), len(volumes)


def _shells(count: int, triangles: np.ndarray) -> np.ndarray:
    """The number (m,) of the shell that each triangle belongs to, from 0 on."""
    label = np.arange(count)
    while True:
        least = label[triangles].min(axis=1)
        spread = label.copy()
        for corner in triangles.T:
            np.minimum.at(spread, corner, least)
        spread = spread[spread]  # along chains of labels, in long steps
        if np.array_equal(spread, label):
            return np.unique(label[triangles[:, 0]], return_inverse=True)[1]
        label = spread


def _is_cavity(vertices: np.ndarray, triangles: np.ndarray, shells: np.ndarray, shell: int, solid: np.ndarray) -> bool:
    """Whether a shell lies within another one that encloses a positive volume."""
    point = vertices[triangles[shells == shell][0]].mean(axis=0)
    return any(_winding(vertices[triangles[shells == other]] - point) > 0.5 for other in solid)


def _winding(corners: np.ndarray) -> float:
    """How often triangles (n, 3, 3) go round the origin: their solid angles by 4π.   Van Oosterom, Strackee 1983."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    x, y, z = (np.linalg.norm(side, axis=1) for side in (a, b, c))
    above = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = x * y * z + np.sum(a * b, 1) * z + np.sum(b * c, 1) * x + np.sum(c * a, 1) * y
    return float(np.sum(np.arctan2(above, below)) / (2.0 * np.pi))


def _volumes(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The volume (m,) between each triangle and a point near the solid."""
    corners = vertices[triangles] - vertices[np.unique(triangles)].mean(axis=0)
    return np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0


def unit_inertia_of_surface(vertices: np.ndarray, triangles: np.ndarray) -> Inertia:
    """The inertia of the solid at density 1 kg/m³; negative all over for a surface turned inside out.

    Each triangle (a, b, c) makes a tetrahedron with a middle point, of volume det(a, b, c) / 6 there; the second
    moments are ∫ x xᵀ = V/20 (Σ a aᵀ + s sᵀ) with s = a + b + c.
    """
    middle = vertices[np.unique(triangles)].mean(axis=0)  # near the solid, so that little cancels
    corners = vertices[triangles] - middle
    volumes = _volumes(vertices, triangles)
    sums = corners.sum(axis=1)
    first = volumes @ sums / 4.0
    second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum("n,ni,nj->ij", volumes, sums, sums)
    second /= 20.0
    I = np.trace(second) * np.eye(3) - second
    return Inertia(float(volumes.sum()), first, 0.5 * (I + I.T)).transform(Pose(np.eye(3), middle))
