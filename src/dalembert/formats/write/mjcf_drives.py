"""Actuators and named states as MJCF states them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import Actuator, Body, Model, State
from dalembert.model.joints import Free, Screw

from .text import Element, add, number, numbers

FAR = 1e30  # the missing limit, where only one side is limited


def add_actuators(root: Element, model: Model) -> None:
    """<actuator>: each as <general>, the word that covers them all."""
    if not model.actuators:
        return
    section = add(root, "actuator")
    for actuator in model.actuators:
        general = add(section, "general", name=actuator.name, joint=actuator.joint, gear=number(actuator.gear))
        for key, value in _law(actuator).items():
            general.set(key, value)


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
    for key, limits in (("ctrlrange", actuator.control_limits), ("forcerange", actuator.force_limits)):
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
