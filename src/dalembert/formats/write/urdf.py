"""Model → URDF. What URDF cannot express goes into <dalembert> elements, which other readers pass over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lxml import etree

from dalembert.model import Body, Closure, Geometry, Joint, JointEquation, Model, Part, motors_of
from dalembert.model.assembly import WORLD
from dalembert.model.closures import WORLD_BODY
from dalembert.model.joints import AxisJoint, Step
from dalembert.model.joints.joint import LIMITS
from dalembert.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from dalembert.spatial import Inertia, Pose, so3

from ..urdf.elements import MANY
from .layout import Item, UniqueNames, contents, further_limits, spread
from .losses import Losses
from .shapes import Package, stated_scale, without_capsules, written
from .text import Element, add, number, numbers, tidied

GRAVITY = (0.0, 0.0, -9.81)
FORMAT = "urdf"  # among the keywords of joints
# class → the tag, and its attributes
WORDS: dict[type, tuple[str, Callable[[Any], dict[str, str]]]] = {
    Box: ("box", lambda shape: {"size": numbers(shape.size)}),
    Sphere: ("sphere", lambda shape: {"radius": number(shape.radius)}),
    Cylinder: ("cylinder", lambda shape: {"radius": number(shape.radius), "length": number(shape.length)}),
}
PASSED_OVER = "written in <dalembert>, which other readers ignore"


def to_urdf(model: Model, losses: Losses, package: Package, geometry: bool = True) -> Element:
    """The <robot> element."""
    return _Urdf(model, losses, package, geometry).robot()


class _Urdf:
    def __init__(self, model: Model, losses: Losses, package: Package, geometry: bool) -> None:
        self.model, self.losses, self.package, self.geometry = model, losses, package, geometry
        self.root = self.extension = etree.Element("robot")
        self.joints = UniqueNames(body.joint.name for body in model.bodies)
        self.links = UniqueNames(frame.name for frame in model.frames)

    def robot(self) -> Element:
        self.root.set("name", self.model.name)
        self._base(self.model.bodies[0])
        carried = contents(self.model)
        base = Item(self.model.bodies[0], Pose.identity())
        stack: list[tuple[str, Item]] = [("", base)]
        while stack:  # depth first, as the model numbers its bodies
            parent, item = stack.pop()
            what, name = item.what, item.what.name
            if isinstance(what, Body):
                if what.index:
                    self._moving(parent, what, item.placement)
                self._link(what.parts[0])
            else:
                self._joint(self.joints.new(f"{name}_fixed"), "fixed", parent, name, item.placement)
                self._link(what if isinstance(what, Part) else Part(name, what.placement, Inertia.zero()))
            stack += [(name, child) for child in reversed(carried.get(name, []))]
        for closure in self.model.closures:
            self._closure(closure)
        motors = motors_of(self.model)
        for name in motors.joints if motors.stated else ():
            add(add(self.root, "transmission", name=f"{name}_motor"), "joint", name=name)
        return self.root

    def _base(self, base: Body) -> None:
        """<dalembert base gravity xyz rpy …>, where any of them differs from URDF's default.

        A base that is held somewhere else than at the origin hangs on a link `world`, as other readers expect it.
        """
        stated: dict[str, str] = {}
        held = not base.joint.nv and WORLD not in self.links.taken
        if self.model.bodies[0].joint.nv:
            stated = {"base": "free"} | _differing(base.joint, MANY)
            if base.joint.name != base.name:
                self.losses.note("joint", base.joint.name, "the base's joint has no name in URDF", "takes the link's")
        placed = bool(np.any(base.placement.matrix() != np.eye(4)))
        if placed and not held:
            stated |= _origin(base.placement)
        if np.any(self.model.gravity != GRAVITY):
            stated["gravity"] = numbers(self.model.gravity)
        if stated:
            self.losses.note("link", base.name, f"of the base or the world: {', '.join(stated)}", PASSED_OVER)
        if placed and held:
            stated["held_by"] = self.joints.new(f"{base.name}_in_{WORLD}")
            self.losses.note(
                "link", base.name, "not at the world's origin", f"a fixed joint holds it on a link '{WORLD}'"
            )
        if stated or self.model.closures:
            self.extension = add(self.root, "dalembert", **stated)
        if placed and held:
            add(self.root, "link", name=WORLD)
            self._joint(stated["held_by"], "fixed", WORLD, base.name, base.placement)

    def _closure(self, closure: Closure | JointEquation) -> None:
        """<loop> or <equation> in the robot's <dalembert>."""
        self.losses.note("closure", closure.name, f"a {closure.kind} closure: URDF holds trees only", PASSED_OVER)
        if isinstance(closure, JointEquation):
            if closure.others or closure.kind != "equation":
                what = f"<equation> has no {closure.kind} of these joints: {', '.join(closure.joints)}"
                self.losses.refuse("closure", closure.name, what, "keep the mechanism as .mech.toml")
                return
            ends: dict[str, str | None] = {"follower": closure.follower, "leader": closure.leader or None}
            add(self.extension, "equation", name=closure.name, coefficients=numbers(closure.coefficients), **ends)
            return
        loop = add(self.extension, "loop", name=closure.name, kind=closure.kind)
        for end, frame in (("a", closure.a), ("b", closure.b)):
            loop.set(end, WORLD if frame.body == WORLD_BODY else self.model.bodies[frame.body].name)
        for end, frame in (("a", closure.a), ("b", closure.b)):
            for key, value in _origin(frame.placement).items():
                loop.set(f"{key}_{end}", value)
        for key in ("axis", "axis2", "pitch", "length"):
            if hasattr(closure, key):
                loop.set(key, numbers([getattr(closure, key)]))

    # ---- joints

    def _moving(self, parent: str, body: Body, placement: Pose) -> None:
        """The joint of a body; several joints with massless links between them where URDF has no such joint."""
        row = spread(body.joint, self.joints, FORMAT, self.losses)
        for step in row:
            child = body.name if step is row[-1] else self.links.new(f"{step.joint.name}_link")
            self._law(self._joint(step.joint.name, step.joint.keywords[FORMAT], parent, child, placement), step)
            if child != body.name:
                add(self.root, "link", name=child)
            parent, placement = child, Pose.identity()

    def _joint(self, name: str, kind: str, parent: str, child: str, placement: Pose) -> Element:
        element = add(self.root, "joint", name=name, type=kind)
        if origin := _origin(placement):
            add(element, "origin", **origin)
        add(element, "parent", link=parent)
        add(element, "child", link=child)
        return element

    def _law(self, element: Element, step: Step) -> None:
        """Axis, limits, dynamics, mimic, and the attributes that go into <dalembert>."""
        joint = step.joint
        if isinstance(joint, AxisJoint):
            add(element, "axis", xyz=numbers(joint.axis))
        if joint.nv == 1:
            self._limits(element, joint)
            if joint.damping[0] or joint.friction[0]:
                add(element, "dynamics", damping=number(joint.damping[0]), friction=number(joint.friction[0]))
            fields: tuple[str, ...] = ("armature", "stribeck", "stiffness", "continuous_limit")
            fields += ("rest",) if joint.stiffness[0] else ()
            fields += ("slip_speed",) if joint.friction[0] or joint.stribeck[0] else ()
            fields += ("stribeck_speed",) if joint.stribeck[0] else ()
            stated = _differing(joint, fields)
        else:
            stated = _differing(joint, MANY)
        if step.mimic is not None:
            leader, ratio, offset = step.mimic
            add(element, "mimic", joint=leader, multiplier=number(ratio), offset=number(offset))
        if stated:
            self.losses.note("joint", joint.name, ", ".join(stated), PASSED_OVER)
            add(element, "dalembert", **stated)

    def _limits(self, element: Element, joint: Joint) -> None:
        """<limit>, which URDF demands of revolute and prismatic joints: the largest double means none."""
        further = {word: number(value) for word, value in further_limits(joint).items()}
        if further:
            self.root.set("version", "1.2")
            what = f"limits of {', '.join(further)}, words of URDF 1.2"
            self.losses.note("joint", joint.name, what, "the file states that version, which older readers refuse")
        rates = {"effort": number(joint.effort_limit[0]), "velocity": number(joint.velocity_limit[0])} | further
        if joint.limited:
            add(element, "limit", lower=number(joint.lower[0]), upper=number(joint.upper[0]), **rates)
        elif any(np.isfinite(getattr(joint, limit)[0]) for limit in LIMITS):
            add(element, "limit", **rates)

    # ---- links

    def _link(self, part: Part) -> None:
        link = add(self.root, "link", name=part.name)
        inertia = part.inertia
        if np.any(inertia.parameters()):
            inertial = add(link, "inertial")
            if origin := _origin(Pose(np.eye(3), com_of(inertia))):
                add(inertial, "origin", **origin)
            add(inertial, "mass", value=number(inertia.mass))
            add(inertial, "inertia", **tensor(inertia))
            report_moment(self.losses, part)
        shapes = part.geometry if self.geometry else self.losses.no_shapes(part)
        for shape in written(part.name, without_capsules(shapes), {Mesh, *WORDS}, self.losses, self.package):
            self._shape(link, shape)
        if any(geometry.surface is not None for geometry in shapes):
            what = "friction and stiffness of its shapes"
            self.losses.note("link", part.name, what, "left out: URDF cannot express them")
        if any(type(geometry.shape) is Capsule for geometry in shapes):
            what = "URDF has no capsule"
            self.losses.note("link", part.name, what, "a cylinder with a ball at each end, the same space")

    def _shape(self, link: Element, geometry: Geometry) -> None:
        holder, shape = etree.Element("geometry"), geometry.shape
        if isinstance(shape, Mesh):
            scale = stated_scale(shape)
            uri = self.package.uri(shape.file, "package")
            add(holder, "mesh", filename=uri, scale=None if scale is None else numbers(scale))
        else:
            tag, attributes = WORDS[type(shape)]
            add(holder, tag, **attributes(shape))
        element = add(link, geometry.role, name=geometry.name or None)
        if origin := _origin(geometry.placement):
            add(element, "origin", **origin)
        element.append(holder)
        if geometry.color is not None and geometry.role == "visual":
            rgba = numbers(geometry.color)
            add(add(element, "material", name=f"rgba {rgba}"), "color", rgba=rgba)


