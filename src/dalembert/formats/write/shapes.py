"""Shapes of links for the XML formats: which each can say, and where the files of meshes lie."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dalembert.model import Geometry
from dalembert.model.geometry import Capsule, Cylinder, Mesh, Sphere
from dalembert.spatial import Pose


@dataclass(frozen=True)
class Package:
    """A folder whose files are named scheme://folder/…, so that the robot's file can be moved with it."""

    folder: str | os.PathLike[str] | None = None

    def uri(self, file: str, scheme: str) -> str:
        """The URI of a mesh file: by its package if it lies there, else unchanged (also if it was not found)."""
        if self.folder is None or not os.path.isfile(file):
            return file
        folder = Path(self.folder).resolve()
        path = Path(file).resolve()
        return (
            f"{scheme}://{folder.name}/{path.relative_to(folder).as_posix()}" if path.is_relative_to(folder) else file
        )


def without_capsules(shapes: tuple[Geometry, ...]) -> list[Geometry]:
    """Capsules as a cylinder and two balls, which fill the same space."""
    simple: list[Geometry] = []
    for geometry in shapes:
        shape = geometry.shape
        if not isinstance(shape, Capsule):
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
