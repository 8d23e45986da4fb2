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
    """The same surface with equal vertices made one and triangles without area left out, as files repeat them."""
    unique, number = np.unique(vertices, axis=0, return_inverse=True)
    triangles = number.reshape(-1)[triangles]
    a, b, c = triangles.T
    return unique, triangles[(a != b) & (b != c) & (c != a)]


def unit_inertia_of_surface(vertices: np.ndarray, triangles: np.ndarray) -> Inertia:
    """The inertia of the solid at density 1 kg/m³; negative all over for a surface turned inside out.

    Each triangle (a, b, c) makes a tetrahedron with a middle point, of volume det(a, b, c) / 6 there; the second
    moments are ∫ x xᵀ = V/20 (Σ a aᵀ + s sᵀ) with s = a + b + c.
    """
    middle = vertices[np.unique(triangles)].mean(axis=0)  # near the solid, so that little cancels
    corners = vertices[triangles] - middle
    volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    sums = corners.sum(axis=1)
    first = volumes @ sums / 4.0
    second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum("n,ni,nj->ij", volumes, sums, sums)
    second /= 20.0
    I = np.trace(second) * np.eye(3) - second
    return Inertia(float(volumes.sum()), first, 0.5 * (I + I.T)).transform(Pose(np.eye(3), middle))
