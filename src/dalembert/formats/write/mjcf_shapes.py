"""Shapes of links as MJCF geoms: those that are seen touch nothing; meshes become assets."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Geometry, MujocoContact, Part, Surface
from dalembert.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from dalembert.spatial import Pose, so3

from .layout import UniqueNames
from .losses import Losses
from .shapes import standing_in, stated_scale, turned_to
from .surroundings import MjcfSurroundings
from .text import Element, add, number, numbers, tidied

ENDINGS = (".stl", ".obj", ".msh")  # of the mesh files that MuJoCo reads
MOST_CORNERS = 100_000  # three numbers each in one attribute, of which libxml2 takes 10 MB
MOST_FACES = 200_000  # of an STL file for MuJoCo
# class → its size
WORDS: dict[type, Callable[[Any], Any]] = {
    Box: lambda shape: 0.5 * shape.size,
    Sphere: lambda shape: [shape.radius],
    Ellipsoid: lambda shape: shape.radii,
    Cylinder: lambda shape: [shape.radius, 0.5 * shape.length],
    Capsule: lambda shape: [shape.radius, 0.5 * shape.length],
}
ROLES = {"visual": {"contype": "0", "conaffinity": "0", "group": "2"}, "collision": {"group": "3"}}


# what a geom has that states nothing
DEFAULTS = MujocoContact((1.0, 0.005, 0.0001), (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0), 0.0, 0.0, 3, 0, 1.0)


class Geoms:
    """Writes geoms, and the assets that they name."""

    def __init__(self, losses: Losses, assets: Element, geometry: bool, surroundings: MjcfSurroundings) -> None:
        self.losses, self.assets, self.geometry, self.surroundings = losses, assets, geometry, surroundings
        self.geoms, self.meshes = UniqueNames(()), UniqueNames(())
        self.known: dict[tuple[str, str], str] = {}  # file and scale → asset

    def add(self, body: Element, part: Part, fixed: bool) -> None:
        """The geoms of a link; fixed: whether it belongs to the fixed base, where alone planes may be."""
        for geometry in part.geometry if self.geometry else self.losses.no_shapes(part):
            found = self._described(geometry, part.name, fixed)
            if found is None:
                continue
            geometry, described = found
            name = self.geoms.new(geometry.name) if geometry.name else None
            color = None if geometry.color is None else numbers(geometry.color)
            attributes = place(geometry.placement) | described | ROLES[geometry.role] | _contact(geometry.surface)
            attributes |= self.surroundings.geom(part, geometry)
            add(body, "geom", name=name, **attributes, rgba=color)

    def _described(self, geometry: Geometry, link: str, fixed: bool) -> tuple[Geometry, dict[str, str]] | None:
        """The geometry that is written, and its attributes; None: nothing."""
        shape: Any = geometry.shape
        kind = type(shape)
        if kind is Mesh:
            described = self._mesh(shape)
        elif kind is Polyhedron:
            described = self._polyhedron(shape, link)
        elif kind is Plane and not fixed:
            described = "MuJoCo allows planes on fixed bodies only"
        elif kind is Plane:
            turned = geometry.placement @ Pose(turned_to(shape.normal), np.zeros(3))
            described = {"type": "plane", "size": "0 0 1"} | place(turned)
        elif kind in WORDS:
            described = {"type": kind.__name__.lower(), "size": numbers(WORDS[kind](shape))}
        else:
            described = f"MJCF has no {shape.kind.lower()} among its shapes"
        if not isinstance(described, str):
            return geometry, described
        if kind is Mesh and geometry.role == "collision" and (inline := self._inline(geometry, link, described)):
            return geometry, inline
        other = standing_in(geometry, link, described, self.losses, None)
        return None if other is None else self._described(other, link, fixed)

    def _inline(self, geometry: Geometry, link: str, why: str) -> dict[str, str] | None:
        """A mesh of which MuJoCo does not read the file, as vertices and triangles; None where that is no way."""
        try:
            described = self._polyhedron(Polyhedron(*geometry.shape.surface()), link)
        except DalembertError:
            return None
        if isinstance(described, str):
            return None
        self.losses.note("link", link, why, "its triangles are written in the robot's file")
        return described

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
        if len(corners) < 4 or np.linalg.matrix_rank(corners - corners.mean(axis=0), tol=1e-9) < 3:
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
