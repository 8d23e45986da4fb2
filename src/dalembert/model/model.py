"""The frozen tree of bodies, joints and frames that every algorithm reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.spatial import Inertia, Pose

from .actuators import Actuator, JointForceLimits
from .closures import Closure, JointEquation
from .content import SHOWN, fingerprint, freeze, is_own, types
from .frame import Frame
from .geometry import Geometry
from .groups import Group
from .joints import Free, Joint
from .keyframes import Keyframe
from .mujoco import Mujoco
from .parts import with_parameters
from .sensors import Sensor
from .surroundings import Surroundings

EFFECTS = {  # of joints, and their fields
    "friction": ("friction", "stribeck"),
    "damping": ("damping",),
    "armature": ("armature",),
    "springs": ("stiffness",),
}
LOOPS, AROUND = "loops", "surroundings"  # effects of the whole model


@dataclass(frozen=True, eq=False)
class Part:
    """One of the links that were merged into a body by fixed joints."""

    name: str
    placement: Pose  # X_BL: the link's frame in the body
    inertia: Inertia  # in the link's frame
    geometry: tuple[Geometry, ...] = field(default=(), metadata=SHOWN)
    mount: str = field(default="", metadata=SHOWN)  # the link that it is fixed to; "" for the body's main link


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body B, the joint that carries it, and where its coordinates lie in q and v.

    Behind a joint that follows another one (`joint.mimic`), q and v are those of the leader's body.
    """

    name: str
    index: int
    parent: int  # -1 for the base
    placement: Pose  # X_PJ: the joint frame in the parent body; in the world for the base
    joint: Joint
    inertia: Inertia  # of all parts together, in the body's frame
    q: slice
    v: slice
    parts: tuple[Part, ...]  # the body's main link first
    mount: str = field(default="", metadata=SHOWN)  # the link, a part of the parent, that the joint sits on


