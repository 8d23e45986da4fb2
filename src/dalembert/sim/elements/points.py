"""Springs and dampers between two points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.dynamics.algorithms import Load, body_loads, frame_pose, velocity
from dalembert.math import sqrt, where
from dalembert.model import Model

from .base import Action, Element, Situation, positive

Point = tuple[float, float, float]
ORIGIN: Point = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PointSpring(Element):
    """A spring and damper between a point of one frame and a point of another, or of the world.

    stiffness [N/m], length: relaxed [m], damping of the rate of its length [N·s/m]; points [m] in the axes of the
    frames; other: a frame, or "world".
    """

    frame: str
    other: str = "world"
    stiffness: float = 0.0
    length: float = 0.0
    damping: float = 0.0
    point: Point = ORIGIN
    other_point: Point = ORIGIN

    @property
    def loses(self) -> bool:  # type: ignore[override]
        """Only with damping."""
        return bool(self.damping != 0.0)

    def prepared(self, model: Model) -> Model:
        """Checks the frames."""
        for name in (self.frame, self.other):
            if name != "world":
                model.frame(name)
        positive(self.label(), stiffness=self.stiffness, length=self.length, damping=self.damping)
        return model

    def _geometry(self, s: Situation) -> tuple[Any, np.ndarray, Any]:
        """Length, direction (3,) from the other point to this one, rate of the length."""
        p, v = _moving(s, self.frame, self.point)
        p0, v0 = _moving(s, self.other, self.other_point)
        d = p - p0
        square = d @ d
        apart = square > 0.0  # of points that coincide the direction is any, and the force of a stretched spring 0
        size = where(apart, sqrt(where(apart, square, 1.0)), 0.0)
        direction = d / where(apart, size, 1.0)
        return size, direction, direction @ (v - v0)

    def act(self, s: Situation) -> Action:
        """Equal and opposite forces along the line."""
        size, direction, rate = self._geometry(s)
        pull = self.stiffness * (size - self.length) + self.damping * rate
        ends = [(self.frame, self.point, -pull), (self.other, self.other_point, pull)]
        loads = [
            Load(s.model.frame(name), np.zeros(3), force * direction, np.array(point), "world")
            for name, point, force in ends
            if name != "world"
        ]
        return Action(wrenches=body_loads(s.model, s.q, loads), lost=self.damping * rate * rate)

    def energy(self, s: Situation) -> Any:
        """½ k (length − relaxed)²."""
        return 0.5 * self.stiffness * (self._geometry(s)[0] - self.length) ** 2


@dataclass(frozen=True)
class PointDamper(Element):
    """A damper [N·s/m] between two points, against the rate of their distance: `PointSpring` without the spring."""

    loses: ClassVar[bool] = True

    frame: str
    other: str = "world"
    damping: float = 0.0
    point: Point = ORIGIN
    other_point: Point = ORIGIN

    def _spring(self) -> PointSpring:
        return PointSpring(self.frame, self.other, 0.0, 0.0, self.damping, self.point, self.other_point)

    def prepared(self, model: Model) -> Model:
        """Checks the frames."""
        positive(self.label(), damping=self.damping)
        return self._spring().prepared(model)

    def act(self, s: Situation) -> Action:
        """Equal and opposite forces along the line."""
        return self._spring().act(s)


def _moving(s: Situation, name: str, point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity (3,) of a point in the world."""
    if name == "world":
        return np.array(point), np.zeros(3)
    frame, at = s.model.frame(name), np.array(point)
    return frame_pose(s.model, s.q, frame).point(at), velocity(s.model, s.q, s.v, frame, at)[3:]
