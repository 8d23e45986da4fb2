"""Forces of the surroundings: fields of gravity, drag and wind, thrusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.dynamics.algorithms import Load, body_loads, frame_pose, poses, velocity
from dalembert.errors import DalembertError
from dalembert.math import sqrt
from dalembert.model import Model

from .base import Action, Element, Situation, positive

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class GravityField(Element):
    """An acceleration field(p) (3,) [m/s²] on every body at its centre of mass p (3,), beside the model's own gravity.

    potential(p): its potential per mass [m²/s²], field = −grad, for the ledger to count it as stored energy; without
    one the field has an account of the work that it does. Both are traced.
    """

    field: Callable[[np.ndarray], Any]
    potential: Callable[[np.ndarray], Any] | None = None

    @property
    def gives(self) -> bool:  # type: ignore[override]
        """Only where no potential is known."""
        return self.potential is None

    def act(self, s: Situation) -> Action:
        """A force at each centre of mass."""
        loads, power = [], 0.0
        for index, p, m in masses(s):
            frame, com = s.model.frames[index], np.array(s.model.bodies[index].inertia.com)
            force = m * np.asarray(self.field(p))
            loads.append(Load(frame, np.zeros(3), force, com, "world"))
            if self.gives:
                power = power + force @ velocity(s.model, s.q, s.v, frame, com)[3:]
        return Action(wrenches=body_loads(s.model, s.q, loads), given=power)

    def energy(self, s: Situation) -> Any:
        """Σ m potential."""
        if self.potential is None:
            return 0.0
        return sum((m * self.potential(p) for _, p, m in masses(s)), 0.0)


@dataclass(frozen=True)
class CentralGravity(Element):
    """The pull of a distant mass on every body, −μ m r / |r|³ at its centre of mass, beside the model's own gravity.

    mu = G M [m³/s²]; center (3,) in the world [m]. Robots in orbit: give the model no gravity of its own.
    """

    mu: float
    center: Vector = (0.0, 0.0, 0.0)

    def _field(self) -> GravityField:
        def from_center(p: np.ndarray) -> tuple[np.ndarray, Any]:
            r = p - np.array(self.center)
            return r, sqrt(r @ r)

        def field(p: np.ndarray) -> np.ndarray:
            r, size = from_center(p)
            return (-self.mu / (size * size * size)) * r

        return GravityField(field, lambda p: -self.mu / from_center(p)[1])

    def act(self, s: Situation) -> Action:
        """A force at each centre of mass."""
        return self._field().act(s)

    def energy(self, s: Situation) -> Any:
        """−μ m / |r|."""
        return self._field().energy(s)


def masses(s: Situation) -> list[tuple[int, np.ndarray, Any]]:
    """(index, centre of mass (3,) in the world, mass) of each body with mass."""
    X = poses(s.model, s.q)
    bodies = [body for body in s.model.bodies if body.inertia.mass != 0.0]
    return [(body.index, X[body.index].point(body.inertia.com), body.inertia.mass) for body in bodies]


@dataclass(frozen=True)
class Drag(Element):
    """Resistance of air or water at a point of a frame: −½ density area |u| u, u the speed through the medium.

    area: drag coefficient times cross-section [m²]; density [kg/m³]; wind (3,) in the world [m/s], or a function of
    time that can be traced: gusts; linear [N·s/m]: a part proportional to u; angular [N·m·s/rad]: a torque against the
    frame's rotation.
    """

    loses: ClassVar[bool] = True

    frame: str
    area: float = 0.0
    density: float = 1.2
    wind: Vector | Callable[[Any], Any] = (0.0, 0.0, 0.0)
    linear: float = 0.0
    angular: float = 0.0
    point: Vector = (0.0, 0.0, 0.0)

    @property
    def gives(self) -> bool:  # type: ignore[override]
        """Only wind puts in energy."""
        return True if callable(self.wind) else any(self.wind)

    def prepared(self, model: Model) -> Model:
        """Checks the frame."""
        model.frame(self.frame)
        positive(self.label(), area=self.area, density=self.density, linear=self.linear, angular=self.angular)
        return model

    def act(self, s: Situation) -> Action:
        """A wrench on the frame."""
        frame, point = s.model.frame(self.frame), np.array(self.point)
        V = velocity(s.model, s.q, s.v, frame, point)
        wind = np.asarray(self.wind(s.t)) if callable(self.wind) else np.array(self.wind)
        u = V[3:] - wind
        square = u @ u
        factor = self.linear + 0.5 * self.density * self.area * sqrt(square + 1e-300) if self.area else self.linear
        force, torque = -factor * u, -self.angular * V[:3]
        lost = factor * square + self.angular * (V[:3] @ V[:3])
        wrenches = body_loads(s.model, s.q, [Load(frame, torque, force, point, "world")])
        return Action(wrenches=wrenches, lost=lost, given=force @ wind)


@dataclass(frozen=True)
class Thruster(Element):
    """A force along an axis of a frame: a number [N], or a function of time that can be traced."""

    gives: ClassVar[bool] = True

    frame: str
    thrust: float | Callable[[Any], Any]
    axis: Vector = (0.0, 0.0, 1.0)
    point: Vector = (0.0, 0.0, 0.0)

    def prepared(self, model: Model) -> Model:
        """Checks the frame and the axis."""
        model.frame(self.frame)
        if not np.linalg.norm(self.axis) > 0.0:
            raise DalembertError(f"{self.label()}: axis is {self.axis}, expected a direction such as (0, 0, 1)")
        return model

    def act(self, s: Situation) -> Action:
        """The force at its point."""
        frame, point = s.model.frame(self.frame), np.array(self.point)
        size = self.thrust(s.t) if callable(self.thrust) else self.thrust
        along = np.array(self.axis) / np.linalg.norm(self.axis)
        R = frame_pose(s.model, s.q, frame).R
        force = size * (R @ along)
        power = force @ velocity(s.model, s.q, s.v, frame, point)[3:]
        return Action(wrenches=body_loads(s.model, s.q, [Load(frame, np.zeros(3), force, point, "world")]), given=power)
