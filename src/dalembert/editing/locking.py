"""Locking joints at a configuration: their bodies become fixed links of the bodies that carry them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model import CamEquation, Frame, JointEquation, LinkPlan
from dalembert.model.assembly import Closing, Link
from dalembert.model.joints import Fixed, Joint
from dalembert.model.joints.joint import snapped
from dalembert.spatial import Pose

from .change import WORLD, Change


def lock(plan: LinkPlan, values: Mapping[str, Any]) -> Change:
    """The robot with joints held at `values`, each (nq,) or one number; followers are held with their leader."""
    joints = {name: link for name, link in plan.joints.items() if link.joint.nv}
    held: dict[str, np.ndarray] = {}
    for name, value in values.items():
        if name not in joints:
            raise unknown("joint", name, joints, "lock")
        _hold(plan, held, name, configuration(joints[name].joint, value, "lock"))
    if not held:
        raise DalembertError("lock: no joint is given: lock(elbow=0.3), or lock({'joint 2': 0.3})")
    _hold_followers(plan, held)
    rigid = rigid_closures(plan)
    listed, energy, outside = [], 0.0, []
    for name, q in held.items():
        link = joints[name]
        pull = link.joint.difference(link.joint.rest, q)
        energy += 0.5 * float(link.joint.stiffness @ pull**2)
        if np.any(q < link.joint.lower) or np.any(q > link.joint.upper):
            outside.append(name)
        listed.append(f"{name!r} at {np.round(q, 9).tolist() if q.size > 1 else f'{q[0]:.9g}'}")
        plan.links[link.name] = held_link(link, q)
        plan.mimics.pop(name, None)
    if plan.mujoco is not None:
        plan.mujoco = plan.mujoco.holding({name: float(q[0]) for name, q in held.items() if q.size == 1})
    dropped = [*_settle_equations(plan, held), *settle_closures(plan, rigid, "lock")]
    action = (
        "their bodies are fixed links of what carries them; armature, damping and friction of these joints are gone"
    )
    if energy:
        action += f", and the energy of their springs, {energy:.6g} J at these values, is no longer counted"
    if dropped:
        action += f"; left out, since it holds by itself now: {', '.join(dropped)}"
    if outside:
        action += f"; outside its limits: {', '.join(outside)}"
    change = Change(plan, f"joints locked: {', '.join(listed)}", action, warning=bool(outside), energy=1.0)
    return change.holding(held)


def configuration(joint: Joint, value: Any, where: str) -> np.ndarray:
    """A user's value as a configuration (nq,) of a joint."""
    where = f"{where}: joint {joint.name!r}"
    try:
        q = np.atleast_1d(np.array(value, float))
    except (TypeError, ValueError):
        raise DalembertError(f"{where} has value {value!r}, expected {joint.nq} number(s)") from None
    if q.shape != (joint.nq,):
        raise DalembertError(f"{where} has a value of shape {q.shape}, expected ({joint.nq},): it is {joint.kind}")
    if not np.all(np.isfinite(q)):
        raise DalembertError(f"{where} has value {value!r}, expected finite numbers")
    unit = joint.normalize(q)
    if np.max(np.abs(unit - q)) > 1e-6:
        raise DalembertError(f"{where} has value {q.tolist()}: its quaternion w x y z is not of unit length")
    return unit


def held_link(link: Link, q: np.ndarray) -> Link:
    """The link with its joint fixed at q."""
    X = link.placement @ link.joint.pose(q)
    return replace(link, placement=Pose(snapped(X.R), X.p), joint=Fixed(name=link.joint.name))


def _hold(plan: LinkPlan, held: dict[str, np.ndarray], name: str, q: np.ndarray) -> None:
    """Hold the joint that has the coordinate: the leader, for one that follows."""
    leader, ratio, offset = law(plan, name)
    q = q if leader == name else (q - offset) / ratio
    if leader in held and np.max(np.abs(held[leader] - q)) > SAME:
        raise DalembertError(
            f"lock: joint {name!r} moves with {leader!r}, which is asked to be at {held[leader][0]:g} and at {q[0]:g}: "
            "lock one of them"
        )
    held.setdefault(leader, q)


def _hold_followers(plan: LinkPlan, held: dict[str, np.ndarray]) -> None:
    for name in plan.mimics:
        leader, ratio, offset = law(plan, name)
        if leader in held:
            held[name] = ratio * held[leader] + offset


def law(plan: LinkPlan, name: str) -> tuple[str, float, float]:
    """(leader, ratio, offset) of a joint, through all that it follows; (itself, 1, 0) for one that follows none."""
    leader, ratio, offset = name, 1.0, 0.0
    while leader in plan.mimics:
        step = plan.mimics[leader]
        leader, ratio, offset = step.leader, ratio * step.ratio, ratio * step.offset + offset
    return leader, ratio, offset


