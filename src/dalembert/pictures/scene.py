"""Scenes: shapes in their places, marks such as arrows and paths, and pictures of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.shapes import Cone, Cylinder, Shape, Sphere

from .camera import Camera, Shot
from .looks import Color, Look, look_of
from .rasterizer import Drawing, Rasterizer, Stage, linear

if TYPE_CHECKING:
    from dalembert.robot import Robot

GREY, ORANGE, RED, GREEN, BLUE = "#9aa2aa", "#e07b28", "#d63c28", "#3a9160", "#2f6db3"
MATT, GLOSSY = 0.25, 1.0
LARGEST = 16384  # pixels along an edge of a picture
HIDDEN = np.zeros(21)  # of something that is not there
Paint = str | Sequence[float]
Place = Sequence[float] | np.ndarray


class Scene:
    """Things to draw. Each belongs to an owner, whose pose may change from picture to picture; owner 0 is the world."""

    def __init__(self) -> None:
        self._looks: list[tuple[Look, int, np.ndarray, np.ndarray]] = []  # look, owner, palette, matrix of its place
        self.owners: list[np.ndarray] = [pose_rows(np.eye(4))]
        self.stretched: list[bool] = []  # which of the looks count for the size of the scene
        self._drawing: Drawing | None = None

    # ---- things

    def owner(self, pose: np.ndarray | None = None) -> int:
        """A new owner, at a pose (4, 4) or hidden."""
        self.owners.append(HIDDEN.copy() if pose is None else pose_rows(np.asarray(pose, float)))
        return len(self.owners) - 1

    def shape(
        self, shape: Shape | Look, pose: Any, color: Paint | None = GREY, owner: int = 0, gloss: float = GLOSSY,
        extends: bool = True,
    ) -> Scene:  # fmt: skip
        """A shape of `dalembert.shapes` at a pose (4, 4) in its owner. color: "#rrggbb", or red, green, blue, opacity.

        extends: whether the picture is to hold it.
        """
        look = shape if isinstance(shape, Look) else look_of(shape)
        stated = look.palette or (rgba(GREY if color is None else color),)
        palette = np.array([[*linear(c), c[3], gloss] for c in stated], np.float32)
        X = np.asarray(pose, float)
        if X.shape != (4, 4) or not np.all(np.isfinite(X)):
            raise DalembertError(f"Scene: a pose has shape {X.shape}, expected finite numbers (4, 4)")
        if len(look.triangles):
            self._looks.append((look, owner, palette, X))
            self.stretched.append(extends)
            self._drawing = None
        return self

    def robot(
        self, robot: Robot, q: Any = None, color: Paint | None = None, role: str = "visual", place: Place = (0, 0, 0)
    ) -> Scene:
        """A robot at q (nq,), or neutral. color: of all its shapes; place: of its world [m]; role as of `render`."""
        from .bodies import RobotDrawing

        first = len(self.owners)
        drawn = RobotDrawing(robot, role, self, color)
        rows = drawn.poses(robot.neutral() if q is None else np.asarray(q, float))[first:]
        rows[:, 9:12] += np.where(rows.any(axis=1, keepdims=True), np.asarray(place, float), 0.0)
        self.owners[first:] = list(rows)
        return self

    def ball(self, place: Place, radius: float, color: Paint = ORANGE) -> Scene:
        """A ball [m]."""
        return self.shape(Sphere(radius), matrix(np.eye(3), place), color, gloss=MATT)

    def rod(self, start: Place, end: Place, radius: float, color: Paint = GREY) -> Scene:
        """A rod between two points [m]."""
        a, b = np.asarray(start, float), np.asarray(end, float)
        length = float(np.linalg.norm(b - a))
        if length > 1e-9:
            self.shape(Cylinder(radius, length), matrix(towards(b - a), 0.5 * (a + b)), color, gloss=MATT)
        return self

    def arrow(self, start: Place, vector: Place, radius: float, color: Paint = RED) -> Scene:
        """An arrow from a point along a vector, as long as that [m]."""
        a, d = np.asarray(start, float), np.asarray(vector, float)
        length = float(np.linalg.norm(d))
        if length < 1e-9:
            return self
        head = min(6.0 * radius, 0.6 * length)
        self.rod(a, a + d * (1.0 - head / length), radius, color)
        middle = a + d * (1.0 - 0.5 * head / length)
        return self.shape(Cone(2.5 * radius, head), matrix(towards(d), middle), color, gloss=MATT)

    def path(self, points: Any, radius: float, color: Paint = ORANGE) -> Scene:
        """A line through points (n, 3) [m]."""
        for start, end in pairwise(np.asarray(points, float)):
            self.rod(start, end, radius, color)
        return self

    def frame(self, pose: np.ndarray, length: float) -> Scene:
        """Axes x, y, z of a frame in red, green, blue, as long as `length` [m]."""
        for axis, color in zip(np.asarray(pose)[:3, :3].T, (RED, GREEN, BLUE), strict=True):
            self.arrow(pose[:3, 3], length * axis, 0.03 * length, color)
        return self

    # ---- pictures

    def drawing(self) -> Drawing:
        """All triangles, the translucent ones last; kept until something is added."""
        if self._drawing is None:
            self._drawing = _drawing(self._looks)
        return self._drawing

    def extent(self, poses: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper corner (3,) of a box around the things [m], owners at poses (owners, 21)."""
        rows = np.array(self.owners) if poses is None else poses
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for (look, owner, _, X), counted in zip(self._looks, self.stretched, strict=True):
            row = rows[owner]
            if counted and row.any():
                R = row[:9].reshape(3, 3)
                a, b = (np.asarray(end(look.vertices, axis=0), float) for end in (np.min, np.max))
                center = R @ (X[:3, :3] @ (0.5 * (a + b)) + X[:3, 3]) + row[9:12]
                half = np.abs(R @ X[:3, :3]) @ (0.5 * (b - a))
                low, high = np.minimum(low, center - half), np.maximum(high, center + half)
        return (low, high) if np.all(low <= high) else (np.full(3, -0.5), np.full(3, 0.5))

    def picture(
        self, camera: Camera | Shot | None = None, size: tuple[int, int] = (640, 480), ground: float | None = 0.0,
        shadows: bool = True,
    ) -> np.ndarray:  # fmt: skip
        """The picture (height, width, 3) in bytes; size (width, height) [pixels]. ground: height of the floor [m]."""
        size = checked_size(size)
        stage = stage_of(*self.extent(), ground, shadows)
        shot = camera if isinstance(camera, Shot) else (camera or Camera()).placed(stage.center, stage.radius, size)
        return Rasterizer(self.drawing(), stage, size).picture(np.array(self.owners), shot)


