"""Buoyancy: bodies in water, and floats that come out of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import Load, body_loads, frame_pose
from dalembert.errors import DalembertError
from dalembert.math import maximum, minimum
from dalembert.model import Frame, Model
from dalembert.spatial import Inertia

from .base import Action, Element, Situation, above_zero, positive

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Buoyancy(Element):
    """Lift of the fluid that a part of a frame displaces, and the fluid that moves with it.

    volume [m³] about a point (3,) of the frame, in a fluid of a density [kg/m³]; water by default. surface [m]: height
    of the fluid's surface above the world's origin, against gravity, where the volume is a ball that may come out of
    it; None: it is always submerged, whatever its shape. added: mass of the fluid that moves with the volume, as a
    share of what it displaces: ½ for a ball, exactly. Resistance is an element of its own, `Drag` with the fluid's
    density.
    """

    frame: str
    volume: float
    density: float = 1000.0
    point: Vector = (0.0, 0.0, 0.0)
    surface: float | None = None
    added: float = 0.0

    def prepared(self, model: Model) -> Model:
        """The body with the fluid that moves with it."""
        frame = model.frame(self.frame)
        above_zero(self.label(), volume=self.volume, density=self.density)
        positive(self.label(), added=self.added)
        if not np.linalg.norm(np.asarray(model.gravity, float)) > 0.0:
            raise DalembertError(f"{self.label()}: robot {model.name!r} has no gravity, and so the fluid lifts nothing")
        if self.added and self.surface is not None:
            raise DalembertError(
                f"{self.label()}: added={self.added:g} with a surface: the fluid that moves along changes as the ball "
                "comes out; leave one of them out"
            )
        if not self.added:
            return model
        moving = Inertia.from_com(self._added, frame.placement.point(np.array(self.point)), np.zeros((3, 3)))
        bodies = tuple(
            replace(body, inertia=body.inertia + moving) if body.index == frame.body else body for body in model.bodies
        )
        return replace(model, bodies=bodies)

    @property
    def _added(self) -> float:
        """Mass of the fluid that moves along [kg]."""
        return self.added * self.density * self.volume

    def _place(self, s: Situation) -> tuple[Frame, np.ndarray]:
        """The frame, and the place of the volume in the world (3,)."""
        frame = s.model.frame(self.frame)
        return frame, frame_pose(s.model, s.q, frame).point(np.array(self.point))

    def _depth(self, s: Situation, place: np.ndarray) -> tuple[Any, Any, float]:
        """How deep the ball's lowest point is, within the ball and beyond it [m], and its radius [m]."""
        g = s.model.gravity
        assert self.surface is not None
        radius = float(np.cbrt(0.75 * self.volume / np.pi))
        height = -(g @ place) / np.sqrt(g @ g)
        depth = self.surface - height + radius
        return minimum(maximum(depth, 0.0), 2.0 * radius), maximum(depth - 2.0 * radius, 0.0), radius

    def act(self, s: Situation) -> Action:
        """The weight of what is displaced, upwards, through the middle of the volume."""
        frame, place = self._place(s)
        volume: Any = self.volume
        if self.surface is not None:
            h, _, radius = self._depth(s, place)
            volume = np.pi / 3.0 * h * h * (3.0 * radius - h)
        force = -(self.density * volume + self._added) * s.model.gravity  # moving fluid has no weight in fluid
        load = Load(frame, np.zeros(3), force, np.array(self.point), "world")
        return Action(wrenches=body_loads(s.model, s.q, [load]))

    def energy(self, s: Situation) -> Any:
        """The energy that rising releases."""
        _, place = self._place(s)
        g = s.model.gravity
        if self.surface is None:
            return (self.density * self.volume + self._added) * (g @ place)
        h, further, radius = self._depth(s, place)
        within = np.pi * (radius * h * h * h / 3.0 - h * h * h * h / 12.0)
        return self.density * np.sqrt(g @ g) * (within + self.volume * further)
