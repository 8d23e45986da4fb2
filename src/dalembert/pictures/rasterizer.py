"""Pictures of triangles: the passes of `kernels` and `shading` over one drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .camera import Shot
from .kernels import EMPTY, TAPS, TILE
from .shading import LEVELS, LIMIT, passes

KNEE = 0.65  # of linear light: what is brighter is compressed
MAP = 1024  # texels of the shadow map along a side
LIGHT = np.array([0.42, -0.55, 0.9]) / np.linalg.norm([0.42, -0.55, 0.9])  # towards the lamp
SKY = ("#ffffff", "#e3e9ee")  # above, and at the horizon
FLOOR = ("#e6e9ec", "#d9dde1")  # the checks


@dataclass(frozen=True, eq=False)
class Drawing:
    """All triangles of a scene, as the passes take them.

    vertices, normals (n, 3) in the frames of their owners (n,); triangles (m, 3), those from `opaque` on translucent;
    colors (m,) rows of the palette (k, 5): red, green, blue in linear light, opacity, gloss.
    """

    vertices: np.ndarray
    normals: np.ndarray
    owners: np.ndarray
    triangles: np.ndarray
    opaque: int
    colors: np.ndarray
    palette: np.ndarray


@dataclass(frozen=True)
class Stage:
    """Surroundings of a scene: a ball around it, the height of its floor [m] or None, and whether there are shadows."""

    center: np.ndarray
    radius: float
    ground: float | None = 0.0
    shadows: bool = True


class Rasterizer:
    """Draws one drawing at one size on one stage; each thread has one of its own."""

    def __init__(self, drawing: Drawing, stage: Stage, size: tuple[int, int]) -> None:
        self.drawing, self.stage, self.size = drawing, stage, size
        count, (width, height) = len(drawing.vertices), size
        self._seen, self._screen = np.zeros((count, 3)), np.zeros((count, 2), np.float32)
        self._lit, self._turned = np.zeros((count, 3), np.float32), np.zeros((count, 3), np.float32)
        self._depth = np.zeros((2 * height, 2 * width), np.float32)
        self._index = np.zeros((2 * height, 2 * width), np.int32)
        layered = drawing.opaque < len(drawing.triangles)
        self._above = np.zeros_like(self._index) if layered else self._index[:1]
        self._map = MAP if stage.shadows else 0
        self._heights = np.zeros((max(self._map, 1), max(self._map, 1)), np.float32)
        self._tiles = np.zeros((MAP >> TILE) ** 2, np.uint8)
        self._behind, self._backdrop_of = np.zeros((height, width, 3), np.float32), b""
        self._texel = 2.0 * stage.radius / (MAP - 4)
        self._light = _light(stage, self._texel)

    def picture(self, poses: np.ndarray, shot: Shot) -> np.ndarray:
        """(height, width, 3) bytes; poses (owners, 21): matrix, place, matrix of the normals of each."""
        drawing, stage, (width, height) = self.drawing, self.stage, self.size
        view = np.concatenate([shot.axes.ravel(), shot.eye])
        lens = shot.focal, 0.5 * width, 0.5 * height
        level = 0.0 if stage.ground is None else float(stage.ground)
        floor = _floor(stage, shot)
        self._backdrop(view, lens, level, floor)
        passes.place(
            drawing.vertices, drawing.normals, drawing.owners, poses, view, lens[0], self._light, self._seen,
            self._screen, self._lit, self._turned, len(drawing.vertices),
        )  # fmt: skip
        self._depth.fill(0.0)
        self._index.fill(-1)
        samples = *lens, 2 * width, 2 * height
        passes.cover(drawing.triangles, self._seen, self._screen, *samples, self._depth, self._index, 0, drawing.opaque)
        if self._map:
            self._heights.fill(EMPTY)
            self._tiles.fill(0)
            passes.cast(drawing.triangles, self._lit, self._map, self._heights, self._tiles, 0, drawing.opaque)
        layered = drawing.opaque < len(drawing.triangles)
        if layered:
            self._above.fill(-1)
            depth, every = self._depth.copy(), len(drawing.triangles)
            passes.cover(
                drawing.triangles, self._seen, self._screen, *samples, depth, self._above, drawing.opaque, every
            )
        picture = np.empty((height, width, 3), np.uint8)
        passes.shade(
            self._index, self._depth, self._above, int(layered), drawing.triangles, self._seen, self._lit,
            self._turned, drawing.colors, drawing.palette, view, *lens, width, height, level, floor, self._behind,
            self._light, self._heights, self._tiles, self._map, self._texel, SPREAD, BYTES, picture,
        )  # fmt: skip
        return picture

    def _backdrop(self, view: np.ndarray, lens: tuple[float, float, float], level: float, floor: np.ndarray) -> None:
        """Floor and sky without shadows, unless they are those of the last picture."""
        key = view.tobytes() + floor.tobytes()
        if key != self._backdrop_of:
            sky, plain = (np.array([linear(c) for c in pair], np.float32) for pair in (SKY, FLOOR))
            passes.backdrop(view, *lens, *self.size, level, floor, sky, plain, self._behind)
            self._backdrop_of = key


def linear(color: str | tuple[float, ...]) -> tuple[float, ...]:
    """Linear red, green, blue of a color as screens have it: "#rrggbb", or three numbers from 0 to 1."""
    if isinstance(color, str):
        color = tuple(int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    return tuple(float(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in color[:3])


def _light(stage: Stage, texel: float) -> np.ndarray:
    """Axes (9) and origin (3) of the shadow map: across the lamp's rays [texels/m], and towards it."""
    x = np.cross([0.0, 0.0, 1.0], LIGHT)
    x /= np.linalg.norm(x)
    y = np.cross(LIGHT, x)
    corner = stage.center - 0.5 * MAP * texel * (x + y)
    return np.concatenate([x / texel, y / texel, LIGHT, corner])


def _floor(stage: Stage, shot: Shot) -> np.ndarray:
    """Middle (2), edge of a check, how far it reaches [m], and whether there is one."""
    tile = 0.5 * 10.0 ** np.floor(np.log10(max(shot.distance, 1e-9) / 2.0))
    tile *= 2.0 if shot.distance / tile > 25.0 else 1.0
    reach = 2.2 * shot.distance + stage.radius
    return np.array([*shot.target[:2], tile, reach, 0.0 if stage.ground is None else 1.0])


def _spread() -> np.ndarray:
    """Taps in the unit disc (TAPS, 2), evenly spread; each four in a row surround its middle.   Vogel 1979."""
    k = np.arange(TAPS)
    order = (k % 4) * (TAPS // 4) + k // 4
    r, a = np.sqrt((k[order] + 0.5) / TAPS), np.pi * (3.0 - np.sqrt(5.0)) * order
    return np.stack([r * np.cos(a), r * np.sin(a)], axis=1)


def _bytes() -> np.ndarray:
    """The byte of each level of linear light: that of sRGB, where highlights run out softly."""
    x = np.linspace(0.0, LIMIT, LEVELS)
    over = np.clip((x - KNEE) / (LIMIT - KNEE), 0.0, 1.0)
    x = np.where(x < KNEE, x, KNEE + (1.0 - KNEE) * (1.0 - (1.0 - over) ** ((LIMIT - KNEE) / (1.0 - KNEE))))
    shown = np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1.0 / 2.4) - 0.055)
    return np.round(255.0 * np.clip(shown, 0.0, 1.0)).astype(np.uint8)


SPREAD, BYTES = _spread(), _bytes()
