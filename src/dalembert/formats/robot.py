"""A robot as its file states it: links, joints and shapes with their places in the file, and the model that they make.

Readers translate a format into these records; the tree, the checks and the sentences of the log are here, for all.

A link whose origin lies on the axis of its joint is a body of that name. Where the axis passes elsewhere, the body is
named after the joint and placed at the joint's frame, and the link is a part fixed to it, with a frame of its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.errors import LISTED, DalembertError, unknown
from dalembert.math.tolerances import COMPOSED
from dalembert.model import Geometry, Model, ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.spatial import Inertia, Pose, so3

from .diagnosis import diagnose
from .ledger import Ledger
from .tree import LinkTree, TreeStep, arrange

BASES = ("fixed", "free")
MIMICS = ("couple", "free")
LEADERS = ("revolute", "continuous", "prismatic", "screw")
EFFECTS = ("damping", "friction", "stiffness")
PERPENDICULAR = 1e-9
# joint kind → closure that holds its ends to each other
CLOSURES = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "point", "fixed": "weld",
    "universal": "universal", "cylindrical": "cylindrical", "planar": "planar", "distance": "distance",
    "point-on-line": "point-on-line", "point-on-plane": "point-on-plane",
}  # fmt: skip


@dataclass(frozen=True)
class FileMimic:
    """q = multiplier · q(leader) + offset; where: place in the file."""

    leader: str
    multiplier: float
    offset: float
    where: str

    @property
    def law(self) -> tuple[str, float, float]:
        """Leader, ratio and offset, as the model's builder takes them."""
        return self.leader, self.multiplier, self.offset


@dataclass(frozen=True, eq=False)
class FileShape(Geometry):
    """A shape of a link, the element of the file that states it, and its density [kg/m³] if that is stated."""

    element: Any = None
    density: float | None = None


@dataclass(frozen=True, eq=False)
class FileLink:
    """A link: `inertia` in its frame, X: its pose in the world in the layout of the file.

    weightless: gravity does not act on it. stated: whether the file states its inertia.
    """

    name: str
    inertia: Inertia
    where: str
    X: Pose
    shapes: Sequence[Geometry] = ()
    weightless: bool = False
    stated: bool = True


@dataclass(frozen=True, eq=False)
class FileJoint:
    """A joint between two links; `fields` are keyword arguments of the model's joint: one number, or one for each axis.

    A file states the joint's frame in the world, as X, with `axes` (k, 3) there; or in its ends, as X_parent and
    X_child, with `axes` in that frame. loop: whether the file says that it closes a loop. gear: the reference link and
    the ratio of a gearbox. length [m]: which a joint of kind "distance" holds.
    """

    name: str
    kind: str
    parent: str
    child: str
    fields: dict[str, Any]
    where: str
    X: Pose | None = None
    axes: np.ndarray | Sequence[Any] = ()
    mimic: FileMimic | None = None
    loop: bool = False
    gear: tuple[str, float] | None = None
    X_parent: Pose | None = None
    X_child: Pose | None = None
    length: float | None = None

    @property
    def effects(self) -> bool:
        """Whether damping, friction or springs act in it."""
        return any(np.any(self.fields.get(effect, 0.0)) for effect in EFFECTS)

    def shape(self, R: np.ndarray | None = None) -> dict[str, Any]:
        """Its axes in a frame turned by R (None: as they are), and its length, as the model's builder takes them."""
        if self.length is not None:
            return {"length": self.length}
        return dict(
            zip(("axis", "axis2"), self.axes if R is None else [R.T @ axis for axis in self.axes], strict=False)
        )