def com_of(inertia: Inertia) -> np.ndarray:
    """The centre of mass (3,) with digits that people wrote."""
    return tidied(inertia.com, float(np.max(np.abs(inertia.com))))


def tensor(inertia: Inertia) -> dict[str, str]:
    """ixx ixy … of the rotational inertia about the centre of mass, in the link's axes."""
    I = tidied(inertia.about_com(), float(np.max(np.abs(inertia.I))))
    return {f"i{'xyz'[i]}{'xyz'[j]}": number(I[i, j]) for i in range(3) for j in range(i, 3)}


def report_moment(losses: Losses, part: Part) -> None:
    """A first moment without mass has no centre of mass; only estimated parameters can be like that."""
    if part.inertia.mass == 0.0 and np.any(part.inertia.moment):
        losses.refuse("link", part.name, "no mass, but a first moment", "give it a mass, with robot.with_parameters")


def _origin(X: Pose) -> dict[str, str]:
    """xyz and rpy, each only if it is not zero."""
    rpy = tidied(so3.to_rpy(X.R), 1.0) if np.any(np.eye(3) != X.R) else np.zeros(3)
    return {key: numbers(x) for key, x in (("xyz", X.p), ("rpy", rpy)) if np.any(x)}


def _differing(joint: Joint, fields: tuple[str, ...]) -> dict[str, str]:
    """The fields of the joint that differ from their defaults."""
    plain: Any = type(joint)(name=joint.name)
    plain = plain.with_values(deceleration_limit=joint.acceleration_limit)
    return {
        field: numbers(np.atleast_1d(getattr(joint, field)))
        for field in fields
        if np.any(getattr(joint, field) != getattr(plain, field))
    }
