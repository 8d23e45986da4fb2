"""Meshes in files, read by trimesh; a surface with holes is replaced by its convex hull."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .polyhedra import is_closed, joined

CURE = "pip install 'dalembert[meshes]'"


def read(file: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) [m] and triangles (m, 3) of a file, kept until it changes."""
    return _read(file, _stamp(file))


def closed(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Vertices (n, 3) [m] and triangles (m, 3) of a closed surface, and a note if it had to be changed."""
    vertices, triangles = joined(np.asarray(vertices, float), np.asarray(triangles, int))
    if is_closed(triangles):
        return vertices, triangles, ""
    return *_hull(vertices), "not a closed surface: its convex hull was taken"


def _stamp(file: str) -> tuple[int, int]:
    """The modification time and size of a file, the key of its cached content."""
    if not Path(file).is_file():
        raise DalembertError(
            f"mesh {file!r}: no such file; keep meshes beside the robot's file, or set ROS_PACKAGE_PATH"
        )
    state = Path(file).stat()
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=64)
def _read(file: str, stamp: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    trimesh = _trimesh()
    try:
        mesh = trimesh.load(file, force="mesh")
        scale = _metres(file) if file.lower().endswith(".dae") else 1.0
        return np.asarray(mesh.vertices, float) * scale, np.asarray(mesh.faces, int)
    except Exception as error:  # readers of many formats raise many kinds of errors
        raise DalembertError(f"mesh {file!r} cannot be read: {error}") from None


def _metres(file: str) -> float:
    """The length of a COLLADA file's unit [m], which trimesh passes over; 1 where none is stated."""
    from lxml import etree

    with open(file, "rb") as text:
        for _, element in etree.iterparse(text, tag="{*}unit", resolve_entities=False, no_network=True):
            return float(element.get("meter", "1"))
    return 1.0


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
        raise DalembertError(f"meshes need trimesh: {CURE}") from None
    return trimesh
