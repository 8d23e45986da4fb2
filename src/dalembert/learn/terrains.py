"""Terrains: one height field of patches, levels of difficulty along x and kinds along y, and a curriculum on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.dynamics.collision import HeightField
from dalembert.errors import DalembertError, is_number, unknown, whole_number
from dalembert.math import clip, floor, logical_and, lookup, sqrt, where
from dalembert.study.distributions.stream import Stream

PLATFORM = 1.0  # [m] half the side of the level square in the middle of a patch, where robots start
DEEP = 1.0  # [m] depth of gaps and between stones
TREAD = 0.4  # [m] of a stair


def _slopes(x: np.ndarray, y: np.ndarray, hardest: float, rng: np.random.Generator) -> np.ndarray:
    """A pyramid of this slope."""
    return -hardest * np.maximum(np.maximum(np.abs(x), np.abs(y)) - PLATFORM, 0.0)


def _rough(x: np.ndarray, y: np.ndarray, hardest: float, rng: np.random.Generator) -> np.ndarray:
    """Random heights within ± this one [m], on every second point of the grid."""
    coarse = rng.uniform(-hardest, hardest, ((x.shape[0] + 3) // 2, (x.shape[1] + 3) // 2))
    rows, columns = np.arange(x.shape[0]) / 2, np.arange(x.shape[1]) / 2
    i, j = rows.astype(int)[:, None], columns.astype(int)[None]
    s, t = rows[:, None] - i, columns[None] - j
    return (
        (1 - s) * ((1 - t) * coarse[i, j] + t * coarse[i, j + 1])
        + s * ((1 - t) * coarse[i + 1, j] + t * coarse[i + 1, j + 1])
    )  # fmt: skip


def _stairs(x: np.ndarray, y: np.ndarray, hardest: float, rng: np.random.Generator) -> np.ndarray:
    """A pyramid of stairs with rises of this height [m]."""
    return -hardest * np.ceil(np.maximum(np.maximum(np.abs(x), np.abs(y)) - PLATFORM, 0.0) / TREAD)


def _gaps(x: np.ndarray, y: np.ndarray, hardest: float, rng: np.random.Generator) -> np.ndarray:
    """Gaps of this width [m] around the middle, 1 m apart."""
    out = np.maximum(np.abs(x), np.abs(y)) - PLATFORM
    return np.where((out > 0.0) & (np.mod(out, 1.0 + hardest) < hardest), -DEEP, 0.0)


def _stones(x: np.ndarray, y: np.ndarray, hardest: float, rng: np.random.Generator) -> np.ndarray:
    """Stones of 0.5 m with gaps of this width [m] between them."""
    pitch = 0.5 + hardest
    between = (np.mod(x, pitch) < hardest) | (np.mod(y, pitch) < hardest)
    return np.where(between, -DEEP, 0.0)


def _boxes(x: np.ndarray, y: np.ndarray, hardest: float, rng: np.random.Generator) -> np.ndarray:
    """Boxes of 0.6 to 1.2 m with heights within ± this one [m]."""
    z = np.zeros_like(x)
    half = float(np.abs(x).max())
    for _ in range(int(8 * half)):
        (cx, cy), (a, b) = rng.uniform(-half, half, 2), rng.uniform(0.3, 0.6, 2)
        z[(np.abs(x - cx) < a) & (np.abs(y - cy) < b)] = rng.uniform(-hardest, hardest)
    return z


KINDS: dict[str, Callable[..., np.ndarray]] = {
    "slopes": _slopes, "rough": _rough, "stairs": _stairs, "gaps": _gaps, "stones": _stones, "boxes": _boxes,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Terrains:
    """A field of patches, and where each begins; see `terrains`."""

    kinds: Mapping[str, float]
    levels: int
    size: float
    spacing: float
    seed: int
    curriculum: bool

    @cached_property
    def field(self) -> HeightField:
        """The ground as one height field: the patch of level i and kind j has its middle at (i + ½, j + ½) size."""
        n = round(self.size / self.spacing)
        z = np.zeros((self.levels * n + 1, len(self.kinds) * n + 1))
        local = (np.arange(n + 1) - 0.5 * n) * self.spacing
        x, y = np.meshgrid(local, local, indexing="ij")
        middle = np.maximum(np.abs(x), np.abs(y)) <= PLATFORM
        edge = np.maximum(np.abs(x), np.abs(y)) > 0.5 * self.size - 0.5 * self.spacing
        for j, (kind, hardest) in enumerate(self.kinds.items()):
            for i in range(self.levels):
                rng = np.random.default_rng([self.seed, i, j])
                patch = KINDS[kind](x, y, hardest * (i + 1) / self.levels, rng)
                patch = np.where(middle, 0.0, patch)
                patch = patch - patch[~edge].min() if kind in ("slopes", "stairs") else patch
                z[i * n : (i + 1) * n + 1, j * n : (j + 1) * n + 1] = np.where(edge, 0.0, patch)
        return HeightField(np.arange(z.shape[0]) * self.spacing, np.arange(z.shape[1]) * self.spacing, z)

    @cached_property
    def heights(self) -> np.ndarray:
        """Height (levels, kinds) of the middle of each patch [m]."""
        n = round(self.size / self.spacing)
        return self.field.z[n // 2 :: n, n // 2 :: n][: self.levels, : len(self.kinds)]

    def origin(self, level: np.ndarray) -> np.ndarray:
        """Middle (3,) of the patch of (level, kind) [m]."""
        row, column = level
        height = lookup(self.heights.ravel(), row * len(self.kinds) + column)
        return np.array([(row + 0.5) * self.size, (column + 0.5) * self.size, height])

    def begun(self, number: Any, stream: Stream) -> np.ndarray:
        """(level, kind) of an environment's first episode: a kind of its own for good, and one of the easier levels."""
        count = float(len(self.kinds))
        most = float(self.levels // 2 + 1) if self.curriculum else float(self.levels)
        level = floor(stream.uniforms("level", 1)[0] * most)
        return np.array([level, number - floor(number * (1.0 / count) + 1e-9) * count])

    def moved(self, level: np.ndarray, way: np.ndarray, command: np.ndarray, time: Any, stream: Stream) -> np.ndarray:
        """(level, kind) after an episode in which the base moved by way (3,) [m] within a time [s].

        Up a level: it left its patch by half; from the hardest one back to any. Down: it came less than half as far as
        it was commanded, or without a velocity command less than a quarter of a patch.
        """
        if not self.curriculum:
            drawn = floor(stream.uniforms("level", 1)[0] * float(self.levels))
            return np.array([drawn, level[1]])
        far = sqrt(way[0] * way[0] + way[1] * way[1])
        asked = 0.25 * self.size
        if len(command) >= 2:
            asked = 0.5 * time * sqrt(command[0] * command[0] + command[1] * command[1])
        up, top = far > 0.5 * self.size, float(self.levels - 1)
        down = logical_and(far < asked, far <= 0.5 * self.size)
        row = level[0] + where(up, 1.0, 0.0) - where(down, 1.0, 0.0)
        anywhere = floor(stream.uniforms("level", 1)[0] * float(self.levels))
        return np.array([where(row > top, anywhere, clip(row, 0.0, top)), level[1]])


def terrains(
    *,
    levels: int = 10,
    size: float = 8.0,
    spacing: float = 0.1,
    seed: int = 0,
    curriculum: bool = True,
    **kinds: float,
) -> Terrains:
    """Terrains of some kinds, each at `levels` levels of difficulty, as one height field.

    kinds: slopes (rise per length), rough (height [m] up and down), stairs (height of a step [m]), gaps (width [m]),
    stones (gap between them [m]), boxes (height [m]), each as at the hardest level; level k of n has (k + 1) / n of it.
    size: side of a patch [m]; spacing: of the grid [m]. curriculum: environments go to harder patches when they walk
    far, and to easier ones when they do not; without, levels are drawn at each reset.
    """
    for name, hardest in kinds.items():
        if name not in KINDS:
            raise unknown("kind of terrain", name, KINDS, "terrains")
        if not is_number(hardest) or not 0.0 <= hardest < np.inf:
            raise DalembertError(f"terrains: {name} is {hardest!r}, expected a number ≥ 0")
    if not kinds:
        raise DalembertError(f"terrains: no kind is given: pass one or more of {', '.join(KINDS)}, such as rough=0.1")
    whole_number("terrains: levels", levels)
    cells = size / spacing if is_number(size) and is_number(spacing) and spacing > 0.0 else 0.0
    if not size >= 4.0 * PLATFORM or abs(cells - round(cells)) > 1e-6 or round(cells) % 2:
        raise DalembertError(
            f"terrains: size {size!r}, spacing {spacing!r}: expected a side of at least {4.0 * PLATFORM:g} m that is "
            "an even number of spacings"
        )
    return Terrains(dict(kinds), int(levels), float(size), float(spacing), int(seed), bool(curriculum))
