"""How thick shapes are, and how large a ball they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.collision.hulls import Hull, hull
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere


def thickness(shape: Any) -> float:
    """The least width of a shape [m]; of a hull along the normals of its faces."""
    match shape:
        case Sphere() | Capsule():
            return 2.0 * float(shape.radius)
        case Box():
            return float(np.min(shape.size))
        case Cylinder() | Cone():
            return float(min(2.0 * shape.radius, shape.length))
        case Ellipsoid():
            return 2.0 * float(np.min(shape.radii))
        case Hull() | Mesh() | Polyhedron():
            convex = _hull(shape)
            normals, offsets = convex.faces
            return float(np.min(offsets - np.min(normals @ convex.vertices.T, axis=1)))
        case _:
            return np.inf


def inner_radius(shape: Any, centre: np.ndarray) -> float:
    """Of a ball about a point in a shape's frame that is inside the shape, 0 or more [m]."""
    x, y, z = centre
    inner: Any = 0.0
    match shape:
        case Sphere():
            inner = shape.radius - np.linalg.norm(centre)
        case Box():
            inner = np.min(0.5 * np.asarray(shape.size) - np.abs(centre))
        case Capsule():
            inner = shape.radius - np.hypot(np.hypot(x, y), max(abs(z) - 0.5 * shape.length, 0.0))
        case Cylinder():
            inner = min(shape.radius - np.hypot(x, y), 0.5 * shape.length - abs(z))
        case Ellipsoid():
            inner = np.min(shape.radii) - np.linalg.norm(centre)
        case Hull() | Mesh() | Polyhedron():
            normals, offsets = _hull(shape).faces
            inner = np.min(offsets - normals @ centre)
        case Plane():
            inner = np.inf
    return max(float(inner), 0.0)


def _hull(shape: Any) -> Hull:
    return shape if isinstance(shape, Hull) else hull(shape)
