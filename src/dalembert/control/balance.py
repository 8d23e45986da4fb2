"""Balance on feet: the capture point against the support polygon, and where the next step has to go.

As an inverted pendulum of height h a robot falls away from its capture point ξ = c + ċ / √(g/h) as from the top, and
comes to rest above it where a foot is set there (Pratt et al. 2006). Feet hold the robot without a step while ξ is
within their support polygon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import minimum, sqrt, where
from dalembert.robot import Robot

FAR = 1e3  # [m]: stands for a line that is no side of the polygon
LEVEL = 1e-9  # [m²]: rounding of areas


class Balance(NamedTuple):
    """point (3,): the capture point on the ground, where a foot has to step if margin < 0; margin [m]: how far it is
    inside the sides of the support polygon, negative outside."""

    point: np.ndarray
    margin: Any


def balance(robot: Robot, q: Any, v: Any, feet: Sequence[str], ground: float = 0.0) -> Balance:
    """Whether the robot can stay on the feet that stand, one state at a time; traces into events and laws.

    feet: frames at the feet, three or more for an area: two are a line, of which every point beside it is outside;
    ground: its height [m]; NaN if the centre of mass is below it.
    """
    if not len(feet):
        raise DalembertError("balance: there are no feet: name the frames that stand")
    x, y, z = robot.model.gravity
    if x or y or not z < 0.0:
        raise DalembertError(
            f"balance: the gravity of robot {robot.name!r} is ({x:g}, {y:g}, {z:g}), expected downwards"
        )
    place, velocity = robot.center_of_mass(q), robot.center_of_mass_jacobian(q) @ v
    lag = sqrt((place[2] - ground) / -z)
    point = np.array([place[0] + lag * velocity[0], place[1] + lag * velocity[1], ground + 0.0 * place[2]])
    return Balance(point, _margin([robot.pose(q, foot)[:2, 3] for foot in feet], point[:2]))


def _margin(corners: list[np.ndarray], point: np.ndarray) -> Any:
    """The least distance of a point from the sides of the convex hull of corners, positive inside [m]."""
    least = FAR
    for i, a in enumerate(corners):
        for j, b in enumerate(corners):
            if i == j:
                continue
            others = [_area(b - a, c - a) for k, c in enumerate(corners) if k not in (i, j)]
            side = 1.0
            for area in others:
                side = where(area >= -LEVEL, side, 0.0)
            length = _length(b - a)
            away = _area(b - a, point - a) / where(length > LEVEL, length, 1.0)
            least = minimum(least, where(side * length > LEVEL, away, FAR))
    return where(least < FAR, least, -_length(point - corners[0]))  # all feet in one place


def _area(a: np.ndarray, b: np.ndarray) -> Any:
    return a[0] * b[1] - a[1] * b[0]


def _length(a: np.ndarray) -> Any:
    return sqrt(a[0] * a[0] + a[1] * a[1])
