"""Pictures for the site: figures in one style, robots rendered from their shapes, and short animations.

A script ends with `save(figure, __file__)` or `animate(frames, __file__)`, and its picture lies beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from dalembert import Robot
from dalembert.shapes import Cone, Cylinder, Plane, Sphere
from dalembert.view import surfaces

surfaces.AROUND = 24  # segments of a circle: enough at this size

BLUE, ORANGE, GREEN, RED, GREY = "#2f6db3", "#e07b28", "#3a9160", "#c63c4f", "#7d868f"
PALETTE = [(0.78, 0.80, 0.83), (0.27, 0.48, 0.70), (0.55, 0.59, 0.63), (0.36, 0.62, 0.59)]
LIGHT = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])
FINER = 2  # pixels are computed this many times finer, then averaged
Colour = Sequence[float] | str
Triangles = tuple[np.ndarray, np.ndarray]  # corners (n, 3, 3) [m], colours (n, 3)


def figure(width: float = 7.0, height: float = 3.5, **layout: Any) -> tuple[Figure, Any]:
    """A figure [inches] and its axes, in the style of the site."""
    matplotlib.rcParams.update({"font.size": 10, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True})
    matplotlib.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=[BLUE, ORANGE, GREEN, RED, "#8460b5", GREY])
    picture = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(picture)
    return picture, picture.subplots(**layout)


def save(picture: Figure, script: str, kind: str = "svg", dpi: float = 110) -> None:
    """Write the picture beside its script; the same bytes for the same data."""
    path = Path(script).with_suffix(f".{kind}")
    if kind == "svg":
        with matplotlib.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "path"}):
            picture.savefig(path, metadata={"Date": None})
    else:
        pixels(picture, dpi).save(path, quality=88, method=6)


def pixels(picture: Figure, dpi: float = 80) -> Image.Image:
    """A figure as an image."""
    picture.set_dpi(dpi)
    picture.canvas.draw()
    return Image.fromarray(np.asarray(picture.canvas.buffer_rgba())[..., :3].copy())


def animate(frames: Iterable[Image.Image], script: str, rate: float = 20.0, hold: float = 0.6) -> None:
    """An endless animation at `rate` frames per second beside its script; the last frame stays for `hold` seconds."""
    images = list(frames)
    times = [round(1000 / rate)] * len(images)
    times[-1] += round(1000 * hold)
    path = Path(script).with_suffix(".webp")
    images[0].save(path, save_all=True, append_images=images[1:], duration=times, loop=0, quality=55, method=4)


def film(
    draw: Callable[[Any, int], None],
    count: int,
    width: float = 5.0,
    height: float = 3.6,
    dpi: float = 80,
    **layout: Any,
) -> Iterable[Image.Image]:
    """Images of a figure that `draw(axes, k)` fills anew for each k < count."""
    picture, axes = figure(width, height, **layout)
    for k in range(count):
        for each in np.ravel(axes):
            each.clear()
        draw(axes, k)
        yield pixels(picture, dpi)


class Scene:
    """A camera and what stands before it: `place(…)` things, then `image()`. Lengths in m, colours 0…1 or "#rrggbb"."""

    def __init__(
        self,
        target: Sequence[float] = (0, 0, 0.5),
        distance: float = 3.0,
        azimuth: float = -60.0,
        elevation: float = 20.0,
        size: tuple[int, int] = (480, 360),
        ground: float | None = 0.0,
        view: float = 35.0,
    ) -> None:
        a, e = np.radians(azimuth), np.radians(elevation)
        back = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        self.axes = np.stack([right, -np.cross(back, right), -back])  # right, down, into the picture
        self.eye = np.asarray(target, float) + distance * back
        self.size, self.ground = size, ground
        self.focal = 0.5 * size[1] / np.tan(np.radians(view) / 2)
        self.target, self.distance = np.asarray(target, float), distance
        self.things: list[Triangles] = []
        self.texts: list[tuple[np.ndarray, str, str, int]] = []

    def robot(self, robot: Robot, q: np.ndarray, colour: Colour | None = None, role: str = "visual") -> Scene:
        """All shapes of a robot at q (nq,); those of its other role where it has none of this one."""
        poses = robot.poses(np.asarray(q, float))
        for body in robot.model.bodies:
            shapes = [(part, g) for part in body.parts for g in part.geometry if not isinstance(g.shape, Plane)]
            for part, geometry in [s for s in shapes if s[1].role == role] or shapes:
                X = part.placement @ geometry.placement
                given = geometry.color[:3] if geometry.color is not None else PALETTE[body.index % len(PALETTE)]
                X_WG = poses[body.index] @ _matrix(X.R, X.p)
                self.shape(geometry.shape, X_WG, given if colour is None else colour)
        for closure in robot.model.closures:  # massless rods of constant length
            if closure.kind == "distance":
                ends = [
                    poses[frame.body] @ _matrix(frame.placement.R, frame.placement.p)
                    for frame in (closure.a, closure.b)
                ]
                self.rod(ends[0][:3, 3], ends[1][:3, 3], 0.006)
        return self

    def shape(self, shape: Any, pose: np.ndarray, colour: Colour = GREY) -> Scene:
        """A shape of `dalembert.shapes` at a pose (4, 4)."""
        vertices, triangles = surfaces.surface(shape)
        corners = (np.asarray(vertices, float) @ pose[:3, :3].T + pose[:3, 3])[np.asarray(triangles)]
        self.things.append((corners, np.tile(_rgb(colour), (len(corners), 1))))
        return self

    def ball(self, place: Sequence[float], radius: float, colour: Colour = ORANGE) -> Scene:
        return self.shape(Sphere(radius), _matrix(np.eye(3), np.asarray(place, float)), colour)

    def rod(self, start: Sequence[float], end: Sequence[float], radius: float, colour: Colour = GREY) -> Scene:
        start, end = np.asarray(start, float), np.asarray(end, float)
        length = float(np.linalg.norm(end - start))
        if length > 1e-9:
            self.shape(Cylinder(radius, length), _matrix(_towards(end - start), (start + end) / 2), colour)
        return self

    def arrow(self, start: Sequence[float], vector: Sequence[float], radius: float, colour: Colour = RED) -> Scene:
        start, vector = np.asarray(start, float), np.asarray(vector, float)
        length = float(np.linalg.norm(vector))
        if length < 1e-9:
            return self
        head = min(6 * radius, 0.6 * length)
        neck = start + vector * (1 - head / length)
        self.rod(start, neck, radius, colour)
        middle = start + vector * (1 - 0.5 * head / length)
        return self.shape(Cone(2.5 * radius, head), _matrix(_towards(vector), middle), colour)

    def path(self, points: np.ndarray, radius: float, colour: Colour = ORANGE) -> Scene:
        """A line through points (n, 3)."""
        points = np.asarray(points, float)
        for start, end in pairwise(points):
            self.rod(start, end, radius, colour)
        return self

    def frame(self, pose: np.ndarray, length: float) -> Scene:
        """Axes x, y, z of a frame in red, green, blue."""
        for axis, colour in zip(pose[:3, :3].T, (RED, GREEN, BLUE), strict=True):
            self.arrow(pose[:3, 3], length * axis, 0.03 * length, colour)
        return self

    def text(self, place: Sequence[float], words: str, colour: str = "#222222", size: int = 13) -> Scene:
        self.texts.append((np.asarray(place, float), words, colour, size))
        return self

    def image(self) -> Image.Image:
        width, height = (FINER * n for n in self.size)
        sky = np.linspace(1.0, 0.93, height)[:, None, None] * np.ones((1, width, 3))
        picture = sky.copy()
        corners = np.concatenate([t[0] for t in self.things])
        colours = np.concatenate([t[1] for t in self.things])
        if self.ground is not None:
            self._ground(picture, corners)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = np.linalg.norm(normals, axis=1)
        normals /= np.maximum(size, 1e-300)[:, None]
        outside = np.einsum("ij,ij->i", normals, self.eye - corners[:, 0]) > 0
        shown = outside & (size > 0)
        bright = 0.42 + 0.58 * np.clip(normals[shown] @ LIGHT, 0, 1)
        index = self._rasterise(corners[shown], width, height)
        seen = index >= 0
        picture[seen] = np.clip(colours[shown] * bright[:, None], 0, 1)[index[seen]]
        image = Image.fromarray((255 * picture).astype(np.uint8)).resize(self.size, Image.Resampling.LANCZOS)
        return self._write(image)

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places in the picture (…, 2) [pixels of the final size] and depths (…) [m]."""
        p = (np.asarray(points, float) - self.eye) @ self.axes.T
        depth = np.maximum(p[..., 2], 1e-3)
        return self.focal * p[..., :2] / depth[..., None] + 0.5 * np.array(self.size), depth

    def _rasterise(self, corners: np.ndarray, width: int, height: int) -> np.ndarray:
        """Index of the nearest triangle in every pixel (height, width), −1 where there is none."""
        places, depth = self.project(corners)
        places, inverse = places * FINER, 1.0 / depth
        low = np.floor(places.min(axis=1)).astype(int)
        extent = np.ceil(places.max(axis=1)).astype(int) - low + 1
        nearest = np.full(width * height, np.iinfo(np.int64).max)
        edges = np.array([4, 8, 16, 32, 64, 128, 256, 512, 4096])
        bucket = np.searchsorted(edges, extent.max(axis=1))
        for k in np.unique(bucket):
            members = np.flatnonzero(bucket == k)
            span = int(extent[members].max())
            for some in np.array_split(members, max(1, len(members) * span * span // 2_000_000)):
                grid = np.arange(span)
                x = low[some, 0, None, None] + grid[None, None, :]
                y = low[some, 1, None, None] + grid[None, :, None]
                (a, b, c), z = np.moveaxis(places[some], 1, 0), inverse[some]
                area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
                area = np.where(np.abs(area) < 1e-12, 1e-12, area)[:, None, None]

                def side(p, q, x=x, y=y, area=area):
                    p, q = p[:, :, None, None], q[:, :, None, None]
                    return ((q[:, 0] - p[:, 0]) * (y - p[:, 1]) - (q[:, 1] - p[:, 1]) * (x - p[:, 0])) / area

                w = np.stack([side(b, c), side(c, a), side(a, b)])
                inside = (w >= -1e-9).all(axis=0) & (x >= 0) & (x < width) & (y >= 0) & (y < height)
                far = 1.0 / np.maximum(np.einsum("knij,nk->nij", w, z), 1e-6)
                key = (np.minimum(far, 2000.0) * 2**28).astype(np.int64) << 22 | some[:, None, None]
                np.minimum.at(nearest, (y * width + x)[inside], key[inside])
        index = np.where(nearest == np.iinfo(np.int64).max, -1, nearest & (2**22 - 1))
        return index.reshape(height, width)

    def _ground(self, picture: np.ndarray, corners: np.ndarray) -> None:
        """A checked floor with the shadow of everything on it."""
        height, width = picture.shape[:2]
        x, y = np.meshgrid(np.arange(width) / FINER, np.arange(height) / FINER)
        rays = np.stack([x - self.size[0] / 2, y - self.size[1] / 2, np.full_like(x, self.focal)], -1) @ self.axes
        with np.errstate(divide="ignore", invalid="ignore"):
            far = (self.ground - self.eye[2]) / rays[..., 2]
        hit = (far > 0) & (self.eye[2] > self.ground)
        places = self.eye + rays * np.where(hit, far, 0.0)[..., None]
        away = np.linalg.norm(places[..., :2] - self.target[:2], axis=-1)
        tile = 10.0 ** np.floor(np.log10(self.distance / 2)) * 0.5
        checks = 0.90 - 0.035 * ((np.floor(places[..., 0] / tile) + np.floor(places[..., 1] / tile)) % 2)
        fade = np.clip(away / (1.6 * self.distance), 0, 1)[..., None]
        floor = checks[..., None] * (1 - fade) + picture * fade
        fall = corners - (corners[..., 2:] - self.ground) / LIGHT[2] * LIGHT
        shadow = (self._rasterise(fall, width, height) >= 0) & hit
        floor[shadow] *= 0.80
        picture[hit] = floor[hit]

    def _write(self, image: Image.Image) -> Image.Image:
        pen = ImageDraw.Draw(image)
        fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
        for place, words, colour, size in self.texts:
            if len(place) == 3:
                place = self.project(place)[0]
            pen.text(tuple(place), words, colour, ImageFont.truetype(str(fonts / "DejaVuSans.ttf"), size))
        return image


def beside(*images: Image.Image) -> Image.Image:
    """Images of one height in a row."""
    row = Image.new("RGB", (sum(i.width for i in images), max(i.height for i in images)), "white")
    x = 0
    for image in images:
        row.paste(image, (x, 0))
        x += image.width
    return row


def _rgb(colour: Colour) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(colour if isinstance(colour, str) else tuple(colour)))


def _matrix(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def _towards(direction: np.ndarray) -> np.ndarray:
    """A rotation whose z axis points along the direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
