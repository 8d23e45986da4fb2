"""A mechanism in the words of its drawing: bodies with named points, joints between points, forces, sensors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Self

from dalembert.contact import Contact
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model, ModelBuilder
from dalembert.sim.elements import Element, IndependentJoints

from .assembly import Mobility, mobility, stays_independent
from .build import MechanismParts, built_free, built_tree, bushing, tree_of
from .changes import simulate_changes
from .drawing import Drawing
from .elements import AxisForce, Controller, LineForce, NamedSpring, PointLoad
from .hydraulics import Cylinder
from .parts import GROUND, JointPart, law_stated, numbers, unit
from .robot import MechanismRobot
from .sensors import SENSORS, Sensor
from .wheels import Wheel, check_rolling

COORDINATES = ("tree", "free")
AXIAL = ("revolute", "prismatic", "cylindrical", "screw")  # at which motors and springs act, on their angle or shift


class Mechanism(Drawing):
    """Bodies, joints between their named points, forces and sensors; `build` gives the robot.

    gravity (3,) in the world [m/s²]. Points are written "body.point"; "ground" is a body that does not move, and every
    body has the points "origin" (its frame) and "com". Two numbers are a point in the x-y plane.
    """

    def __init__(self, name: str, gravity: Any = (0.0, 0.0, -9.81)) -> None:
        super().__init__(name, gravity)
        self._elements: dict[str, Element] = {}
        self._sensors: dict[str, Sensor] = {}
        self._touching: list[tuple[str, str]] = []
        self._touch: dict[str, Any] = {}

    # ---- forces

    def spring(
        self,
        a: str,
        b: str | None = None,
        *,
        stiffness: float = 0.0,
        length: float | None = None,
        rest: float = 0.0,
        damping: float = 0.0,
        name: str | None = None,
    ) -> Self:
        """A spring and damper between two points, of relaxed `length` [m], or along the coordinate of a joint.

        spring("crank.tip", "ground.A", stiffness=…, length=…) [N/m, N·s/m]; spring("pin", stiffness=…, rest=…), where
        rest is the angle or shift at which it is relaxed [N·m/rad or N/m].
        """
        name = name or f"spring{len(self._elements) + 1}"
        where = f"mechanism {self.name!r}: {name!r}"
        if b is None:
            return self._add(self._axis_force(name, a, where, stiffness=stiffness, rest=rest, damping=damping))
        frame, other = self._two_ends(a, b, where)
        relaxed = 0.0 if length is None else float(numbers(length, where, "length", ()))
        return self._add(NamedSpring(frame, other, stiffness, relaxed, damping, name=name))

    def damper(self, a: str, b: str | None = None, *, damping: float, name: str | None = None) -> Self:
        """A damper between two points [N·s/m], or along the coordinate of a joint [N·m·s/rad or N·s/m]."""
        return self.spring(a, b, damping=damping, name=name or f"damper{len(self._elements) + 1}")

    def force(self, point: str, force: Any, *, axes: str = "world", name: str | None = None) -> Self:
        """A force (3,) [N] at a point: numbers, or a traced function (t, q, v); axes: "world" or "frame"."""
        return self._load(point, name or f"force{len(self._elements) + 1}", axes, force=force)

    def moment(self, point: str, moment: Any, *, axes: str = "world", name: str | None = None) -> Self:
        """A moment (3,) [N·m] on the body of a point, as `force`."""
        return self._load(point, name or f"moment{len(self._elements) + 1}", axes, moment=moment)

    def _load(self, point: str, name: str, axes: str, **values: Any) -> Self:
        where = f"mechanism {self.name!r}: {name!r}"
        stated = {key: law_stated(value, where, key, ("t", "q", "v"), (3,)) for key, value in values.items()}
        return self._add(PointLoad(name, self._end(point, where).name, axes=axes, **stated))

    def actuator(self, a: str, b: str, effort: float | Callable[..., Any], *, name: str | None = None) -> Self:
        """A linear actuator that drives two points apart [N]: a number, or a traced function (t, length, rate)."""
        name = name or f"actuator{len(self._elements) + 1}"
        where = f"mechanism {self.name!r}: {name!r}"
        law = law_stated(effort, where, "effort", ("t", "length", "rate"))
        return self._add(LineForce(name, *self._two_ends(a, b, where), law))

    def cylinder(self, a: str, b: str, *, name: str | None = None, **values: Any) -> Self:
        """A hydraulic cylinder between two points; values: bore, rod, stroke, hose, bulk, damping, speed, closure, …

        See `Cylinder`: oil as a spring about the length that a constant flow asks for, until the valve closes.
        """
        name = name or f"cylinder{len(self._elements) + 1}"
        where = f"mechanism {self.name!r}: {name!r}"
        known = [field.name for field in fields(Cylinder)][4:]
        for key in values:
            if key not in known:
                raise unknown("argument", key, known, where)
        frame, other = self._two_ends(a, b, where)
        return self._add(Cylinder(name, frame, other, 0.0, **values))

    def motor(
        self,
        joint: str,
        effort: float | Callable[..., Any],
        *,
        stall: float | None = None,
        no_load: float | None = None,
        name: str | None = None,
    ) -> Self:
        """A motor at a joint [N·m or N]: a number, or a traced function (t, angle, speed) of the joint's coordinate.

        stall, no_load: the torque is cut to a line from `stall` at rest to nothing at the speed `no_load`.
        """
        name = name or f"motor{len(self._elements) + 1}"
        where = f"mechanism {self.name!r}: {name!r}"
        law = law_stated(effort, where, "effort", ("t", "angle", "speed"))
        return self._add(self._axis_force(name, joint, where, effort=law, stall=stall, no_load=no_load))

    def controller(self, joint: str, target: float | Callable[..., Any], *, kp: float, kd: float = 0.0, ki: float = 0.0,
                   limit: float | None = None, name: str | None = None) -> Self:  # fmt: skip
        """A controller at a joint: kp (target − x) − kd ẋ + ki ∫ (target − x) dt, at most `limit` [N·m or N].

        target [rad or m]: a number, or a traced function of time. See `Controller`.
        """
        name = name or f"controller{len(self._elements) + 1}"
        where = f"mechanism {self.name!r}: {name!r}"
        force = self._axis_force(name, joint, where)
        placed = (force.name, force.frame, force.other, force.axis, force.turning)
        goal = law_stated(target, where, "target", ("t",))
        return self._add(Controller(*placed, target=goal, kp=kp, kd=kd, ki=ki, limit=limit))

    def contact(self, a: str, b: str = GROUND, **settings: Any) -> Self:
        """Let two bodies, or shapes by name, touch; "ground" is a floor at the height `ground` [m], by default 0.

        settings: of `dalembert.Contact`, model, friction, restitution …; all contacts of a mechanism share them.
        """
        where = f"mechanism {self.name!r}: contact of {a!r} with {b!r}"
        for name in (a, b):
            if name not in (*self._bodies, *self._shapes):
                raise unknown("body or shape", name, (*self._bodies, *self._shapes), where)
            shapes = [x for x in self._shapes.values() if name in (x.name, x.at.body)]
            if name != GROUND and not shapes:
                raise DalembertError(f"{where}: body {name!r} has no shape: give it one, shape('{name}.origin', …)")
        if self._touching and settings and settings != self._touch:
            raise DalembertError(
                f"{where}: settings are {settings}, and those of the others are {self._touch}: give the same, or none"
            )
        self._touch = settings or self._touch
        Contact(pairs=[*self._touching, (a, b)], **self._touch)  # refuses settings that mean nothing
        self._touching.append((a, b))
        return self

    @property
    def touching(self) -> Contact | None:
        """The contact settings; None: nothing may touch."""
        return Contact(pairs=list(self._touching), **self._touch) if self._touching else None

    @property
    def contacts(self) -> tuple[tuple[tuple[str, str], dict[str, Any]], ...]:
        """Pairs that may touch, with the settings of their contact."""
        return tuple((pair, dict(self._touch)) for pair in self._touching)

    def wheel(
        self, point: str, radius: float, *, axis: Any = (0, 1, 0), normal: Any = (0, 0, 1), level: float = 0.0,
        name: str | None = None,
    ) -> Self:  # fmt: skip
        """Let a body roll on level ground without slipping, as a thin wheel of `radius` [m] about `axis` of a point.

        normal (3,) of the ground in the world, level [m]: how high it is. The wheel must touch it where it is put
        together; its speeds must be those of rolling.
        """
        name = name or f"wheel{len(self._elements) + 1}"
        where = f"mechanism {self.name!r}: {name!r}"
        about, up = (tuple(unit(x, where, what).tolist()) for x, what in ((axis, "axis"), (normal, "normal")))
        return self._add(Wheel(name, self._end(point, where).name, radius, about, up, level))

    def element(self, element: Element) -> Self:
        """Any force element of `dalembert.elements`; its frames are points, as in "crank.tip"."""
        if not isinstance(element, Element):
            raise DalembertError(f"mechanism {self.name!r}: element is {element!r}, expected a force element")
        return self._keep(element)

    def _axis_force(self, name: str, joint: str, where: str, **values: Any) -> AxisForce:
        if joint not in self._joints:
            raise unknown("joint", joint, self._joints, where)
        part = self._joints[joint]
        if part.kind not in AXIAL:
            raise DalembertError(f"{where}: joint {joint!r} is {part.kind}, expected {', '.join(AXIAL)}")
        axis = tuple(part.shape["axis"].tolist())
        return AxisForce(name, part.a.name, part.b.name, axis, part.kind != "prismatic", **values)

    # ---- sensors

    def sensor(self, kind: str, of: str, *, name: str | None = None) -> Self:
        """Record something with every run: "position", "velocity", "acceleration" (3,) of a point in the world;
        "angle", "rate" of a joint's coordinate; "force", "moment" (3,) that a joint puts on its body b, in the world,
        at its point b; "power" [W] that a named element puts in; "contact-force" (3,), the sum of all contact forces
        on a body in the world, and its least "gap" [m].
        """
        name = name or f"{kind} of {of}"
        where = f"mechanism {self.name!r}: sensor {name!r}"
        if kind not in SENSORS:
            raise unknown("sensor", kind, SENSORS, where)
        self._check_name(where, name, self._sensors)
        target = SENSORS[kind].target
        if target == "point":
            of = self._end(of, where).name
        elif target == "touching":
            if of not in self._bodies:
                raise unknown("body", of, self._bodies, where)
            shaped = {shape.name: shape.at.body for shape in self._shapes.values()}
            if of not in {shaped.get(name, name) for pair in self._touching for name in pair}:
                raise DalembertError(f"{where}: body {of!r} may touch nothing: say what with contact(…) before")
        elif of not in (self._joints if target == "joint" else self._elements):
            raise unknown(target, of, self._joints if target == "joint" else self._elements, where)
        self._sensors[name] = Sensor(name, kind, of)
        return self

    # ---- what comes of it

    @property
    def joints(self) -> Mapping[str, JointPart]:
        """The joints by name."""
        return self._joints

    @property
    def elements(self) -> Mapping[str, Element]:
        """Springs, motors, loads … by name."""
        return self._elements

    @property
    def sensors(self) -> Mapping[str, Sensor]:
        """The sensors by name."""
        return self._sensors

    @property
    def parts(self) -> MechanismParts:
        """All bodies, joints and relations."""
        lists = list(self._relations.values()), list(self._shapes.values())
        return MechanismParts(self.name, self.gravity, dict(self._bodies), dict(self._joints), *lists)

    def build(self, coordinates: str = "tree", *, step: float | None = None) -> MechanismRobot:
        """The robot, put together.

        coordinates: "tree", the joint coordinates of a spanning tree, other joints closing loops; "free", every body
        with
        six freedoms and every joint a closure, as in maximal coordinates. step [s]: the time step for which the
        stiffness
        of joints held by springs is advised, where it was not stated.
        """
        if coordinates not in COORDINATES:
            raise DalembertError(f"mechanism {self.name!r}: coordinates is {coordinates!r}, expected 'tree' or 'free'")
        if len(self._bodies) < 2:
            raise DalembertError(f"mechanism {self.name!r} has no bodies: add one with body(…)")
        parts = self.parts
        model, q, v = built_tree(parts) if coordinates == "tree" else built_free(parts)
        check_rolling(model, (x for x in self._elements.values() if isinstance(x, Wheel)), q, v, parts.what)
        held = [joint for joint in self._joints.values() if joint.springs is not None]
        elements = [*self._elements.values(), *(bushing(parts, model, q, joint, step) for joint in held)]
        if coordinates == "free" and tree_of(parts).closing and stays_independent(model, q):
            elements.append(IndependentJoints())
        return MechanismRobot(model, (), self, coordinates, elements, (q, v))

    def simulate(self, duration: float, *, coordinates: str = "tree", changes: Any = (), **options: Any) -> Any:
        """Let it move for `duration` [s] from where it was put together; options as of `Robot.simulate`.

        changes: `Change`s, joints that break or lock and elements that get other values on the way; then the result is
        a `ChangedRun`.
        """
        if changes:
            return simulate_changes(self, duration, changes, coordinates, **options)
        robot = self.build(coordinates, step=options.get("step"))
        return robot.simulate(*robot.start, duration, **options)

    def mobility(self) -> Mobility:
        """How many freedoms it has, by counting and by rank, and which joints say what others say already."""
        return mobility(self.parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as a .mech.toml file; forces that are functions are refused by name."""
        from .files import save

        save(self, path)

    def _two_ends(self, a: str, b: str, where: str) -> tuple[str, str]:
        """The points of two bodies by name."""
        first, second = self._end(a, where), self._end(b, where)
        if first.body == second.body:
            raise DalembertError(f"{where}: {a!r} and {b!r} are points of one body, {first.body!r}: take points of two")
        return first.name, second.name

    def _add(self, element: Element) -> Self:
        """An element of the mechanism's own; refuses numbers that mean nothing."""
        try:
            element.prepared(_points_alone(element))
        except DalembertError as error:
            raise DalembertError(f"mechanism {self.name!r}: {error}") from None
        return self._keep(element)

    def _keep(self, element: Element) -> Self:
        name = element.label()
        self._check_name(f"mechanism {self.name!r}: element {name!r}", name, self._elements)
        self._elements[name] = element
        return self


def _points_alone(element: Element) -> Model:
    """A model that has the points of an element, and nothing else."""
    builder = ModelBuilder("points")
    builder.add_body(GROUND, parent="world")
    for point in {getattr(element, key, GROUND) for key in ("frame", "other")} - {GROUND, "world"}:
        builder.add_frame(point, body=GROUND)
    return builder.model()