class FileRobot:
    """Links and joints of a file, and the model that they become: arrange, settle, then add roots, steps and loops."""

    def __init__(
        self, links: Mapping[str, FileLink], joints: Sequence[FileJoint], builder: ModelBuilder, where: str,
        ledger: Ledger,
    ) -> None:  # fmt: skip
        self.links, self.joints, self.builder, self.where, self.ledger = links, joints, builder, where, ledger
        self.tree = LinkTree()
        self.groups: Mapping[str, str] = {}  # link → one that stands for all links of the same body
        self._names = {*links}  # of bodies and frames
        self._joint_names = {joint.name for joint in joints}
        self._carriers: dict[str, tuple[str, Pose]] = {WORLD: (WORLD, Pose.identity())}  # link → its body, and where

    # ---- the tree

    def arrange(self, base: str | None) -> None:
        """Find the tree of the joints; base "free": without the joints that fix the robot to the world."""
        joints = [joint for joint in self.joints if joint.kind not in ("gearbox", "distance")]
        if base == "free":
            joints = [joint for joint in joints if not self._holds(joint)]
        self.tree = arrange(self.links, joints)
        self.tree.loops += [joint for joint in self.joints if joint.kind == "distance"]
        if len(self.tree.roots) > 1:
            listed = ", ".join(f"'{root}'" for root in self.tree.roots[:LISTED])
            floats = "each is held" if base == "fixed" else "each floats by itself"
            what = f"the robot falls into {len(self.tree.roots)} unconnected pieces: {listed}"
            self.ledger.info(self.where, what, floats)

    def _holds(self, joint: FileJoint) -> bool:
        """Whether a joint fixes a robot to the world whose base is to be free; raises if it moves it there."""
        if joint.parent != WORLD:
            return False
        if joint.kind != "fixed":
            raise DalembertError(
                f"{joint.where}: base='free', but the {joint.kind} joint '{joint.name}' moves the robot in the world; "
                "remove it from the file, or omit base"
            )
        self.ledger.info(joint.where, f"base='free' and joint '{joint.name}' holds the model", "the joint is left out")
        return True

    def settle(self, option: str, geared: Any = None) -> None:
        """Keep the valid mimics, none if option is "free"; geared(steps, groups) adds those of gearboxes before."""
        self.groups = self.tree.welded(self.links)
        steps = self.tree.steps if geared is None else geared(self.tree.steps, self.groups, self.ledger)
        joints = settled((step.joint for step in steps), option, self.ledger)
        self.tree.steps = [replace(step, joint=joint) for step, joint in zip(steps, joints, strict=True)]

    # ---- links

    def add_all(self, base: str) -> dict[str, str]:
        """Add all links, parents first; base: of the roots. Returns root → the name of its joint."""
        roots = {}
        for item in self.tree.outward(self.links):
            if isinstance(item, str):
                roots[item] = self.add_root(item, base)
            else:
                self.add(item)
        return roots

    def add_root(self, name: str, base: str, placement: Pose | None = None, **fields: Any) -> str:
        """Add a link that floats in the world, or is held there as the file places it; returns its joint's name.

        placement: of its joint in the world, where that is not this pose.
        """
        link = self.links[name]
        joint = unused(name, self._joint_names, "_root")
        if placement is None:
            placement = Pose.identity() if base == "free" else link.X
            if base == "free" and np.any(link.X.matrix() - np.eye(4)):  # an initial condition, no property of the model
                numbers = " ".join(f"{x:.9g}" for x in [*link.X.p.tolist(), *so3.to_quaternion(link.X.R).tolist()])
                what = f"the file puts the floating link '{name}' at x y z, w x y z = {numbers}"
                action = "q of a floating base is its pose in the world: start from these numbers"
                self.ledger.info(link.where, what, action)
        self._carriers[name] = name, link.X
        self._add(link.where, name, WORLD, base, joint, placement, link.inertia, fields)
        self._add_shapes(link)
        return joint

    def add(self, step: TreeStep) -> None:
        """A link that a joint carries."""
        joint, link = step.joint, self.links[step.child]
        parent, X_parent = self._carriers[step.parent]
        fields = {
            key: value[::-1] if step.reversed and isinstance(value, list) else value
            for key, value in joint.fields.items()
        }
        if joint.mimic is not None:
            fields["mimic"] = joint.mimic.law
        if joint.X is None:
            self._carriers[link.name] = link.name, link.X
            placement = Pose.identity() if joint.X_parent is None else joint.X_parent
            fields = joint.shape() | fields
            self._add(joint.where, link.name, parent, joint.kind, joint.name, placement, link.inertia, fields)
            self._add_shapes(link)
            return
        X = joint.X if _apart(joint, joint.X, link.X) else link.X
        turned = replace(joint, axes=-np.asarray(joint.axes)[::-1]) if step.reversed else joint
        fields = turned.shape(X.R) | fields
        if step.reversed:
            self._report_reversed(joint)
        at = relative(X_parent, X)
        if X is link.X:
            self._carriers[link.name] = link.name, link.X
            self._add(joint.where, link.name, parent, joint.kind, joint.name, at, link.inertia, fields)
        else:
            what = "link whose origin lies beside the axis of its joint"
            self.ledger.count(link.where, what, "fixed in a body that is named and placed like the joint")
            body = unused(joint.name, self._names, "_joint")
            self._carriers[link.name] = body, X
            hold = unused(f"{joint.name}_link", self._joint_names)
            self._add(joint.where, body, parent, joint.kind, joint.name, at, Inertia.zero(), fields)
            self._add(joint.where, link.name, body, "fixed", hold, relative(X, link.X), link.inertia, {})
        self._add_shapes(link)

    def _report_reversed(self, joint: FileJoint) -> None:
        how = {
            "universal": "; its coordinates are swapped",
            "ball": f"; q is the rotation of '{joint.parent}' in '{joint.child}'",
        }.get(joint.kind, "")
        what = f"joint '{joint.name}' is the only way to its parent '{joint.parent}'"
        self.ledger.info(joint.where, what, f"carried by '{joint.child}', with the same coordinate{how}")

    def _add(
        self, where: str, name: str, parent: str, kind: str, joint: str, placement: Pose, inertia: Inertia,
        fields: Mapping[str, Any],
    ) -> None:  # fmt: skip
        try:
            self.builder.add_body(
                name, parent=parent, joint=kind, joint_name=joint, placement=placement, inertia_object=inertia, **fields
            )
        except DalembertError as error:
            raise DalembertError(f"{where}: {error}") from None

    def _add_shapes(self, link: FileLink) -> None:
        for shape in link.shapes:
            add_shape(self.builder, link.name, shape)

    def add_frame(self, name: str, link: str, X: Pose, where: str) -> None:
        """A named frame, at X in the world, fixed to a link."""
        if name in self._names:
            return
        self._names.add(name)
        try:
            self.builder.add_frame(name, body=link, placement=relative(self.links[link].X, X))
        except DalembertError as error:
            raise DalembertError(f"{where}: {error}") from None

    # ---- loops

    def close_loops(self, cure: str = "") -> None:
        """Add the closures of the joints outside the tree; cure: how a file lets another joint close a loop."""
        for joint in self.tree.loops:
            self._close(joint, cure)

    def _close(self, joint: FileJoint, cure: str) -> None:
        what, kind = f"joint '{joint.name}' ({joint.kind}) closes a loop", CLOSURES.get(joint.kind)
        if kind == "universal" and abs(joint.axes[0] @ joint.axes[1]) > PERPENDICULAR:
            raise DalembertError(f"{joint.where}: {what}, and its axes are not perpendicular; make them perpendicular")
        if self.groups[joint.parent] == self.groups[joint.child]:
            self.ledger.info(joint.where, what, "without effect: fixed joints already make its ends one body")
            return
        if kind is None:
            advice = f"let another joint close it{cure and ': '}{cure}"
            raise DalembertError(f"{joint.where}: {what}, which a {joint.kind} joint cannot; {advice}")
        if joint.X is None:
            places, shape = (joint.X_parent, joint.X_child), joint.shape()
        else:
            X_parent = Pose.identity() if joint.parent == WORLD else self.links[joint.parent].X
            places = relative(X_parent, joint.X), relative(self.links[joint.child].X, joint.X)
            shape = joint.shape(joint.X.R)
        self.builder.add_closure(
            joint.name, kind, a=joint.parent, b=joint.child, placement_a=places[0], placement_b=places[1], **shape
        )
        self.ledger.info(joint.where, what, f"kept as a {kind} closure, without a coordinate")
        limits = np.hstack([np.array(joint.fields.get(name), float) for name in ("lower", "upper")])
        if joint.effects or np.any(joint.fields.get("armature", 0.0)) or np.isfinite(limits).any():
            lost = f"limits, damping, friction, rotor inertia or spring of joint '{joint.name}', which closes a loop"
            self.ledger.warning(joint.where, lost, "not used: a closure has no coordinate")
        if joint.mimic is not None:
            what = f"joint '{joint.name}', which closes a loop, follows '{joint.mimic.leader}'"
            self.ledger.warning(joint.mimic.where, what, "not used: a closure has no coordinate")

    # ---- the model

    def check_mimics(self) -> None:
        """Raise at the first impossible follower; log limits of follower and leader that exclude each other."""
        joints = {step.joint.name: step.joint for step in self.tree.steps}
        for joint in joints.values():
            if joint.mimic is None:
                continue
            try:
                follower = self.builder.coupled(joint.name)
            except DalembertError as error:
                raise DalembertError(f'{joint.mimic.where}: {error}; mimic="free" makes them independent') from None
            lower, upper = (joints[follower.leader].fields.get(side) for side in ("lower", "upper"))
            if (lower is not None and follower.upper[0] < lower) or (upper is not None and follower.lower[0] > upper):
                what = f"the limits of joint '{joint.name}' and of its leader '{follower.leader}' exclude each other"
                self.ledger.info(joint.mimic.where, what, "kept: no position obeys both")

    def model(self) -> Model:
        """The finished model, with what is doubtful in it in the log."""
        if weightless := {link.name: 1.0 for link in self.links.values() if link.weightless}:
            self.builder.surround(compensations=weightless)
        model = self.builder.model()
        places = {link.name: link.where for link in self.links.values()}
        places |= {joint.name: joint.where for joint in self.joints}
        diagnose(self.ledger, model, lambda name: places.get(name, self.where))
        return model


