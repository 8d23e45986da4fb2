"""Edits of numbers: inertia of links, parameters of joints, placements, gravity."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model import LinkPlan
from dalembert.model.coupling import stated
from dalembert.model.joints import KINDS, Joint
from dalembert.model.values import inertia_from, joint_type, placement_from, vector
from dalembert.spatial import Pose

from .change import Change

EFFECTS = {field.name for field in fields(Joint)}  # fields of all joints, which do not change their kinematics


def set_inertia(plan: LinkPlan, name: str, mass: Any, com: Any, inertia: Any) -> Change:
    """Set mass, centre of mass or inertia of one link; None leaves a value unchanged."""
    link = plan.link(name, "set_inertia")
    if mass is None and com is None and inertia is None:
        raise DalembertError(f"set_inertia: link {name!r}: give mass, com or inertia")
    old = link.inertia
    new = inertia_from(
        old.mass if mass is None else mass,
        old.com if com is None else com,
        old.about_com() if inertia is None else inertia,
        f"set_inertia: link {name!r}",
    )
    plan.links[name] = replace(link, inertia=new)
    change = float(new.mass) - float(old.mass)
    what = f"inertia of link {name!r}: mass {new.mass:g} kg, com {np.round(new.com, 9).tolist()} m"
    return Change(plan, what, f"the total mass changes by {change:g} kg", change, frozenset({name}))


def set_joint(plan: LinkPlan, name: str, values: dict[str, Any]) -> Change:
    """Other values of a joint's fields; kind= and mimic= included."""
    moving = {joint: link for joint, link in plan.joints.items() if link.joint.nv}
    if name not in moving:
        raise unknown("joint", name, moving, "set_joint")
    if not values:
        raise DalembertError(f"set_joint: joint {name!r}: give what is to change, such as damping=0.1")
    link, fields_set = moving[name], dict(values)
    mimic = fields_set.pop("mimic", "as it is")
    kind = fields_set.pop("kind", None)

    def change(joint: Joint) -> Joint:
        joint = _of_kind(joint, joint.kind if kind is None else kind)
        valid = [field.name for field in fields(joint) if field.name != "name"]
        for field in fields_set:
            if field not in valid:
                raise unknown("argument", field, [*valid, "kind", "mimic"], f"set_joint: joint {name!r}")
        alike = np.array_equal(joint.acceleration_limit, joint.deceleration_limit)
        follows = {"deceleration_limit": None} if alike and "acceleration_limit" in fields_set else {}
        return replace(joint, **follows | fields_set)

    plan.links[link.name] = replace(link, joint=link.joint.changed(change))
    if mimic is None:
        plan.mimics.pop(name, None)
    elif mimic != "as it is":
        plan.mimics[name] = stated(mimic, f"set_joint: joint {name!r}")
    listed = ", ".join(f"{field} = {np.array(value).tolist()}" for field, value in values.items())
    moves_alike = values.keys() <= EFFECTS
    return Change(
        plan,
        f"joint {name!r}: {listed}",
        "set",
        relative_to="world" if moves_alike else None,
        energy=1.0 if moves_alike else None,
    )


def _of_kind(joint: Joint, kind: str | type[Joint]) -> Joint:
    """The joint as another type with as many coordinates; its parameters are kept, limits where the type has them."""
    if kind in (joint.kind, type(joint)):
        return joint
    where = f"set_joint: the {joint.kind} joint {joint.name!r}"
    alike = {name: other for name, other in KINDS.items() if (other.nq, other.nv) == (joint.nq, joint.nv)}
    wanted = joint_type(kind, alike, where)
    if (wanted.nq, wanted.nv) != (joint.nq, joint.nv):
        raise DalembertError(f"{where} has {joint.nq} coordinates, and a {wanted.kind} joint has {wanted.nq}")
    common = {field.name for field in fields(wanted)} & {field.name for field in fields(joint)}
    kept = {field: getattr(joint, field) for field in common}
    if not wanted.limited:
        kept |= {"lower": None, "upper": None}
    return wanted(**kept)


def set_placement(plan: LinkPlan, name: str, xyz: Any, rpy: Any, placement: Pose | None) -> Change:
    """Move a link's joint frame, or a frame, in the link that carries it; everything it carries moves along."""
    where = f"set_placement: {name!r}"
    X = placement_from(placement, xyz, rpy, where)
    listed = f"placement of {name!r}: xyz {np.round(X.p, 9).tolist()} m"
    place = plan.place(name, "set_placement")
    if name not in plan.links:
        mount = place.mount or place.link
        plan.places[name] = place._replace(placement=_in_carrier(plan, mount, place.link) @ X)
        return Change(plan, listed, f"in link {mount!r}")
    link = plan.links[name]
    if name == plan.base.name:
        plan.links[name] = replace(link, placement=X)
        return Change(plan, listed, "in the world", relative_to=name)
    mount = plan.mount(link)
    new = _in_carrier(plan, mount, link.parent) @ X
    shift = new @ link.placement.inverse()
    plan.links[name] = replace(link, placement=new)
    if not link.joint.nv:
        _carry_along(plan, name, link.parent, shift)
    return Change(plan, listed, f"in link {mount!r}; what sits on it moved along", relative_to=None)


def _in_carrier(plan: LinkPlan, mount: str, carrier: str) -> Pose:
    return Pose.identity() if mount == carrier else plan.links[mount].placement


def _carry_along(plan: LinkPlan, name: str, carrier: str, shift: Pose) -> None:
    """Move everything that a fixed link carries, in the frame of its body."""
    riding = set(plan.subtree(name))
    for other in riding - {name}:
        if plan.links[other].parent == carrier:
            plan.links[other] = replace(plan.links[other], placement=shift @ plan.links[other].placement)
    for frame, place in plan.places.items():
        if place is not None and place.link == carrier and place.mount in riding:
            plan.places[frame] = place._replace(placement=shift @ place.placement)
    for i, c in enumerate(plan.closings):
        if c.mount_a in riding and c.a == carrier:
            plan.closings[i] = c = replace(c, placement_a=shift @ c.placement_a)
        if c.mount_b in riding and c.b == carrier:
            plan.closings[i] = replace(c, placement_b=shift @ c.placement_b)


def set_gravity(plan: LinkPlan, gravity: Any) -> Change:
    """Another gravity (3,) in the world [m/s²]."""
    plan.gravity = vector(gravity, "gravity")
    return Change(plan, f"gravity {plan.gravity.tolist()} m/s²", "set", energy=1.0)
