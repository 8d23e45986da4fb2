"""Building a model in code, link by link; fixed links are merged into the bodies that carry them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.spatial import Inertia, Pose

from .actuators import Actuator, JointForceLimits
from .assembly import WORLD, Closing, Link, Place, assemble
from .closures import CamEquation, JointEquation, closure_maker, periodic_spline
from .coupling import Mimic, coupled, stated
from .geometry import Geometry, Role, Shape, Surface, check_geometry
from .groups import Group
from .joints import KINDS, Coupled, Fixed, Free, Joint
from .keyframes import Keyframe, keyframe
from .model import Model
from .mujoco import Mujoco
from .sensors import Sensor
from .surroundings import Compensation, Medium, Surroundings
from .values import ORIGIN, inertia_from, joint_type, placement_from, vector

# of `add_body`, beside the fields of joints
ARGUMENTS = ("parent", "joint", "joint_name", "xyz", "rpy", "mass", "com", "inertia", "mimic")
SHAPE = ("axis", "axis2", "pitch")  # fields accepted for every joint, because files state them


class ModelBuilder:
    """Collects bodies and frames; `model()` returns the frozen tree.

    gravity (3,) in the world [m/s²].
    """

    def __init__(self, name: str, gravity: Any = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self.gravity = vector(gravity, f"model {name!r}: gravity")
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._mimics: dict[str, Mimic] = {}  # follower's joint → its leader
        self._frames: dict[str, Place | None] = {}  # in the order added
        self._closings: list[Closing] = []
        self._equations: list[JointEquation] = []
        self._actuators: list[Actuator] = []
        self._keyframes: list[Keyframe] = []
        self._joint_force_limits: list[JointForceLimits] = []
        self._exclusions: list[tuple[str, str]] = []
        self._groups: list[Group] = []
        self._sensors: list[Sensor] = []
        self._surroundings = Surroundings()
        self._mujoco: Mujoco | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {', '.join(self._links) or 'no bodies yet'}>"

    def add_body(
        self,
        name: str,
        *,
        parent: str,
        joint: str | type[Joint] = "fixed",
        joint_name: str | None = None,
        xyz: Any = ORIGIN,
        rpy: Any = ORIGIN,
        placement: Pose | None = None,
        mass: float = 0.0,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = None,
        inertia_object: Inertia | None = None,
        mimic: tuple[str, float, float] | None = None,
        **fields: Any,
    ) -> None:
        """Add a body carried by `parent` (a body added before, or "world") through a joint.

        joint: one of revolute continuous prismatic screw cylindrical universal ball planar free fixed, or a subclass of
        `Joint`; named `joint_name` (default: as the body). The joint frame lies in the parent at `xyz` [m], `rpy`
        [rad] (or at `placement`); the body frame coincides with it at the joint's neutral configuration.
        mass [kg], com (3,) [m] in the body frame, inertia (3, 3) [kg·m²] about the com in body axes (None: a point
        mass). `inertia_object` replaces the three and need only be finite, for importers that report
        impossible bodies themselves.
        mimic: (leading joint, ratio, offset) makes the joint follow another one, added before or after it: its
        coordinate is ratio · q(leader) + offset and is not part of q. Both need one coordinate.
        fields: of the joint: armature damping friction slip_speed stiffness rest lower upper velocity_limit
        acceleration_limit deceleration_limit jerk_limit effort_limit, as in `Joint`, and those of its type: axis (3,)
        in the joint frame (default z); axis2 (3,) of a universal joint, in the body (default x); pitch [m/rad] of a
        screw.
        """
        where = f"body {name!r}"
        self._check_new(where, name)
        if parent != WORLD and parent not in self._links:
            error = unknown("parent", parent, [WORLD, *self._links], where)
            raise DalembertError(f"{error}; add a parent before its children")
        placement = placement_from(placement, xyz, rpy, where)
        if inertia_object is None:
            inertia_object = inertia_from(mass, com, inertia, where)
        else:
            parameters = vector(inertia_object.parameters(), f"{where}: inertia_object", (10,))
            inertia_object = Inertia.from_parameters(parameters)
        carrier = _joint(joint, name if joint_name is None else joint_name, fields, where)
        if carrier.name in self._joints:
            raise DalembertError(f"{where}: there is already a joint {carrier.name!r}: give another joint_name")
        if name == WORLD:
            self._check_world(parent, carrier, placement)
        self._links[name] = Link(name, parent, placement, carrier, inertia_object)
        self._joints[carrier.name] = carrier
        if mimic is not None:
            self._mimics[carrier.name] = stated(mimic, where)
        self._frames[name] = None

    def add_frame(
        self,
        name: str,
        *,
        body: str,
        xyz: Any = ORIGIN,
        rpy: Any = ORIGIN,
        placement: Pose | None = None,
    ) -> None:
        """Add a frame fixed in `body` at `xyz` [m], `rpy` [rad] (or at `placement`)."""
        where = f"frame {name!r}"
        self._check_new(where, name)
        if body not in self._links:
            raise unknown("body", body, self._links, where)
        self._frames[name] = Place(body, placement_from(placement, xyz, rpy, where))

    def add_geometry(
        self,
        shape: Shape,
        *,
        body: str,
        xyz: Any = ORIGIN,
        rpy: Any = ORIGIN,
        placement: Pose | None = None,
        role: Role = "visual",
        color: tuple[float, float, float, float] | None = None,
        name: str = "",
        surface: Surface | None = None,
    ) -> None:
        """Add a shape to be seen (role "visual") or touched ("collision"), fixed in `body` at `xyz`, `rpy` [m, rad].

        body: one added before, or "world" for walls, tables and the like.
        color: red, green, blue, opacity, each 0 to 1; None: not stated. surface: friction and the like of a shape to be
        touched, as data for contacts.
        """
        where = f"geometry of {body!r}"
        if body == WORLD and WORLD not in self._links:
            others, self._links, frames, self._frames = self._links, {}, self._frames, {}
            self.add_body(WORLD, parent=WORLD)  # which comes first
            self._links |= others
            self._frames |= frames
        if body not in self._links:
            raise unknown("body", body, [WORLD, *self._links], where)
        check_geometry(shape, role, color, where)
        geometry = Geometry(shape, placement_from(placement, xyz, rpy, where), role, color, name, surface)
        self._links[body] = replace(self._links[body], geometry=(*self._links[body].geometry, geometry))

    def exclude(self, a: str, b: str) -> None:
        """State that two links, added before, never touch each other."""
        for name in (a, b):
            if name not in self._frames:
                raise unknown("link", name, self._frames, "exclude")
        self._exclusions.append((a, b))

    def add_closure(
        self,
        name: str,
        kind: str,
        *,
        a: str,
        b: str,
        xyz_a: Any = ORIGIN,
        rpy_a: Any = ORIGIN,
        placement_a: Pose | None = None,
        xyz_b: Any = ORIGIN,
        rpy_b: Any = ORIGIN,
        placement_b: Pose | None = None,
        **shape: Any,
    ) -> None:
        """Close a loop: hold a place of `b` to a place of `a` (bodies, frames, or "world").

        kind: weld point revolute prismatic cylindrical planar universal screw point-on-line point-on-plane distance.
        xyz_a [m], rpy_a [rad]: where in `a` the frame K lies that is held to the frame L, which lies in `b` at xyz_b,
        rpy_b; or their poses, placement_a and placement_b.
        shape: axis (3,) in K and L alike, axis2 (3,) in L of a universal closure, pitch [m/rad] of a screw, length [m]
        of a distance.
        """
        where = f"closure {name!r}"
        self._check_new_closure(where, name)
        for end in (a, b):
            if end != WORLD and end not in self._frames:
                raise unknown("body or frame", end, [WORLD, *self._frames], where)
        X_aK = placement_from(placement_a, xyz_a, rpy_a, f"{where}: end a")
        X_bL = placement_from(placement_b, xyz_b, rpy_b, f"{where}: end b")
        self._closings.append(Closing(name, a, X_aK, b, X_bL, closure_maker(kind, shape, where)))

    def add_equation(
        self,
        name: str,
        follower: str,
        leader: str = "",
        *,
        coefficients: Any,
        others: Sequence[tuple[str, float]] = (),
    ) -> None:
        """Let a joint's coordinate follow others, by a multiplier: a polynomial of one, multiples of more.

        See `JointEquation`.
        """
        where = f"equation {name!r}"
        numbers = np.array(coefficients, float).ravel()
        if not numbers.size or not np.all(np.isfinite(numbers)):
            raise DalembertError(f"{where}: coefficients are {coefficients!r}, expected finite numbers")
        factors = tuple((joint, float(vector(factor, f"{where}: factor of {joint!r}", ()))) for joint, factor in others)
        self._add_equation(JointEquation(name, follower, leader, numbers, factors))

    def add_cam(self, name: str, follower: str, leader: str, lift: Any) -> None:
        """Let a joint's coordinate be a function of another one's angle that repeats with every turn.

        lift (n,): the follower's coordinate at n angles 2π k / n of the leader, n ≥ 4; a periodic cubic spline between.
        """
        where = f"cam {name!r}"
        values = np.array(lift, float).ravel()
        if values.size < 4 or not np.all(np.isfinite(values)):
            raise DalembertError(f"{where}: lift has {values.size} values, expected at least four finite ones")
        self._add_equation(CamEquation(name, follower, leader, periodic_spline(values).ravel()))

    def _add_equation(self, equation: JointEquation) -> None:
        where = f"{equation.kind} {equation.name!r}"
        self._check_new_closure(where, equation.name)
        if len(set(equation.joints)) < len(equation.joints):
            raise DalembertError(
                f"{where}: a joint takes part twice ({', '.join(equation.joints)}): add its factors up"
            )
        for joint in equation.joints:
            if joint not in self._joints:
                raise unknown("joint", joint, self._joints, where)
            if self._joints[joint].nq != 1:
                raise DalembertError(f"{where}: joint {joint!r} has {self._joints[joint].nq} coordinates, expected one")
        self._equations.append(equation)

    def add_actuator(self, name: str, joint: str = "", **values: Any) -> None:
        """Add a motor or servo, which acts where `controls` drive the robot.

        It acts on a joint; or on `tendon`, `path` or `site`. values: these, gear, gain, bias, limits and dynamics, as
        in `Actuator`.
        """
        where = f"actuator {name!r}"
        valid = [field.name for field in fields_of(Actuator)[2:]]
        for value in values:
            if value not in valid:
                raise unknown("argument", value, valid, f"{where}: add_actuator")
        actuator = Actuator(name=name, joint=joint, **values)
        for each in actuator.joints:
            if each not in self._joints:
                raise unknown("joint", each, self._joints, where)
            nv, numbers = self._joints[each].nv, int(np.size(actuator.gear))
            if nv != 1 and (actuator.tendon or nv != numbers):
                needs = "of one freedom" if actuator.tendon else f"with {numbers}, as the gear has"
                raise DalembertError(f"{where}: joint {each!r} has {nv} freedoms, expected one {needs}")
            if nv == 1 and numbers != 1:
                raise DalembertError(f"{where}: gear is {actuator.gear}, expected one number for joint {each!r}")
        for frame in actuator.frames:
            if frame not in self._frames:
                raise unknown("frame", frame, self._frames, where)
        if actuator.site and np.size(actuator.gear) != 6:
            raise DalembertError(f"{where}: gear is {actuator.gear}, expected six numbers on a site: [torque, force]")
        if name in {other.name for other in self._actuators}:
            raise DalembertError(f"{where}: there is already an actuator of that name: names must differ")
        self._actuators.append(actuator)

    def limit_joint_force(self, joint: str, lower: float, upper: float) -> None:
        """Bound the force [N·m or N] of all actuators together on a joint with one coordinate."""
        where = f"limits of joint {joint!r}"
        if joint not in self._joints:
            raise unknown("joint", joint, self._joints, where)
        if self._joints[joint].nv != 1 or joint in {each.joint for each in self._joint_force_limits}:
            raise DalembertError(f"{where}: it has several freedoms, or limits already: expected one of each")
        if not lower <= upper:
            raise DalembertError(
                f"{where}: lower is {lower!r} and upper {upper!r}: give numbers, the smaller one first"
            )
        self._joint_force_limits.append(JointForceLimits(joint, float(lower), float(upper)))

    def surround(self, medium: Medium | None = None, compensations: Mapping[str, float] | None = None) -> None:
        """Put the links into a fluid, and balance shares of their weight, by link; both act in simulations."""
        compensations = compensations or {}
        named = [shape.link for shape in medium.shapes] if medium is not None else []
        for link in (*named, *compensations):
            if link not in self._links:
                raise unknown("link", link, self._links, "surround")
        balanced = tuple(Compensation(link, float(share)) for link, share in compensations.items())
        self._surroundings = Surroundings(medium, balanced)

    def soften(self, mujoco: Mujoco) -> None:
        """State MuJoCo's soft constraints, which act with `Contact(model="mujoco")`."""
        self._mujoco = mujoco.kept({*self._frames, WORLD}, self._joints.keys())

    def add_keyframe(self, name: str, q: Mapping[str, Any], v: Mapping[str, Any] | None = None) -> None:
        """Add a named state: q (nq,) and v (nv,) by joint; joints that are not named are at neutral, and at rest."""
        if name in {keyframe.name for keyframe in self._keyframes}:
            raise DalembertError(f"keyframe {name!r}: there is already one of that name: names must differ")
        self._keyframes.append(keyframe(name, q, v or {}, self._joints))

    def add_group(self, name: str, joints: Sequence[str]) -> None:
        """Give a name to a group of joints, added before, such as those of an arm."""
        where = f"group {name!r}"
        if name in {group.name for group in self._groups}:
            raise DalembertError(f"{where}: there is already one of that name: names must differ")
        for joint in joints:
            if joint not in self._joints:
                raise unknown("joint", joint, self._joints, where)
        self._groups.append(Group(name, tuple(joints)))

    def add_sensor(self, sensor: Sensor) -> None:
        """Add a sensor of a frame, joint or actuator added before."""
        sensor.check({one.name for one in self._sensors}, self._frames, self._joints)
        self._sensors.append(sensor)

    def has_joint(self, name: str) -> bool:
        """Whether a moving joint has that name."""
        return name in self._joints and self._joints[name].nv > 0

    def has_any_joint(self, name: str) -> bool:
        """Whether a joint has that name, fixed ones included."""
        return name in self._joints

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The actuators added so far."""
        return tuple(self._actuators)

    def freedoms(self, joint: str) -> int:
        """The number of a joint's freedoms."""
        return self._joints[joint].nv

    def has_frame(self, name: str) -> bool:
        """Whether a body or frame has that name."""
        return name in self._frames

    def model(self) -> Model:
        """The frozen model of everything added so far."""
        return assemble(
            self.name, self.gravity, self._rooted(), self._frames, self._closings, self._equations, self._actuators,
            self._keyframes, self._joint_force_limits, self._exclusions, self._groups, self._surroundings, self._mujoco,
            self._sensors,
        )  # fmt: skip

    def coupled(self, joint: str) -> Coupled:
        """The joint that follows another one, as the model will have it; raises when it cannot."""
        return coupled(joint, self._joints, self._mimics)

    def _check_new(self, where: str, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise DalembertError(f"{where}: the name must be text and not empty")
        if name in self._frames:
            raise DalembertError(f"{where}: there is already a body or frame of that name: names must differ")

    def _check_new_closure(self, where: str, name: str) -> None:
        if name in {closing.name for closing in self._closings} | {equation.name for equation in self._equations}:
            raise DalembertError(f"{where}: there is already a closure of that name: names must differ")

    def _check_world(self, parent: str, joint: Joint, placement: Pose) -> None:
        still = not joint.nv and not np.any(placement.matrix() - np.eye(4))
        if parent != WORLD or not still or any(link.parent == WORLD for link in self._links.values()):
            raise DalembertError(
                "body 'world': that name is the world's own; a body so called must come first, fixed to 'world' at the "
                "origin: give it another name"
            )

    def _rooted(self) -> dict[str, Link]:
        """The links with one base first, which alone hangs on the world."""
        if not self._links:
            raise DalembertError(f"model {self.name!r} has no bodies: add one with add_body(name, parent='world')")
        roots = [link for link in self._links.values() if link.parent == WORLD and link.name != WORLD]
        links = {
            name: replace(link, joint=self.coupled(link.joint.name)) if link.joint.name in self._mimics else link
            for name, link in self._links.items()
        }
        if WORLD in links or (len(roots) == 1 and (not roots[0].joint.nv or isinstance(roots[0].joint, Free))):
            return links
        world = Link(WORLD, "", Pose.identity(), Fixed(name=WORLD), Inertia.zero())
        return {WORLD: world, **links}


def _joint(joint: str | type[Joint], name: str, values: dict[str, Any], where: str) -> Joint:
    """The joint with these values of its fields. Axes of joints that have none are ignored."""
    kind = joint_type(joint, KINDS, where)
    valid = [field.name for field in fields_of(kind) if field.name != "name"]
    for field, value in values.items():
        if field in valid or (field in SHAPE and not (field == "pitch" and value)):
            continue
        if field == "pitch":
            raise DalembertError(f"{where}: pitch is {value} but the joint is {kind.kind}: use joint='screw'")
        raise unknown("argument", field, (*ARGUMENTS, *SHAPE, *valid), f"{where}: add_body")
    return kind(name=name, **{field: value for field, value in values.items() if field in valid})
