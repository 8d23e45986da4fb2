"""From links as they were added to the frozen model: bodies numbered depth first, fixed links merged into them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial import Inertia, Pose

from .actuators import Actuator, JointForceLimits
from .closures import WORLD_BODY, Closure, JointEquation
from .frame import Frame
from .geometry import Geometry
from .groups import Group
from .joints import Joint
from .joints.joint import snapped
from .keyframes import Keyframe
from .model import Body, Model, Part
from .mujoco import Mujoco
from .sensors import Sensor
from .surroundings import Surroundings

WORLD = "world"


@dataclass(frozen=True, eq=False)
class Link:
    """A link as it was added: its joint frame in the parent, its joint, its inertia, its shapes.

    mount: the link that it sits on, where `placement` is given in another one of the same body; "": the parent.
    """

    name: str
    parent: str
    placement: Pose
    joint: Joint
    inertia: Inertia
    geometry: tuple[Geometry, ...] = ()
    mount: str = ""


class Place(NamedTuple):
    """Where a frame is: placed in a link. mount: the link that it sits on, if that is another one of the same body."""

    link: str
    placement: Pose
    mount: str = ""


@dataclass(frozen=True, eq=False)
class Closing:
    """A closure as it was added: between places in links, frames or the world."""

    name: str
    a: str
    placement_a: Pose
    b: str
    placement_b: Pose
    make: Callable[..., Closure]
    mount_a: str = ""  # the link that the end sits on, if not the one it is placed in
    mount_b: str = ""


def assemble(
    name: str,
    gravity: np.ndarray,
    links: Mapping[str, Link],
    places: Mapping[str, Place | None],  # None: the frame of the link of that name
    closings: Iterable[Closing] = (),
    equations: Iterable[JointEquation] = (),
    actuators: Iterable[Actuator] = (),
    keyframes: Iterable[Keyframe] = (),
    joint_force_limits: Iterable[JointForceLimits] = (),
    exclusions: Iterable[tuple[str, str]] = (),
    groups: Iterable[Group] = (),
    surroundings: Surroundings | None = None,
    mujoco: Mujoco | None = None,
    sensors: Iterable[Sensor] = (),
) -> Model:
    """Number the moving bodies depth first and merge the fixed links into them; the base is the first of the links."""
    bodies, carrier = _numbered(links)

    def located(frame: str) -> tuple[int, Pose, str]:
        place = places.get(frame)
        if place is None:
            return *carrier[frame], frame
        return *_carried(carrier[place.link], place.placement), place.mount or place.link

    frames = [Frame(body.name, body.index, Pose.identity(), body.name) for body in bodies]
    body_frames = {frame.name for frame in frames}
    frames += [Frame(frame, *located(frame)) for frame in places if frame not in body_frames]
    carrier.setdefault(WORLD, (WORLD_BODY, Pose.identity()))
    closed: list[Closure | JointEquation] = [_closed(closing, located) for closing in closings]
    closed += equations
    kept = tuple(actuators), tuple(keyframes), tuple(joint_force_limits), tuple(exclusions), tuple(groups)
    around = surroundings or Surroundings()
    return Model(name, gravity, tuple(bodies), tuple(frames), tuple(closed), *kept, around, mujoco, tuple(sensors))


def _numbered(links: Mapping[str, Link]) -> tuple[list[Body], dict[str, tuple[int, Pose]]]:
    """The moving bodies, depth first, fixed links merged into them; and of each link its body and X_BL."""
    base = next(iter(links))
    children: dict[str, list[str]] = {link: [] for link in links}
    for link in links.values():
        if link.name != base:
            children[link.parent].append(link.name)

    bodies: list[Body] = []
    carrier: dict[str, tuple[int, Pose]] = {}
    nq = nv = 0
    stack = [base]
    while stack:
        link = links[stack.pop()]
        stack.extend(reversed(children[link.name]))
        parent, X_PJ = (-1, link.placement) if link.name == base else _carried(carrier[link.parent], link.placement)
        if not link.joint.nv and link.name != base:
            carrier[link.name] = (parent, X_PJ)
            mount = link.mount or link.parent
            bodies[parent] = _merged(bodies[parent], Part(link.name, X_PJ, link.inertia, link.geometry, mount))
            continue
        follows = link.joint.mimic is not None  # shares the slices of its leader, which may come later
        q = slice(nq, nq + (0 if follows else link.joint.nq))
        v = slice(nv, nv + (0 if follows else link.joint.nv))
        nq, nv = q.stop, v.stop
        main_part = Part(link.name, Pose.identity(), link.inertia, link.geometry)
        carrier[link.name] = (len(bodies), main_part.placement)
        mount = "" if link.name == base else link.mount or link.parent
        bodies.append(Body(link.name, len(bodies), parent, X_PJ, link.joint, link.inertia, q, v, (main_part,), mount))

    owners = {body.joint.name: body for body in bodies}
    for follower in bodies:
        if (mimic := follower.joint.mimic) is not None:
            leader = owners[mimic.leader]
            bodies[follower.index] = replace(follower, q=leader.q, v=leader.v)
    return bodies, carrier


def _closed(closing: Closing, located: Callable[[str], tuple[int, Pose, str]]) -> Closure:
    """The closure between the bodies that carry its two ends."""
    ends = []
    for label, place, X, mount in (
        ("a", closing.a, closing.placement_a, closing.mount_a),
        ("b", closing.b, closing.placement_b, closing.mount_b),
    ):
        body, X_BP, link = located(place)
        ends.append(Frame(f"{closing.name}:{label}", *_carried((body, X_BP), X), mount or link))
    a, b = ends
    if a.body == b.body:
        raise DalembertError(
            f"closure {closing.name!r} ties {closing.a!r} to {closing.b!r}, which are parts of one body: remove it"
        )
    return closing.make(name=closing.name, a=a, b=b)


def _carried(carrier: tuple[int, Pose], placement: Pose) -> tuple[int, Pose]:
    """The body and the placement in it of something placed in a link."""
    body, X_BL = carrier
    X = X_BL @ placement
    return body, Pose(snapped(X.R), X.p)


def _merged(body: Body, part: Part) -> Body:
    inertia = body.inertia + part.inertia.transform(part.placement)
    return replace(body, inertia=inertia, parts=(*body.parts, part))
