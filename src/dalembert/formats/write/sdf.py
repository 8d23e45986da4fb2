"""Model → SDF 1.11: one <model>, inside a <world> if gravity is not the usual one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from lxml import etree

from dalembert.model import Body, Closure, Frame, Geometry, Joint, JointEquation, Model, Part, Surface
from dalembert.model.assembly import WORLD
from dalembert.model.closures import WORLD_BODY
from dalembert.model.joints import Free, Mimic, Screw, Step
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Shape, Sphere
from dalembert.spatial import Inertia, Pose, so3

from .layout import Item, UniqueNames, contents, spread
from .losses import Losses
from .shapes import Package, stated_scale, written
from .surroundings import weightless
from .text import Element, add, number, numbers, tidied
from .urdf import com_of, report_moment, tensor

VERSION = "1.11"
GRAVITY = (0.0, 0.0, -9.81)
FORMAT = "sdf"  # among the keywords of joints
CLOSURES = {
    "weld": "fixed",
    "point": "ball",
    "revolute": "revolute",
    "prismatic": "prismatic",
    "universal": "universal",
}
CLOSED = 1e-12  # [m] or rad: how far the ends of a loop may be apart in the robot's zero position


def to_sdf(model: Model, losses: Losses, package: Package, geometry: bool = True) -> Element:
    """The <sdf> element."""
    return _Sdf(model, losses, package, geometry).sdf()


class _Sdf:
    def __init__(self, model: Model, losses: Losses, package: Package, geometry: bool) -> None:
        self.robot, self.losses, self.package, self.geometry = model, losses, package, geometry
        self.names = UniqueNames(frame.name for frame in model.frames)  # links, frames and joints share one space
        self.joint_names: dict[str, str] = {}
        for body in model.bodies:
            if body.joint.nv and not isinstance(body.joint, Free):
                self._name_joint(body.joint.name)
        self.weightless = weightless(model, losses)
        base = model.bodies[0]
        self.afloat = base.name == WORLD and all(isinstance(model.bodies[i].joint, Free) for i in model.children(0))
        self.root = etree.Element("sdf", version=VERSION)
        parent = self.root
        if np.any(model.gravity != GRAVITY):
            parent = add(self.root, "world", name="world")
            add(parent, "gravity", numbers(model.gravity))
        self.model = add(parent, "model", name=model.name)

    def _name_joint(self, name: str) -> None:
        self.joint_names[name] = self.names.new(name if name not in self.names.taken else f"{name}_joint")
        if self.joint_names[name] != name:
            what = "in SDF a joint cannot share its name with a link"
            self.losses.note("joint", name, what, "renamed with the suffix _joint")

    def sdf(self) -> Element:
        self._check_names()
        carried = contents(self.robot)
        stack: list[tuple[str, Item]] = [(WORLD, Item(self.robot.bodies[0], self.robot.bodies[0].placement))]
        while stack:
            parent, item = stack.pop()
            what, name = item.what, item.what.name
            if isinstance(what, Body):
                self._body(parent, what, item.placement)
            elif isinstance(what, Frame) or (parent != WORLD and _bare(what)):
                self._frame(parent, name, item.placement)
            else:
                self._link(what, parent, item.placement)
                self._joint(self.names.new(f"{name}_fixed"), "fixed", parent, name)
            stack += [(name, child) for child in reversed(carried.get(name, []))]
        for closure in self.robot.closures:
            self._closure(closure)
        return self.root

    def _check_names(self) -> None:
        for name in {*self.names.taken, *self.joint_names, self.robot.name} - {WORLD}:
            if "::" in name or name != name.strip() or (name.startswith("__") and name.endswith("__")):
                what = "SDF reserves names with :: or between __, and strips blanks"
                self.losses.refuse("name", name, what, "rename it")
        if any(frame.name == WORLD for frame in self.robot.frames[1:]):
            self.losses.refuse("frame", WORLD, "SDF reserves that name", "rename it")

    # ---- bodies and frames

    def _body(self, parent: str, body: Body, placement: Pose) -> None:
        main_part, joint = body.parts[0], body.joint.uncoupled
        if body.index == 0 and body.name == WORLD:
            if np.any(main_part.inertia.parameters()) or main_part.geometry:
                what = "mass and shapes of the world do not affect the motion, and SDF has none"
                self.losses.note("link", WORLD, what, "left out")
        elif body.index == 0:
            self._link(main_part, parent, placement)
            if not joint.nv:
                self._joint(self.names.new(f"{body.name}_fixed"), "fixed", WORLD, body.name)
            else:
                self._floating(body.joint, body.name, placement)
        elif isinstance(joint, Free) and self.afloat:
            self._link(main_part, parent, placement)
            self._floating(body.joint, body.name, placement)
        elif isinstance(joint, Free):
            what = "in SDF only a model without joints to the world floats"
            self.losses.refuse("joint", body.joint.name, what, "write one file for each robot that floats")
        else:
            row = spread(body.joint, self.names, FORMAT, self.losses)
            for step in row:
                self.joint_names.setdefault(step.joint.name, step.joint.name)
                last = step is row[-1]
                name = body.name if last else self.names.new(f"{step.joint.name}_link")
                self._link(main_part if last else Part(name, placement, Inertia.zero()), parent, placement)
                self._moving(parent, name, step)
                parent, placement = name, Pose.identity()

    def _floating(self, joint: Joint, name: str, placement: Pose) -> None:
        """Losses of the joint that lets a base float: SDF has no element for it."""
        if joint.name != name:
            self.losses.note("joint", joint.name, "the base's joint has no name in SDF", "takes the link's")
        self.losses.place_at_origin(joint, placement, "SDF measures a floating base")
        if fields := [
            field for field in ("armature", "damping", "friction", "stiffness") if np.any(getattr(joint, field))
        ]:
            what = f"{', '.join(fields)} of a free joint, which SDF does not have"
            self.losses.change("joint", joint.name, what, "left out")

    def _link(self, part: Part, parent: str, placement: Pose) -> None:
        link = add(self.model, "link", name=part.name)
        self._pose(link, placement, parent)
        inertial = add(link, "inertial")
        add(inertial, "mass", number(part.inertia.mass))
        self._pose(inertial, Pose(np.eye(3), com_of(part.inertia)), "")
        moments = add(inertial, "inertia")
        for tag, value in tensor(part.inertia).items():
            add(moments, tag, value)
        report_moment(self.losses, part)
        if part.name in self.weightless:
            add(link, "gravity", "false")
        if not np.any(part.inertia.parameters()):
            what = "a massless link, which SDF allows but simulators may refuse"
            self.losses.note("link", part.name, what, "mass 0 is stated")
        add_shapes(
            link, part, part.geometry if self.geometry else self.losses.no_shapes(part), self.losses, self.package
        )

    def _frame(self, parent: str, name: str, placement: Pose) -> None:
        """<frame>, also for fixed links that have neither mass nor shape; a massless link if it is on the world."""
        if parent == WORLD:
            self._link(Part(name, placement, Inertia.zero()), parent, placement)
            self._joint(self.names.new(f"{name}_fixed"), "fixed", WORLD, name)
        else:
            element = add(self.model, "frame", name=name, attached_to=parent)
            self._pose(element, placement, "")

    def _pose(self, element: Element, X: Pose, base: str) -> None:
        """<pose relative_to>; for the world it is the model's frame, the default."""
        rpy = tidied(so3.to_rpy(X.R), 1.0) if np.any(np.eye(3) != X.R) else np.zeros(3)
        relative = base if base not in ("", WORLD) else None
        if relative or np.any(X.p) or np.any(rpy):
            add(element, "pose", numbers([*X.p, *rpy]), relative_to=relative)

    # ---- joints

    def _joint(self, name: str, kind: str, parent: str, child: str) -> Element:
        element = add(self.model, "joint", name=name, type=kind)
        add(element, "parent", parent)
        add(element, "child", child)
        return element

    def _moving(self, parent: str, child: str, step: Step) -> None:
        joint = step.joint
        element = self._joint(self.joint_names[joint.name], joint.keywords[FORMAT], parent, child)
        if isinstance(joint, Screw):
            add(element, "screw_thread_pitch", number(2.0 * math.pi * joint.pitch))
        if np.any(joint.armature):
            self.losses.change("joint", joint.name, "armature, which SDF does not have", "left out")
        self.losses.leave_out_drive(joint)
        if not joint.flat:
            self._ball(joint)
            return
        self.losses.leave_out_slip_speed(joint, "<friction>", "simulators differ in its law")
        for k, tag in enumerate(("axis", "axis2")[: joint.nv]):
            self._axis(element, tag, joint, k, step.mimic if k == 0 else None)

    def _ball(self, joint: Joint) -> None:
        if fields := [field for field in ("damping", "friction", "stiffness") if np.any(getattr(joint, field))]:
            what = f"{', '.join(fields)} of a ball joint, which SDF does not have"
            self.losses.change("joint", joint.name, what, "left out")
        if np.any(np.isfinite([*joint.effort_limit, *joint.velocity_limit])):
            self.losses.note("joint", joint.name, "SDF has no limits of ball joints", "left out")

    def _axis(self, element: Element, tag: str, joint: Joint, k: int, mimic: Mimic | None) -> None:
        axis = add(element, tag)
        add(axis, "xyz", numbers(getattr(joint, tag)))
        limits = {"lower": "lower", "upper": "upper", "effort": "effort_limit", "velocity": "velocity_limit"}
        finite = {word: x for word, field in limits.items() if np.isfinite(x := getattr(joint, field)[k])}
        limit = add(axis, "limit") if finite else None
        for word, value in finite.items():
            add(limit, word, number(value))
        words = {"damping": joint.damping[k], "friction": joint.friction[k]}
        if joint.stiffness[k]:
            words |= {"spring_reference": joint.rest[k], "spring_stiffness": joint.stiffness[k]}
        if any(words.values()):
            dynamics = add(axis, "dynamics")
            for word, value in words.items():
                add(dynamics, word, number(value))
        if mimic is not None:
            follows = add(axis, "mimic", joint=self.joint_names[mimic.leader], axis="axis")
            for word, value in (("multiplier", mimic.ratio), ("offset", mimic.offset), ("reference", 0.0)):
                add(follows, word, number(value))

    # ---- loops

    def _closure(self, closure: Closure | JointEquation) -> None:
        """A joint that closes a loop, which SDF places where the robot's zero position has its ends."""
        name, kind = closure.name, closure.kind
        if isinstance(closure, JointEquation) or kind not in CLOSURES:
            cure = "save as .urdf, whose <dalembert> has all closures"
            self.losses.refuse("closure", name, f"SDF has no {kind} joint to close a loop", cure)
            return
        X_WK, X_WL = (self._zero(frame.body) @ frame.placement for frame in (closure.a, closure.b))
        if closure.b.body == WORLD_BODY or _gap(closure, X_WK.inverse() @ X_WL) > CLOSED:
            what = "the loop is not closed in the robot's zero position, or ends in the world, as SDF would need it"
            self.losses.refuse("closure", name, what, "save as .urdf, or change the joints' zero positions")
            return
        ends = [WORLD if f.body == WORLD_BODY else self.robot.bodies[f.body].name for f in (closure.a, closure.b)]
        element = self._joint(self.names.new(name), CLOSURES[kind], *ends)
        self._pose(element, closure.b.placement, "")
        for tag in ("axis", "axis2"):
            if hasattr(closure, tag):
                add(add(element, tag), "xyz", numbers(_in_child(closure, tag, X_WK, X_WL)))
        add(add(add(element, "physics"), "simbody"), "must_be_loop_joint", "true")

    def _zero(self, index: int) -> Pose:
        """X_WB of a body when all its joints are at zero."""
        X = Pose.identity()
        while index != WORLD_BODY:
            X = self.robot.bodies[index].placement @ X
            index = self.robot.bodies[index].parent
        return X


