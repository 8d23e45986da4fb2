"""Building a model in code, link by link; fixed links are merged into the bodies that carry them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.spatial import Inertia, Pose, so3

from .coupling import Mimic, coupled, stated
from .joints import KINDS, Coupled, Fixed, Joint
from .joints.joint import snapped
from .model import Body, Frame, Model, Part

WORLD = "world"
ORTHONORMAL = 1e-9  # a rotation matrix may miss orthonormality by this much before it is refused


@dataclass(frozen=True, eq=False)
class _Link:
    """A link as it was added: its joint frame in the parent, its joint, its inertia."""

    name: str
    parent: str
    placement: Pose
    joint: Joint
    inertia: Inertia


_Place = tuple[str, Pose] | None  # of a frame: its link and the placement in it; None for a link's own frame


class ModelBuilder:
    """Collects bodies and frames; `model()` gives the frozen tree.

    gravity (3,) in the world [m/s²].
    """

    def __init__(self, name: str, gravity: Any = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self.gravity = _vector(gravity, f"model {name!r}: gravity")
        self._links: dict[str, _Link] = {}
        self._joints: dict[str, Joint] = {}
        self._mimics: dict[str, Mimic] = {}  # follower's joint → its leader
        self._frames: dict[str, _Place] = {}  # in the order added

    def add_body(
        self,
        name: str,
        *,
        parent: str,
        joint: str = "fixed",
        joint_name: str | None = None,
        axis: Any = (0.0, 0.0, 1.0),
        axis2: Any = (1.0, 0.0, 0.0),
        pitch: float = 0.0,
        xyz: Any = (0.0, 0.0, 0.0),
        rpy: Any = (0.0, 0.0, 0.0),
        placement: Pose | None = None,
        mass: float = 0.0,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = None,
        inertia_object: Inertia | None = None,
        mimic: tuple[str, float, float] | None = None,
        **effects: Any,
    ) -> None:
        """Add a body carried by `parent` (a body added before, or "world") through a joint.

        joint: one of revolute continuous prismatic screw cylindrical universal ball planar free fixed, named
        `joint_name` (default: as the body). The joint frame lies in the parent at `xyz` [m], `rpy` [rad] (or at
        `placement`); the body frame coincides with it at the joint's neutral configuration.
        axis (3,) in the joint frame; axis2 (3,) of a universal joint, in the body; pitch [m/rad] of a screw.
        mass [kg], com (3,) [m] in the body frame, inertia (3, 3) [kg·m²] about the com in body axes (None: a point
        mass). `inertia_object` replaces the three and need only be finite, for importers that report
        impossible bodies themselves.
        mimic: (leading joint, ratio, offset) makes the joint follow another one, added before or after it: its
        coordinate is ratio · q(leader) + offset and it has none of its own. Both need one coordinate.
        effects: armature damping friction slip_speed stiffness rest lower upper velocity_limit effort_limit, as in
        `Joint`.
        """
        where = f"body {name!r}"
        self._check_new(where, name)
        if parent != WORLD and parent not in self._links:
            error = unknown("parent", parent, [WORLD, *self._links], where)
            raise DalembertError(f"{error}; add a parent before its children")
        placement = _placement(placement, xyz, rpy, where)
        if inertia_object is None:
            inertia_object = _inertia(mass, com, inertia, where)
        else:
            parameters = _vector(inertia_object.parameters(), f"{where}: inertia_object", (10,))
            inertia_object = Inertia.from_parameters(parameters)
        shape = {"axis": axis, "axis2": axis2, "pitch": pitch}
        made = _joint(joint, name if joint_name is None else joint_name, shape, effects, where)
        if made.name in self._joints:
            raise DalembertError(f"{where}: there is already a joint {made.name!r}: give another joint_name")
        if name == WORLD:
            self._check_world(parent, made, placement)
        self._links[name] = _Link(name, parent, placement, made, inertia_object)
        self._joints[made.name] = made
        if mimic is not None:
            self._mimics[made.name] = stated(mimic, where)
        self._frames[name] = None

    def add_frame(
        self,
        name: str,
        *,
        body: str,
        xyz: Any = (0.0, 0.0, 0.0),
        rpy: Any = (0.0, 0.0, 0.0),
        placement: Pose | None = None,
    ) -> None:
        """Add a frame fixed in `body` at `xyz` [m], `rpy` [rad] (or at `placement`)."""
        where = f"frame {name!r}"
        self._check_new(where, name)
        if body not in self._links:
            raise unknown("body", body, self._links, where)
        self._frames[name] = (body, _placement(placement, xyz, rpy, where))

    def model(self) -> Model:
        """The frozen model of what has been added so far."""
        return _assemble(self.name, self.gravity, self._rooted(), self._frames)

    def coupled(self, joint: str) -> Coupled:
        """The joint that follows another one, as the model will have it; raises when it cannot."""
        return coupled(joint, self._joints, self._mimics)

    def _check_new(self, where: str, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise DalembertError(f"{where}: the name must be text and not empty")
        if name in self._frames:
            raise DalembertError(f"{where}: there is already a body or frame of that name: names must differ")

    def _check_world(self, parent: str, joint: Joint, placement: Pose) -> None:
        still = joint.kind == "fixed" and not np.any(placement.matrix() - np.eye(4))
        if parent != WORLD or not still or any(link.parent == WORLD for link in self._links.values()):
            raise DalembertError(
                "body 'world': that name is the world's own; a body so called must come first, fixed to 'world' at the "
                "origin: give it another name"
            )

    def _rooted(self) -> dict[str, _Link]:
        """The links with one base first, which alone hangs on the world."""
        if not self._links:
            raise DalembertError(f"model {self.name!r} has no bodies: add one with add_body(name, parent='world')")
        roots = [link for link in self._links.values() if link.parent == WORLD and link.name != WORLD]
        links = {
            name: replace(link, joint=self.coupled(link.joint.name)) if link.joint.name in self._mimics else link
            for name, link in self._links.items()
        }
        if WORLD in links or (len(roots) == 1 and roots[0].joint.kind in ("fixed", "free")):
            return links
        world = _Link(WORLD, "", Pose.identity(), Fixed(name=WORLD), Inertia.zero())
        return {WORLD: world, **links}


def _assemble(name: str, gravity: np.ndarray, links: dict[str, _Link], places: dict[str, _Place]) -> Model:
    """Number the moving bodies depth first and merge the fixed links into them."""
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
            bodies[parent] = _merged(bodies[parent], Part(link.name, X_PJ, link.inertia))
            continue
        follows = isinstance(link.joint, Coupled)  # shares the slices of its leader, which may come later
        q = slice(nq, nq + (0 if follows else link.joint.nq))
        v = slice(nv, nv + (0 if follows else link.joint.nv))
        nq, nv = q.stop, v.stop
        own = Part(link.name, Pose.identity(), link.inertia)
        carrier[link.name] = (len(bodies), own.placement)
        bodies.append(Body(link.name, len(bodies), parent, X_PJ, link.joint, link.inertia, q, v, (own,)))

    owners = {body.joint.name: body for body in bodies}
    for follower in bodies:
        if isinstance(follower.joint, Coupled):
            leader = owners[follower.joint.leader]
            bodies[follower.index] = replace(follower, q=leader.q, v=leader.v)

    frames = [Frame(body.name, body.index, Pose.identity()) for body in bodies]
    own_frames = {frame.name for frame in frames}
    for frame, place in places.items():
        if frame not in own_frames:
            body, X = carrier[frame] if place is None else _carried(carrier[place[0]], place[1])
            frames.append(Frame(frame, body, X))
    return Model(name, gravity, tuple(bodies), tuple(frames))


def _carried(carrier: tuple[int, Pose], placement: Pose) -> tuple[int, Pose]:
    """The body and the placement in it of something placed in a link."""
    body, X_BL = carrier
    X = X_BL @ placement
    return body, Pose(snapped(X.R), X.p)


def _merged(body: Body, part: Part) -> Body:
    inertia = body.inertia + part.inertia.transform(part.placement)
    return replace(body, inertia=inertia, parts=(*body.parts, part))


def _joint(kind: str, name: str, shape: dict[str, Any], effects: dict[str, Any], where: str) -> Joint:
    """The joint, given only those of axis, axis2 and pitch that its type has."""
    if kind not in KINDS:
        raise unknown("joint kind", kind, KINDS, where)
    common = [field.name for field in fields(Joint) if field.name != "name"]
    for effect in effects:
        if effect not in common:
            raise unknown("argument", effect, common, f"{where}: add_body")
    if shape["pitch"] and kind != "screw":
        raise DalembertError(f"{where}: pitch is {shape['pitch']} but the joint is {kind}: use joint='screw'")
    own = {field.name for field in fields(KINDS[kind])}
    return KINDS[kind](name=name, **{key: value for key, value in shape.items() if key in own}, **effects)


def _vector(x: Any, what: str, shape: tuple[int, ...] = (3,)) -> np.ndarray:
    """A copy as finite floats of that shape."""
    try:
        array = np.array(x, float)
    except (TypeError, ValueError):
        raise DalembertError(f"{what} is {x!r}, expected numbers of shape {shape}") from None
    if array.shape != shape:
        raise DalembertError(f"{what} has shape {array.shape}, expected {shape}")
    if not np.all(np.isfinite(array)):
        raise DalembertError(f"{what} is {array.tolist()}, expected finite numbers")
    return array


def _placement(X: Pose | None, xyz: Any, rpy: Any, where: str) -> Pose:
    """The pose given one way or the other, as own copies, its rotation snapped to exact zeros and ones."""
    if X is None:
        return Pose(snapped(so3.from_rpy(*_vector(rpy, f"{where}: rpy"))), _vector(xyz, f"{where}: xyz"))
    if np.any(xyz) or np.any(rpy):
        raise DalembertError(f"{where}: both placement and xyz or rpy are given: give one of them")
    R = _vector(X.R, f"{where}: rotation of the placement", (3, 3))
    if np.max(np.abs(R.T @ R - np.eye(3))) > ORTHONORMAL or np.linalg.det(R) < 0.0:
        raise DalembertError(f"{where}: placement has R = {R.tolist()}, which is no rotation matrix")
    return Pose(snapped(R), _vector(X.p, f"{where}: position of the placement"))


def _inertia(mass: Any, com: Any, inertia: Any, where: str) -> Inertia:
    """A physically possible inertia, or an error."""
    I_com = np.zeros((3, 3)) if inertia is None else _vector(inertia, f"{where}: inertia", (3, 3))
    if np.max(np.abs(I_com - I_com.T)) > 1e-9 * np.max(np.abs(I_com)):
        raise DalembertError(f"{where}: inertia {I_com.tolist()} is not symmetric: make it so")
    mass = float(_vector(mass, f"{where}: mass", ()))
    made = Inertia.from_com(mass, _vector(com, f"{where}: com"), 0.5 * (I_com + I_com.T))
    problems = made.problems()
    if problems:
        raise DalembertError(f"{where}: {'; '.join(problems)}; check mass, com, and inertia (about the com)")
    return made
