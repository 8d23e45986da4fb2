"""Actuators and named states as MJCF states them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import Actuator, Body, Model, State
from dalembert.model.joints import Free, Screw

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
