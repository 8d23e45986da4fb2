"""From links as they were added to the frozen model: bodies numbered depth first, fixed links merged into them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial import Inertia, Pose

from .closures import WORLD_BODY, Closure, JointEquation
from .frame import Frame
from .geometry import Geometry
from .joints import Coupled, Joint
from .joints.joint import snapped
from .model import Body, Model, Part

WORLD = "world"


@dataclass(frozen=True, eq=False)
class Link:
    """A link as it was added: its joint frame in the parent, its joint, its inertia, its shapes."""

    name: str
    parent: str
    placement: Pose
    joint: Joint
    inertia: Inertia
    geometry: tuple[Geometry, ...] = ()


Place = tuple[str, Pose] | None  # of a frame: its link and the placement in it; None for a link's own frame


@dataclass(frozen=True, eq=False)
class Closing:
    """A closure as it was added: between places in links, frames or the world."""

    name: str
    a: str
    placement_a: Pose
    b: str
    placement_b: Pose
    make: Callable[..., Closure]


def assemble(
    name: str,
    gravity: np.ndarray,
    links: Mapping[str, Link],
    places: Mapping[str, Place],
    closings: Iterable[Closing] = (),
    equations: Iterable[JointEquation] = (),
) -> Model:
    """Number the moving bodies depth first and merge the fixed links into them; the base is the first of the links."""
    base = next(iter(links))
    children: dict[str, list[str]] = {link: [] for link in links}
    for link in links.values():
        if link.name != base:
            children[link.parent].append(link.name)

    bodies: list[Body] = []
    carrier: dict[str, tuple[int, Pose]] = {}  # link -> its body and X_BL
    nq = nv = 0
    stack = [base]
    while stack:
        link = links[stack.pop()]
        stack.extend(reversed(children[link.name]))
        parent, X_PJ = (-1, link.placement) if link.name == base else _carried(carrier[link.parent], link.placement)
        if link.joint.kind == "fixed" and link.name != base:
            carrier[link.name] = (parent, X_PJ)
            bodies[parent] = _merged(bodies[parent], Part(link.name, X_PJ, link.inertia, link.geometry))
            continue
        follows = isinstance(link.joint, Coupled)  # shares the slices of its leader, which may come later
        q = slice(nq, nq + (0 if follows else link.joint.nq))
        v = slice(nv, nv + (0 if follows else link.joint.nv))
        nq, nv = q.stop, v.stop
        own = Part(link.name, Pose.identity(), link.inertia, link.geometry)
        carrier[link.name] = (len(bodies), own.placement)
        bodies.append(Body(link.name, len(bodies), parent, X_PJ, link.joint, link.inertia, q, v, (own,)))

    owners = {body.joint.name: body for body in bodies}
    for follower in bodies:
        if isinstance(follower.joint, Coupled):
            leader = owners[follower.joint.leader]
            bodies[follower.index] = replace(follower, q=leader.q, v=leader.v)

    def found(frame: str) -> tuple[int, Pose]:
        place = places.get(frame)
        return carrier[frame] if place is None else _carried(carrier[place[0]], place[1])

    frames = [Frame(body.name, body.index, Pose.identity()) for body in bodies]
    own_frames = {frame.name for frame in frames}
    frames += [Frame(frame, *found(frame)) for frame in places if frame not in own_frames]
    carrier.setdefault(WORLD, (WORLD_BODY, Pose.identity()))
    closures = [_closed(closing, found) for closing in closings]
    return Model(name, gravity, tuple(bodies), tuple(frames), (*closures, *equations))


def _closed(closing: Closing, found: Callable[[str], tuple[int, Pose]]) -> Closure:
    """The closure between the bodies that carry its two ends."""
    a = Frame(f"{closing.name}:a", *_carried(found(closing.a), closing.placement_a))
    b = Frame(f"{closing.name}:b", *_carried(found(closing.b), closing.placement_b))
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
