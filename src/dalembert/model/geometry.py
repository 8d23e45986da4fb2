"""Shapes placed in links, for drawing, contact and mass properties. Without contact they do not affect the motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dalembert import shapes
from dalembert.errors import DalembertError, unknown
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Shape, Sphere
from dalembert.shapes.mesh import MujocoHull
from dalembert.shapes.shape import trouble
from dalembert.spatial import Pose

__all__ = [
    "Box",
    "Capsule",
    "Cone",
    "Cylinder",
    "Ellipsoid",
    "Geometry",
    "Mesh",
    "MujocoContact",
    "MujocoHull",
    "Plane",
    "Polyhedron",
    "Role",
    "Shape",
    "Sphere",
    "Surface",
    "check_geometry",
]

Role = Literal["visual", "collision"]


@dataclass(frozen=True)
class MujocoContact:
    """MuJoCo's parameters of a geom, as its documentation names them."""

    friction: tuple[float, float, float]  # sliding, torsional [m], rolling [m]
    solref: tuple[float, float]
    solimp: tuple[float, float, float, float, float]
    margin: float
    gap: float
    condim: int
    priority: int
    solmix: float


@dataclass(frozen=True)
class Surface:
    """The contact properties of a shape in its file, in SI units; None where it says nothing.

    friction: Coulomb's coefficient; torsion and rolling: moments about and across the normal by the normal force [m];
    restitution: speed after an impact by the speed before; stiffness [N/m] and damping [N·s/m] of a contact point.
    layers: bits (own, of others): two shapes touch where the bits of one meet those that the other one asks for.
    """

    friction: float | None = None
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    stiffness: float | None = None
    damping: float | None = None
    layers: tuple[int, int] | None = None
    mujoco: MujocoContact | None = None

    def meets(self, other: Surface) -> bool:
        """Whether two surfaces are on layers that touch; one without layers is on all."""
        if self.layers is None or other.layers is None:
            return True
        (bits, wanted), (other_bits, other_wanted) = self.layers, other.layers
        return bool((bits & other_wanted) | (other_bits & wanted))


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape fixed in a link."""

    shape: Shape
    placement: Pose  # X_LG: the shape's frame in the link's
    role: Role = "visual"
    color: tuple[float, float, float, float] | None = None  # red, green, blue, opacity, each 0 to 1
    name: str = ""
    surface: Surface | None = None  # of a shape to be touched


def check_geometry(shape: Any, role: Any, color: Any, where: str) -> None:
    """Refuse anything that is not a shape, role or colour."""
    if not isinstance(shape, Shape):
        some = ", ".join(name for name in shapes.__all__ if name != "Shape")
        raise DalembertError(f"{where}: expected a shape of dalembert.shapes ({some}), got {shape!r}")
    if said := trouble(shape):
        raise DalembertError(f"{where}: {said}")
    if role not in get_args(Role):
        raise unknown("role", role, get_args(Role), where)
    if color is not None:
        rgba = np.asarray(color)
        if rgba.shape != (4,) or rgba.dtype.kind not in "fiu" or not np.all((rgba >= 0) & (rgba <= 1)):
            raise DalembertError(f"{where}: color is {color!r}, expected red, green, blue, opacity from 0 to 1")
