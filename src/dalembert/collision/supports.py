"""How far shapes reach: the point of a shape that is farthest along a direction, in the shape's own frame."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import maximum, scan, sqrt, where
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from dalembert.spatial.vectors import cross, dot

from .hulls import Hull, TabledHull

TILT = 0.05  # [rad] by which directions are tilted to find the corners of the face that lies across them
WRITTEN_OUT = 12  # points; more are gone through by a loop, whose code is shorter
AROUND = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
UPRIGHT = 1e-8  # sine of the tilt below which a round body stands on its whole rim
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


@support.register
def _(shape: TabledHull, d: np.ndarray) -> np.ndarray:
    def step(best: Any, k: Any) -> dict[str, Any]:
        point = shape.vertex(k)
        along = dot(point, d)
        return {"best": where(along > best[3], np.array([*point, along]), best)}

    first = shape.vertex(0.0)
    start = np.array([*first, dot(first, d)])
    return scan(step, {"k": np.arange(1.0, shape.table.vertex_count)}, {"best": start})["best"][-1][:3]


def farthest(points: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The one of some points (n, 3) that lies farthest along d."""
    if len(points) > WRITTEN_OUT:

        def step(best: Any, point: Any) -> dict[str, Any]:
            along = dot(point, d)
            return {"best": where(along > best[3], np.array([*point, along]), best)}

        start = np.array([*points[0], dot(points[0], d)])
        return scan(step, {"point": points[1:]}, {"best": start})["best"][-1][:3]
    best, reach = points[0], dot(points[0], d)
    for point in points[1:]:
        along = dot(point, d)
        best, reach = where(along > reach, point, best), maximum(along, reach)
    return best


@singledispatch
def face(shape: Any, d: np.ndarray) -> list[np.ndarray]:
    """The 4 corners, in turn, of the side of a shape that lies across a unit direction d; all in the shape's frame.

    Of an edge or a corner some are the same. This one: the farthest points along d tilted to four sides.
    """
    u, v = tangents(d)
    return [support(shape, d + TILT * (su * u + sv * v)) for su, sv in AROUND]


@face.register
def _(shape: Ellipsoid, d: np.ndarray) -> list[np.ndarray]:
    return [support(shape, d)] * 4


@face.register
def _(shape: Box, d: np.ndarray) -> list[np.ndarray]:
    """The corners of the face that looks along d most, however much it is tilted."""
    x, y, z = (absolute(c) for c in d)
    along_x, along_y = x >= maximum(y, z), y >= z
    outward = support(shape, d)
    half = 0.5 * shape.size
    corners = []
    for s, t in AROUND:
        of_x = np.array([outward[0], s * half[1], t * half[2]])
        of_y = np.array([t * half[0], outward[1], s * half[2]])
        of_z = np.array([s * half[0], t * half[1], outward[2]])
        corners.append(where(along_x, of_x, where(along_y, of_y, of_z)))
    return corners


@face.register
def _(shape: Cylinder, d: np.ndarray) -> list[np.ndarray]:
    """Four points of a flat end, the lowest one first, or the line along its side."""
    x, y = _rim(shape.radius, d)
    upright = d[0] * d[0] + d[1] * d[1] < UPRIGHT * UPRIGHT
    x, y = where(upright, shape.radius, x), where(upright, 0.0, y)
    half = 0.5 * shape.length
    end = _signed(d[2], half)
    lying = d[2] * d[2] < 0.5
    rim = [np.array([x, y, end]), np.array([-y, x, end]), np.array([-x, -y, end]), np.array([y, -x, end])]
    top, bottom = np.array([x, y, half]), np.array([x, y, -half])
    return [where(lying, p, q) for p, q in zip((top, top, bottom, bottom), rim, strict=True)]


@face.register
def _(shape: Cone, d: np.ndarray) -> list[np.ndarray]:
    """Four points of the base, or the line from it to the tip."""
    x, y = _rim(shape.radius, d)
    upright = d[0] * d[0] + d[1] * d[1] < UPRIGHT * UPRIGHT
    x, y = where(upright, shape.radius, x), where(upright, 0.0, y)
    half = 0.5 * shape.length
    below = d[2] < -(0.5**0.5)
    rim = [np.array([x, y, -half]), np.array([-y, x, -half]), np.array([-x, -y, -half]), np.array([y, -x, -half])]
    tip = np.array([0.0, 0.0, half])
    return [where(below, p, q) for p, q in zip(rim, (tip, tip, rim[0], rim[0]), strict=True)]


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
