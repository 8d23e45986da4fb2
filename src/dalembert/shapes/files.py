"""Meshes in files, read by trimesh; a surface with holes is replaced by its convex hull."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .polyhedra import is_closed, joined

Color = tuple[float, float, float, float]  # red, green, blue, opacity, 0 to 1

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


def faces_in_color(file: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[Color, ...]]:
    """Vertices, triangles, the number (m,) of the colour of each triangle, and the colours that a file states, if any.

    A texture counts with its colour at the middle of each triangle. Kept until the file changes.
    """
    return _in_color(file, _stamp(file))


@lru_cache(maxsize=256)
def _in_color(file: str, stamp: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[Color, ...]]:
    trimesh = _trimesh()
    try:
        scene = trimesh.load_scene(file)
        scale = _metres(file) if file.lower().endswith(".dae") else 1.0
        vertices, triangles, colors, count = (
            [np.zeros((0, 3))],
            [np.zeros((0, 3), int)],
            [np.zeros((0, 4), np.uint8)],
            0,
        )
        for node in scene.graph.nodes_geometry:
            X, name = scene.graph[node]
            mesh = scene.geometry[name]
            if not hasattr(mesh, "faces"):  # lines and points
                continue
            vertices.append(np.asarray(mesh.vertices, float) @ X[:3, :3].T * scale + X[:3, 3] * scale)
            faces = np.asarray(mesh.faces, int)
            triangles.append((faces[:, ::-1] if np.linalg.det(X[:3, :3]) < 0.0 else faces) + count)
            colors.append(_face_colors(mesh))
            count += len(mesh.vertices)
    except Exception as error:  # readers of many formats raise many kinds of errors
        raise DalembertError(f"mesh {file!r} cannot be read: {error}") from None
    palette, number = np.unique(np.concatenate(colors).view(np.uint32).reshape(-1), return_inverse=True)
    stated = [tuple(float(x) / 255.0 for x in row) for row in palette.view(np.uint8).reshape(-1, 4)]
    stated = [] if np.array_equal(palette, [0]) else stated
    return np.concatenate(vertices), np.concatenate(triangles), number.astype(np.int32), tuple(stated)  # type: ignore[arg-type]


def _face_colors(mesh: Any) -> np.ndarray:
    """Red, green, blue, opacity (m, 4) of each triangle in bytes; all 0 where the file states none."""
    visual, count = mesh.visual, len(mesh.faces)
    none = np.zeros((count, 4), np.uint8)
    if visual.kind in ("face", "vertex"):
        return np.asarray(visual.face_colors, np.uint8)
    material = getattr(visual, "material", None)
    if material is None:
        return none
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if image is not None and visual.uv is not None and len(visual.uv):
        return _sampled(image, np.asarray(visual.uv, float)[mesh.faces].mean(axis=1))
    color = np.asarray(material.main_color, np.uint8)
    return none + color if _states_color(material) else none


def _states_color(material: Any) -> bool:
    """Whether a material is one of the file's, and not what the reader puts in place of none."""
    if hasattr(material, "baseColorFactor"):
        return material.baseColorFactor is not None
    return getattr(material, "name", None) is not None or "Kd" in (getattr(material, "kwargs", None) or {})


def _sampled(image: Any, uv: np.ndarray) -> np.ndarray:
    """Colours (m, 4) of a picture at places (m, 2) from its lower left corner, each 0 to 1 and repeated beyond."""
    pixels = np.asarray(image.convert("RGBA"))
    place = np.where(np.isfinite(uv), uv, 0.0) % 1.0
    x = np.minimum((place[:, 0] * pixels.shape[1]).astype(int), pixels.shape[1] - 1)
    y = np.minimum(((1.0 - place[:, 1]) * pixels.shape[0]).astype(int), pixels.shape[0] - 1)
    return pixels[y, x]


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
