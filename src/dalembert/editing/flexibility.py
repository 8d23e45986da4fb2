"""Joints that give way: the motor turns a rotor, and a spring carries the link after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, is_number, unknown
from dalembert.model import LinkPlan, Model
from dalembert.model.assembly import Link
from dalembert.model.joints import Prismatic, Revolute
from dalembert.spatial import Inertia, Pose

from .change import Change, State, shared_states


def flexible(plan: LinkPlan, name: str, stiffness: Any, damping: Any) -> Change:
    """A joint taken apart into a motor with its rotor and a spring; see `ModelEditor.flexible`."""
    moving = {joint: link for joint, link in plan.joints.items() if link.joint.nv}
    if name not in moving:
        raise unknown("joint", name, moving, "flexible")
    link = moving[name]
    joint = link.joint
    if not isinstance(joint, (Revolute, Prismatic)):
        raise DalembertError(f"flexible: joint {name!r} is {joint.kind}, expected one along an axis")
    if f"{name}_spring" in plan.joints:
        raise DalembertError(f"flexible: joint {name!r} gives way already: set_joint('{name}_spring', stiffness=…)")
    if name in plan.mimics or any(mimic.leader == name for mimic in plan.mimics.values()):
        raise DalembertError(f"flexible: joint {name!r} is coupled to others: free it first, set_joint(…, mimic=None)")
    for word, x, least in (("stiffness", stiffness, "above 0"), ("damping", damping, "0 or more")):
        if not (is_number(x) and np.isfinite(x) and (x > 0.0 or (x == 0.0 and word == "damping"))):
            raise DalembertError(f"flexible: {word} is {x!r}, expected a number {least}")
    if not np.all(np.asarray(joint.armature) > 0.0):
        raise DalembertError(
            f"flexible: joint {name!r} has no rotor inertia, so that the motor would turn nothing: state it first, "
            f"set_joint({name!r}, armature=N² I)"
        )
    kind = Prismatic if isinstance(joint, Prismatic) else Revolute
    rotor, spring = f"{link.name}_rotor", plan.new_joint_name(f"{name}_spring")
    if rotor in plan.places or rotor in plan.links:
        raise DalembertError(f"flexible: there is already a link or frame {rotor!r}: rename it first")
    gives = kind(
        name=spring, axis=joint.axis, stiffness=float(stiffness), damping=float(damping), effort_limit=0.0, motor=False
    )
    links: dict[str, Link] = {}
    for key, each in plan.links.items():
        if key == link.name:
            links[rotor] = Link(rotor, link.parent, link.placement, joint, Inertia.zero(), (), link.mount)
            each = replace(link, parent=rotor, placement=Pose.identity(), joint=gives, mount="")
        links[key] = each
    plan.links = links
    plan.places[rotor] = None

    def relaxed(before: Model, after: Model, rng: np.random.Generator) -> tuple[State, State]:
        then, (q, v) = shared_states(before, after, rng)
        body = after.joint(spring)
        q[body.q], v[body.v] = 0.0, 0.0
        return then, (q, v)

    unit = "N/m" if kind is Prismatic else "N·m/rad"
    what = (
        f"joint {name!r} drives rotor {rotor!r}, which carries {link.name!r} by a spring of {float(stiffness):g} {unit}"
    )
    action = f"{spring!r} is its deflection; the motor, its friction and its limits stay with {name!r}"
    return Change(plan, what, action, energy=1.0, pairing=relaxed)
