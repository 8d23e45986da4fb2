"""UsdPhysics joints: kind, ends, axes, limits, drives, and what Newton, MuJoCo and PhysX add to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.model.assembly import WORLD
from dalembert.spatial import Pose

from ..robot import FileJoint, FileMimic
from .drives import FREEDOMS, UsdDrive, UsdFreedom, effects, read_drives, read_freedoms
from .links import UsdLink
from .source import UsdSource


@dataclass(frozen=True, eq=False)
class UsdJoint(FileJoint):
    """A joint of the stage, which states where its frame lies in both ends.

    position: the coordinate [rad or m] that the stage states for the start. collides: whether its ends can touch each
    other.
    """

    X_parent: Pose = field(default_factory=Pose.identity)
    X_child: Pose = field(default_factory=Pose.identity)
    prim: Any = None
    position: float = 0.0
    drives: Sequence[UsdDrive] = ()
    collides: bool = False


def read_joint(source: UsdSource, prim: Any, name: str, bodies: Mapping[str, UsdLink]) -> list[UsdJoint]:
    """The joint of a prim, as one joint or as a chain of them; none where it acts on nothing that is read."""
    where, kind = source.where(prim), str(prim.GetTypeName())
    ends = [_end(source, prim, k, bodies) for k in (0, 1)]
    if ends[0][0] == ends[1][0]:
        source.ledger.info(where, f"joint '{name}' joins '{ends[0][0]}' to itself", "without effect")
        return []
    for word in ("breakForce", "breakTorque"):
        if np.isfinite(source.number(prim, f"physics:{word}", math.inf, infinite=True)):
            source.ledger.warning(where, f"joint '{name}' breaks at a {word}", "it holds at any force")
    swapped = ends[1][0] == WORLD
    (parent, X_parent), (child, X_child) = ends[::-1] if swapped else ends
    loop = source.flag(prim, "physics:excludeFromArticulation", False)
    collides = source.flag(prim, "physics:collisionEnabled", False)
    if kind == "PhysicsDistanceJoint":
        length = _distance(source, prim, name)
        if length is None:
            return []
        places = {"X_parent": X_parent, "X_child": X_child, "prim": prim, "collides": collides}
        return [UsdJoint(name, "distance", parent, child, {}, where, loop=True, length=length, **places)]
    freedoms = read_freedoms(source, prim, kind)
    drives = read_drives(source, prim, freedoms)
    links = _Chain(source, prim, name, parent, child, X_parent, X_child, swapped, loop)
    return [replace(each, collides=collides) for each in links.read(kind, freedoms, drives)]


def stacked(source: UsdSource, joints: list[UsdJoint]) -> list[UsdJoint]:
    """The joints, with several between the same two bodies as a chain where the stage says that they add up.

    That is so in articulations with newton:jointsAddMobility, and in MuJoCo's stages.
    """
    pairs: dict[tuple[str, str], list[UsdJoint]] = {}
    for each in joints:
        if not each.loop and each.kind in ("revolute", "continuous", "prismatic"):
            pairs.setdefault((each.parent, each.child), []).append(each)
    chains = {
        id(one[0]): one for one in pairs.values() if len(one) > 1 and all(_adds(source, each.prim) for each in one)
    }
    members = {id(each) for chain in chains.values() for each in chain}
    result: list[UsdJoint] = []
    for each in joints:
        if id(each) in chains:
            result += _linked(source, chains[id(each)])
        elif id(each) not in members:
            result.append(each)
    return result


def _adds(source: UsdSource, prim: Any) -> bool:
    if "MjcJointAPI" in source.schemas(prim):
        return True
    while prim and not prim.IsPseudoRoot():
        if source.flag(prim, "newton:jointsAddMobility", False):
            return True
        prim = prim.GetParent()
    return False


def _linked(source: UsdSource, chain: list[UsdJoint]) -> list[UsdJoint]:
    """Joints of one body, one after the other, with massless links between."""
    source.ledger.count(chain[0].where, "body with several joints", "a chain of massless links, named body:joint")
    linked, X, parent, child = [], Pose.identity(), chain[0].parent, chain[0].child
    for each in chain:
        last = each is chain[-1]
        link = child if last else f"{child}:{each.name}"
        X_child = each.X_child if last else Pose.identity()
        linked.append(replace(each, parent=parent, child=link, X_parent=X @ each.X_parent, X_child=X_child))
        X, parent = each.X_parent.inverse(), link
    return linked


def _end(source: UsdSource, prim: Any, k: int, bodies: Mapping[str, UsdLink]) -> tuple[str, Pose]:
    """The body of an end, and the pose of the joint's frame in it; of an end in the world, there."""
    position = source.numbers(prim, f"physics:localPos{k}", 3)
    p = np.zeros(3) if position is None else position
    R = source.rotation(prim, f"physics:localRot{k}")
    p = source.exact(prim, f"localPos{k}", p)
    own = source.numbers(prim, f"dalembert:localRot{k}", 9)
    if own is not None and np.allclose(own.reshape(3, 3), R, atol=1e-6):
        R = own.reshape(3, 3)
    targets = source.targets(prim, f"physics:body{k}")
    if len(targets) > 1:
        raise source.error(prim, f"physics:body{k} names {len(targets)} prims, expected one")
    if not targets:
        return WORLD, Pose(source.turn @ R, source.turn @ (source.length * p))
    target = targets[0]
    X, S = source.pose(target)
    at = X @ Pose(R, S @ (source.length * p))
    body = target
    while body and not body.IsPseudoRoot():
        link = bodies.get(str(body.GetPath()))
        if link is not None:
            if body == target:
                return link.name, Pose(R, link.scale @ (source.length * p))
            return link.name, link.X.inverse() @ at
        body = body.GetParent()
    return WORLD, at


