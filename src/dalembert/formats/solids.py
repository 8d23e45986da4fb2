"""Volume, centre and inertia of solid shapes of even density: what a link would weigh in if it were what is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from dalembert.model import Geometry
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Shape, Sphere
from dalembert.spatial import Inertia

LEAST = 1e-15  # volume [m³] of a speck; less is no shape


def solid(shapes: Iterable[Geometry]) -> Inertia | None:
    """Volume (as mass) [m³] and inertia [m⁵] in the link's frame of shapes filled at density 1.

    None when there are none to speak of, or some whose inside is not known without reading a file (meshes, planes).
    """
    whole = Inertia.zero()
    for geometry in shapes:
        own = _volume(geometry.shape)
        if own is None:
            return None
        whole = whole + own.transform(geometry.placement)
    return whole if whole.mass > LEAST and np.trace(whole.about_com()) > 0.0 else None


def _volume(shape: Shape) -> Inertia | None:
    """The same for one shape, in its own frame."""
    if isinstance(shape, Box):
        x, y, z = shape.size.tolist()
        return _axial(x * y * z, (x * x / 12, y * y / 12, z * z / 12))
    if isinstance(shape, Sphere):
        return _axial(4 / 3 * math.pi * shape.radius**3, (shape.radius**2 / 5,) * 3)
    if isinstance(shape, Ellipsoid):
        x, y, z = shape.radii.tolist()
        return _axial(4 / 3 * math.pi * x * y * z, (x * x / 5, y * y / 5, z * z / 5))
    if isinstance(shape, Cylinder):
        r, h = shape.radius, shape.length
        return _axial(math.pi * r * r * h, (r * r / 4, r * r / 4, h * h / 12))
    if isinstance(shape, Capsule):
        return _capsule(shape.radius, shape.length)
    if isinstance(shape, Cone):
        r, h = shape.radius, shape.length
        made = _axial(math.pi * r * r * h / 3, (3 * r * r / 20, 3 * r * r / 20, 3 * h * h / 80))
        return Inertia.from_com(made.mass, np.array([0.0, 0.0, -h / 4]), made.I)
    return None


def _capsule(r: float, h: float) -> Inertia:
    """A cylinder and two half balls, whose centres lie 3r/8 outside its ends."""
    tube, ball = math.pi * r * r * h, 4 / 3 * math.pi * r**3
    across = r * r * (tube / 4 + ball / 5)
    along = tube * h * h / 12 + ball * (h * h / 4 + 3 * h * r / 8 + r * r / 5)
    return Inertia(tube + ball, np.zeros(3), np.diag([across + along, across + along, 2 * across]))


def _axial(volume: float, squares: tuple[float, float, float]) -> Inertia:
    """From the means of x², y², z² about the centre."""
    x, y, z = squares
    return Inertia(volume, np.zeros(3), volume * np.diag([y + z, x + z, x + y]))