def _bare(part: Part) -> bool:
    return not np.any(part.inertia.parameters()) and not part.geometry


def _gap(closure: Closure, X_KL: Pose) -> float:
    """How far the loop is from being closed by a joint that has one frame in both bodies."""
    apart = float(np.max(np.abs(X_KL.p)))
    if closure.kind in ("point", "universal"):
        return apart + (abs(float(closure.residual(X_KL)[0])) if closure.kind == "universal" else 0.0)
    return max(apart, float(np.max(np.abs(X_KL.R - np.eye(3))))) if closure.kind != "revolute" else _bent(closure, X_KL)


def _bent(closure: Closure, X_KL: Pose) -> float:
    axis = closure.axis  # type: ignore[attr-defined]
    return float(max(np.max(np.abs(X_KL.p)), np.max(np.abs(X_KL.R @ axis - axis))))


def _in_child(closure: Closure, tag: str, X_WK: Pose, X_WL: Pose) -> np.ndarray:
    """An axis of the closure along the axes of L, where SDF has the joint's frame."""
    axis = getattr(closure, tag)
    return X_WL.R.T @ (X_WK.R @ axis) if tag == "axis" else axis


def add_shapes(link: Element, part: Part, shapes: Iterable[Geometry], losses: Losses, package: Package) -> None:
    """<visual> and <collision> of a link; SDF requires a name for each."""
    names = UniqueNames(())
    for geometry in written(part.name, shapes, {Mesh, *WORDS}, losses, package):
        element = add(link, geometry.role, name=names.new(geometry.name or f"{part.name}_{geometry.role}"))
        X = geometry.placement
        if np.any(X.matrix() != np.eye(4)):
            add(element, "pose", numbers([*X.p, *tidied(so3.to_rpy(X.R), 1.0)]))
        element.append(_shape(geometry.shape, package))
        if geometry.surface is not None and geometry.role == "collision":
            _add_surface(element, geometry.surface)
        if geometry.color is not None and geometry.role == "visual":
            material = add(element, "material")
            add(material, "ambient", numbers(geometry.color))
            add(material, "diffuse", numbers(geometry.color))