def add_shape(builder: ModelBuilder, link: str, shape: Geometry, placement: Pose | None = None) -> None:
    """Fix a shape in a link, at `placement` if that is not its own."""
    builder.add_geometry(
        shape.shape, body=link, placement=shape.placement if placement is None else placement, role=shape.role,
        color=shape.color, name=shape.name, surface=shape.surface,
    )  # fmt: skip


def check_options(reader: str, base: str | None, mimic: str) -> None:
    """Refuse options of a reader that have no meaning."""
    if base is not None and base not in BASES:
        raise unknown("base", base, BASES, reader)
    if mimic not in MIMICS:
        raise unknown("mimic option", mimic, MIMICS, reader)


def settled(joints: Iterable[FileJoint], option: str, ledger: Ledger) -> list[FileJoint]:
    """The joints with their valid mimics: none if option is "free", none whose leader cannot lead.

    Rings of joints that follow each other are detected later, by `FileRobot.check_mimics`.
    """
    listed = list(joints)
    kinds = {joint.name: joint.kind for joint in listed}
    for k, joint in enumerate(listed):
        if joint.mimic is None:
            continue
        leader, ratio, offset = joint.mimic.law
        trouble = ", which never moves" if ratio == 0.0 else ""
        if leader not in kinds:
            trouble = ", which is not a joint of the robot"
        elif kinds[leader] not in LEADERS:
            trouble = f", which is a {kinds[leader]} joint"
        what = f"joint '{joint.name}' mimics '{leader}': q = {ratio:g}·q('{leader}') + {offset:g}{trouble}"
        if option == "free":
            ledger.info(joint.mimic.where, what, 'independent, because of mimic="free"')
        elif trouble:
            ledger.warning(joint.mimic.where, what, "independent")
        if option == "free" or trouble:
            listed[k] = replace(joint, mimic=None)
    return listed


