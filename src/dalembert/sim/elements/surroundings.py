"""The surroundings that a model states, as elements: a fluid, and gravity that is balanced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.dynamics.algorithms import Load, body_loads, frame_pose, velocity
from dalembert.math import abs as absolute
from dalembert.math import maximum, sqrt
from dalembert.model import Frame, Model
from dalembert.model.surroundings import Compensation, FluidShape, Medium
from dalembert.spatial import cross

from .base import Action, Element, Situation
from .tendons import tendons

TINY = 1e-300  # added below a root, whose slope is finite at 0 then
LEAST = 1e-15  # what divisors stay above


@dataclass(frozen=True)
class GravityCompensation(Element):
    """Forces at centres of mass that balance a share of the weight of links."""

    compensations: tuple[Compensation, ...]

    def _weights(self, model: Model) -> list[tuple[Frame, np.ndarray, np.ndarray]]:
        """(frame of the link, its centre of mass in it, its balanced weight (3,) [N], along gravity)."""
        parts = {part.name: part for body in model.bodies for part in body.parts}
        links = [(parts[each.link].inertia, each) for each in self.compensations]
        return [
            (model.frame(each.link), np.array(inertia.com), each.share * inertia.mass * model.gravity)
            for inertia, each in links
            if inertia.mass != 0.0
        ]

    def act(self, s: Situation) -> Action:
        """Against gravity."""
        loads = [Load(frame, np.zeros(3), -weight, com, "world") for frame, com, weight in self._weights(s.model)]
        return Action(wrenches=body_loads(s.model, s.q, loads))

    def energy(self, s: Situation) -> Any:
        """The energy that sinking releases."""
        return sum((weight @ frame_pose(s.model, s.q, f).point(com) for f, com, weight in self._weights(s.model)), 0.0)


@dataclass(frozen=True)
class Fluid(Element):
    """A fluid that resists the links of a robot, as MuJoCo's two models do.

    Boxes: Stokes' friction of a sphere of the mean edge, and drag of each face. Ellipsoids: drag between blunt and
    slender, Kutta and Magnus lift, added mass.   Andersen, Pesavento, Wang 2005
    """

    loses: ClassVar[bool] = True

    medium: Medium

    @property
    def gives(self) -> bool:  # type: ignore[override]
        """Wind puts in energy; so do the added mass and lift of ellipsoids, which are not energy of the ledger."""
        return bool(np.any(self.medium.wind)) or any(shape.coefficients for shape in self.medium.shapes)

    def act(self, s: Situation) -> Action:
        """A wrench on each shape."""
        loads, lost, put_in = [], 0.0, 0.0
        for shape in self.medium.shapes:
            frame = s.model.frame(shape.link)
            V = velocity(s.model, s.q, s.v, frame, shape.placement.p)
            R = frame_pose(s.model, s.q, frame).R @ shape.placement.R
            w, u = R.T @ V[:3], R.T @ (V[3:] - np.asarray(self.medium.wind))
            drag, lift = (_on_ellipsoid if shape.coefficients else _on_box)(self.medium, shape, w, u)
            torque, force = (R @ (shape.share * (a + b)) for a, b in zip(drag, lift, strict=True))
            loads.append(Load(frame, torque, force, shape.placement.p, "world"))
            heat = -shape.share * (drag[0] @ w + drag[1] @ u)
            lost = lost + heat
            put_in = put_in + (torque @ V[:3] + force @ V[3:] + heat)
        return Action(wrenches=body_loads(s.model, s.q, loads), lost=lost, given=put_in if self.gives else 0.0)


Wrench = tuple[np.ndarray, np.ndarray]  # torque and force, along the axes of the shape


def _on_box(medium: Medium, shape: FluidShape, w: np.ndarray, u: np.ndarray) -> tuple[Wrench, Wrench]:
    """Drag of a box, and no lift."""
    a, b, c = shape.size
    mean = (a + b + c) / 3.0
    stokes = np.pi * medium.viscosity * mean
    torque, force = -stokes * mean * mean * w, -3.0 * stokes * u
    faces = 0.5 * medium.density * np.array([b * c, a * c, a * b])
    turning = medium.density / 64.0 * np.array([a * (b**4 + c**4), b * (a**4 + c**4), c * (a**4 + b**4)])
    torque = torque - turning * np.array([absolute(x) for x in w]) * w
    force = force - faces * np.array([absolute(x) for x in u]) * u
    return (torque, force), (np.zeros(3), np.zeros(3))


def _on_ellipsoid(medium: Medium, shape: FluidShape, w: np.ndarray, u: np.ndarray) -> tuple[Wrench, Wrench]:
    """Drag of an ellipsoid; lift and added mass."""
    rho, (a, b, c) = medium.density, (float(x) for x in shape.size)
    blunt, slender, angular, kutta, magnus = shape.coefficients
    _, middle, most = sorted((a, b, c))
    sides = np.array([b * c, c * a, a * b])
    seen, weighted = (sides**4 * u * u).sum(), (sides**2 * u * u).sum()
    area = np.pi * sqrt(seen / maximum(weighted, LEAST) + TINY)  # of the shadow that it casts along its way
    speed = sqrt(u @ u + TINY)
    mean = 2.0 / 3.0 * (a + b + c)
    moments = [8.0 / 15.0 * np.pi * x * max(y, z) ** 4 for x, y, z in ((a, b, c), (b, c, a), (c, a, b))]
    largest = 8.0 / 15.0 * np.pi * middle * most**4
    swept = w * np.array([angular * m + slender * (largest - m) for m in moments])
    linear = 3.0 * np.pi * mean * medium.viscosity
    linear = linear + rho * speed * (blunt * area + slender * (np.pi * most * middle - area))
    turning = np.pi * mean**3 * medium.viscosity + rho * sqrt(swept @ swept + TINY)
    slope = weighted / maximum(speed * seen, LEAST)
    lift = cross(cross(sides**2 * u, u) * (kutta * rho * slope * area), u)
    lift = lift + cross(w, u) * (magnus * rho * 4.0 / 3.0 * np.pi * a * b * c)
    momentum, spin = rho * np.array(shape.virtual_mass) * u, rho * np.array(shape.virtual_inertia) * w
    added = cross(momentum, u) + cross(spin, w)
    return (-turning * w, -linear * u), (added, lift + cross(momentum, w))


def surroundings(model: Model) -> tuple[Element, ...]:
    """The elements of what surrounds a model, and of its tendons."""
    around = model.surroundings
    medium: tuple[Element, ...] = () if around.medium is None else (Fluid(around.medium),)
    balanced: tuple[Element, ...] = (GravityCompensation(around.compensations),) if around.compensations else ()
    return (*medium, *balanced, *tendons(model))
