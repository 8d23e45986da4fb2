"""Supports of the whole-body program: frames that rest on something and push against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, check_positive
from dalembert.robot import Robot


class Cone(NamedTuple):
    """Rows A f ≤ 0 of the force f (k,) of a support, and a name for each."""

    A: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Support:
    """A frame that may rest on a surface: a point, or a rectangle of half lengths `size` (x, y) [m] along its axes.

    friction: coefficient μ; the cone is taken from inside, by a pyramid of `facets` sides. normal (3,): of the surface,
    in the world. most [N]: largest normal force. A rectangle, with its middle at `center` (x, y) [m] in the frame, also
    keeps its centre of pressure within itself.
    """

    frame: str
    friction: float = 0.6
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    size: tuple[float, float] | None = None
    center: tuple[float, float] = (0.0, 0.0)
    facets: int = 4
    most: float = np.inf

    def __post_init__(self) -> None:
        check_positive(f"Support({self.frame}): friction", self.friction)
        if not np.linalg.norm(self.normal) > 0.0:
            raise DalembertError(f"Support({self.frame}): normal is {self.normal!r}, expected a direction")
        if self.facets < 3:
            raise DalembertError(f"Support({self.frame}): facets is {self.facets!r}, expected 3 or more")
        if not self.most > 0.0:
            raise DalembertError(f"Support({self.frame}): most is {self.most!r}, expected a force above 0 [N]")
        if self.size is not None and not (len(self.size) == 2 and min(self.size) > 0.0):
            raise DalembertError(f"Support({self.frame}): size is {self.size!r}, expected two half lengths above 0 [m]")
        if len(self.center) != 2 or (self.size is None and any(self.center)):
            raise DalembertError(
                f"Support({self.frame}): center is {self.center!r}, expected (x, y) [m] of a rectangle"
            )

    @property
    def count(self) -> int:
        """Numbers of its force: 3, or 6 with a size."""
        return 3 if self.size is None else 6

    @property
    def rows(self) -> list[int]:
        """Which of [ω; v] it holds still."""
        return [3, 4, 5] if self.size is None else [0, 1, 2, 3, 4, 5]

    def axes(self) -> np.ndarray:
        """Rows: two directions along the surface, and its normal, in the world (3, 3)."""
        z = np.asarray(self.normal, float) / np.linalg.norm(self.normal)
        x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [0.0, 0.0, 1.0], z)
        x /= np.linalg.norm(x)
        return np.array([x, np.cross(z, x), z])

    def cone(self, R: np.ndarray | None = None) -> Cone:
        """Rows A f ≤ 0 that keep the force within the cone; R (3, 3): the frame's axes, for a rectangle."""
        x, y, z = self.axes()
        inside = self.friction * np.cos(np.pi / self.facets)
        around = [2.0 * np.pi * k / self.facets for k in range(self.facets)]
        force = [np.cos(a) * x + np.sin(a) * y - inside * z for a in around]
        names = [f"friction of {self.frame} (facet {k})" for k in range(self.facets)]
        force.append(-z)
        names.append(f"{self.frame} cannot pull")
        A: Any = np.array(force)
        if self.size is None:
            return Cone(A, tuple(names))
        A = np.concatenate([np.zeros((len(A), 3)), A], axis=1)
        (a, b), (cx, cy) = self.size, self.center
        assert R is not None
        aside = cy * R[:, 0] - cx * R[:, 1]  # of a force, about the normal through the middle
        rows = []
        for sign in (1.0, -1.0):  # centre of pressure: |τ_x| ≤ b f_z, |τ_y| ≤ a f_z, in the frame's axes, at the middle
            rows.append(np.concatenate([sign * R[:, 0], -(b + sign * cy) * z]))
            rows.append(np.concatenate([sign * R[:, 1], -(a - sign * cx) * z]))
            rows.append(np.concatenate([sign * z, sign * aside - 0.5 * self.friction * (a + b) * z]))
            edge = "front" if sign > 0 else "back"
            names += [f"{self.frame} tips (side {edge})", f"{self.frame} tips ({edge})", f"{self.frame} twists"]
        return Cone(np.concatenate([A, np.array(rows, np.result_type(R, float))]), tuple(names))

    def checked(self, robot: Robot) -> None:
        """Raise if the robot has no such frame."""
        robot.frame(self.frame)