def _settle_equations(plan: LinkPlan, held: Mapping[str, np.ndarray]) -> list[str]:
    """Insert locked values into the polynomials between joints; the names of those that are now always satisfied."""
    kept, dropped = [], []
    for equation in plan.equations:
        settled = _settled(equation, held)
        if settled is not None:
            kept.append(settled)
        else:
            dropped.append(f"equation {equation.name!r}")
    plan.equations = kept
    return dropped


def _settled(equation: JointEquation, held: Mapping[str, np.ndarray]) -> JointEquation | None:
    follower, leader = held.get(equation.follower), held.get(equation.leader)
    others = tuple((joint, factor) for joint, factor in equation.others if joint not in held)
    if equation.others and (leader is not None or not equation.leader):
        value = equation.law(float(leader[0]) if leader is not None else 0.0)[0]
        value += sum(factor * float(held[joint][0]) for joint, factor in equation.others if joint in held)
        equation = JointEquation(equation.name, equation.follower, "", np.array([value]), others)
        if follower is not None and others:  # the first of the others follows now
            (joint, factor), *more = others
            turned = tuple((name, -part / factor) for name, part in more)
            value = (float(follower[0]) - value) / factor
            return JointEquation(equation.name, joint, "", np.array([value]), turned)
        if others:
            return equation
    elif len(others) < len(equation.others):
        raise DalembertError(
            f"lock: equation {equation.name!r} ties {', '.join(equation.joints)}: lock {equation.leader!r} as well"
        )
    if leader is not None or not equation.leader:
        value = equation.law(float(leader[0]) if leader is not None and equation.leader else 0.0)[0]
        if follower is None:
            return JointEquation(equation.name, equation.follower, "", np.array([value]))
        if abs(value - follower[0]) > SAME:
            raise DalembertError(
                f"lock: equation {equation.name!r} asks joint {equation.follower!r} to be at {value:.9g}, and it is "
                f"locked at {follower[0]:.9g}: lock it there"
            )
        return None
    if follower is None:
        return equation
    if equation.others or isinstance(equation, CamEquation):
        raise DalembertError(
            f"lock: joint {equation.follower!r} is tied to {', '.join(equation.joints[1:])} by {equation.kind} "
            f"{equation.name!r}: lock {equation.leader!r} as well"
        )
    c = [*equation.coefficients.tolist(), 0.0, 0.0]
    if any(c[2:]) or c[1] == 0.0:
        raise DalembertError(
            f"lock: joint {equation.follower!r} follows {equation.leader!r} by equation {equation.name!r}: lock "
            f"{equation.leader!r} as well"
        )
    value = (float(follower[0]) - c[0]) / c[1]
    return replace(equation, follower=equation.leader, leader="", coefficients=np.array([value]))


SAME = 1e-9  # of lengths [m], angles [rad] and sines: what counts as closed, or as the same value


def rigid_closures(plan: LinkPlan) -> set[str]:
    """Names of closures whose two ends never move relative to each other."""
    ends = ((c.name, _end(plan, c.a, Pose.identity()), _end(plan, c.b, Pose.identity())) for c in plan.closings)
    return {name for name, a, b in ends if a[0] == b[0]}


def settle_closures(plan: LinkPlan, rigid: set[str], where: str) -> list[str]:
    """Leave out closures whose two ends are parts of one body now; refuse if they are not together.

    rigid: those that were so before the edit, and stay. Returns the names of those left out.
    """
    kept, dropped = [], []
    for closing in plan.closings:
        a, b = _end(plan, closing.a, closing.placement_a), _end(plan, closing.b, closing.placement_b)
        if a[0] != b[0] or closing.name in rigid:
            kept.append(closing)
            continue
        gap = _gap(closing, a[1].inverse() @ b[1])
        if gap > SAME:
            raise DalembertError(
                f"{where}: closure {closing.name!r} cannot hold: its ends are parts of one body then, and off by "
                f"{gap:.3g}; hold the joints where the loop is closed, or leave one of them free"
            )
        dropped.append(f"closure {closing.name!r}")
    plan.closings = kept
    return dropped


def _end(plan: LinkPlan, name: str, X: Pose) -> tuple[str, Pose]:
    """The moving link (or the world) that carries a place, and the pose in it."""
    if name == WORLD and name not in plan.links:
        return WORLD, X
    place = plan.place(name, "closure")
    name, X = place.link, place.placement @ X
    link = plan.links[name]
    while not link.joint.nv:
        X = link.placement @ X
        if link.name == plan.base.name:
            return WORLD, X
        link = plan.links[link.parent]
    return link.name, X


def _gap(closing: Closing, X: Pose) -> float:
    end = Frame("", 0, Pose.identity())
    return float(np.max(np.abs(closing.make(name=closing.name, a=end, b=end).residual(X)), initial=0.0))
