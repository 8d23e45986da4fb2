"""Shapes of links as MJCF geoms: those that are seen touch nothing; meshes become assets."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np

from dalembert.model import Geometry, MujocoContact, Part, Surface
from dalembert.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from dalembert.spatial import Pose, so3

from .layout import UniqueNames
from .losses import Losses
from .shapes import stated_scale
from .surroundings import MjcfSurroundings
from .text import Element, add, number, numbers, tidied

ENDINGS = (".stl", ".obj", ".msh")  # of the mesh files that MuJoCo reads
MOST_CORNERS = 100_000  # three numbers each in one attribute, of which libxml2 takes 10 MB
MOST_FACES = 200_000  # of an STL file for MuJoCo
ROLES = {"visual": {"contype": "0", "conaffinity": "0", "group": "2"}, "collision": {"group": "3"}}


# what a geom has that states nothing
DEFAULTS = MujocoContact((1.0, 0.005, 0.0001), (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0), 0.0, 0.0, 3, 0, 1.0)


class Shapes:
    """Writes geoms, and the assets that they name."""

    def __init__(self, losses: Losses, assets: Element, geometry: bool, surroundings: MjcfSurroundings) -> None:
        self.losses, self.assets, self.geometry, self.surroundings = losses, assets, geometry, surroundings
        self.geoms, self.meshes = UniqueNames(()), UniqueNames(())
        self.known: dict[tuple[str, str], str] = {}  # file and scale → asset

    def add(self, body: Element, part: Part, fixed: bool) -> None:
        """The geoms of a link; fixed: whether it belongs to the fixed base, where alone planes may be."""
        if not self.geometry and part.geometry:
            self.losses.note("link", part.name, "shapes", "left out, because of geometry=False")
        for geometry in part.geometry if self.geometry else ():
            described = self._shape(geometry, part.name, fixed)
            if isinstance(described, str):
                self.losses.note("link", part.name, described, "left out: it does not affect the motion")
                continue
            name = self.geoms.new(geometry.name) if geometry.name else None
            color = None if geometry.color is None else numbers(geometry.color)
            attributes = place(geometry.placement) | described | ROLES[geometry.role] | _contact(geometry.surface)
            attributes |= self.surroundings.geom(part, geometry)
            add(body, "geom", name=name, **attributes, rgba=color)

    def _shape(self, geometry: Geometry, link: str, fixed: bool) -> dict[str, str] | str:
        """Attributes of the geom, or the reason why there is none."""
        shape = geometry.shape
        if isinstance(shape, Box):
            return {"type": "box", "size": numbers(0.5 * shape.size)}
        if isinstance(shape, Sphere):
            return {"type": "sphere", "size": number(shape.radius)}
        if isinstance(shape, Ellipsoid):
            return {"type": "ellipsoid", "size": numbers(shape.radii)}
        if isinstance(shape, Cylinder | Capsule):
            kind = "cylinder" if isinstance(shape, Cylinder) else "capsule"
            return {"type": kind, "size": numbers([shape.radius, 0.5 * shape.length])}
        if isinstance(shape, Plane):
            turned = geometry.placement @ Pose(_turned_to(shape.normal), np.zeros(3))
            size = {"type": "plane", "size": "0 0 1"} | place(turned)
            return size if fixed else "MuJoCo allows planes on fixed bodies only"
        if isinstance(shape, Mesh):
            return self._mesh(shape)
        if isinstance(shape, Polyhedron):
            return self._polyhedron(shape, link)
        return f"MJCF has no {type(shape).__name__.lower()} among its shapes"

    def _mesh(self, mesh: Mesh) -> dict[str, str] | str:
        if trouble := _unreadable(mesh.file):
            return trouble
        factors = stated_scale(mesh)
        scale = None if factors is None else numbers(factors)
        key = mesh.file, scale or ""
        if key not in self.known:
            self.known[key] = self.meshes.new(Path(mesh.file).stem)
            file = os.path.abspath(mesh.file)
            add(self.assets, "mesh", name=self.known[key], file=file, scale=scale, inertia="shell")
        return {"type": "mesh", "mesh": self.known[key]}

    def _polyhedron(self, shape: Polyhedron, link: str) -> dict[str, str] | str:
        if max(len(shape.vertices), len(shape.triangles)) > MOST_CORNERS:
            return f"a polyhedron of {len(shape.vertices)} vertices, which readers of XML refuse as one attribute"
        corners = np.unique(shape.vertices, axis=0)
        if np.linalg.matrix_rank(corners - corners.mean(axis=0), tol=1e-9) < 3:
            return "MuJoCo needs meshes with a volume, and this polyhedron is flat"
        name = self.meshes.new(f"{link}_mesh")
        faces = " ".join(str(int(k)) for k in shape.triangles.ravel())
        add(self.assets, "mesh", name=name, vertex=numbers(shape.vertices), face=faces, inertia="shell")
        return {"type": "mesh", "mesh": name}


def _contact(surface: Surface | None) -> dict[str, str]:
    """Contact parameters of a geom; those that MuJoCo has no words for are left out."""
    if surface is None:
        return {}
    attributes: dict[str, str] = {}
    if surface.layers not in (None, (1, 1)):
        attributes |= {"contype": str(surface.layers[0]), "conaffinity": str(surface.layers[1])}
    if surface.mujoco is not None:
        stated = {name: value for name, value in vars(surface.mujoco).items() if value != getattr(DEFAULTS, name)}
        attributes |= {n: numbers(x) if isinstance(x, tuple) else number(x) for n, x in stated.items()}
    elif surface.friction is not None:
        torsion = 0.005 if surface.torsion is None else surface.torsion
        rolling = 0.0001 if surface.rolling is None else surface.rolling
        attributes["friction"] = numbers([surface.friction, torsion, rolling])
    return attributes


def place(X: Pose) -> dict[str, str]:
    """pos and quat, each only if it is not the default."""
    attributes = {"pos": numbers(X.p)} if np.any(X.p) else {}
    return attributes | ({"quat": numbers(tidied(so3.to_quaternion(X.R), 1.0))} if np.any(np.eye(3) != X.R) else {})


def _turned_to(normal: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is the normal."""
    z = normal / np.linalg.norm(normal)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _unreadable(file: str) -> str:
    """Why MuJoCo would not read a mesh file; "" when it would."""
    if not file.lower().endswith(ENDINGS):
        return f"MuJoCo reads meshes from {', '.join(ENDINGS)} files only"
    if not os.path.isfile(file):
        return "a mesh whose file was not found"
    if file.lower().endswith(".stl"):
        with open(file, "rb") as stream:
            count = stream.read(84)[80:]
        faces = struct.unpack("<I", count)[0] if len(count) == 4 else 0
        if os.path.getsize(file) != 84 + 50 * faces or not 0 < faces <= MOST_FACES:
            return f"MuJoCo reads binary STL files with up to {MOST_FACES} triangles"
    return ""
