"""Actuators, tendons, options of the solver and named states as MJCF states them; other formats have no tendons."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import Actuator, Body, Model, State
from dalembert.model.joints import Free, Screw
from dalembert.model.mujoco import SOFT, Mujoco, MujocoOption, MujocoTendon, Softness

from .losses import Losses
from .text import Element, add, number, numbers

FAR = 1e30  # the missing limit, where only one side is limited


def add_actuators(root: Element, model: Model, losses: Losses) -> None:
    """<actuator>: each as <general>, the word that covers them all; the tendons on which they act."""
    sites = {frame.name for frame in model.frames} - {part.name for body in model.bodies for part in body.parts}
    kept = []
    for actuator in model.actuators:
        missing = [frame for frame in actuator.frames if frame not in sites]
        if actuator.obstacle or missing:
            why = actuator.obstacle or f"frame '{missing[0]}' is a link, and MJCF needs a site"
            losses.note("actuator", actuator.name, why, "left out: controls are fewer, and in other places")
        else:
            kept.append(actuator)
    if not kept:
        return
    tendons = add(root, "tendon") if any(each.tendon or each.path for each in kept) else None
    section = add(root, "actuator")
    for actuator in kept:
        general = add(section, "general", name=actuator.name)
        target: dict[str, str] = {}
        if actuator.joint:
            target["joint"] = actuator.joint
        elif actuator.site:
            target["site"] = actuator.site
            if actuator.reference:
                target["refsite"] = actuator.reference
        elif tendons is not None:
            target["tendon"] = _tendon(tendons, actuator)
        for key, value in (target | {"gear": _gear(actuator)} | _law(actuator)).items():
            general.set(key, value)


def _tendon(section: Element, actuator: Actuator) -> str:
    """The tendon of an actuator, called as it is."""
    kind = add(section, "fixed" if actuator.tendon else "spatial", name=actuator.name)
    for joint, coefficient in actuator.tendon:
        add(kind, "joint", joint=joint, coef=number(coefficient))
    for site in actuator.path:
        add(kind, "site", site=site)
    return actuator.name


def _gear(actuator: Actuator) -> str:
    """MJCF's has the force first."""
    gear = np.atleast_1d(actuator.gear)
    return numbers(np.concatenate([gear[3:], gear[:3]]) if gear.size == 6 else gear)


def _law(actuator: Actuator) -> dict[str, str]:
    affine = bool(np.any(actuator.gain[1:]))
    law = {"gaintype": "affine" if affine else "fixed"}
    law["gainprm"] = numbers(actuator.gain) if affine else number(actuator.gain[0])
    if np.any(actuator.bias):
        law |= {"biastype": "affine", "biasprm": numbers(actuator.bias)}
    if actuator.dynamics != "none":
        law["dyntype"] = actuator.dynamics
    if actuator.dynamics in ("filter", "filterexact"):
        law["dynprm"] = number(actuator.time_constant)
    if actuator.dynamics == "integrator" and not np.any(np.isfinite(actuator.activation_limits)):
        law["actlimited"] = "false"
    ranges = {
        "ctrlrange": actuator.control_limits,
        "forcerange": actuator.force_limits,
        "actrange": actuator.activation_limits,
    }
    for key, limits in ranges.items():
        if np.any(np.isfinite(limits)):
            law[key] = numbers(np.clip(limits, -FAR, FAR))
    return law


def add_keyframes(root: Element, model: Model) -> None:
    """<keyframe>: qpos and qvel of all joints that were written, in their order."""
    if not model.keyframes:
        return
    section = add(root, "keyframe")
    for keyframe in model.keyframes:
        state = keyframe.state(model)
        parts = [_coordinates(body, state) for body in model.bodies if body.joint.nv]
        qpos, qvel = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        add(section, "key", name=keyframe.name, qpos=numbers(qpos), qvel=numbers(qvel))


