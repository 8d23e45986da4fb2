"""From links and joints of an SDF model to the model: bodies at their joints, loops as closures.

A link whose origin lies on the axis of its joint is a body of that name. Where the axis passes elsewhere, the body is
named after the joint and placed at SDF's joint frame, and the link is a part fixed to it, with a frame of its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math.tolerances import COMPOSED
from dalembert.model import ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.spatial import Inertia, Pose, so3

from ..closing import close
from ..ledger import Ledger
from .joints import Joint
from .shapes import Placed
from .tree import Step

PERPENDICULAR = 1e-9


class Link(Protocol):
    """A link of any format: `inertia` in its frame, X: its pose in the world in the layout of the file."""

    @property
    def name(self) -> str: ...
    @property
    def inertia(self) -> Inertia: ...
    @property
    def X(self) -> Pose: ...
    @property
    def shapes(self) -> list[Placed]: ...
    @property
    def where(self) -> str: ...


class Assembly:
    """Hands links to a builder, one after the other, parents first."""

    def __init__(self, builder: ModelBuilder, links: Mapping[str, Link], joints: set[str], ledger: Ledger) -> None:
        self.builder, self.links, self.ledger = builder, links, ledger
        self._names = {*links}  # of bodies and frames
        self._joints = set(joints)
        self._carriers: dict[str, tuple[str, Pose]] = {WORLD: (WORLD, Pose.identity())}  # link → its body, and where

    def add_root(self, name: str, base: str) -> str:
        """Add a link that floats in the world, or is held there as the file places it; returns its joint's name."""
        link = self.links[name]
        joint = _free(name, self._joints, "_root")
        self._joints.add(joint)
        if base == "free":
            self._report_start(link)
        placement = Pose.identity() if base == "free" else link.X
        self._carriers[name] = name, link.X
        self._add(link.where, name, WORLD, base, joint, placement, link.inertia, {})
        self.add_shapes(name)
        return joint

    def _report_start(self, link: Link) -> None:
        """Where the file puts a floating base: an initial condition, no property of the model."""
        if np.any(link.X.matrix() - np.eye(4)):
            q = [*link.X.p.tolist(), *so3.to_quaternion(link.X.R).tolist()]
            numbers = " ".join(f"{x:.9g}" for x in q)
            what = f"the file puts the floating link '{link.name}' at x y z, w x y z = {numbers}"
            self.ledger.info(
                link.where, what, "q of a floating base is its pose in the world: start from these numbers"
            )

    def add(self, step: Step) -> None:
        """A link that a joint carries."""
        joint, link = step.joint, self.links[step.child]
        parent, X_parent = self._carriers[step.parent]
        axes = -joint.axes[::-1] if step.reversed else joint.axes
        X = joint.X if _apart(joint, link.X) else link.X
        shape: dict[str, Any] = {}
        for key, axis in zip(("axis", "axis2"), axes, strict=False):
            shape[key] = X.R.T @ axis
        if joint.kind == "screw":
            shape["pitch"] = joint.pitch
        fields = {
            key: value[::-1] if step.reversed and isinstance(value, list) else value
            for key, value in joint.fields.items()
        }
        if joint.mimic is not None:
            fields["mimic"] = joint.mimic.law
        if step.reversed:
            self._report_reversed(joint)
        at = relative(X_parent, X)
        if X is link.X:
            self._carriers[link.name] = link.name, link.X
            self._add(joint.where, link.name, parent, joint.kind, joint.name, at, link.inertia, shape | fields)
        else:
            what = "link whose origin lies beside the axis of its joint"
            self.ledger.count(link.where, what, "fixed in a body that is named and placed like the joint")
            body = _free(joint.name, self._names, "_joint")
            self._names.add(body)
            self._carriers[link.name] = body, X
            hold = _free(f"{joint.name}_link", self._joints, "_")
            self._joints.add(hold)
            self._add(joint.where, body, parent, joint.kind, joint.name, at, Inertia.zero(), shape | fields)
            self._add(joint.where, link.name, body, "fixed", hold, relative(X, link.X), link.inertia, {})
        self.add_shapes(link.name)

    def _report_reversed(self, joint: Joint) -> None:
        how = {
            "universal": "; its coordinates are swapped",
            "ball": f"; q is the rotation of '{joint.parent}' in '{joint.child}'",
        }.get(joint.kind, "")
        what = f"joint '{joint.name}' is the only way to its parent '{joint.parent}'"
        self.ledger.info(joint.where, what, f"carried by '{joint.child}', with the same coordinate{how}")

    def _add(
        self,
        where: str,
        name: str,
        parent: str,
        kind: str,
        joint: str,
        placement: Pose,
        inertia: Inertia,
        fields: Mapping[str, Any],
    ) -> None:
        try:
            self.builder.add_body(
                name,
                parent=parent,
                joint=kind,
                joint_name=joint,
                placement=placement,
                inertia_object=inertia,
                **fields,
            )
        except DalembertError as error:
            raise DalembertError(f"{where}: {error}") from None

    def add_shapes(self, name: str) -> None:
        """The shapes of a link that has been added."""
        for placed in self.links[name].shapes:
            self.builder.add_geometry(
                placed.shape,
                body=name,
                placement=placed.placement,
                role=placed.role,
                color=placed.color,
                name=placed.name,
                surface=placed.surface,
            )

    def add_frame(self, name: str, link: str, X: Pose, where: str) -> None:
        """A named frame, at X in the world, fixed to a link."""
        if name in self._names:
            return
        self._names.add(name)
        try:
            self.builder.add_frame(name, body=link, placement=relative(self.links[link].X, X))
        except DalembertError as error:
            raise DalembertError(f"{where}: {error}") from None

    def close(self, joint: Joint, groups: Mapping[str, str]) -> None:
        """A joint that closes a loop."""
        shape = {key: joint.X.R.T @ axis for key, axis in zip(("axis", "axis2"), joint.axes, strict=False)}
        if joint.kind == "universal" and abs(joint.axes[0] @ joint.axes[1]) > PERPENDICULAR:
            what = f"joint '{joint.name}' (universal) closes a loop, and its axes are not perpendicular"
            raise DalembertError(f"{joint.where}: {what}; make them perpendicular")
        X_parent = Pose.identity() if joint.parent == WORLD else self.links[joint.parent].X
        placements = relative(X_parent, joint.X), relative(self.links[joint.child].X, joint.X)
        cure = "<physics><simbody><must_be_loop_joint>true"
        close(self.builder, joint, placements, shape, groups, self.ledger, cure)


def relative(X_WA: Pose, X_WB: Pose) -> Pose:
    """X_AB, with zeros and ones where only round-off is beside them."""
    X = X_WA.inverse() @ X_WB
    least = COMPOSED * max(float(np.max(np.abs(X_WA.p))), float(np.max(np.abs(X_WB.p))))
    nearest = np.round(X.R)
    R = np.where(np.abs(X.R - nearest) <= COMPOSED, nearest, X.R)
    return Pose(R, np.where(np.abs(X.p) <= least, 0.0, X.p))


def _apart(joint: Joint, X: Pose) -> bool:
    """Whether the joint would move the origin of a frame at X that is fixed in its child."""
    if joint.kind in ("prismatic", "fixed"):
        return False
    d = X.p - joint.X.p
    if joint.kind in ("revolute", "continuous", "screw"):
        d = d - joint.axes[0] * (joint.axes[0] @ d)
    scale = max(float(np.max(np.abs(X.p))), float(np.max(np.abs(joint.X.p))))
    return bool(np.max(np.abs(d)) > COMPOSED * scale)


def _free(name: str, taken: set[str], ending: str) -> str:
    """The name, with the ending added until it is unique."""
    while name in taken:
        name += ending
    return name
