"""Shapes of links for all formats: what stands in for one that a format lacks, and where the files of meshes lie."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import write_text
from dalembert.model import Geometry
from dalembert.shapes import Box, Capsule, Cylinder, Mesh, Polyhedron, Sphere
from dalembert.shapes.hull import MOST_VERTICES, Hull, hull
from dalembert.shapes.searching import AXES, spread
from dalembert.spatial import Pose

from .losses import Losses

WIDE, THICK = 100.0, 1.0  # [m]: the box in the place of a plane


@dataclass
class Package:
    """A folder whose files are named scheme://folder/…, so that the robot's file can be moved with it; and the meshes
    that are written beside that file."""

    folder: str | os.PathLike[str] | None = None
    robot: str = ""  # path of the robot's file
    meshes: dict[str, str] = field(default_factory=dict)  # path → text

    def uri(self, file: str, scheme: str) -> str:
        """The URI of a mesh file: by its package if it lies there, else unchanged (also if it was not found)."""
        new = file in self.meshes
        if self.folder is None or not (new or os.path.isfile(file)):
            return os.path.basename(file) if new else file
        folder = Path(self.folder).resolve()
        path = Path(file).resolve()
        return (
            f"{scheme}://{folder.name}/{path.relative_to(folder).as_posix()}" if path.is_relative_to(folder) else file
        )

    def mesh(self, link: str, convex: Hull) -> Mesh:
        """A hull as a file beside that of the robot, which `close` writes."""
        stem = f"{self.robot.rpartition('.')[0]}.{re.sub(r'[^0-9A-Za-z_-]', '_', link)}"
        file = next(f for k in range(len(self.meshes) + 1) if (f := f"{stem}.{k}.obj") not in self.meshes)
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in convex.vertices.tolist()]
        lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in convex.triangles.tolist()]
        self.meshes[file] = "\n".join([*lines, ""])
        return Mesh(file)

    def close(self) -> None:
        """Write the meshes."""
        for file, text in self.meshes.items():
            write_text(file, text)


def written(
    link: str, shapes: Iterable[Geometry], kinds: Container[type], losses: Losses, package: Package | None = None
) -> Iterator[Geometry]:
    """The shapes of a link that a format writes, with stand-ins for those of other kinds."""
    for geometry in shapes:
        shown: Geometry | None = geometry
        if type(geometry.shape) not in kinds:
            what = f"{losses.language} has no {geometry.shape.kind.lower()} among its shapes"
            shown = standing_in(geometry, link, what, losses, package)
        if shown is not None:
            yield shown


def standing_in(geometry: Geometry, link: str, what: str, losses: Losses, package: Package | None) -> Geometry | None:
    """The shape written in the place of one that cannot be, for the reason `what`; None: nothing.

    A shape to be touched is replaced by its convex hull, a plane by a large box: what it touches then moves otherwise,
    which the caller must allow. package: None where the format has polyhedra.
    """
    shape, X = geometry.shape, geometry.placement
    if geometry.role == "visual":
        losses.note("link", link, what, "left out: it is only drawn")
        return None
    if not shape.is_bounded:
        normal: Any = shape.normal / np.linalg.norm(shape.normal)  # type: ignore[attr-defined]
        losses.change("link", link, what, f"a box {WIDE:g} m wide and {THICK:g} m thick below it is written")
        box = Box([WIDE, WIDE, THICK])
        return replace(geometry, shape=box, placement=X @ Pose(turned_to(normal), -0.5 * THICK * normal))
    try:
        convex = shape.convex() if shape.is_mesh else hull(_outline(shape))
    except DalembertError as error:
        losses.change("link", link, what, f"left out, because it has no convex hull: {error}")
        return None
    losses.change("link", link, what, f"a hull of {len(convex.vertices)} vertices is written")
    if package is not None:
        return replace(geometry, shape=package.mesh(link, convex))
    return replace(geometry, shape=Polyhedron(convex.vertices, convex.triangles))


def _outline(shape: Any) -> np.ndarray:
    """Points far out all around a shape, as many as a hull may have."""
    return np.array([shape.support(d) for d in spread(MOST_VERTICES - len(AXES))], float)


def turned_to(normal: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is the normal."""
    z = normal / np.linalg.norm(normal)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def without_capsules(shapes: tuple[Geometry, ...]) -> list[Geometry]:
    """Capsules as a cylinder and two balls, which fill the same space."""
    simple: list[Geometry] = []
    for geometry in shapes:
        shape = geometry.shape
        if type(shape) is not Capsule:
            simple.append(geometry)
            continue
        simple.append(replace(geometry, shape=Cylinder(shape.radius, shape.length)))
        for end in (-0.5, 0.5):
            shift = Pose(np.eye(3), np.array([0.0, 0.0, end * shape.length]))
            simple.append(replace(geometry, shape=Sphere(shape.radius), placement=geometry.placement @ shift, name=""))
    return simple


def stated_scale(mesh: Mesh) -> np.ndarray | None:
    """The scale of a mesh, unless it is 1."""
    return mesh.scale if np.any(mesh.scale != 1.0) else None
