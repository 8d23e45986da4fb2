"""Forces and limits of joints beyond UsdPhysics: attributes of Newton, MuJoCo and PhysX with a counterpart here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.model import KINDS

from .drives import Drive
from .freedoms import Freedom
from .source import Source

OWN = (
    "armature", "damping", "friction", "slip_speed", "stribeck", "stribeck_speed", "stiffness", "rest",
    "velocity_limit", "acceleration_limit", "deceleration_limit", "jerk_limit", "effort_limit", "continuous_limit",
)  # fmt: skip
EVEN = ("lower", "upper")
ALWAYS = ("slip_speed", "stribeck_speed")
# field → attributes that state it, and the power of the coordinate's unit by which they differ from SI
WORDS = {
    "armature": (("newton:armature", 0), ("mjc:armature", 0), ("physxJoint:armature", 0)),
    "damping": (("newton:damping", 1), ("mjc:damping", 0)),
    "friction": (("newton:friction", 0), ("mjc:frictionloss", 0)),
    "stiffness": (("mjc:stiffness", 0),),
    "velocity_limit": (("newton:velocityLimit", -1), ("physxJoint:maxJointVelocity", -1)),
}


def effects(
    source: Source, prim: Any, kind: str, freedoms: list[Freedom], drives: Mapping[str, Drive]
) -> dict[str, Any]:
    """Keyword arguments of the model's joint: limits and effects, one number for each freedom."""
    nv = KINDS[kind].nv if kind in KINDS else 0
    if not nv or not freedoms:
        return {}
    fields: dict[str, Any] = {}
    if kind not in ("ball", "free", "continuous"):
        fields["lower"] = np.array([freedom.lower for freedom in freedoms])
        fields["upper"] = np.array([freedom.upper for freedom in freedoms])
    for field, words in WORDS.items():
        values = np.array([_stated(source, prim, field, words, freedom) for freedom in freedoms])
        if field == "velocity_limit":
            values = np.where(values <= 0.0, np.inf, values)
        if np.any(values != (np.inf if field == "velocity_limit" else 0.0)):
            fields[field] = values
    if len(freedoms) == 1:
        fields |= _spring(source, prim, freedoms[0], fields)
    limits = [drives[freedom.name].limit if freedom.name in drives else math.inf for freedom in freedoms]
    if np.isfinite(limits).any():
        fields["effort_limit"] = np.array(limits)
    _actuator_limit(source, prim, freedoms, fields)
    return _own(source, prim, kind, fields)


def _stated(source: Source, prim: Any, field: str, words: Any, freedom: Freedom) -> float:
    """The first of the attributes that states a field, in SI."""
    default = math.inf if field == "velocity_limit" else 0.0
    for word, power in words:
        x = source.number(prim, word, -math.inf, infinite=True)
        if not x > -math.inf:
            continue
        if x < 0.0:
            source.ledger.warning(source.where(prim), f"{word} is {x:g}", "not used: it is negative")
            continue
        length = source.length
        force = source.mass * length * (length if freedom.turns else 1.0)
        unit = {
            "armature": force if freedom.turns else source.mass,
            "friction": force,
            "velocity_limit": 1.0,
        }.get(field, force if freedom.turns else source.mass)
        return x * unit * (math.pi / 180.0) ** -power if freedom.turns else x * unit * (length if power < 0 else 1.0)
    return default


def _spring(source: Source, prim: Any, freedom: Freedom, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Where MuJoCo's spring is relaxed."""
    rest = source.number(prim, "mjc:springref", 0.0)
    return {"rest": rest * freedom.unit(source)} if rest and "stiffness" in fields else {}


def _actuator_limit(source: Source, prim: Any, freedoms: list[Freedom], fields: dict[str, Any]) -> None:
    """MuJoCo's limits of the force of all actuators together, where they are the same both ways."""
    low, high = (source.number(prim, f"mjc:actuatorfrcrange:{end}", 0.0) for end in ("min", "max"))
    limited = source.word(prim, "mjc:actuatorfrclimited", "auto")
    if limited == "false" or (low == 0.0 and high == 0.0) or len(freedoms) != 1:
        return
    if low == -high:
        force = source.mass * source.length * (source.length if freedoms[0].turns else 1.0)
        fields["effort_limit"] = np.minimum(fields.get("effort_limit", np.inf), [high * force])
    else:
        source.ledger.warning(
            source.where(prim), f"actuatorfrcrange {low:g} to {high:g}", "not used: not the same both ways"
        )


def _own(source: Source, prim: Any, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Fields that this package has written in double precision: those of USD count where both differ."""
    nv = KINDS[kind].nv
    for field in OWN:
        own = source.numbers(prim, f"dalembert:{field}", None, infinite=True)
        if own is None:
            continue
        expected = 1 if field in ALWAYS else KINDS[kind].nq if field == "rest" else nv
        if own.size != expected:
            raise source.error(prim, f"dalembert:{field} has {own.size} numbers, expected {expected}")
        if field in ALWAYS:
            fields[field] = float(own[0])
        elif field in fields and own.size == np.size(fields[field]):
            fields[field] = np.atleast_1d(source.exact(prim, field, np.reshape(fields[field], own.shape)))
        else:
            fields[field] = own
    return fields
