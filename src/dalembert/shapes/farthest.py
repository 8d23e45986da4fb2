"""Parts that support functions share: directions, rims, and the farthest of several points."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import maximum, scan, sqrt, where
from dalembert.math.tolerances import TINY
from dalembert.spatial.vectors import cross, dot

# [rad] by which directions are tilted to find the corners of the face that lies across them: those of a hull are sharp,
# on others the point moves up by the square of it
TILT, TILT_ROUND = 0.05, 2e-3
WRITTEN_OUT = 12  # points; more are gone through by a loop, whose code is shorter
AROUND = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
UPRIGHT = 1e-8  # sine of the tilt below which a round body stands on its whole rim


def farthest(points: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The one of some points (n, 3) that lies farthest along d."""
    if len(points) > WRITTEN_OUT:

        def step(best: Any, point: Any) -> dict[str, Any]:
            along = dot(point, d)
            return {"best": where(along > best[3], np.array([*point, along]), best)}

        start = np.array([*points[0], dot(points[0], d)])
        return scan(step, {"point": points[1:]}, {"best": start}, history=False)["best"][:3]
    best, reach = points[0], dot(points[0], d)
    for point in points[1:]:
        along = dot(point, d)
        best, reach = where(along > reach, point, best), maximum(along, reach)
    return best


def tangents(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed frame with a unit vector n.   Duff et al. 2017."""
    x, y, z = n
    s = where(z < 0.0, -1.0, 1.0)
    a = -1.0 / (s + z)
    b = x * y * a
    u = np.array([1.0 + s * x * x * a, s * b, -s * x])
    return u, cross(n, u)


def around(shape: Any, d: np.ndarray, tilt: float) -> list[np.ndarray]:
    """The farthest points along a unit direction d that is tilted to four sides."""
    u, v = tangents(d)
    return [shape.support(d + tilt * (su * u + sv * v)) for su, sv in AROUND]


def unit(d: np.ndarray) -> np.ndarray:
    """d made a unit vector; 0 where it is 0."""
    return d / sqrt(dot(d, d) + TINY)


def rim(radius: Any, d: np.ndarray) -> tuple[Any, Any]:
    """x and y of the point of a circle about z that is farthest along d."""
    scale = radius / sqrt(d[0] * d[0] + d[1] * d[1] + TINY)
    return scale * d[0], scale * d[1]


def lowest_rim(radius: Any, d: np.ndarray) -> tuple[Any, Any]:
    """A `rim`; a body that stands upright stands on all of it: a point on x then."""
    x, y = rim(radius, d)
    upright = d[0] * d[0] + d[1] * d[1] < UPRIGHT * UPRIGHT
    return where(upright, radius, x), where(upright, 0.0, y)


def signed(x: Any, size: Any) -> Any:
    """size, with the sign of x."""
    return where(x < 0.0, -size, size)
