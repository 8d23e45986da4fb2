"""Other names of links, frames, joints and closures, wherever they are mentioned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from dalembert.errors import DalembertError, unknown
from dalembert.model import LinkPlan
from dalembert.model.assembly import Place
from dalembert.model.groups import Group

from .change import WORLD, Change, shared_states


def rename(
    plan: LinkPlan, names: Mapping[str, str], joints: Mapping[str, str], name: str | None, prefix: str
) -> Change:
    """New names of links and frames, of joints, and of the robot; all others get the prefix."""
    for kind, listed, valid in (("link or frame", names, plan.places), ("joint", joints, plan.joints)):
        for old in listed:
            if old not in valid and old not in (plan.links if kind != "joint" else ()):
                raise unknown(kind, old, valid, "rename")
    known = {*plan.places, *plan.links}
    links = {old: names.get(old, old if old == WORLD else prefix + old) for old in known}
    joint_names = {old: joints.get(old, prefix + old) for old in plan.joints}
    if [old for old, new in links.items() if new == WORLD and old != WORLD]:
        raise DalembertError("rename: 'world' is reserved for the world: give another name")
    for kind, mapping in (("link or frame", links), ("joint", joint_names)):
        if len(set(mapping.values())) < len(mapping) or "" in mapping.values():
            raise DalembertError(f"rename: two {kind}s would have one name, or one none: give other names")
    renamed(plan, links, joint_names, lambda closure: prefix + closure)
    plan.name = plan.name if name is None else name
    count = sum(old != new for mapping in (links, joint_names) for old, new in mapping.items())
    change = Change(
        plan, f"{count} links, frames and joints renamed", "nothing moves otherwise", renamed=links, energy=1.0
    )
    change.pairing = partial(shared_states, names=joint_names)
    return change


def renamed(
    plan: LinkPlan, links: Mapping[str, str], joints: Mapping[str, str], closure: Callable[[str], str] = str
) -> None:
    """Put other names everywhere; names that are not mentioned stay, and so does the world that closures end in."""

    def link(x: str) -> str:
        return links.get(x, x)

    plan.links = {
        link(key): replace(
            one,
            name=link(key),
            parent=link(one.parent),
            mount=link(one.mount),
            joint=one.joint.changed(lambda joint: replace(joint, name=joints.get(joint.name, joint.name))),
        )
        for key, one in plan.links.items()
    }
    plan.links[plan.base.name] = replace(plan.base, parent=WORLD)
    plan.places = {link(key): p and Place(link(p.link), p.placement, link(p.mount)) for key, p in plan.places.items()}
    plan.actuators = [one.renamed(joints, links) for one in plan.actuators]
    plan.exclusions = [(link(a), link(b)) for a, b in plan.exclusions]
    plan.surroundings = plan.surroundings.renamed(links)
    plan.mujoco = plan.mujoco and plan.mujoco.renamed(links, joints)
    plan.joint_force_limits = [
        limits._replace(joint=joints.get(limits.joint, limits.joint)) for limits in plan.joint_force_limits
    ]
    plan.sensors = [one.renamed(links, joints, one.name) for one in plan.sensors]
    plan.groups = [Group(name, tuple(joints.get(joint, joint) for joint in each)) for name, each in plan.groups]
    plan.keyframes = [
        replace(one, joints=tuple(replace(part, joint=joints.get(part.joint, part.joint)) for part in one.joints))
        for one in plan.keyframes
    ]
    plan.mimics = {
        joints.get(key, key): mimic._replace(leader=joints.get(mimic.leader, mimic.leader))
        for key, mimic in plan.mimics.items()
    }
    plan.closings = [
        replace(
            c,
            name=closure(c.name),
            a=link(c.a) if c.a != WORLD or c.mount_a else WORLD,
            b=link(c.b) if c.b != WORLD or c.mount_b else WORLD,
            mount_a=link(c.mount_a),
            mount_b=link(c.mount_b),
        )
        for c in plan.closings
    ]
    plan.equations = [
        replace(
            e,
            name=closure(e.name),
            follower=joints.get(e.follower, e.follower),
            leader=joints.get(e.leader, e.leader),
            others=tuple((joints.get(joint, joint), factor) for joint, factor in e.others),
        )
        for e in plan.equations
    ]