def stage_of(low: np.ndarray, high: np.ndarray, ground: float | None, shadows: bool) -> Stage:
    """The stage for what lies in a box; the shadow map reaches down to the floor."""
    return Stage(0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), 1e-6), ground, shadows)


def checked_size(size: Any) -> tuple[int, int]:
    """A size (width, height) in whole pixels."""
    try:
        width, height = size
        whole = int(width) == width and int(height) == height
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole or not (1 <= width <= LARGEST and 1 <= height <= LARGEST):
        raise DalembertError(f"size is {size!r}, expected (width, height) in pixels, each 1 to {LARGEST}")
    return int(width), int(height)


def rgba(color: Paint) -> Color:
    """Red, green, blue, opacity of "#rrggbb" or of 3 or 4 numbers from 0 to 1."""
    if isinstance(color, str):
        digits = color.removeprefix("#")
        try:
            if len(digits) != 6 or not color.startswith("#"):
                raise ValueError
            r, g, b = (int(digits[k : k + 2], 16) / 255.0 for k in (0, 2, 4))
            return r, g, b, 1.0
        except ValueError:
            raise DalembertError(f'color is {color!r}, expected "#rrggbb" or three numbers from 0 to 1') from None
    parts = np.asarray(color, float)
    if parts.shape not in ((3,), (4,)) or not np.all((parts >= 0.0) & (parts <= 1.0)):
        raise DalembertError(f'color is {color!r}, expected "#rrggbb", or 3 or 4 numbers from 0 to 1')
    r, g, b, a = [*parts.tolist(), 1.0][:4]
    return r, g, b, a


def matrix(R: Any, p: Any) -> np.ndarray:
    """A pose (4, 4) of a rotation (3, 3) and a place (3,)."""
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def towards(direction: np.ndarray) -> np.ndarray:
    """A rotation whose z axis points along the direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def pose_rows(poses: np.ndarray) -> np.ndarray:
    """Poses (…, 4, 4) as the passes take them: (…, 21)."""
    R = poses[..., :3, :3].reshape(*poses.shape[:-2], 9)
    return np.concatenate([R, poses[..., :3, 3], R], axis=-1)


def _drawing(looks: Sequence[tuple[Look, int, np.ndarray, np.ndarray]]) -> Drawing:
    vertices, normals, owners = [np.zeros((0, 3))], [np.zeros((0, 3))], [np.zeros(0, np.int32)]
    triangles, colors, palettes = [np.zeros((0, 3), np.int32)], [np.zeros(0, np.int32)], [np.zeros((0, 5), np.float32)]
    corners, paints = 0, 0
    for look, owner, palette, X in looks:
        vertices.append(look.vertices @ X[:3, :3].T + X[:3, 3])
        normals.append(look.normals @ X[:3, :3].T)
        owners.append(np.full(len(look.vertices), owner, np.int32))
        triangles.append(look.triangles + np.int32(corners))
        colors.append(look.colors + np.int32(paints))
        palettes.append(palette)
        corners, paints = corners + len(look.vertices), paints + len(palette)
    palette, color, triangle = np.concatenate(palettes), np.concatenate(colors), np.concatenate(triangles)
    clear = palette[color, 3] < 1.0 if len(color) else np.zeros(0, bool)
    seen = palette[color, 3] > 0.0 if len(color) else np.zeros(0, bool)
    order = np.concatenate([np.flatnonzero(~clear), np.flatnonzero(clear & seen)])
    return Drawing(
        np.ascontiguousarray(np.concatenate(vertices), np.float32),
        np.ascontiguousarray(np.concatenate(normals), np.float32),
        np.concatenate(owners),
        np.ascontiguousarray(triangle[order], np.int32),
        int(np.count_nonzero(~clear)),
        np.ascontiguousarray(color[order], np.int32),
        np.ascontiguousarray(palette, np.float32),
    )
