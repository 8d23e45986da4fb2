"""From the frozen model back to links: the robot as it can be changed, exported, and put together again."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, fields, replace
from functools import partial

import numpy as np

from dalembert.errors import unknown
from dalembert.spatial import Pose

from .actuators import Actuator, JointForceLimits
from .assembly import WORLD, Closing, Link, Place
from .builder import ModelBuilder
from .closures import WORLD_BODY, Closure, JointEquation
from .frame import Frame
from .groups import Group
from .joints import Fixed, Mimic
from .keyframes import Keyframe
from .model import Body, Model
from .mujoco import Mujoco
from .sensors import Sensor
from .surroundings import Surroundings


@dataclass
class LinkPlan:
    """A robot as links, the form that `ModelBuilder` collects, open to change. The base is the first of the links.

    Links and frames that were fixed to fixed links are placed in the link of the body that carries them; their `mount`
    says what they sit on.
    """

    name: str
    gravity: np.ndarray
    links: dict[str, Link]  # joints that follow others stand here by themselves; `mimics` says what they follow
    places: dict[str, Place | None]  # of every frame, in order; None for the frame of a link
    mimics: dict[str, Mimic]
    closings: list[Closing]
    equations: list[JointEquation]
    actuators: list[Actuator]
    keyframes: list[Keyframe]
    joint_force_limits: list[JointForceLimits]
    exclusions: list[tuple[str, str]]
    groups: list[Group]
    surroundings: Surroundings
    mujoco: Mujoco | None = None
    sensors: list[Sensor] = field(default_factory=list)

    @property
    def base(self) -> Link:
        """The link that hangs on the world."""
        return next(iter(self.links.values()))

    @property
    def joints(self) -> dict[str, Link]:
        """Joint name → the link that it moves; fixed joints included."""
        return {link.joint.name: link for link in self.links.values()}

    def link(self, name: str, where: str) -> Link:
        """The link of that name."""
        if name not in self.links:
            raise unknown("link", name, self.links, where)
        return self.links[name]

    def place(self, frame: str, where: str) -> Place:
        """The link, and the placement in it, of a link or frame."""
        if frame not in self.places and frame not in self.links:
            raise unknown("link or frame", frame, self.places, where)
        return self.places.get(frame) or Place(frame, Pose.identity())

    def mount(self, link: Link) -> str:
        """The link that a link sits on; "" for the base."""
        return "" if link.name == self.base.name else link.mount or link.parent

    def subtree(self, name: str) -> list[str]:
        """A link and all that sits on it, directly or not, in the order of the links."""
        carried = {name}
        grown = True
        while grown:  # links may stand in any order
            reached = {link.name for link in self.links.values() if self.mount(link) in carried} - carried
            carried |= reached
            grown = bool(reached)
        return [link for link in self.links if link in carried]

    def new_name(self, wanted: str) -> str:
        """`wanted`, or with a number behind it if a link or frame has that name already."""
        return _fresh(wanted, {*self.places, *self.links, WORLD})

    def new_joint_name(self, wanted: str) -> str:
        """`wanted`, or with a number behind it if a joint has that name already."""
        return _fresh(wanted, self.joints)

    def copy(self) -> LinkPlan:
        """A plan that can be changed without changing this one."""
        return replace(
            self,
            links=dict(self.links),
            places=dict(self.places),
            mimics=dict(self.mimics),
            closings=list(self.closings),
            equations=list(self.equations),
            actuators=list(self.actuators),
            keyframes=list(self.keyframes),
            joint_force_limits=list(self.joint_force_limits),
            exclusions=list(self.exclusions),
            groups=list(self.groups),
            sensors=list(self.sensors),
        )

    def builder(self) -> ModelBuilder:
        """A builder with all of this, to add to."""
        builder = ModelBuilder(self.name, self.gravity)
        builder._links.update(self.links)
        builder._joints.update({link.joint.name: link.joint for link in self.links.values()})
        builder._mimics.update(self.mimics)
        builder._frames.update(self.places)
        builder._closings.extend(self.closings)
        builder._equations.extend(self.equations)
        free = {link.joint.name for link in self.links.values() if link.joint.nv} - self.mimics.keys()
        joints, frames = free | self.mimics.keys(), self.places.keys() | self.links.keys()
        builder._actuators.extend(one for one in self.actuators if {*one.joints} <= joints and {*one.frames} <= frames)
        builder._exclusions.extend(
            pair for pair in self.exclusions if all(name in self.places or name in self.links for name in pair)
        )
        builder._joint_force_limits.extend(limits for limits in self.joint_force_limits if limits.joint in joints)
        builder._surroundings = self.surroundings.kept(self.links.keys())
        builder._mujoco = self.mujoco and self.mujoco.kept({*frames, WORLD}, joints)
        builder._sensors.extend(one for one in self.sensors if one.has_place(frames, joints))
        for group in self.groups:
            builder._groups.append(Group(group.name, tuple(joint for joint in group.joints if joint in joints)))
        for one in self.keyframes:
            builder._keyframes.append(replace(one, joints=tuple(part for part in one.joints if part.joint in free)))
        return builder

    def model(self) -> Model:
        """The frozen model."""
        return self.builder().model()


def plan(model: Model) -> LinkPlan:
    """The links of a model; `plan(model).model() == model`, to the bit."""
    links: dict[str, Link] = {}
    mimics = {}
    joint_names = {body.joint.name for body in model.bodies}
    for body in model.bodies:
        if body.joint.mimic is not None:
            mimics[body.joint.name] = body.joint.mimic
        links[body.name] = _body_link(model, body)
        for part in body.parts[1:]:
            held = Fixed(name=_fresh(part.name, joint_names))  # the names of fixed joints are not kept
            joint_names.add(held.name)
            mount = part.mount if part.mount != body.name else ""
            links[part.name] = Link(part.name, body.name, part.placement, held, part.inertia, part.geometry, mount)
    places = {frame.name: None if frame.name in links else _place(model, frame) for frame in model.frames}
    closings = [_closing(model, closure) for closure in model.closures if isinstance(closure, Closure)]
    equations = [equation for equation in model.closures if isinstance(equation, JointEquation)]
    kept = (
        list(model.actuators),
        list(model.keyframes),
        list(model.joint_force_limits),
        list(model.exclusions),
        list(model.groups),
        model.surroundings,
        model.mujoco,
        list(model.sensors),
    )
    return LinkPlan(model.name, np.array(model.gravity), links, places, mimics, closings, equations, *kept)


def disassemble(model: Model) -> ModelBuilder:
    """A builder as if the model had been built with it; its `model()` equals the model to the bit."""
    return plan(model).builder()


def _body_link(model: Model, body: Body) -> Link:
    parent = WORLD if body.parent < 0 else model.bodies[body.parent].name
    mount = body.mount if body.mount != parent else ""
    main_part = body.parts[0]
    return Link(body.name, parent, body.placement, body.joint.uncoupled, main_part.inertia, main_part.geometry, mount)


def _place(model: Model, frame: Frame) -> Place:
    link = WORLD if frame.body == WORLD_BODY else model.bodies[frame.body].name
    return Place(link, frame.placement, frame.mount if frame.mount != link else "")


def _closing(model: Model, closure: Closure) -> Closing:
    a, b = _place(model, closure.a), _place(model, closure.b)
    shape = {field.name: getattr(closure, field.name) for field in fields(closure)}
    make = partial(type(closure), **{key: value for key, value in shape.items() if key not in ("name", "a", "b")})
    return Closing(closure.name, a.link, a.placement, b.link, b.placement, make, a.mount, b.mount)


def _fresh(wanted: str, taken: Container[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
