"""How shapes look: their surfaces with a normal at each corner, edges kept sharp, and the colours that files state."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.shapes import Mesh, Shape
from dalembert.shapes.files import faces_in_color

CREASE = np.cos(np.radians(40.0))  # faces that meet at a smaller angle look like one round surface
SAME = 1e-5  # of the size: corners that are this near are one
SLIVER = 1e-12  # of the size squared: triangles of less area have no direction
Color = tuple[float, float, float, float]  # red, green, blue, opacity, 0 to 1, as files and screens have them


@dataclass(frozen=True, eq=False)
class Look:
    """Triangles to draw: vertices and normals (n, 3), triangles (m, 3) of their numbers.

    colors (m,) are numbers of rows of the palette, which is empty where the robot's file or the robot says the colour.
    """

    vertices: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    colors: np.ndarray
    palette: tuple[Color, ...] = field(default=())


_looks: WeakKeyDictionary[Shape, Look] = WeakKeyDictionary()


def look_of(shape: Shape) -> Look:
    """The look of a shape; kept as long as the shape, and for meshes as long as their files stay."""
    if isinstance(shape, Mesh) and np.prod(shape.scale) != 0.0:
        vertices, triangles, colors, palette = faces_in_color(shape.file)
        turned = np.prod(shape.scale) < 0.0
        return _of_file(shape.file, tuple(shape.scale), turned, _Content(vertices, triangles, colors, palette))
    try:
        if shape not in _looks:
            _looks[shape] = smooth(*shape.surface())
        return _looks[shape]
    except TypeError:  # a class of one's own that cannot be a key
        return smooth(*shape.surface())


class _Content:
    """The content of a file as a key: the arrays themselves, which are kept until the file changes."""

    def __init__(self, *content: Any) -> None:
        self.content = content

    def __hash__(self) -> int:
        return id(self.content[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self.content[0] is other.content[0]


@lru_cache(maxsize=256)
def _of_file(file: str, scale: tuple[float, ...], turned: bool, content: _Content) -> Look:
    vertices, triangles, colors, palette = content.content
    return smooth(vertices * np.array(scale), triangles[:, ::-1] if turned else triangles, colors, palette)


def smooth(
    vertices: np.ndarray, triangles: np.ndarray, colors: np.ndarray | None = None, palette: tuple[Color, ...] = ()
) -> Look:
    """Triangles with the mean normal of the faces around each corner that meet at less than the angle of a crease."""
    vertices, triangles = np.asarray(vertices, float), np.asarray(triangles, int).reshape(-1, 3)
    corners = vertices[triangles]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(faces, axis=1)
    size = float(np.max(np.ptp(corners.reshape(-1, 3), 0), initial=0.0)) if len(corners) else 0.0
    kept = (area > SLIVER * size**2) & np.isfinite(area)
    triangles, faces, area = triangles[kept], faces[kept], area[kept]
    colors = np.zeros(len(triangles), np.int32) if colors is None else colors[kept]
    if not len(triangles):
        none = np.zeros((0, 3), np.float32)
        return Look(none, none, np.zeros((0, 3), np.int32), np.zeros(0, np.int32), palette)
    used = triangles.reshape(-1)
    places = _numbers(np.round(vertices[used] / (SAME * size)))
    order = np.argsort(places, kind="stable")
    normals = np.empty((len(used), 3))
    normals[order] = _blended(places[order], np.repeat(faces, 3, 0)[order], np.repeat(area, 3)[order])
    _, first, again = np.unique(
        _numbers(np.column_stack([places, np.round(normals * 500.0)])), return_index=True, return_inverse=True
    )
    turn = np.argsort(first)  # in the order of their use, so that triangles find theirs close together
    rank = np.empty(len(turn), int)
    rank[turn] = np.arange(len(turn))
    first, again = first[turn], rank[again]
    return Look(
        np.ascontiguousarray(vertices[used[first]], np.float32),
        np.ascontiguousarray(normals[first], np.float32),
        np.ascontiguousarray(again.reshape(-1, 3), np.int32),
        np.ascontiguousarray(colors, np.int32),
        palette,
    )


def _blended(places: np.ndarray, faces: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Unit normals (n, 3) of corners that lie in the order of their places: sums over those of like faces."""
    unit, total = faces / area[:, None], faces.copy()
    apart = 1
    low = np.arange(len(places) - 1)
    while len(low := low[(low + apart < len(places))]):
        low = low[places[low] == places[np.minimum(low + apart, len(places) - 1)]]
        high = low + apart
        alike = np.einsum("ij,ij->i", unit[low], unit[high]) > CREASE
        np.add.at(total, low[alike], faces[high[alike]])
        np.add.at(total, high[alike], faces[low[alike]])
        apart += 1
    size = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(size > 0.0, total / np.maximum(size, 1e-300), unit)


def _numbers(rows: np.ndarray) -> np.ndarray:
    """A number (n,) for each row of whole numbers, the same for the same rows: a hash of 64 bits."""
    key = np.zeros(len(rows), np.uint64)
    for column in rows.T.astype(np.int64).view(np.uint64):
        key = (key ^ (column + np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(31)
    return key.view(np.int64)