def _distance(source: UsdSource, prim: Any, name: str) -> float | None:
    """The length that a distance joint holds; None where it is a range, which is not kept."""
    least, most = (source.number(prim, f"physics:{word}Distance", -1.0, infinite=True) for word in ("min", "max"))
    if least < 0.0 and most < 0.0:
        source.ledger.info(source.where(prim), f"distance joint '{name}' without distances", "without effect")
        return None
    if least != most or not np.isfinite(most) or most == 0.0:
        what = f"distance joint '{name}' lets the distance be {max(least, 0.0):g} to {most:g}"
        source.ledger.warning(source.where(prim), what, "left out: only one length above 0 can be held")
        return None
    return float(source.exact(prim, "distance", source.length * most))


@dataclass
class _Chain:
    """The ends of a joint, and the joints that it becomes."""

    source: UsdSource
    prim: Any
    name: str
    parent: str
    child: str
    X_parent: Pose
    X_child: Pose
    swapped: bool
    loop: bool

    def read(self, kind: str, freedoms: list[UsdFreedom], drives: dict[str, UsdDrive]) -> list[UsdJoint]:
        """One joint where the model has one of these freedoms, else one for each, with massless links between."""
        word, axes, order = _kind(freedoms, bool(drives), self.loop)
        if kind == "PhysicsSphericalJoint":
            self._cone()
        if word and not (word == "planar" and self.swapped):
            return [self._one(word, axes, [freedoms[k] for k in order], drives)]
        names = ", ".join(freedom.name for freedom in freedoms)
        what = f"joint '{self.name}' with the freedoms {names}"
        self.source.ledger.info(
            self.source.where(self.prim), what, "a chain of joints with massless links between, named joint:freedom"
        )
        chain = freedoms[::-1] if self.swapped else freedoms
        joints, parent, X = [], self.parent, self.X_parent
        for freedom in chain:
            last = freedom is chain[-1]
            child = self.child if last else f"{self.child}:{self.name}:{freedom.name}"
            one = _Chain(
                self.source, self.prim, f"{self.name}:{freedom.name}", parent, child, X,
                self.X_child if last else Pose.identity(), self.swapped, self.loop and last,
            )  # fmt: skip
            joints.append(one._one(_single(freedom), freedom.axis[None], [freedom], drives))
            parent, X = child, Pose.identity()
        return joints

    def _one(self, word: str, axes: np.ndarray, freedoms: list[UsdFreedom], drives: Mapping[str, UsdDrive]) -> UsdJoint:
        source, prim = self.source, self.prim
        if self.swapped:
            axes = -axes[::-1]
            freedoms = freedoms[::-1] if word == "universal" else freedoms
        if word == "continuous" and source.word(prim, "dalembert:kind") == "revolute":
            word = "revolute"
        fields: dict[str, Any] = effects(source, prim, word, freedoms, drives)
        position = 0.0
        mimic = None
        if len(freedoms) == 1:
            position = _position(source, prim, freedoms[0])
            mimic = _mimic(source, prim, freedoms[0])
        acting = [drives[freedom.name] for freedom in freedoms if freedom.name in drives]
        return UsdJoint(
            self.name, word, self.parent, self.child, fields, source.where(prim), axes=axes, mimic=mimic,
            loop=self.loop, X_parent=self.X_parent, X_child=self.X_child, prim=prim, position=position, drives=acting,
        )  # fmt: skip

    def _cone(self) -> None:
        for k in (0, 1):
            angle = self.source.number(self.prim, f"physics:coneAngle{k}Limit", -1.0, infinite=True)
            if 0.0 <= angle < math.inf:
                what = f"cone limit of {angle:g}° of joint '{self.name}'"
                self.source.ledger.warning(self.source.where(self.prim), what, "not used: ball joints have no limits")
                return


