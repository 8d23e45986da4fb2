"""Forces of the surroundings: gravity fields, drag and wind, thrusters, buoyancy, fluids, gravity compensation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dalembert.dynamics.algorithms import Load, body_loads, frame_pose, poses, velocity
from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import maximum, minimum, sqrt
from dalembert.model import Frame, Model
from dalembert.model.surroundings import Compensation, FluidShape, Medium
from dalembert.spatial import Inertia, cross
from dalembert.typing import Array

from .base import Action, Element, Situation, above_zero, positive
from .couplings import tendons

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class GravityField(Element):
    """An acceleration field(p) (3,) [m/s²] on every body at its centre of mass p (3,), beside the model's own gravity.

    potential(p): its potential per mass [m²/s²], field = −grad, for the ledger to count it as stored energy; without
    one the field has an account of the work that it does. Both are traced.
    """

    field: Callable[[Array], Any]
    potential: Callable[[Array], Any] | None = None

    @property
    def gives(self) -> bool:  # type: ignore[override]
        return self.potential is None

    def act(self, s: Situation) -> Action:
        loads, power = [], 0.0
        for index, p, m in masses(s):
            frame, com = s.model.frames[index], np.array(s.model.bodies[index].inertia.com)
            force = m * np.asarray(self.field(p))
            loads.append(Load(frame, np.zeros(3), force, com, "world"))
            if self.gives:
                power = power + force @ velocity(s.model, s.q, s.v, frame, com)[3:]
        return Action(wrenches=body_loads(s.model, s.q, loads), given=power)

    def energy(self, s: Situation) -> Any:
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
        def from_center(p: Array) -> tuple[Array, Any]:
            r = p - np.array(self.center)
            return r, sqrt(r @ r)

        def field(p: Array) -> Array:
            r, size = from_center(p)
            return (-self.mu / (size * size * size)) * r

        return GravityField(field, lambda p: -self.mu / from_center(p)[1])

    def act(self, s: Situation) -> Action:
        return self._field().act(s)

    def energy(self, s: Situation) -> Any:
        return self._field().energy(s)


def masses(s: Situation) -> list[tuple[int, Array, Any]]:
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
        return True if callable(self.wind) else any(self.wind)

    def prepared(self, model: Model) -> Model:
        model.frame(self.frame)
        positive(self.label(), area=self.area, density=self.density, linear=self.linear, angular=self.angular)
        return model

    def act(self, s: Situation) -> Action:
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
        model.frame(self.frame)
        if not np.linalg.norm(self.axis) > 0.0:
            raise DalembertError(f"{self.label()}: axis is {self.axis}, expected a direction such as (0, 0, 1)")
        return model

    def act(self, s: Situation) -> Action:
        frame, point = s.model.frame(self.frame), np.array(self.point)
        size = self.thrust(s.t) if callable(self.thrust) else self.thrust
        along = np.array(self.axis) / np.linalg.norm(self.axis)
        R = frame_pose(s.model, s.q, frame).R
        force = size * (R @ along)
        power = force @ velocity(s.model, s.q, s.v, frame, point)[3:]
        return Action(wrenches=body_loads(s.model, s.q, [Load(frame, np.zeros(3), force, point, "world")]), given=power)


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

    def _place(self, s: Situation) -> tuple[Frame, Array]:
        """The frame, and the place of the volume in the world (3,)."""
        frame = s.model.frame(self.frame)
        return frame, frame_pose(s.model, s.q, frame).point(np.array(self.point))

    def _depth(self, s: Situation, place: Array) -> tuple[Any, Any, float]:
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
        _, place = self._place(s)
        g = s.model.gravity
        if self.surface is None:
            return (self.density * self.volume + self._added) * (g @ place)
        h, further, radius = self._depth(s, place)
        within = np.pi * (radius * h * h * h / 3.0 - h * h * h * h / 12.0)
        return self.density * np.sqrt(g @ g) * (within + self.volume * further)


TINY = 1e-300  # added below a root, whose slope is finite at 0 then
LEAST = 1e-15  # what divisors stay above


@dataclass(frozen=True)
class GravityCompensation(Element):
    """Forces at centres of mass that balance a share of the weight of links."""

    compensations: tuple[Compensation, ...]

    def _weights(self, model: Model) -> list[tuple[Frame, Array, Array]]:
        """(frame of the link, its centre of mass in it, its balanced weight (3,) [N], along gravity)."""
        parts = {part.name: part for body in model.bodies for part in body.parts}
        links = [(parts[each.link].inertia, each) for each in self.compensations]
        return [
            (model.frame(each.link), np.array(inertia.com), each.share * inertia.mass * model.gravity)
            for inertia, each in links
            if inertia.mass != 0.0
        ]

    def act(self, s: Situation) -> Action:
        loads = [Load(frame, np.zeros(3), -weight, com, "world") for frame, com, weight in self._weights(s.model)]
        return Action(wrenches=body_loads(s.model, s.q, loads))

    def energy(self, s: Situation) -> Any:
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


def _on_box(medium: Medium, shape: FluidShape, w: Array, u: Array) -> tuple[Wrench, Wrench]:
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


def _on_ellipsoid(medium: Medium, shape: FluidShape, w: Array, u: Array) -> tuple[Wrench, Wrench]:
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
