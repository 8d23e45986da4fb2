"""The graph of bodies and joints: which joints carry bodies in a tree, which close loops, and paths between bodies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from dalembert.errors import DalembertError

from .parts import COUNTED, GROUND, KINDS, CamPart, JointPart, MeshPart, Relation


class PathStep(NamedTuple):
    """One step along a path: a joint, and 1.0 if it is taken from its first body to its second, else −1.0."""

    joint: JointPart
    sign: float


class CarrierTree(NamedTuple):
    """The bodies in the order in which they are added, each with the step that carries it; None: it is free."""

    carriers: dict[str, PathStep | None]
    closing: tuple[JointPart, ...]


def other_end(joint: JointPart, body: str) -> tuple[str, float]:
    """The other body of a joint, and the sign of the step there."""
    return (joint.b.body, 1.0) if joint.a.body == body else (joint.a.body, -1.0)


def spanning_tree(
    bodies: Iterable[str],
    joints: Iterable[JointPart],
    needed: Callable[[JointPart], bool],
    only_needed: bool,
    what: str,
) -> CarrierTree:
    """A tree from the ground: joints that are needed first, of the others those nearest to the ground.

    only_needed: other joints all close loops, and their bodies are free.
    """
    names = [GROUND, *bodies]
    able = [joint for joint in joints if KINDS[joint.kind].tree is not None and joint.springs is None]
    groups = {name: name for name in names}

    def root(name: str) -> str:
        while groups[name] != name:
            groups[name] = groups[groups[name]]
            name = groups[name]
        return name

    chosen: list[JointPart] = []

    def taken(joint: JointPart) -> bool:
        a, b = root(joint.a.body), root(joint.b.body)
        if a == b:
            return False
        groups[b] = a
        chosen.append(joint)
        return True

    for joint in able:
        if needed(joint) and not taken(joint):
            raise DalembertError(
                f"{what}: joint {joint.name!r} closes a loop of joints whose coordinates are all asked for "
                "(start, rate, "
                "limits, friction, gears): leave that out at one of them"
            )
    if not only_needed:
        _spread(names, _by_body(able), taken)
    carrying = {joint.name for joint in chosen}
    closing = [joint for joint in joints if joint.name not in carrying and joint.springs is None]
    return _oriented(names, _by_body(chosen), closing)


def _by_body(joints: Iterable[JointPart]) -> dict[str, list[JointPart]]:
    """Body → the joints on it."""
    on: dict[str, list[JointPart]] = {}
    for joint in joints:
        on.setdefault(joint.a.body, []).append(joint)
        on.setdefault(joint.b.body, []).append(joint)
    return on


def _spread(names: list[str], on: Mapping[str, list[JointPart]], taken: Callable[[JointPart], bool]) -> None:
    """Take joints level by level, from the ground first, then from bodies that it does not reach."""
    reached: set[str] = set()
    for start in names:
        level = [] if start in reached else [start]
        reached.add(start)
        while level:
            following = []
            for body in level:
                for joint in on.get(body, ()):
                    end, _ = other_end(joint, body)
                    taken(joint)
                    if end not in reached:
                        reached.add(end)
                        following.append(end)
            level = following


def _oriented(names: list[str], chosen: Mapping[str, list[JointPart]], closing: list[JointPart]) -> CarrierTree:
    carriers: dict[str, PathStep | None] = {}
    for root in names:
        if root in carriers:
            continue
        if root != GROUND:
            carriers[root] = None
        queue = deque([root])
        while queue:
            body = queue.popleft()
            for joint in chosen.get(body, ()):
                end, sign = other_end(joint, body)
                if end not in carriers and end != GROUND:
                    carriers[end] = PathStep(joint, sign)
                    queue.append(end)
    return CarrierTree(carriers, tuple(closing))


def path(joints: Iterable[JointPart], start: str, end: str, where: str) -> list[PathStep]:
    """The shortest way from one body to another through joints of one coordinate."""
    counted = [joint for joint in joints if joint.kind in COUNTED]
    paths: dict[str, list[PathStep]] = {start: []}
    level = [start]
    while level and end not in paths:
        following = []
        for body in level:
            for joint in counted:
                if body in (joint.a.body, joint.b.body):
                    reached, sign = other_end(joint, body)
                    if reached not in paths:
                        paths[reached] = [*paths[body], PathStep(joint, sign)]
                        following.append(reached)
        level = following
    if end not in paths:
        raise DalembertError(
            f"{where}: no way from {start!r} to {end!r} through revolute, prismatic or screw joints, whose "
            "coordinates it "
            "would tie: add such a joint, or name another carrier"
        )
    return paths[end]


def factors(mesh: MeshPart, joints: list[JointPart]) -> dict[str, float]:
    """Joint → factor: Σ factor · coordinate stays constant. Axes along the way must be parallel to the last one."""
    total: dict[str, float] = {}
    for body, factor in ((mesh.a, mesh.factor_a), (mesh.b, mesh.factor_b)):
        steps = path(joints, mesh.carrier, body, f"{mesh.kind} {mesh.name!r}")
        if not steps:
            raise DalembertError(
                f"{mesh.kind} {mesh.name!r}: {body!r} is its own carrier: name the body that holds both"
            )
        last = steps[-1]
        for step in steps:  # every angle counted as that of the last joint, from its first body to its second
            total[step.joint.name] = total.get(step.joint.name, 0.0) + factor * step.sign * last.sign
    return {name: factor for name, factor in total.items() if factor}


def coordinate_joints(relations: Iterable[Relation], joints: list[JointPart]) -> set[str]:
    """The joints whose coordinates relations tie."""
    names: set[str] = set()
    for relation in relations:
        names |= {relation.cam, relation.follower} if isinstance(relation, CamPart) else set(factors(relation, joints))
    return names


def solved_for(factors: Mapping[str, float], constant: float) -> tuple[str, float, tuple[tuple[str, float], ...]]:
    """The joint with the largest factor, as a constant and multiples of the others."""
    follower = max(factors, key=lambda name: abs(factors[name]))
    scale = factors[follower]
    others = tuple((name, -factor / scale) for name, factor in factors.items() if name != follower)
    return follower, constant / scale, others


def grubler(bodies: int, joints: Iterable[JointPart], relations: int) -> int:
    """Freedoms by counting: 6 for each body, less the equations of every joint and relation."""
    return 6 * bodies - sum(KINDS[joint.kind].rows for joint in joints) - relations
