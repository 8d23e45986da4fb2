"""Cameras: where a picture is taken from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

ROOM = 1.0  # the ball around all that is seen fits into the picture with this much to spare


@dataclass(frozen=True)
class Camera:
    """A camera that looks at `target` (3,) [m] from `distance` [m]; None: so that everything fits into the picture.

    azimuth, elevation [°]: where it stands as seen from the target; azimuth 0 is on the x axis, 90 on the y axis.
    view [°]: the angle that the picture covers from bottom to top. follow: a body whose motion along the ground it
    follows.
    """

    azimuth: float = -60.0
    elevation: float = 20.0
    distance: float | None = None
    target: Sequence[float] | None = None
    view: float = 35.0
    follow: str | None = None

    def __post_init__(self) -> None:
        for name in ("azimuth", "elevation", "view", "distance"):
            value = getattr(self, name)
            if value is None and name == "distance":
                continue
            if not isinstance(value, (int, float, np.number)) or isinstance(value, bool) or not np.isfinite(value):
                raise DalembertError(f"Camera: {name} is {value!r}, expected a finite number")
        if not 0.1 <= self.view <= 170.0:
            raise DalembertError(f"Camera: view is {self.view:g}°, expected 0.1 to 170")
        if self.distance is not None and self.distance <= 0.0:
            raise DalembertError(f"Camera: distance is {self.distance:g} m, expected more than 0")
        if self.target is not None:
            place = np.asarray(self.target)
            if place.shape != (3,) or place.dtype.kind not in "fiu" or not np.all(np.isfinite(place)):
                raise DalembertError(f"Camera: target is {self.target!r}, expected 3 finite numbers [m]")

    def placed(self, center: np.ndarray, radius: float, size: tuple[int, int]) -> Shot:
        """The camera for a ball around all that is seen, for a picture of size (width, height)."""
        a, e = np.radians(self.azimuth), np.radians(self.elevation)
        back = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        focal = 0.5 * size[1] / np.tan(np.radians(self.view) / 2.0)
        narrow = np.arctan(0.5 * min(size) / focal)
        target = center if self.target is None else np.asarray(self.target, float)
        radius += float(np.linalg.norm(target - center))
        distance = ROOM * max(radius, 1e-3) / np.sin(narrow) if self.distance is None else float(self.distance)
        axes = np.stack([right, -np.cross(back, right), -back])
        return Shot(axes, target + distance * back, target, float(distance), float(focal), size)


@dataclass(frozen=True)
class Shot:
    """A camera in its place: axes (3, 3) right, down, forward; eye and target (3,) [m]; focal length [pixels]."""

    axes: np.ndarray
    eye: np.ndarray
    target: np.ndarray
    distance: float
    focal: float
    size: tuple[int, int]

    def moved(self, by: np.ndarray) -> Shot:
        """The same camera moved by (3,) [m]."""
        return Shot(self.axes, self.eye + by, self.target + by, self.distance, self.focal, self.size)

    def project(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """Places in the picture (…, 2) [pixels from its upper left corner] and depths (…) [m] of points (…, 3) [m]."""
        p = (np.asarray(points, float) - self.eye) @ self.axes.T
        depth = np.maximum(p[..., 2], 1e-3)
        return self.focal * p[..., :2] / depth[..., None] + 0.5 * np.array(self.size), depth
