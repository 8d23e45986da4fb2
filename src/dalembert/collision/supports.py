"""How far shapes reach: the point of a shape that is farthest along a direction, in the shape's own frame."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import maximum, sqrt, where
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from dalembert.spatial.vectors import cross, dot

from .hulls import Hull

TILT = 0.02  # [rad] by which directions are tilted to find the corners of the face that lies across them
TINY = 1e-30  # [m²] keeps the root of 0 from having an infinite slope, in single precision as well


@singledispatch
def support(shape: Any, d: np.ndarray) -> np.ndarray:
    """The point (3,) of a shape farthest along d (3,), of any length, both in the shape's frame [m]."""
    raise DalembertError(f"a {type(shape).__name__} has no farthest point along a direction")


@support.register
def _(shape: Sphere, d: np.ndarray) -> np.ndarray:
    return shape.radius * _unit(d)


@support.register
def _(shape: Capsule, d: np.ndarray) -> np.ndarray:
    return shape.radius * _unit(d) + np.array([0.0, 0.0, _signed(d[2], 0.5 * shape.length)])


@support.register
def _(shape: Box, d: np.ndarray) -> np.ndarray:
    return np.array([_signed(x, 0.5 * size) for x, size in zip(d, shape.size, strict=True)])


@support.register
def _(shape: Ellipsoid, d: np.ndarray) -> np.ndarray:
    return shape.radii * _unit(shape.radii * d)


@support.register
def _(shape: Cylinder, d: np.ndarray) -> np.ndarray:
    x, y = _rim(shape.radius, d)
    return np.array([x, y, _signed(d[2], 0.5 * shape.length)])


@support.register
def _(shape: Cone, d: np.ndarray) -> np.ndarray:
    x, y = _rim(shape.radius, d)
    tip = d[2] * shape.length > x * d[0] + y * d[1]
    half = 0.5 * shape.length
    return np.array([where(tip, 0.0, x), where(tip, 0.0, y), where(tip, half, -half)])


@support.register
def _(shape: Hull, d: np.ndarray) -> np.ndarray:
    return farthest(shape.vertices, d)


def farthest(points: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The one of some points (n, 3) that lies farthest along d."""
    best, reach = points[0], dot(points[0], d)
    for point in points[1:]:
        along = dot(point, d)
        best, reach = where(along > reach, point, best), maximum(along, reach)
    return best


def extremes(shape: Any, d: np.ndarray) -> list[np.ndarray]:
    """The 4 corners, in turn, of the face of a shape that lies across a unit direction d; all in the shape's frame.

    They are its farthest points along d tilted to four sides: of an edge or corner that comes first, some are the same.
    """
    u, v = tangents(d)
    return [support(shape, d + TILT * (su * u + sv * v)) for su, sv in ((1, 1), (-1, 1), (-1, -1), (1, -1))]


def tangents(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed frame with a unit vector n.   Duff et al. 2017."""
    x, y, z = n
    s = where(z < 0.0, -1.0, 1.0)
    a = -1.0 / (s + z)
    b = x * y * a
    u = np.array([1.0 + s * x * x * a, s * b, -s * x])
    return u, cross(n, u)


def _unit(d: np.ndarray) -> np.ndarray:
    """d made a unit vector; 0 where it is 0."""
    return d / sqrt(dot(d, d) + TINY)


def _rim(radius: float, d: np.ndarray) -> tuple[Any, Any]:
    scale = radius / sqrt(d[0] * d[0] + d[1] * d[1] + TINY)
    return scale * d[0], scale * d[1]


def _signed(x: Any, size: Any) -> Any:
    return where(x < 0.0, -size, size)
