"""Another base: held or afloat, or another link in its place, with the joints between run through backwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import neutral
from dalembert.errors import DalembertError, unknown
from dalembert.model import JointState, Keyframe, LinkPlan, Model
from dalembert.model.assembly import Link
from dalembert.model.joints import Fixed, Free, Joint
from dalembert.model.joints.joint import snapped
from dalembert.spatial import Inertia, Pose, so3

from .change import WORLD, Change, State, shared_states
from .invariants import links_at
from .locking import configuration, held_link, rigid_closures, settle_closures
from .naming import renamed


def set_base(plan: LinkPlan, before: Model, kind: str, at: Any) -> Change:
    """The base "fixed" where it is (a free one: at the configuration `at`), or "free" to move from there."""
    if kind not in ("fixed", "free"):
        raise unknown("base", kind, ("fixed", "free"), "base")
    base = plan.links.get(before.base.name, plan.base)  # the robot, where the link on the world is only scenery
    floating = base.joint.nv > 0
    if at is not None and not (kind == "fixed" and floating):
        raise DalembertError("base: a configuration is only for a base that was free and is to be fixed")
    if floating == (kind == "free"):
        return Change(plan, f"base {kind}", "it was so already")
    if kind == "fixed":
        q = base.joint.neutral() if at is None else configuration(base.joint, at, "base")
        rigid = rigid_closures(plan)
        plan.links[base.name] = held_link(base, q)
        said = f"{base.name!r} is held in the world{_left_out(settle_closures(plan, rigid, 'base'))}"
        return Change(plan, "base fixed", said, energy=1.0).holding({base.joint.name: q})
    name = _off_the_world(plan)
    link = plan.links[name]
    plan.links[name] = replace(link, joint=Free(name=link.joint.name))
    said = f"{name!r} floats in the world" + (", and is so renamed" if name != base.name else "")
    return Change(plan, "base free", said, renamed={base.name: name}, energy=1.0)


def reroot(plan: LinkPlan, before: Model, name: str, q: np.ndarray | None) -> Change:
    """Hang the tree on another link; a fixed one is held where it is at the configuration q (default neutral)."""
    link = plan.link(name, "reroot")
    base = plan.links.get(before.base.name, plan.base)  # the robot, where the link on the world is only scenery
    if name == base.name:
        return Change(plan, f"base is link {name!r}", "it was so already")
    if name == plan.base.name:
        raise DalembertError(f"reroot: {name!r} is the ground below the robot, whose base is {base.name!r}")
    path = [link]
    while path[-1].name != base.name:
        path.append(plan.links[plan.mount(path[-1])])
    rigid = rigid_closures(plan)
    in_mount = {one.name: _in_mount(plan, one) for one in path[:-1]}
    if base.joint.nv:
        root_joint, placement = base.joint, base.placement
        if np.any(
            [base.joint.armature, base.joint.damping, base.joint.friction, base.joint.stribeck, base.joint.stiffness]
        ):
            raise DalembertError(
                f"reroot: the free joint {base.joint.name!r} of the base has armature, damping, friction or springs, "
                "which would act on another link: set them to 0 with set_joint"
            )
    else:
        root_joint = Fixed(name=base.joint.name)
        placement = links_at(before, neutral(before) if q is None else q, np.zeros(before.nv))[name].X
    links = {} if base is plan.base else {plan.base.name: plan.base}
    links[name] = replace(link, parent=base.parent, placement=_tidy(placement), joint=root_joint, mount=base.mount)
    for child, parent in pairwise(path):
        for hung in _hung(plan, parent, child, in_mount[child.name]):
            links[hung.name] = hung
    links |= {one: plan.links[one] for one in plan.links if one not in links}
    plan.links = links
    plan.keyframes = [_reversed_keyframe(one, path, root_joint.name) for one in plan.keyframes]
    names = {}
    if base.name == WORLD:
        names = {WORLD: plan.new_name("world_link")}
        renamed(plan, names, {})
        plan.places.setdefault(names[WORLD], None)
    dropped = settle_closures(plan, rigid, "reroot")
    swapped = [one.joint.name for one in path[:-1] if not one.joint.keeps_coordinates]
    turned = [one.joint.name for one in path[:-1] if one.joint.nv and one.joint.name not in swapped]
    action = f"joints run through backwards, with their coordinates as they were: {', '.join(turned) or 'none'}"
    if swapped:
        action += f"; with coordinates of the inverse motion: {', '.join(swapped)}"
    action += "; the base is free as before" if root_joint.nv else f"; {name!r} is held in the world where it was"
    action += _left_out(dropped)
    change = Change(plan, f"base is link {name!r} instead of {base.name!r}", action, renamed=names)
    change.relative_to, change.energy = (WORLD, 1.0) if root_joint.nv else (name, None)
    change.pairing = _pairing([one.joint for one in path[:-1] if one.joint.nv], name)
    return change


def _reversed_keyframe(keyframe: Keyframe, path: list[Link], base: str) -> Keyframe:
    """A named state with the coordinates of joints that are run through backwards; where a base floats is left out."""
    joints = {link.joint.name: link.joint for link in path[:-1]}
    parts = []
    for part in keyframe.joints:
        if part.joint in joints:
            part = JointState(part.joint, *joints[part.joint].reversed_state(part.q, part.v))
        if part.joint != base:
            parts.append(part)
    return replace(keyframe, joints=tuple(parts))


def _left_out(closures: list[str]) -> str:
    return f"; left out, since it holds by itself now: {', '.join(closures)}" if closures else ""


def _hung(plan: LinkPlan, parent: Link, child: Link, X_PJ: Pose) -> list[Link]:
    """The former parent as it hangs on the former child."""
    X_JP = _tidy(X_PJ.inverse())
    if not child.joint.nv:
        return [replace(parent, parent=child.name, placement=X_JP, joint=Fixed(name=child.joint.name), mount="")]
    joint = child.joint.reversed()
    if not np.any(X_PJ.matrix() - np.eye(4)):
        return [replace(parent, parent=child.name, placement=X_JP, joint=joint, mount="")]
    # The body frame of the moved link must lie in the joint, and its own frame must stay where it is: a bare link
    # takes the first place, and carries the other.
    bare = Link(plan.new_name(f"{parent.name}_at_{joint.name}"), child.name, Pose.identity(), joint, Inertia.zero())
    plan.places[bare.name] = None
    held = Fixed(name=plan.new_joint_name(bare.name))
    return [bare, replace(parent, parent=bare.name, placement=X_JP, joint=held, mount="")]


def _in_mount(plan: LinkPlan, link: Link) -> Pose:
    """The joint frame of a link, in the link that it sits on."""
    mount = plan.links[plan.mount(link)]
    return link.placement if mount.name == link.parent else mount.placement.inverse() @ link.placement


def _tidy(X: Pose) -> Pose:
    return Pose(snapped(X.R), np.array(X.p))


def _off_the_world(plan: LinkPlan) -> str:
    """The base's name; one called "world" gets another one first, since the world does not move."""
    if plan.base.name == WORLD:
        renamed(plan, {WORLD: plan.new_name("world_link")}, {})
        plan.places.setdefault(plan.base.name, None)
    return plan.base.name


def _pairing(turned: list[Joint], root: str) -> Callable[[Model, Model, np.random.Generator], tuple[State, State]]:
    """States of the robot before and after: joints on the path inverse, a free base where the new root is."""

    def pairing(before: Model, after: Model, rng: np.random.Generator) -> tuple[State, State]:
        (q0, v0), (q1, v1) = shared_states(before, after, rng)
        for joint in turned:
            new = after.joint(joint.name)
            if not joint.keeps_coordinates:
                old = before.joint(joint.name)
                q1[new.q], v1[new.v] = joint.reversed_state(q0[old.q], v0[old.v])
        base = after.base
        if base.joint.nv:
            root_link = links_at(before, q0, v0)[root]
            X_WJ = base.placement if base is after.bodies[0] else after.bodies[0].placement @ base.placement
            X = X_WJ.inverse() @ root_link.X
            q1[base.q] = np.concatenate([X.p, so3.to_quaternion(X.R)])
            v1[base.v] = root_link.V
        return (q0, v0), (q1, v1)

    return pairing
