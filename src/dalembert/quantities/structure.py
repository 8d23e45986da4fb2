"""The structure of a robot for users: joints, bodies, frames; and the external wrenches they apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.model import Frame, Model, unopposed
from dalembert.model.joints.joint import RATE_LIMITS

if TYPE_CHECKING:
    from dalembert.dynamics.collision import HeightField

ORIGIN = (0.0, 0.0, 0.0)


class JointInfo(NamedTuple):
    """A joint: its bodies, where its coordinates lie in q and v, its limits (arrays over its coordinates).

    A joint that follows another one (a mimic joint) names its `leader`, whose q and v it shares: its own coordinate,
    which limits and the other fields refer to, is ratio · q[joint.q] + offset. units: "rad" or "m" of each freedom.
    """

    name: str
    kind: str
    parent: str
    child: str
    q: slice
    v: slice
    lower: np.ndarray
    upper: np.ndarray
    velocity_limit: np.ndarray
    acceleration_limit: np.ndarray
    deceleration_limit: np.ndarray
    jerk_limit: np.ndarray
    effort_limit: np.ndarray
    continuous_limit: np.ndarray
    armature: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    stribeck: np.ndarray
    stiffness: np.ndarray
    leader: str | None = None
    ratio: float = 1.0
    offset: float = 0.0
    units: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Joint {self.name!r}: {_kind(self)}, from {self.parent!r} to {self.child!r}>"


class BodyInfo(NamedTuple):
    """A body: the joint that moves it (None for a fixed base), joint frame in the parent, mass properties.

    placement (4, 4) of the joint frame in the parent body [m]; com (3,) [m]; inertia (3, 3) [kg·m²] about the com, in
    body axes; parts: names of the links merged into it.
    """

    name: str
    parent: str | None
    joint: str | None
    placement: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    parts: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Body {self.name!r}: {self.mass:.4g} kg, moved by {self.joint!r}>"


class FrameInfo(NamedTuple):
    """A frame: the body it is fixed to and its placement (4, 4) in that body [m]."""

    name: str
    body: str
    placement: np.ndarray

    def __repr__(self) -> str:
        return f"<Frame {self.name!r} on {self.body!r}>"


class Limits(NamedTuple):
    """Limits of all joints: lower, upper (nq,) [rad or m], the others (nv,); infinite where there are none.

    acceleration holds while the speed of a joint grows, deceleration while it falls [rad/s² or m/s²]; jerk for the rate
    of both. effort: at its peak; continuous: that a motor may give for ever [N·m or N]. A joint and those that follow
    it share coordinates: the tightest range and rates of them count, in the leader's coordinate, and the leader's
    efforts. Quaternions have no limits.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    acceleration: np.ndarray
    deceleration: np.ndarray
    jerk: np.ndarray
    continuous: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)

    @property
    def steepest(self) -> np.ndarray:
        """(nv,): the rate of change of the speed that is allowed both up and down [rad/s² or m/s²]."""
        return np.minimum(self.acceleration, self.deceleration)


@dataclass(frozen=True, slots=True)
class Wrench:
    """A force [N] and a torque [N·m] of the surroundings on a frame, each (3,) or (…, 3) for a batch.

    The force acts at `point` [m], given in the frame's own axes. `axes`: along which force and torque are written:
    "frame" (the frame's own), "world", or the name of another frame.
    """

    force: Any = ORIGIN
    torque: Any = ORIGIN
    frame: str = ""
    point: Any = ORIGIN
    axes: str = "frame"


def joint_info(model: Model, index: int) -> JointInfo:
    """The joint that moves body `index`."""
    body = model.bodies[index]
    parent = model.bodies[body.parent].name if body.parent >= 0 else "world"
    joint = body.joint
    values = {field: getattr(joint.uncoupled, field) for field in JointInfo._fields[6:-4]}
    values |= joint.mimic._asdict() if joint.mimic is not None else {}
    return JointInfo(joint.name, joint.kind, parent, body.name, body.q, body.v, **values, units=joint.uncoupled.units)


def body_info(model: Model, index: int) -> BodyInfo:
    """Body `index`."""
    body = model.bodies[index]
    return BodyInfo(
        body.name,
        model.bodies[body.parent].name if body.parent >= 0 else None,
        body.joint.name if body.joint.nv else None,
        body.placement.matrix(),
        float(body.inertia.mass),
        body.inertia.com,
        body.inertia.about_com(),
        tuple(part.name for part in body.parts),
    )


def frame_info(model: Model, frame: Frame) -> FrameInfo:
    """A frame of the model."""
    return FrameInfo(frame.name, model.bodies[frame.body].name, frame.placement.matrix())


def limits(model: Model) -> Limits:
    """The limits of all joints of a model."""
    lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    effort, continuous = np.full(model.nv, np.inf), np.full(model.nv, np.inf)
    rates = {limit: np.full(model.nv, np.inf) for limit in RATE_LIMITS}
    for body in model.bodies:
        joint = body.joint
        for i, *_ in joint.lines:
            place = body.q.start + i
            lower[place], upper[place] = max(lower[place], joint.lower[i]), min(upper[place], joint.upper[i])
        for limit, least in rates.items():
            least[body.v] = np.minimum(least[body.v], getattr(joint, limit))
        if joint.mimic is None:
            effort[body.v] = np.minimum(effort[body.v], joint.effort_limit)
            continuous[body.v] = np.minimum(continuous[body.v], joint.continuous_limit)
    velocity, acceleration, deceleration, jerk = rates.values()
    return Limits(lower, upper, velocity, effort, acceleration, deceleration, jerk, continuous)


def level_terrain(model: Model) -> HeightField | None:
    """The first level height field of a model as a function z(x, y); None: there is none."""
    from dalembert.dynamics.collision import HeightField

    for each in model.mujoco.height_maps if model.mujoco else ():
        if each.level:
            x, y, z = each.placement.p
            return HeightField(x + each.xs, y + each.ys, z + each.z)
    return None


def joint_table(model: Model) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Heads and rows of a table of a model's joints, for notebooks; angles are in degrees."""
    rows = []
    for index, body in enumerate(model.bodies):
        if body.joint.nv:
            joint = joint_info(model, index)
            rows.append((joint.name, _kind(joint), joint.parent, joint.child, _range(joint), body.inertia.mass))
    return ("joint", "kind", "parent", "child", "range", "mass [kg]"), rows


def _kind(joint: JointInfo) -> str:
    return f"{joint.kind}, follows {joint.leader}" if joint.leader else joint.kind


def _range(joint: JointInfo) -> str:
    if joint.lower.size != 1 or not np.isfinite([joint.lower[0], joint.upper[0]]).any():
        return ""
    turns = joint.units == ("rad",)
    low, high = np.degrees([joint.lower[0], joint.upper[0]]) if turns else (joint.lower[0], joint.upper[0])
    return f"{low:.4g} … {high:.4g}{'°' if turns else ' m'}"


def problems(model: Model) -> tuple[str, ...]:
    """Impossible bodies of a model, and joints that meet no inertia; see `Robot.problems`."""
    bodies = [f"body {body.name!r}: {problem}" for body in model.bodies for problem in body.inertia.problems()]
    heavy = any(body.inertia.mass for body in model.bodies)
    return *bodies, *(str(each) for each in (unopposed(model) if heavy and not bodies else ()))
