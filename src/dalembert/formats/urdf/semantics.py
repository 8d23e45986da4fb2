"""SRDF, the file beside a URDF: pairs of links that never collide, named configurations, groups, passive joints."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from dalembert.errors import LISTED, DalembertError
from dalembert.model import ModelBuilder

from ..ledger import Ledger
from ..robot import FileJoint
from ..xml import Document, children, parse, tag_of
from .elements import Element

Wanted = bool | str | os.PathLike[str]

SRDF = ".srdf"
FOLDERS = (".", "srdf", "../srdf")  # from that of the robot's file
FREE = 7  # numbers of a free base: x y z, then a quaternion x y z w
COLLISIONS = {"disable_collisions", "disable_default_collisions", "enable_collisions"}
READ = {"group", "group_state", "passive_joint"} | COLLISIONS
NOT_USED = {"end_effector", "virtual_joint", "link_sphere_approximation", "joint_property", "rotor_params"}


def find_semantics(document: Document, stem: str, wanted: Wanted, ledger: Ledger) -> Document | None:
    """The SRDF file of a robot: the one that is named; True: the one of this robot beside its own file."""
    if not isinstance(wanted, bool):
        return _of_a_robot(parse(Path(wanted)))
    if not wanted or document.folder is None:
        return None
    name, found = (document.root.get("name") or "").strip(), []
    for folder in FOLDERS:
        for path in sorted((document.folder / folder).glob(f"*{SRDF}")):
            try:
                candidate = _of_a_robot(parse(path))
            except DalembertError as error:
                ledger.info(f"{path}", f"cannot be read: {error}", "not used")
                continue
            if path.stem == stem:
                return candidate
            found += [candidate] if name and candidate.root.get("name") == name else []
    if len(found) > 1:
        listed = ", ".join(Path(each.label).name for each in found[:LISTED])
        ledger.info(f"{document.folder}", f"several SRDF files are of {name!r}: {listed}", "none is used: give srdf=")
    return found[0] if len(found) == 1 else None


def _of_a_robot(document: Document) -> Document:
    if tag_of(document.root) != "robot":
        raise document.error(document.root, "an SRDF file has the root element <robot>; give the .srdf file")
    return document


def with_passive(document: Document | None, joints: list[FileJoint], ledger: Ledger) -> list[FileJoint]:
    """The joints, without motors those that the file calls passive."""
    if document is None:
        return joints
    stated = {element.get("name"): element for element in _all(document, "passive_joint")}
    passive = [joint.name for joint in joints if joint.name in stated]
    for name in passive:
        ledger.info(document.where(stated[name]), "a passive joint", "it has no motor: see robot.motors")
    motorless = {name: {"motor": False} for name in passive}
    return [replace(joint, fields=joint.fields | motorless.get(joint.name, {})) for joint in joints]


def add_semantics(
    document: Document | None, builder: ModelBuilder, joints: Iterable[FileJoint], free: str, ledger: Ledger
) -> None:
    """Enter what the file says. free: the joint of a base that moves freely, "" of one that is fixed."""
    if document is None:
        return
    file = _File(document, builder, {joint.child: joint for joint in joints}, free, ledger)
    ledger.info(document.where(document.root), "SRDF of the robot", "read; load(…, srdf=False) leaves it out")
    file.exclude()
    file.add_groups()
    file.add_states()
    for element in children(document.root):
        if tag_of(element) not in READ:
            known = tag_of(element) in NOT_USED
            action = "not used: it carries no dynamics" if known else "not used: not a word of SRDF that is read"
            ledger.count(document.where(element), f"<{tag_of(element)}>", action)


def _all(document: Document, tag: str) -> Iterator[Element]:
    return (element for element in children(document.root) if tag_of(element) == tag)


@dataclass(frozen=True)
class _File:
    document: Document
    builder: ModelBuilder
    carriers: Mapping[str, FileJoint]  # link → the joint that carries it
    free: str
    ledger: Ledger

    def exclude(self) -> None:
        """Pairs of links that never collide, those of links with all others, without pairs that are taken back."""
        reasons: dict[frozenset[str], str] = {}
        default = [element.get("link", "") for element in _all(self.document, "disable_default_collisions")]
        links = [name for name in self._links if default]
        reasons |= {frozenset((a, b)): "by default" for a in default for b in links if a != b and a in self._links}
        for element in _all(self.document, "disable_collisions"):
            if pair := self._pair(element):
                reasons[pair] = element.get("reason") or "without a reason"
        for element in _all(self.document, "enable_collisions"):
            if pair := self._pair(element):
                reasons.pop(pair, None)
        for a, b in sorted(sorted(pair) for pair in reasons):
            self.builder.exclude(a, b)
        if reasons:
            counts = ", ".join(f"{n} {reason}" for reason, n in Counter(reasons.values()).most_common())
            what = f"{len(reasons)} pairs of links that never collide: {counts}"
            self.ledger.info(self.document.where(self.document.root), what, "kept: not checked, and without contacts")

    @cached_property
    def _links(self) -> tuple[str, ...]:
        named = dict.fromkeys((*(joint.parent for joint in self.carriers.values()), *self.carriers))
        return tuple(name for name in named if self.builder.has_frame(name))

    def _pair(self, element: Element) -> frozenset[str] | None:
        names = frozenset((self.document.text(element, "link1"), self.document.text(element, "link2")))
        if all(map(self.builder.has_frame, names)):
            return names if len(names) == 2 else None
        self.ledger.count(
            self.document.where(element), f"<{tag_of(element)}> of links that the robot lacks", "not used"
        )
        return None

    def add_groups(self) -> None:
        """Groups of joints: by name, by link, along chains, and of other groups."""
        elements = {name: element for element in _all(self.document, "group") if (name := element.get("name"))}
        for name, element in elements.items():
            members = self._members(element, elements, frozenset((name,)))
            joints = [joint.name for joint in self.carriers.values() if joint.name in members]
            if joints:
                self.builder.add_group(name, joints)
            else:
                self.ledger.info(self.document.where(element), "a group without a joint of the robot", "not used")

    def _members(self, element: Element, groups: Mapping[str, Element], inside: frozenset[str]) -> set[str]:
        joints: set[str] = set()
        for child in children(element):
            tag, name = tag_of(child), child.get("name", "")
            if tag == "joint":
                joints.add(name)
            elif tag == "link" and name in self.carriers:
                joints.add(self.carriers[name].name)
            elif tag == "chain":
                joints |= self._chain(child.get("base_link", ""), child.get("tip_link", ""))
            elif tag == "group" and name in groups and name not in inside:
                joints |= self._members(groups[name], groups, inside | {name})
        return {name for name in joints if self.builder.has_joint(name)}

    def _chain(self, base: str, tip: str) -> set[str]:
        """The joints between two links; none where the tip does not sit on the base."""
        joints = set()
        while tip != base and tip in self.carriers:
            joints.add(self.carriers[tip].name)
            tip = self.carriers[tip].parent
        return joints if tip == base else set()

    def add_states(self) -> None:
        """Named configurations, as keyframes: two groups may have one name, then the group's comes first."""
        names = Counter(element.get("name", "") for element in _all(self.document, "group_state"))
        taken: set[str] = set()
        for element in _all(self.document, "group_state"):
            name, where = element.get("name", ""), self.document.where(element)
            full = name if names[name] == 1 else f"{element.get('group', '')}/{name}"
            values = self._values(element)
            if not name or full in taken or not values:
                why = "has no joint of the robot" if name and full not in taken else "has no name of its own"
                self.ledger.info(where, f"a state that {why}", "not used")
                continue
            taken.add(full)
            try:
                self.builder.add_keyframe(full, values)
            except DalembertError as error:
                self.ledger.info(where, str(error), "not used")
                continue
            self.ledger.info(where, f"a configuration of {len(values)} joints", f"kept: robot.keyframes[{full!r}]")

    def _values(self, element: Element) -> dict[str, np.ndarray]:
        """Coordinates by joint; followers, and joints of other robots, are left out."""
        own = {joint.name: joint for joint in self.carriers.values()}
        values = {}
        for child in (child for child in children(element) if tag_of(child) == "joint"):
            name, where = self.document.text(child, "name"), self.document.where(child)
            words = self.document.text(child, "value").split()
            q = np.array([self.document.real(child, f"value of joint '{name}'", word) for word in words])
            if name not in own and len(q) == FREE:
                if self.free:
                    values[self.free] = q[[0, 1, 2, 6, 3, 4, 5]]
                continue
            joint = own.get(name)
            if joint is None or not self.builder.has_joint(name):
                self.ledger.count(where, "a state of a joint that the robot lacks", "not used")
            elif joint.mimic is None:
                values[name] = q
                self._check_range(where, joint, q)
        return values

    def _check_range(self, where: str, joint: FileJoint, q: np.ndarray) -> None:
        low, high = (joint.fields.get(key) for key in ("lower", "upper"))
        if low is not None and high is not None and (np.any(q < low) or np.any(q > high)):
            at = ", ".join(f"{x:g}" for x in q)
            self.ledger.info(
                where, f"joint '{joint.name}' is at {at}, its range is {low:g} to {high:g}", "kept as given"
            )
