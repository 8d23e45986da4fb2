"""Actuators that are prims of their own: MuJoCo's and Newton's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder

from .source import Source

DYNAMICS = ("none", "integrator", "filter", "filterexact")


def add_actuators(source: Source, builder: ModelBuilder, prims: list[Any], joints: Mapping[str, str]) -> None:
    """Add actuators of the robot's joints (path → name); others are kept by name, with the reason."""
    taken = {actuator.name for actuator in builder.actuators}
    for prim in prims:
        kind = str(prim.GetTypeName())
        if kind not in ("MjcActuator", "NewtonActuator"):
            continue
        word = "mjc:target" if kind == "MjcActuator" else "newton:targets"
        targets = [str(target.GetPath()) for target in source.targets(prim, word)]
        name = str(prim.GetName())
        while name in taken:
            name += "_"
        taken.add(name)
        joint = joints.get(targets[0], "") if targets else ""
        obstacle = (
            "" if joint and builder.has_joint(joint) else f"it acts on {targets or 'nothing'}, which is no joint here"
        )
        if not obstacle and builder.freedoms(joint) != 1:
            obstacle = f"joint {joint!r} has several freedoms"
        if not obstacle and (source.length != 1.0 or source.mass != 1.0):
            obstacle = "the stage is not in m and kg"
        law, trouble = _mujoco(source, prim) if kind == "MjcActuator" else _newton(source, prim)
        obstacle = obstacle or trouble
        try:
            if not obstacle:
                builder.add_actuator(name, joint, **law)
        except DalembertError as error:
            obstacle = str(error)
        if obstacle:
            source.ledger.count(source.where(prim), f"actuator that cannot be driven: {obstacle}", "kept by name")
            builder.add_actuator(name, obstacle=obstacle)


def _mujoco(source: Source, prim: Any) -> tuple[dict[str, Any], str]:
    """Gain, bias, limits and dynamics, and what is in the way."""
    gain, bias = source.word(prim, "mjc:gainType", "fixed"), source.word(prim, "mjc:biasType", "none")
    dynamics = source.word(prim, "mjc:dynType", "none").lower()
    trouble = ""
    if gain not in ("fixed", "affine") or bias not in ("none", "affine") or dynamics not in DYNAMICS:
        trouble = f"its law is {gain}, {bias}, {dynamics}"
    gains, biases, times = (source.numbers(prim, f"mjc:{word}Prm", None) for word in ("gain", "bias", "dyn"))
    gears = source.numbers(prim, "mjc:gear", None)
    law: dict[str, Any] = {
        "gear": 1.0 if gears is None else float(gears[0]),
        "gain": _three(gains, 1.0) * (1.0 if gain == "affine" else np.array([1.0, 0.0, 0.0])),
        "bias": _three(biases, 0.0) * (1.0 if bias == "affine" else 0.0),
        "dynamics": dynamics if dynamics in DYNAMICS else "none",
    }
    if dynamics in ("filter", "filterexact"):
        law["time_constant"] = 1.0 if times is None else float(times[0])
    for word, field in (("ctrl", "control_limits"), ("force", "force_limits"), ("act", "activation_limits")):
        limits = [source.number(prim, f"mjc:{word}Range:{end}", 0.0) for end in ("min", "max")]
        limited = source.word(prim, f"mjc:{word}Limited", "auto")
        if limited == "true" or (limited == "auto" and limits[0] < limits[1]):
            law[field] = np.array(limits)
    return law, trouble


def _three(x: np.ndarray | None, first: float) -> np.ndarray:
    return np.array([first, 0.0, 0.0]) if x is None else np.pad(x, (0, 3))[:3]


def _newton(source: Source, prim: Any) -> tuple[dict[str, Any], str]:
    """A PD law around a commanded position."""
    if not any(schema.startswith("NewtonPDControl") for schema in source.schemas(prim)):
        return {}, "its law is not PD"
    kp, kd, effort = (source.number(prim, f"newton:{word}", 0.0) for word in ("kp", "kd", "constEffort"))
    law: dict[str, Any] = {"gain": [kp, 0.0, 0.0], "bias": [effort, -kp, -kd]}
    most = source.number(prim, "newton:maxEffort", np.inf, infinite=True)
    if np.isfinite(most):
        law["force_limits"] = [-most, most]
    return law, "its command is delayed" if source.number(prim, "newton:delaySteps", 0.0) else ""