def _coordinates(body: Body, state: State) -> tuple[Any, Any]:
    """qpos and qvel of a joint: of a free one in the world, linear first; of a screw also those of its slide."""
    joint, q, v = body.joint.uncoupled, body.joint.coordinate(state.q[body.q]), state.v[body.v]
    if body.joint.mimic is not None:
        v = body.joint.mimic.ratio * v
    if isinstance(joint, Free):
        return q, np.concatenate([joint.pose(q).R @ v[3:], v[:3]])
    if isinstance(joint, Screw) and joint.pitch:
        return np.array([q[0], joint.pitch * q[0]]), np.array([v[0], joint.pitch * v[0]])
    return q, v


WRITTEN = ("timestep", "integrator", "cone", "impratio")  # of MuJoCo's options


def note_tendons(model: Model, losses: Losses) -> None:
    """Log the springs and dampers of tendons, for a format that has none."""
    for tendon in model.mujoco.tendons if model.mujoco else ():
        if tendon.pulls:
            losses.change("tendon", tendon.name, f"{losses.language} has no tendons", "its forces are left out")


def solver_options(model: Model) -> dict[str, str]:
    """Attributes of <option> that differ from MuJoCo's defaults."""
    option, usual = (model.mujoco or Mujoco()).option, MujocoOption()
    chosen = {name: getattr(option, name) for name in WRITTEN if getattr(option, name) != getattr(usual, name)}
    return {name: value if isinstance(value, str) else number(value) for name, value in chosen.items()}


def add_tendons(root: Element, model: Model, losses: Losses) -> None:
    """<tendon>: those with forces or limits of their own; those that only guide actuators come with the actuators."""
    if model.mujoco is None:
        return
    _note_what_is_not_written(model.mujoco, losses)
    own = [t for t in model.mujoco.tendons if t.pulls or t.frictionloss or t.range is not None]
    sites = {frame.name for frame in model.frames} - {part.name for body in model.bodies for part in body.parts}
    taken = {actuator.name for actuator in model.actuators}  # also names of the tendons on which they act
    section = add(root, "tendon") if own else root
    for tendon in own:
        missing = [site for site in tendon.path if site not in sites]
        if missing:
            why = f"frame '{missing[0]}' is a link, and MJCF needs a site"
            losses.change("tendon", tendon.name, why, "its forces are left out")
            continue
        name = f"{tendon.name}_passive" if tendon.name in taken else tendon.name
        element = add(section, "spatial" if tendon.path else "fixed", name=name, **_attributes(tendon))
        for joint, coefficient in tendon.joints:
            add(element, "joint", joint=joint, coef=number(coefficient))
        for site in tendon.path:
            add(element, "site", site=site)
    if own and not len(section):
        root.remove(section)


def _attributes(tendon: MujocoTendon) -> dict[str, str]:
    words = {key: number(getattr(tendon, key)) for key in ("stiffness", "damping", "frictionloss", "margin")
             if getattr(tendon, key)}  # fmt: skip
    if tendon.stiffness:
        words["springlength"] = numbers(tendon.rest)
    if tendon.range is not None:
        words["range"] = numbers(tendon.range)
    return words | _softness(tendon.limit, "limit") | _softness(tendon.friction, "friction")


def _softness(softness: Softness, of: str) -> dict[str, str]:
    words = {f"solref{of}": softness.solref, f"solimp{of}": softness.solimp} if softness != SOFT else {}
    return {key: numbers(value) for key, value in words.items()}


def _note_what_is_not_written(mujoco: Mujoco, losses: Losses) -> None:
    usual = MujocoOption()
    others = [
        name for name in vars(usual) if name not in WRITTEN and getattr(mujoco.option, name) != getattr(usual, name)
    ]
    soft = any((j.limit, j.friction, j.margin, j.largest_angle) != (SOFT, SOFT, 0.0, None) for j in mujoco.joints)
    soft = soft or any(each.softness != SOFT for each in mujoco.equalities)
    for stated, what in (
        (others, "options of MuJoCo's solver"),
        (soft, "softness of limits, joint friction and equalities"),
        (mujoco.pairs, "<pair>s of geoms"),
        (mujoco.height_maps, "height fields"),
    ):
        if stated:
            losses.note("robot", "this file", f"{what}, for Contact(model='mujoco')", "left out")