@dataclass(frozen=True, eq=False)
class Model:
    """A tree of rigid bodies with loop closures. Immutable; equal and hashed by everything that affects the motion.

    With joint types of a user it equals another one only if both have the very same classes.

    Bodies are numbered depth first: parents before children, siblings in the order added. bodies[0] is the base,
    held to the world by a fixed or a free joint.
    """

    name: str
    gravity: np.ndarray  # (3,) in the world [m/s²]
    bodies: tuple[Body, ...]
    frames: tuple[Frame, ...]  # the frame of every body, in order; then fixed links and extra frames as added
    closures: tuple[Closure | JointEquation, ...] = ()  # the closures of the tree's loops
    actuators: tuple[Actuator, ...] = field(default=(), metadata=SHOWN)  # they act where controls drive the robot
    keyframes: tuple[Keyframe, ...] = field(default=(), metadata=SHOWN)  # named states
    joint_force_limits: tuple[JointForceLimits, ...] = field(default=(), metadata=SHOWN)  # of actuators together
    exclusions: tuple[tuple[str, str], ...] = field(default=(), metadata=SHOWN)  # pairs of links that never touch
    groups: tuple[Group, ...] = field(default=(), metadata=SHOWN)  # of joints, by name
    surroundings: Surroundings = field(default_factory=Surroundings, metadata=SHOWN)  # they act in simulations
    mujoco: Mujoco | None = field(default=None, metadata=SHOWN)  # of an MJCF file, for contacts of that model
    sensors: tuple[Sensor, ...] = field(default=(), metadata=SHOWN)  # what `run.sensors` reads

    def __post_init__(self) -> None:
        freeze(self)

    @cached_property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return max((body.q.stop for body in self.bodies), default=0)

    @cached_property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return max((body.v.stop for body in self.bodies), default=0)

    @cached_property
    def independent(self) -> tuple[Body, ...]:
        """The bodies whose joints follow no other joint, in the order of q and v."""
        return tuple(body for body in self.bodies if body.joint.mimic is None)

    @property
    def coupled(self) -> bool:
        """Whether any joint follows another one, so that bodies share coordinates."""
        return len(self.independent) < len(self.bodies)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """A name for each coordinate (nq,): of its joint, numbered as in "base[0]" where a joint has several."""
        return tuple(name for body in self.independent for name in _numbered(body.joint.name, body.joint.nq))

    @cached_property
    def freedom_names(self) -> tuple[str, ...]:
        """A name for each velocity (nv,), as `coordinate_names`."""
        return tuple(name for body in self.independent for name in _numbered(body.joint.name, body.joint.nv))

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """The unit of each coordinate (nq,): "rad", "m", or "" of a quaternion's."""
        return tuple(u for body in self.independent for u in body.joint.coordinate_units)

    @property
    def freedom_units(self) -> tuple[str, ...]:
        """The unit of each freedom (nv,): "rad" or "m"; velocities are in these per s."""
        return tuple(u for body in self.independent for u in body.joint.units)

    @cached_property
    def base(self) -> Body:
        """The body that carries the robot: bodies[0], or the one that floats where that is only scenery.

        Scenery: a world without mass, as files have it that state a floor, with a single body on it, on a free joint.
        """
        root, on_it = self.bodies[0], self.children(0)
        if (
            not root.joint.nv
            and not root.inertia.mass
            and len(on_it) == 1
            and isinstance(self.bodies[on_it[0]].joint, Free)
        ):
            return self.bodies[on_it[0]]
        return root

    @property
    def floating(self) -> bool:
        """Whether the base moves freely; otherwise it is fixed to the world."""
        return self.base.joint.nv > 0

    @cached_property
    def flat(self) -> bool:
        """Whether all velocities are rates of coordinates: no joint has a quaternion."""
        return all(body.joint.flat for body in self.bodies)

    @cached_property
    def quaternions(self) -> tuple[tuple[str, slice], ...]:
        """(joint, where in q) of every unit quaternion w x y z."""
        return tuple(
            (body.joint.name, slice(body.q.start + places.start, body.q.start + places.stop))
            for body in self.independent
            for places in body.joint.quaternions
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything in the model but its geometry, names included."""
        return fingerprint(self)

    @cached_property
    def types(self) -> frozenset[type]:
        """The classes of its parts, some of which may be a user's."""
        return frozenset(types(self))

    @cached_property
    def _users_types(self) -> frozenset[type]:
        return frozenset(kind for kind in self.types if not is_own(kind))

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Model):
            return self is other
        return self.fingerprint == other.fingerprint and self._users_types == other._users_types

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {len(self.bodies)} bodies, nq={self.nq}, nv={self.nv})"

    def __reduce__(self) -> tuple[Any, ...]:
        # through the constructor, because arrays come back from a pickle writeable
        return Model, tuple(getattr(self, each.name) for each in fields(self))

    def body(self, name: str) -> Body:
        """The body of that name."""
        if name not in self._bodies and name in self._frames:
            carrier = self.bodies[self._frames[name].body].name
            raise DalembertError(
                f"model {self.name!r}: {name!r} is not a separate body, but a fixed link or frame of body {carrier!r}: "
                f"use robot.frame({name!r}), or robot.body({carrier!r})"
            )
        return self._named("body", self._bodies, name)

    def joint(self, name: str) -> Body:
        """The body that is moved by the joint of that name."""
        carrier = self.bodies[self._frames[name].body].joint if name in self._frames else None
        if name not in self._joints and carrier is not None and carrier.nv:
            raise DalembertError(
                f"model {self.name!r}: {name!r} is a link or frame, expected a joint: the one that moves it is "
                f"{carrier.name!r}"
            )
        return self._named("joint", self._joints, name)

    def frame(self, name: str) -> Frame:
        """The frame of that name: of a body, a fixed link, or one added."""
        if name not in self._frames and name in self._joints:
            raise DalembertError(
                f"model {self.name!r}: {name!r} is a joint, expected a frame: the body that it moves is "
                f"{self._joints[name].name!r}"
            )
        return self._named("frame", self._frames, name)

    def children(self, index: int) -> tuple[int, ...]:
        """Indices of the bodies carried directly by body `index`."""
        return self._children[index]

    def without(self, *effects: str) -> Model:
        """The same tree without some of: friction, damping, armature, springs, loops, surroundings."""
        for effect in effects:
            if effect not in (*EFFECTS, LOOPS, AROUND):
                raise unknown("effect", effect, (*EFFECTS, LOOPS, AROUND), "without")
        if effects not in self._without:
            self._without[effects] = self._stripped(effects)
        return self._without[effects]

    @cached_property
    def _without(self) -> dict[tuple[str, ...], Model]:
        """Models made by `without`: what belongs to each, as its fingerprint, is then computed once."""
        return {}

    def _stripped(self, effects: tuple[str, ...]) -> Model:
        fields = [field for effect in effects for field in EFFECTS.get(effect, ())]
        joints = [body.joint.with_values(**dict.fromkeys(fields, np.zeros(body.joint.nv))) for body in self.bodies]
        bodies = tuple(replace(body, joint=joint) for body, joint in zip(self.bodies, joints, strict=True))
        around = Surroundings() if AROUND in effects else self.surroundings
        return replace(self, bodies=bodies, closures=() if LOOPS in effects else self.closures, surroundings=around)

    def parameters(self) -> np.ndarray:
        """The inertial parameters (10 nb,) of all bodies, one body after the other; see `Inertia.parameters`."""
        return np.concatenate([body.inertia.parameters() for body in self.bodies])

    def with_parameters(self, pi: Any) -> Model:
        """The same tree with other inertial parameters (10 nb,); they may be impossible for a body."""
        size = self.parameters().size
        try:
            numbers = np.array(pi, float)
        except (TypeError, ValueError):
            raise DalembertError(f"with_parameters: expected {size} real numbers") from None
        if numbers.shape != (size,):
            raise DalembertError(
                f"with_parameters: shape {numbers.shape}, expected ({size},): "
                f"ten for each of the {len(self.bodies)} bodies of model {self.name!r}"
            )
        if not np.all(np.isfinite(numbers)):
            raise DalembertError(f"with_parameters: number {np.argmin(np.isfinite(numbers))} is not finite")
        rows = numbers.reshape(-1, 10)
        return replace(self, bodies=tuple(with_parameters(b, row) for b, row in zip(self.bodies, rows, strict=True)))

    def _named(self, kind: str, named: Mapping[str, Any], name: str) -> Any:
        if name not in named:
            raise unknown(kind, name, named, f"model {self.name!r}")
        return named[name]

    @cached_property
    def _bodies(self) -> dict[str, Body]:
        return {body.name: body for body in self.bodies}

    @cached_property
    def _joints(self) -> dict[str, Body]:
        return {body.joint.name: body for body in self.bodies if body.joint.nv}

    @cached_property
    def _frames(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        children: list[list[int]] = [[] for _ in self.bodies]
        for body in self.bodies[1:]:
            children[body.parent].append(body.index)
        return tuple(map(tuple, children))


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
