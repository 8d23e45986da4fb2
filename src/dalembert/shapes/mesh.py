"""Surfaces of triangles, in a file or in memory. Distances are those of their convex hulls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial import Inertia

from .box import Box
from .files import closed, read
from .hull import hull
from .polyhedra import turned_outward, unit_inertia_of_surface
from .shape import Shape, Triangles


@dataclass(frozen=True, eq=False)
class MujocoHull:
    """The convex hull of a mesh as MuJoCo's compiler has made it, in the frame of the mesh: points (n, 3) [m]; of each
    side, in MuJoCo's order, the outward normal (k, 3), its number of corners (k,), and the numbers of these among the
    points, side after side, seen counter-clockwise."""

    points: np.ndarray
    normals: np.ndarray
    counts: np.ndarray
    corners: np.ndarray


class Triangulated(Shape):
    """Base of meshes and polyhedra: `surface` gives their vertices and triangles, unchanged."""

    is_mesh = True
    file = "polyhedron"  # its name in notes

    def core(self) -> tuple[Any, Any]:
        return self.convex(), 0.0

    def convex(self) -> Any:
        return hull(self)

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        return np.max(d @ self.surface()[0].T, axis=1)

    def simple(self) -> tuple[Shape, np.ndarray]:
        vertices, _ = self.surface()
        lower, upper = vertices.min(axis=0), vertices.max(axis=0)
        return Box(upper - lower), 0.5 * (lower + upper)

    def thickness(self) -> float:
        return float(self.convex().thickness())

    def depth(self, point: np.ndarray) -> float:
        return float(self.convex().depth(point))

    def unit_inertia(self) -> Inertia:
        return self.solid()[0]

    def solid(self) -> tuple[Inertia, tuple[str, ...]]:
        vertices, triangles, note = closed(*self.surface())
        notes = [note] if note else []
        if unit_inertia_of_surface(vertices, triangles).mass < 0.0:
            triangles = triangles[:, ::-1]
            notes.append("its triangles are turned inside out: taken the other way round")
        triangles, turned, shells = turned_outward(vertices, triangles)
        if turned:
            which = f"{turned} of its {shells} shells {'is' if turned == 1 else 'are'} turned inside out"
            notes.append(f"{which}: taken the other way round")
        unit = unit_inertia_of_surface(vertices, triangles)
        size = float(np.max(np.ptp(vertices, axis=0)))
        if not unit.mass > 1e-12 * size**3:
            raise DalembertError(f"mass_properties: the surface encloses no volume ({unit.mass:.3g} m³)")
        return unit, tuple(f"{self.file}: {note}" for note in notes)


@dataclass(frozen=True, eq=False)
class Mesh(Triangulated, inherits=True):
    """A surface in a file: its path where that was found, else as the robot's file states it; scale (3,), or
    one number for all axes. hull: only of a mesh in an MJCF file."""

    file: str
    scale: np.ndarray = field(default_factory=lambda: np.ones(3))
    hull: MujocoHull | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if np.ndim(self.scale) == 0:
            object.__setattr__(self, "scale", np.full(3, self.scale))
        self._keep("scale", (3,), "any")

    def surface(self) -> Triangles:
        vertices, triangles = read(self.file)
        mirrored = np.prod(self.scale) < 0.0  # a mirror image turns the triangles over
        return vertices * self.scale, triangles[:, ::-1] if mirrored else triangles


@dataclass(frozen=True, eq=False)
class Polyhedron(Triangulated, inherits=True):
    """A surface held in memory: vertices (n, 3) [m] and triangles (m, 3) of vertex numbers, seen counter-clockwise.

    hull: only of a mesh in an MJCF file.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    hull: MujocoHull | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        vertices, triangles = np.asarray(self.vertices, float), np.asarray(self.triangles)
        if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.all(np.isfinite(vertices)):
            raise DalembertError(f"Polyhedron: vertices have shape {vertices.shape}, expected finite numbers (n, 3)")
        if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
            raise DalembertError(f"Polyhedron: triangles have shape {triangles.shape}, expected vertex numbers (m, 3)")
        if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(vertices):
            raise DalembertError(f"Polyhedron: triangles name vertex {triangles.max()} of {len(vertices)}, from 0 on")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", triangles)

    def surface(self) -> Triangles:
        return self.vertices, self.triangles
