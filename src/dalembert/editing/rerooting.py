"""Another base: held or afloat, or another link in its place, with the joints between run through backwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.algorithms import neutral
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model, Plan
from dalembert.model.assembly import Link
from dalembert.model.joints import Ball, Fixed, Free, Joint, Planar, Universal
from dalembert.model.joints.joint import AxisJoint, snapped
from dalembert.spatial import Inertia, Pose, so3

from .change import WORLD, Change, State, shared_states
from .invariants import links_at
from .locking import configuration, held_link
from .loops import rigid_closures, settle_closures
from .naming import renamed

ISOTROPIC = 1e-12  # relative: numbers that count as equal
OTHER_COORDINATES = (Ball, Free, Planar, Universal)  # joints that have other coordinates when run backwards


def set_base(plan: Plan, kind: str, at: Any) -> Change:
    """The base "fixed" where it is (a free one: at the configuration `at`), or "free" to move from there."""
    if kind not in ("fixed", "free"):
        raise unknown("base", kind, ("fixed", "free"), "base")
    base = plan.base
    if at is not None and not (kind == "fixed" and base.joint.kind == "free"):
        raise DalembertError("base: a configuration is only for a base that was free and is to be fixed")
    if base.joint.kind == kind:
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


def reroot(plan: Plan, before: Model, name: str, q: np.ndarray | None) -> Change:
    """Hang the tree on another link; a fixed one is held where it is at the configuration q (default neutral)."""
    link, base = plan.link(name, "reroot"), plan.base
    if name == base.name:
        return Change(plan, f"base is link {name!r}", "it was so already")
    path = [link]
    while path[-1].name != base.name:
        path.append(plan.links[plan.mount(path[-1])])
    rigid = rigid_closures(plan)
    in_mount = {one.name: _in_mount(plan, one) for one in path[:-1]}
    if base.joint.kind == "free":
        root_joint, placement = base.joint, base.placement
        if np.any([base.joint.armature, base.joint.damping, base.joint.friction, base.joint.stiffness]):
            raise DalembertError(
                f"reroot: the free joint {base.joint.name!r} of the base has armature, damping, friction or springs, "
                "which would act on another link: set them to 0 with set_joint"
            )
    else:
        root_joint = Fixed(name=base.joint.name)
        placement = links_at(before, neutral(before) if q is None else q, np.zeros(before.nv))[name].X
    links = {name: replace(link, parent=WORLD, placement=_tidy(placement), joint=root_joint, mount="")}
    for child, parent in pairwise(path):
        for made in _hung(plan, parent, child, in_mount[child.name]):
            links[made.name] = made
    links |= {one: plan.links[one] for one in plan.links if one not in links}
    plan.links = links
    names = {}
    if base.name == WORLD:
        names = {WORLD: plan.new_name("world_link")}
        renamed(plan, names, {})
        plan.places.setdefault(names[WORLD], None)
    dropped = settle_closures(plan, rigid, "reroot")
    swapped = [one.joint.name for one in path[:-1] if isinstance(one.joint, OTHER_COORDINATES)]
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


def inverse(joint: Joint) -> Joint:
    """The joint with parent and child exchanged, its pose the inverse. Raises where its type has no such joint.

    One axis turns round for revolute, continuous, prismatic, screw and cylindrical joints: q and v stay. The others
    have the coordinates `inverse_state` tells.
    """
    if isinstance(joint, Universal):
        values = {field: getattr(joint, field)[::-1] for field in _FIELDS}
        return replace(joint, axis=-joint.axis2, axis2=-joint.axis, **values)
    if isinstance(joint, (Ball, Free)):
        _demand_plain(joint)
        return replace(joint, rest=inverse_state(joint, joint.rest, np.zeros(joint.nv))[0])
    if isinstance(joint, Planar):
        sliding = [getattr(joint, field)[:2] for field in ("armature", "damping", "friction", "stiffness")]
        limits = [getattr(joint, field)[:2] for field in ("lower", "upper", "velocity_limit", "effort_limit")]
        if np.any(sliding) or np.any(np.isfinite(limits)):
            raise _not_closed(joint, "armature, damping, friction, springs or limits along x and y")
        return replace(joint, axis=-joint.axis, rest=inverse_state(joint, joint.rest, np.zeros(3))[0])
    assert isinstance(joint, AxisJoint)
    return replace(joint, axis=-joint.axis)


def inverse_state(joint: Joint, q: np.ndarray, v: np.ndarray) -> State:
    """(q', v') of the inverse joint for (q, v) of the joint: the same motion."""
    if isinstance(joint, Universal):
        return q[::-1], v[::-1]
    if isinstance(joint, Ball):
        return so3.quaternion_conjugate(q), -(joint.pose(q).R @ v)
    if isinstance(joint, Free):
        X = joint.pose(q)
        return np.concatenate([X.inverse().p, so3.quaternion_conjugate(q[3:])]), -X.motion(v)
    if isinstance(joint, Planar):
        x, y = joint.basis()
        back = replace(joint, axis=-joint.axis, lower=None, upper=None, rest=None)
        B = np.stack(back.basis())  # the other way round: x as it was, y turned over
        R = joint.pose(q).R
        slide = x * q[0] + y * q[1]
        rate = x * v[0] + y * v[1] - v[2] * np.cross(joint.axis, slide)
        return np.array([*(-B @ (R.T @ slide)), q[2]]), np.array([*(-B @ (R.T @ rate)), v[2]])
    return q, v


_FIELDS = (
    "armature",
    "damping",
    "friction",
    "stiffness",
    "rest",
    "lower",
    "upper",
    "velocity_limit",
    "effort_limit",
)


def _demand_plain(joint: Joint) -> None:
    """A rotation given by a quaternion can be run backwards only if it is the same about all axes."""
    for field in ("armature", "damping"):
        turning, sliding = np.split(getattr(joint, field), [3])
        if np.ptp(turning) > ISOTROPIC * np.max(turning) or np.any(sliding):
            raise _not_closed(joint, f"{field} {getattr(joint, field).tolist()}, unequal about its axes or along them")
    if np.any(joint.friction):
        raise _not_closed(joint, f"friction {joint.friction.tolist()} along the axes of one of its bodies")
    if np.any(np.isfinite([joint.velocity_limit, joint.effort_limit])):
        raise _not_closed(joint, "limits of speed or effort along the axes of one of its bodies")


def _not_closed(joint: Joint, what: str) -> DalembertError:
    return DalembertError(
        f"reroot: joint {joint.name!r} is {joint.kind} and has {what}, which no {joint.kind} joint has that is run "
        "through backwards: set these to 0 (or None) with set_joint, or lock the joint"
    )


def _left_out(closures: list[str]) -> str:
    return f"; left out, since it holds by itself now: {', '.join(closures)}" if closures else ""


def _hung(plan: Plan, parent: Link, child: Link, X_PJ: Pose) -> list[Link]:
    """The former parent as it hangs on the former child."""
    X_JP = _tidy(X_PJ.inverse())
    if not child.joint.nv:
        return [replace(parent, parent=child.name, placement=X_JP, joint=Fixed(name=child.joint.name), mount="")]
    joint = inverse(child.joint)
    if not np.any(X_PJ.matrix() - np.eye(4)):
        return [replace(parent, parent=child.name, placement=X_JP, joint=joint, mount="")]
    # The body frame of the moved link must lie in the joint, and its own frame must stay where it is: a bare link
    # takes the first place, and carries the other.
    bare = Link(plan.new_name(f"{parent.name}_at_{joint.name}"), child.name, Pose.identity(), joint, Inertia.zero())
    plan.places[bare.name] = None
    held = Fixed(name=plan.new_joint_name(bare.name))
    return [bare, replace(parent, parent=bare.name, placement=X_JP, joint=held, mount="")]


def _in_mount(plan: Plan, link: Link) -> Pose:
    """The joint frame of a link, in the link that it sits on."""
    mount = plan.links[plan.mount(link)]
    return link.placement if mount.name == link.parent else mount.placement.inverse() @ link.placement


def _tidy(X: Pose) -> Pose:
    return Pose(snapped(X.R), np.array(X.p))


def _off_the_world(plan: Plan) -> str:
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
            if isinstance(joint, OTHER_COORDINATES):
                old = before.joint(joint.name)
                q1[new.q], v1[new.v] = inverse_state(joint, q0[old.q], v0[old.v])
        base = after.bodies[0]
        if base.joint.nv:
            there = links_at(before, q0, v0)[root]
            X = base.placement.inverse() @ there.X
            q1[base.q] = np.concatenate([X.p, so3.to_quaternion(X.R)])
            v1[base.v] = there.V
        return (q0, v0), (q1, v1)

    return pairing
