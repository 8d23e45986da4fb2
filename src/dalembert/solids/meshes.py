"""Meshes in files, read by trimesh; a surface with holes is replaced by its convex hull."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model.geometry import Mesh, Polyhedron

from .polyhedra import is_closed, joined

CURE = "pip install 'dalembert[meshes]'"


def surface(shape: Mesh | Polyhedron) -> tuple[np.ndarray, np.ndarray, str]:
    """Vertices (n, 3) [m] and triangles (m, 3) of a closed surface, and a note if it is not the given one."""
    if isinstance(shape, Polyhedron):
        vertices, triangles = shape.vertices, shape.triangles
    else:
        vertices, triangles = _read(shape.file, _stamp(shape.file))
        vertices = vertices * np.asarray(shape.scale, float)
        if np.prod(shape.scale) < 0.0:  # a mirror image turns the triangles over
            triangles = triangles[:, ::-1]
    vertices, triangles = joined(np.asarray(vertices, float), np.asarray(triangles, int))
    if is_closed(triangles):
        return vertices, triangles, ""
    return *_hull(vertices), "not a closed surface: its convex hull was taken"


def _stamp(file: str) -> tuple[int, int]:
    """When a file was written and how long it is: what is kept of it in memory is that of these."""
    if not Path(file).is_file():
        raise DalembertError(f"mass_properties: mesh {file!r}: no such file; give shapes whose files are there")
    state = Path(file).stat()
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=64)
def _read(file: str, stamp: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    trimesh = _trimesh()
    try:
        mesh = trimesh.load(file, force="mesh")
        return np.asarray(mesh.vertices, float), np.asarray(mesh.faces, int)
    except Exception as error:  # readers of many formats raise as many things
        raise DalembertError(f"mass_properties: mesh {file!r} cannot be read: {error}") from None


def _hull(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    try:
        hull = _trimesh().convex.convex_hull(vertices)
    except DalembertError:
        raise
    except ImportError:
        raise DalembertError(f"mass_properties: a convex hull needs scipy: {CURE}") from None
    except Exception as error:
        raise DalembertError(f"mass_properties: the mesh is not closed and has no convex hull: {error}") from None
    return joined(np.asarray(hull.vertices, float), np.asarray(hull.faces, int))


def _trimesh() -> Any:
    try:
        import trimesh
    except ImportError:
        raise DalembertError(f"mass_properties: meshes need trimesh: {CURE}") from None
    return trimesh