def _add_surface(collision: Element, stated: Surface) -> None:
    """<surface>, as far as it has words."""
    if {stated.friction, stated.restitution, stated.stiffness, stated.damping} == {None}:
        return
    surface = add(collision, "surface")
    if stated.friction is not None:
        ode = add(add(surface, "friction"), "ode")
        add(ode, "mu", number(stated.friction))
        add(ode, "mu2", number(stated.friction))
    if stated.restitution is not None:
        add(add(surface, "bounce"), "restitution_coefficient", number(stated.restitution))
    if stated.stiffness is not None or stated.damping is not None:
        ode = add(add(surface, "contact"), "ode")
        for tag, value in (("kp", stated.stiffness), ("kd", stated.damping)):
            if value is not None:
                add(ode, tag, number(value))


def _sizes(shape: Any) -> dict[str, str]:
    return {"radius": number(shape.radius), "length": number(shape.length)}


# class → the tag, and its children
WORDS: dict[type, tuple[str, Callable[[Any], dict[str, str]]]] = {
    Box: ("box", lambda shape: {"size": numbers(shape.size)}),
    Sphere: ("sphere", lambda shape: {"radius": number(shape.radius)}),
    Ellipsoid: ("ellipsoid", lambda shape: {"radii": numbers(shape.radii)}),
    Cylinder: ("cylinder", _sizes),
    Capsule: ("capsule", _sizes),
    Cone: ("cone", _sizes),
    Plane: ("plane", lambda shape: {"normal": numbers(shape.normal), "size": "1 1"}),
}


def _shape(shape: Shape, package: Package) -> Element:
    holder = etree.Element("geometry")
    if isinstance(shape, Mesh):
        element = add(holder, "mesh")
        add(element, "uri", package.uri(shape.file, "model"))
        if (scale := stated_scale(shape)) is not None:
            add(element, "scale", numbers(scale))
        return holder
    tag, children = WORDS[type(shape)]
    element = add(holder, tag)
    for name, text in children(shape).items():
        add(element, name, text)
    return holder
