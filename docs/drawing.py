"""Pictures for the site: figures in one style, robots rendered from their shapes, and short animations.

A script ends with `save(figure, __file__)` or `animate(frames, __file__)`, and its picture lies beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from dalembert import pictures

BLUE, ORANGE, GREEN, RED, GREY = "#2f6db3", "#e07b28", "#3a9160", "#c63c4f", "#7d868f"


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


class Scene(pictures.Scene):
    """A camera and what stands before it: `robot(…)`, `arrow(…)` and more, with words; then `image()`. Lengths in m."""

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
        super().__init__()
        self.size, self.ground = size, ground
        self.shot = pictures.Camera(azimuth, elevation, distance, target, view).placed(np.zeros(3), 1.0, size)
        self.texts: list[tuple[np.ndarray, str, str, int]] = []

    def text(self, place: Sequence[float], words: str, colour: str = "#222222", size: int = 13) -> Scene:
        self.texts.append((np.asarray(place, float), words, colour, size))
        return self

    def image(self) -> Image.Image:
        image = Image.fromarray(self.picture(self.shot, self.size, self.ground))
        pen = ImageDraw.Draw(image)
        fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
        for place, words, colour, size in self.texts:
            if len(place) == 3:
                place = self.shot.project(place)[0]
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
