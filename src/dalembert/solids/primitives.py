"""Shapes with closed forms: volume, centre, inertia at unit density, and how far they reach in a direction."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import maximum, sqrt
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Sphere
from dalembert.spatial import Inertia


@singledispatch
def unit_inertia(shape: Any) -> Inertia:
    """The inertia of a solid of density 1 kg/m³, in its frame; its mass is the volume [m³]."""
    raise DalembertError(f"mass_properties: no solid is known for {type(shape).__name__}")


@unit_inertia.register
def _(shape: Box) -> Inertia:
    x, y, z = _positive(shape, shape.size)
    m = x * y * z
    return _about_com(m, np.array([y * y + z * z, z * z + x * x, x * x + y * y]) * (m / 12.0))


@unit_inertia.register
def _(shape: Sphere) -> Inertia:
    (r,) = _positive(shape, shape.radius)
    m = 4.0 / 3.0 * np.pi * r**3
    return _about_com(m, np.full(3, 0.4 * m * r * r))


@unit_inertia.register
def _(shape: Ellipsoid) -> Inertia:
    x, y, z = _positive(shape, shape.radii)
    m = 4.0 / 3.0 * np.pi * x * y * z
    return _about_com(m, np.array([y * y + z * z, z * z + x * x, x * x + y * y]) * (m / 5.0))


@unit_inertia.register
def _(shape: Cylinder) -> Inertia:
    r, length = _positive(shape, shape.radius, shape.length)
    m = np.pi * r * r * length
    across = m * (3.0 * r * r + length * length) / 12.0
    return _about_com(m, np.array([across, across, 0.5 * m * r * r]))


@unit_inertia.register
def _(shape: Capsule) -> Inertia:
    r, length = _positive(shape, shape.radius, shape.length)
    tube, ball = np.pi * r * r * length, 4.0 / 3.0 * np.pi * r**3
    # each half ball has its centre of mass 3/8 r beyond the tube's end
    across = tube * (3.0 * r * r + length * length) / 12.0
    across += ball * (0.4 * r * r + 0.25 * length * length + 0.375 * length * r)
    return _about_com(tube + ball, np.array([across, across, (0.5 * tube + 0.4 * ball) * r * r]))


@unit_inertia.register
def _(shape: Cone) -> Inertia:
    r, length = _positive(shape, shape.radius, shape.length)
    m = np.pi * r * r * length / 3.0
    across = 3.0 / 80.0 * m * (4.0 * r * r + length * length)
    return _about_com(m, np.array([across, across, 0.3 * m * r * r]), np.array([0.0, 0.0, -0.25 * length]))


@unit_inertia.register
def _(shape: Plane) -> Inertia:
    raise DalembertError("mass_properties: a plane has no volume: give a box")


def _about_com(mass: float, moments: np.ndarray, com: Any = (0.0, 0.0, 0.0)) -> Inertia:
    return Inertia.from_com(mass, np.asarray(com), np.diag(moments))


def _positive(shape: Any, *sizes: Any) -> list[float]:
    """The sizes as floats; a capsule's tube may have no length."""
    lengths = [float(size) for size in np.concatenate([np.atleast_1d(size) for size in sizes])]
    least = 0.0 if isinstance(shape, Capsule) else np.finfo(float).tiny
    if not all(np.isfinite(lengths)) or lengths[0] <= 0.0 or min(lengths) < least:
        raise DalembertError(f"mass_properties: {type(shape).__name__} of size {lengths}, expected lengths above 0")
    return lengths


def reach(shape: Any, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
    """The largest d·x (n,) of all points x of the shape, for directions d (n, 3), traced or not.

    lengths (n,): of d, where they are known.
    """
    match shape:
        case Box():
            return absolute(d) @ (0.5 * np.asarray(shape.size, float))
        case Sphere():
            return shape.radius * (_lengths(d) if lengths is None else lengths)
        case Ellipsoid():
            return _lengths(d * np.asarray(shape.radii, float))
        case Cylinder():
            return shape.radius * _lengths(d[:, :2]) + 0.5 * shape.length * absolute(d[:, 2])
        case Capsule():
            ends = reach(Sphere(shape.radius), d, lengths)
            return ends + 0.5 * shape.length * absolute(d[:, 2])
        case Cone():
            half = 0.5 * shape.length * d[:, 2]
            return maximum(shape.radius * _lengths(d[:, :2]) - half, half)
    raise DalembertError(f"a {type(shape).__name__} has no bounds")


def _lengths(d: np.ndarray) -> np.ndarray:
    """(n,) of vectors (n, m)."""
    return sqrt((d * d).sum(axis=1))