def relative(X_WA: Pose, X_WB: Pose) -> Pose:
    """X_AB, with zeros and ones where only round-off is beside them."""
    X = X_WA.inverse() @ X_WB
    least = COMPOSED * max(float(np.max(np.abs(X_WA.p))), float(np.max(np.abs(X_WB.p))))
    nearest = np.round(X.R)
    R = np.where(np.abs(X.R - nearest) <= COMPOSED, nearest, X.R)
    return Pose(R, np.where(np.abs(X.p) <= least, 0.0, X.p))


def _apart(joint: FileJoint, X_joint: Pose, X: Pose) -> bool:
    """Whether the joint at X_joint would move the origin of a frame at X that is fixed in its child."""
    if joint.kind in ("prismatic", "fixed"):
        return False
    d = X.p - X_joint.p
    if joint.kind in ("revolute", "continuous", "screw"):
        d = d - joint.axes[0] * (joint.axes[0] @ d)
    scale = max(float(np.max(np.abs(X.p))), float(np.max(np.abs(X_joint.p))))
    return bool(np.max(np.abs(d)) > COMPOSED * scale)


def unused(name: str, taken: set[str], ending: str = "_") -> str:
    """The name, with the ending added until it is unused; it counts as taken from then on."""
    while name in taken:
        name += ending
    taken.add(name)
    return name
