"""Shapes of links: what a viewer draws and what mass properties can be computed from. They move nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dalembert.spatial import Pose

Role = Literal["visual", "collision"]


@dataclass(frozen=True, eq=False)
class Box:
    """A cuboid about its centre; size (3,): full edge lengths [m]."""

    size: np.ndarray


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball about its centre; radius [m]."""

    radius: float


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """radii (3,): half axes along x, y, z [m]."""

    radii: np.ndarray


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder about its centre, along z; radius and full length [m]."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Capsule:
    """A cylinder along z about its centre with half balls on its ends; `length` [m] is that of the cylinder alone."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Cone:
    """A cone along z about the middle of its height, tip up; base radius and full length [m]."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Plane:
    """A flat ground through the origin; `normal` (3,) points out of it."""

    normal: np.ndarray


@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface in a file: its path where that was found, else as the robot's file states it; scale (3,)."""

    file: str
    scale: np.ndarray


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """A surface held in memory: vertices (n, 3) [m] and triangles (m, 3) of vertex numbers, seen counter-clockwise."""

    vertices: np.ndarray
    triangles: np.ndarray


Shape = Box | Sphere | Ellipsoid | Cylinder | Capsule | Cone | Plane | Mesh | Polyhedron


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape fixed in a link."""

    shape: Shape
    placement: Pose  # X_LG: the shape's frame in the link's
    role: Role = "visual"
    color: tuple[float, float, float, float] | None = None  # red, green, blue, opacity, each 0 to 1
    name: str = ""
