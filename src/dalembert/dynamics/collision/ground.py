"""The ground: a plane, a height field on a grid, or any height z(x, y) that can be traced.

A ground answers one question: which plane touches it nearest to a point. Of a plane that is exact; on a curved ground
the nearest point is found by going from one tangent plane to the next, which converges where the ground is less curved
than the reciprocal of the distance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.compiler.graph import Graph, Scalar, jacobian, linearised, substitute
from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import held, interp2, repeat, sqrt
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

PASSES = 20  # from tangent plane to tangent plane; a point on the ground needs one
CLOSE = 1e-10  # [m] the nearest point is known to within this


class Ground(ABC):
    """The ground: everything below its surface."""

    @abstractmethod
    def tangent(self, point: np.ndarray) -> tuple[Any, np.ndarray]:
        """Distance of a point (3,) [m], negative below, and the unit normal (3,) of the surface nearest to it."""


@dataclass(frozen=True, eq=False)
class HalfSpace(Ground):
    """All points x with normal · x ≤ offset [m]; normal (3,): a unit vector."""

    normal: np.ndarray
    offset: Any = 0.0

    def tangent(self, point: np.ndarray) -> tuple[Any, np.ndarray]:
        return dot(self.normal, point) - self.offset, self.normal


def plane(normal: Any, X: Pose) -> HalfSpace:
    """The half-space below a plane through the origin of a frame, placed at X in the world."""
    direction = np.asarray(normal, float)
    n = X.R @ (direction / np.linalg.norm(direction))
    return HalfSpace(n, dot(n, X.p))


def level(height: float = 0.0) -> HalfSpace:
    """The half-space below z = height [m]."""
    return HalfSpace(np.array([0.0, 0.0, 1.0]), float(height))


@dataclass(frozen=True, eq=False)
class Terrain(Ground):
    """The ground below z = height(x, y) [m]: a function of traced numbers, smooth but for creases."""

    height: Callable[[Any, Any], Any]

    def tangent(self, point: np.ndarray) -> tuple[Any, np.ndarray]:
        px, py, pz = point

        def step(x: Any, y: Any, settled: Any) -> dict[str, Any]:
            new_x, new_y = self._foot(point, x, y)
            return {"x": new_x, "y": new_y, "settled": absolute(new_x - x) + absolute(new_y - y) < CLOSE}

        end = repeat(step, PASSES, {"x": px, "y": py, "settled": 0.0}, settled="settled")
        x, y = self._foot(point, *held(np.array([end["x"], end["y"]])))  # so that slopes know how the ground curves
        z, normal = self._surface(x, y)
        return dot(normal, np.array([px - x, py - y, pz - z])), normal

    def _foot(self, point: np.ndarray, x: Any, y: Any) -> tuple[Any, Any]:
        """Below a point on the tangent plane at (x, y)."""
        z, n = self._surface(x, y)
        e = dot(n, np.array([point[0] - x, point[1] - y, point[2] - z]))
        return point[0] - e * n[0], point[1] - e * n[1]

    def _surface(self, x: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Height and unit normal at (x, y)."""
        z, (zx, zy) = value_and_slope(self.height, x, y)
        scale = 1.0 / sqrt(1.0 + zx * zx + zy * zy)
        return z, np.array([-zx * scale, -zy * scale, scale])


def value_and_slope(height: Callable[[Any, Any], Any], x: Any, y: Any) -> tuple[Any, np.ndarray]:
    """A function of two numbers, and its slopes (2,) there."""
    if isinstance(x, Scalar) or isinstance(y, Scalar):
        z, slope = linearised(lambda at: _height(height, at), np.array([x, y], object))
        return z[()], slope
    inputs = Graph().input("place", 2)
    z = _height(height, inputs)
    numbers = substitute(np.array([z, *jacobian(z, inputs)], object), dict(zip(inputs, (x, y), strict=True)))
    value, *slopes = (float(n.value if isinstance(n, Scalar) else n) for n in numbers)
    return value, np.array(slopes)


def _height(height: Callable[[Any, Any], Any], at: np.ndarray) -> Any:
    try:
        z = np.asarray(height(at[0], at[1]), object)
        if z.shape == ():
            return z[()] if isinstance(z[()], Scalar) else at[0].lift(float(z[()]))
    except DalembertError as error:
        raise DalembertError(f"terrain: {error}") from None
    except Exception as error:
        raise DalembertError(f"terrain: {error}: expected z(x, y) [m] of arithmetic and dalembert.math") from error
    raise DalembertError(f"terrain: height(x, y) gave shape {z.shape}, expected one number")


@dataclass(frozen=True, eq=False)
class HeightField(Ground):
    """Heights z (n, m) [m] at the points (xs[i], ys[j]) of a grid [m], straight in between, level beyond its edges."""

    xs: np.ndarray
    ys: np.ndarray
    z: np.ndarray

    def __post_init__(self) -> None:
        for name in ("xs", "ys", "z"):
            object.__setattr__(self, name, np.array(getattr(self, name), float))
        interp2(0.0, 0.0, self.xs, self.ys, self.z)  # checks the numbers
        holes = np.argwhere(~np.isfinite(self.z))
        if len(holes):
            raise DalembertError(
                f"HeightField: {len(holes)} of {self.z.size} heights are not finite, as z[{holes[0][0]}, {holes[0][1]}]"
                ": fill them with those of their neighbours"
            )

    def tangent(self, point: np.ndarray) -> tuple[Any, np.ndarray]:
        return Terrain(self).tangent(point)

    def __call__(self, x: Any, y: Any) -> Any:
        """Its height at (x, y) [m]."""
        return interp2(x, y, self.xs, self.ys, self.z)


def as_ground(ground: Any) -> Ground:
    """A height [m] of a level plane, a function z(x, y), or a ground."""
    if isinstance(ground, Ground):
        return ground
    if callable(ground):
        return Terrain(ground)
    try:
        height = float(ground)
    except (TypeError, ValueError):
        raise DalembertError(
            f"ground is {ground!r}, expected a height [m], a function z(x, y), or dalembert.collision.HalfSpace, "
            "HeightField, Terrain"
        ) from None
    if not np.isfinite(height):
        raise DalembertError(f"ground is {ground!r}, expected a finite height [m]")
    return level(height)