def _single(freedom: UsdFreedom) -> str:
    if not freedom.turns:
        return "prismatic"
    return "revolute" if np.isfinite([freedom.lower, freedom.upper]).any() else "continuous"


def _kind(freedoms: list[UsdFreedom], driven: bool, loop: bool) -> tuple[str, np.ndarray, list[int]]:
    """The joint type of the model, its axes (k, 3), and which freedom is which of its coordinates; "": a chain."""
    slides = [k for k, freedom in enumerate(freedoms) if not freedom.turns]
    hinges = [k for k, freedom in enumerate(freedoms) if freedom.turns]
    axes = np.array([freedom.axis for freedom in freedoms]).reshape(-1, 3)
    limited = any(np.isfinite([freedom.lower, freedom.upper]).any() for freedom in freedoms)
    counts = len(slides), len(hinges)
    if not freedoms:
        return "fixed", axes, []
    if len(freedoms) == 1:
        return _single(freedoms[0]), axes, [0]
    if counts == (0, 3) and not (limited or driven):
        return "ball", np.zeros((0, 3)), hinges
    if counts == (3, 3) and not (limited or driven or loop):
        return "free", np.zeros((0, 3)), [*hinges, *slides]
    if driven and not loop:
        return "", axes, []
    if loop and counts == (1, 3):
        return "point-on-line", axes[slides], []
    if loop and counts == (2, 3):
        return "point-on-plane", np.cross(axes[slides[0]], axes[slides[1]])[None], []
    if counts == (1, 1) and np.array_equal(axes[slides[0]], axes[hinges[0]]):
        return "cylindrical", axes[hinges], [*hinges, *slides]
    if counts == (0, 2):
        return "universal", axes, hinges
    if counts == (2, 1) and not np.any(axes[slides] @ axes[hinges[0]]):
        normal = axes[hinges[0]]
        first = (int(np.argmax(np.abs(normal))) + 1) % 3
        slides.sort(key=lambda k: int(np.argmax(np.abs(axes[k]))) != first)
        return "planar", axes[hinges], [*slides, *hinges]
    return "", axes, []


def _position(source: UsdSource, prim: Any, freedom: UsdFreedom) -> float:
    """The coordinate that the stage states for the start."""
    for word in (f"state:{freedom.word}:physics:position", f"newton:{freedom.word}:position"):
        value = source.number(prim, word, 0.0)
        if value:
            return value * freedom.unit(source)
    return 0.0


def _mimic(source: UsdSource, prim: Any, freedom: UsdFreedom) -> FileMimic | None:
    """Newton's and PhysX' joints that follow others; the leader by its path, which the caller turns into a name."""
    where, unit = source.where(prim), freedom.unit(source)
    leader = source.targets(prim, "newton:mimicJoint")
    if leader and source.flag(prim, "newton:mimicEnabled", True):
        offset = source.exact(prim, "mimicOffset", unit * source.number(prim, "newton:mimicCoef0", 0.0))
        ratio = source.exact(prim, "mimicRatio", source.number(prim, "newton:mimicCoef1", 1.0))
        return FileMimic(str(leader[0].GetPath()), ratio, offset, where)
    if "MjcEqualityJointAPI" in source.schemas(prim):
        return _equality(source, prim, where)
    for axis in FREEDOMS:
        leader = source.targets(prim, f"physxMimicJoint:{axis}:referenceJoint")
        if leader:  # q + gearing · q(leader) + offset = 0
            ratio = -source.number(prim, f"physxMimicJoint:{axis}:gearing", 1.0)
            offset = -unit * source.number(prim, f"physxMimicJoint:{axis}:offset", 0.0)
            return FileMimic(str(leader[0].GetPath()), ratio, offset, where)
    return None


def _equality(source: UsdSource, prim: Any, where: str) -> FileMimic | None:
    """MuJoCo's equality of two joints, where it is linear."""
    law = [source.number(prim, f"mjc:coef{k}", 1.0 if k == 1 else 0.0) for k in range(5)]
    leader = source.targets(prim, "mjc:target")
    if not leader or any(law[2:]) or not law[1]:
        source.ledger.warning(where, f"an equality of joints with coefficients {law}", "not used: it is not linear")
        return None
    return FileMimic(str(leader[0].GetPath()), law[1], law[0], where)
