"""Edits of the structure: payloads, frames, links removed or merged, another robot attached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import LISTED, DalembertError
from dalembert.model import LinkPlan, Model
from dalembert.model import plan as plan_of
from dalembert.model.assembly import Link, Place
from dalembert.model.groups import Group
from dalembert.model.joints import Fixed
from dalembert.model.sensors import Sensor
from dalembert.model.values import inertia_from, placement_from
from dalembert.spatial import Pose

from .change import WORLD, Change
from .locking import rigid_closures, settle_closures
from .naming import renamed


def add_payload(plan: LinkPlan, frame: str, name: str, mass: Any, com: Any, inertia: Any) -> Change:
    """A new link, fixed in a frame."""
    place = plan.place(frame, "payload")
    if name in plan.places or name in plan.links:
        raise DalembertError(f"payload: there is already a link or frame {name!r}: give another name=…")
    load = inertia_from(mass, com, inertia, f"payload {name!r}")
    joint = Fixed(name=plan.new_joint_name(name))
    mount = place.mount or place.link
    plan.links[name] = Link(name, place.link, place.placement, joint, load, (), mount if mount != place.link else "")
    plan.places[name] = None
    what = f"payload {name!r} of {load.mass:g} kg at frame {frame!r}"
    return Change(plan, what, f"a fixed link on {mount!r}; the total mass grows by as much", float(load.mass))


def add_frame(plan: LinkPlan, name: str, body: str, xyz: Any, rpy: Any) -> Change:
    """A frame placed in a link or in another frame."""
    place = plan.place(body, "add_frame")
    if name in plan.places or name in plan.links:
        raise DalembertError(f"add_frame: there is already a link or frame {name!r}: names must differ")
    plan.places[name] = place._replace(placement=place.placement @ placement_from(None, xyz, rpy, f"frame {name!r}"))
    return Change(plan, f"frame {name!r} on {body!r}", "added", energy=1.0)


def add_geometry(
    plan: LinkPlan, shape: Any, body: str, xyz: Any, rpy: Any, role: Any, options: dict[str, Any]
) -> Change:
    """A shape fixed in a link."""
    link = plan.link(body, "add_geometry")
    builder = plan.builder()
    builder.add_geometry(shape, body=body, xyz=xyz, rpy=rpy, role=role, **options)
    plan.links[body] = replace(link, geometry=builder._links[body].geometry)
    return Change(plan, f"a {type(shape).__name__.lower()} on {body!r}", f"added, {role}; nothing moves otherwise")


def add_closure(plan: LinkPlan, name: str, kind: str, options: dict[str, Any]) -> Change:
    """A loop closed between two places."""
    builder = plan.builder()
    builder.add_closure(name, kind, **options)
    what = f"closure {name!r}, {kind}, between {options['a']!r} and {options['b']!r}"
    return Change(plan_of(builder.model()), what, "added: states must keep it closed, robot.close_loops finds them")


def remove(plan: LinkPlan, name: str) -> Change:
    """A link with all that sits on it, or a frame, taken off."""
    plan.place(name, "remove")
    if name not in plan.links:
        del plan.places[name]
        return Change(plan, f"frame {name!r} removed", "nothing moves otherwise")
    if name == plan.base.name:
        raise DalembertError(f"remove: {name!r} is the base, all of the robot sits on it: reroot it first")
    removed = set(plan.subtree(name))
    joints = {plan.links[link].joint.name for link in removed}
    for follower, mimic in plan.mimics.items():
        if mimic.leader in joints and follower not in joints:
            raise DalembertError(
                f"remove: joint {follower!r} follows {mimic.leader!r}, which would go: lock {follower!r} first, remove "
                f"{plan.joints[follower].name!r} as well, or free it with set_joint({follower!r}, mimic=None)"
            )
    mass = sum(float(plan.links[link].inertia.mass) for link in removed)
    opened = [c for c in plan.closings if {c.mount_a or c.a, c.mount_b or c.b} & removed]
    plan.closings = [c for c in plan.closings if c not in opened]
    unsaid = [e for e in plan.equations if {*e.joints} & joints]
    plan.equations = [e for e in plan.equations if e not in unsaid]
    plan.links = {key: link for key, link in plan.links.items() if key not in removed}
    plan.mimics = {joint: mimic for joint, mimic in plan.mimics.items() if joint not in joints}
    plan.places = {
        key: place
        for key, place in plan.places.items()
        if (key in plan.links if place is None else (place.mount or place.link) not in removed)
    }
    action = f"{len(removed)} link(s) of {mass:g} kg are gone: {', '.join(sorted(removed))}"
    if opened or unsaid:
        action += f"; with them the closures {', '.join([c.name for c in opened] + [e.name for e in unsaid])}"
    return Change(plan, f"link {name!r} removed", action, -mass)


def melt(plan: LinkPlan, name: str) -> Change:
    """Merge a fixed link into the link that carries it; its name stays as a frame."""
    link = plan.links[name]
    onto = plan.links[plan.mount(link)]
    X = link.placement if onto.name == link.parent else onto.placement.inverse() @ link.placement
    shapes = tuple(replace(shape, placement=X @ shape.placement) for shape in link.geometry)
    inertia = onto.inertia + link.inertia.transform(X)
    plan.links[onto.name] = replace(onto, inertia=inertia, geometry=(*onto.geometry, *shapes))
    del plan.links[name]
    mount = onto.name if onto.name != link.parent else ""
    plan.places[name] = Place(link.parent, link.placement, mount)

    def moved(x: str) -> str:
        return mount if x == name else x

    plan.links = {key: replace(one, mount=moved(one.mount)) for key, one in plan.links.items()}
    plan.places = {key: place and place._replace(mount=moved(place.mount)) for key, place in plan.places.items()}
    plan.closings = [replace(c, mount_a=moved(c.mount_a), mount_b=moved(c.mount_b)) for c in plan.closings]
    what = f"link {name!r} merged into {onto.name!r}"
    return Change(plan, what, "its name stays as a frame", changed=frozenset({onto.name}), energy=1.0)


def exclude(plan: LinkPlan, pairs: Sequence[tuple[str, str]]) -> Change:
    """Pairs of links that never touch each other."""
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DalembertError(f"exclude: {pair!r}, expected two names of links, as in exclude(('hand', 'forearm'))")
        for name in pair:
            plan.place(name, "exclude")
    known = {frozenset(pair) for pair in plan.exclusions}
    new = [(a, b) for a, b in pairs if frozenset((a, b)) not in known]
    plan.exclusions += new
    listed = ", ".join(f"{a} and {b}" for a, b in new[:LISTED]) + (" …" if len(new) > LISTED else "")
    what = f"{len(new)} pairs of links never touch: {listed or 'stated before'}"
    return Change(plan, what, "neither checked for collision nor in contact", energy=1.0)


def _sensors_of(added: LinkPlan, prefix: str, taken: set[str]) -> list[Sensor]:
    """Sensors under a prefix, but for those of its world and those whose names are taken."""
    named = [replace(one, name=prefix + one.name) for one in added.sensors if WORLD not in (one.frame, one.reference)]
    return [one for one in named if one.name not in taken]


def _named_anew(groups: Sequence[Group], prefix: str, taken: set[str]) -> list[Group]:
    """Groups under a prefix, but for those whose names are taken."""
    named = [group._replace(name=prefix + group.name) for group in groups]
    return [group for group in named if group.name not in taken]


def attach(plan: LinkPlan, other: Model, frame: str, prefix: str, X: Pose, free: bool = False) -> Change:
    """Another robot with its base fixed in a frame of this one, its world placed at X there.

    free: a base that moves freely goes on doing so.
    """
    place = plan.place(frame, "attach")
    added = plan_of(other)
    base = added.base
    links = {name: prefix + name for name in added.links} | {name: prefix + name for name in added.places}
    if base.name == WORLD:
        links[WORLD] = f"{prefix or other.name + '_'}{WORLD}"
    joints = {name: prefix + name for name in added.joints}
    for kind, names, taken in (("link or frame", links, {*plan.places, *plan.links}), ("joint", joints, plan.joints)):
        for name in names.values():
            if name in taken or name == WORLD:
                raise DalembertError(f"attach: there is already a {kind} {name!r}: give prefix='…'")
    world = place.placement @ X
    mount = place.mount if place.mount != place.link else ""
    renamed(added, links, joints, lambda name: prefix + name)
    afloat = free and other.bodies[0].joint.nv > 0
    root = links[base.name]
    joint = added.links[root].joint if afloat else Fixed(name=joints[base.joint.name])
    added.links[root] = replace(
        added.links[root], parent=place.link, placement=world @ base.placement, joint=joint, mount=mount
    )
    for i, c in enumerate(added.closings):  # ends tied to the other robot's world are tied to the frame
        if c.a == WORLD:
            added.closings[i] = c = replace(c, a=place.link, placement_a=world @ c.placement_a, mount_a=mount)
        if c.b == WORLD:
            added.closings[i] = replace(c, b=place.link, placement_b=world @ c.placement_b, mount_b=mount)
    ours, theirs = ({c.name for c in p.closings} | {e.name for e in p.equations} for p in (plan, added))
    clash = ours & theirs
    if clash:
        raise DalembertError(f"attach: there is already a closure {min(clash)!r}: give prefix='…'")
    rigid = rigid_closures(plan)
    plan.links |= added.links
    plan.places |= added.places
    plan.mimics |= added.mimics
    taken = {actuator.name for actuator in plan.actuators}
    for name, one in ((prefix + one.name, one) for one in added.actuators):
        plan.actuators.append(replace(one, name=f"{root}_{name}" if name in taken else name))
    plan.joint_force_limits += added.joint_force_limits
    plan.exclusions += added.exclusions
    plan.sensors += _sensors_of(added, prefix, {one.name for one in plan.sensors})
    plan.groups += _named_anew(added.groups, prefix, {group.name for group in plan.groups})
    soft = added.mujoco and added.mujoco.prefixed(prefix)
    plan.mujoco = plan.mujoco.joined(soft) if plan.mujoco else soft
    plan.surroundings = replace(
        plan.surroundings, compensations=(*plan.surroundings.compensations, *added.surroundings.compensations)
    )
    plan.closings += added.closings
    plan.equations += added.equations
    dropped = settle_closures(plan, rigid, "attach")
    mass = sum(float(body.inertia.mass) for body in other.bodies)
    action = f"its base {root!r} is a {'free' if afloat else 'fixed'} link there; the total mass grows by {mass:g} kg"
    if added.surroundings.medium is not None:
        action += "; the fluid that it states is left out"
    if other.keyframes:
        action += f"; its keyframes are left out: {', '.join(key.name for key in other.keyframes)}"
    if dropped:
        action += f"; left out, since it holds by itself now: {', '.join(dropped)}"
    if np.any(other.gravity != plan.gravity):
        action += f"; its gravity {other.gravity.tolist()} gives way to {plan.gravity.tolist()} m/s²"
    return Change(plan, f"robot {other.name!r} attached at frame {frame!r}", action, mass)
