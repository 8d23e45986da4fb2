"""Shapes of links, for drawing, contact and mass properties. Without contact they do not affect the motion."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.spatial import Pose

Role = Literal["visual", "collision"]


class _Numbers:
    """Shapes accept any numbers: they are kept as floats and arrays (3,)."""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            number, size = getattr(self, each.name), {"float": (), "np.ndarray": (3,)}.get(str(each.type))
            if size is not None:
                object.__setattr__(self, each.name, _kept(number, size, f"{type(self).__name__}: {each.name}"))


def _kept(x: Any, size: tuple[int, ...], where: str) -> Any:
    try:
        value = np.asarray(x, float)
    except (TypeError, ValueError):
        raise DalembertError(f"{where} is {x!r}, expected {'3 numbers' if size else 'a number'}") from None
    if value.shape != size or not np.all(np.isfinite(value)):
        raise DalembertError(f"{where} is {x!r}, expected {'3 finite numbers' if size else 'a finite number'}")
    return value if size else float(value)


@dataclass(frozen=True, eq=False)
class Box(_Numbers):
    """A cuboid about its centre; size (3,): full edge lengths [m]."""

    size: np.ndarray


@dataclass(frozen=True, eq=False)
class Sphere(_Numbers):
    """A ball about its centre; radius [m]."""

    radius: float


@dataclass(frozen=True, eq=False)
class Ellipsoid(_Numbers):
    """radii (3,): half axes along x, y, z [m]."""

    radii: np.ndarray


@dataclass(frozen=True, eq=False)
class Cylinder(_Numbers):
    """A cylinder about its centre, along z; radius and full length [m]."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Capsule(_Numbers):
    """A cylinder along z about its centre with half balls on its ends; `length` [m] is that of the cylinder alone."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Cone(_Numbers):
    """A cone along z about the middle of its height, tip up; base radius and full length [m]."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Plane(_Numbers):
    """A flat ground through the origin; `normal` (3,) points out of it."""

    normal: np.ndarray


@dataclass(frozen=True, eq=False)
class MujocoHull:
    """The convex hull of a mesh as MuJoCo's compiler has made it, in the frame of the mesh: points (n, 3) [m]; of each
    side, in MuJoCo's order, the outward normal (k, 3), its number of corners (k,), and the numbers of these among the
    points, side after side, seen counter-clockwise."""

    points: np.ndarray
    normals: np.ndarray
    counts: np.ndarray
    corners: np.ndarray


@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface in a file: its path where that was found, else as the robot's file states it; scale (3,), or
    one number for all axes. hull: only of a mesh in an MJCF file."""

    file: str
    scale: np.ndarray = field(default_factory=lambda: np.ones(3))
    hull: MujocoHull | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        scale = np.full(3, self.scale) if np.ndim(self.scale) == 0 else self.scale
        object.__setattr__(self, "scale", _kept(scale, (3,), "Mesh: scale"))


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """A surface held in memory: vertices (n, 3) [m] and triangles (m, 3) of vertex numbers, seen counter-clockwise.

    hull: only of a mesh in an MJCF file.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    hull: MujocoHull | None = field(default=None, repr=False)


Shape = Box | Sphere | Ellipsoid | Cylinder | Capsule | Cone | Plane | Mesh | Polyhedron


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
        some = ", ".join(kind.__name__ for kind in get_args(Shape))
        raise DalembertError(f"{where}: expected a shape of dalembert.model.geometry ({some}), got {shape!r}")
    if role not in get_args(Role):
        raise unknown("role", role, get_args(Role), where)
    if color is not None:
        rgba = np.asarray(color)
        if rgba.shape != (4,) or rgba.dtype.kind not in "fiu" or not np.all((rgba >= 0) & (rgba <= 1)):
            raise DalembertError(f"{where}: color is {color!r}, expected red, green, blue, opacity from 0 to 1")
