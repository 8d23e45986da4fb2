"""Freedoms of UsdPhysics joints: along which axes they move, and how far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .source import UsdSource

FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
AXES = {"X": 0, "Y": 1, "Z": 2}


@dataclass(frozen=True)
class UsdFreedom:
    """A freedom: its name, its word in drives and states, its axis (3,) in the joint's frame, its range [rad or m]."""

    name: str
    word: str
    axis: np.ndarray
    turns: bool
    lower: float = -math.inf
    upper: float = math.inf

    def unit(self, source: UsdSource) -> float:
        """[rad or m] of one unit of the stage."""
        return math.pi / 180.0 if self.turns else source.length


def read_freedoms(source: UsdSource, prim: Any, kind: str) -> list[UsdFreedom]:
    """The freedoms of a joint: slides before hinges, each in the order X, Y, Z."""
    if kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
        turns = kind == "PhysicsRevoluteJoint"
        letter = source.word(prim, "physics:axis", "X")
        if letter not in AXES:
            raise source.error(prim, f"physics:axis is {letter[:20]!r}, expected X, Y or Z")
        freedom = UsdFreedom(
            "rot" if turns else "trans", "angular" if turns else "linear", np.eye(3)[AXES[letter]], turns
        )
        bounds = [
            source.number(prim, f"physics:{word}Limit", default, infinite=True)
            for word, default in (("lower", -math.inf), ("upper", math.inf))
        ]
        lower, upper = (bound * freedom.unit(source) for bound in bounds)
        lower, upper = source.exact(prim, "lower", lower), source.exact(prim, "upper", upper)
        if lower > upper:
            raise source.error(prim, f"lower limit {bounds[0]:g} is above upper limit {bounds[1]:g}; swap them")
        return [UsdFreedom(freedom.name, freedom.word, freedom.axis, turns, lower, upper)]
    if kind == "PhysicsSphericalJoint":
        return [UsdFreedom(name, name, np.eye(3)[AXES[name[-1]]], True) for name in FREEDOMS[3:]]
    if kind == "PhysicsFixedJoint":
        return []
    if kind != "PhysicsJoint":
        raise source.error(prim, f"joints of type {kind} are not known, expected one of UsdPhysics")
    _report_distance(source, prim)
    generic = [_generic(source, prim, name) for name in FREEDOMS]
    return [each for each in generic if each is not None]


def _generic(source: UsdSource, prim: Any, name: str) -> UsdFreedom | None:
    """A freedom of a joint without a type: free unless its limits lock it."""
    turns = name.startswith("rot")
    freedom = UsdFreedom(name, name, np.eye(3)[AXES[name[-1]]], turns)
    stated = any(prim.GetAttribute(f"limit:{name}:physics:{end}").HasAuthoredValue() for end in ("low", "high"))
    if f"PhysicsLimitAPI:{name}" not in source.schemas(prim):
        if not stated:
            return freedom
        source.ledger.count(
            source.where(prim), "limits without PhysicsLimitAPI", "used, although the schema is missing"
        )
    low = source.number(prim, f"limit:{name}:physics:low", -math.inf, infinite=True)
    high = source.number(prim, f"limit:{name}:physics:high", math.inf, infinite=True)
    if low > high:
        return None
    if low == high:
        if low:
            what = f"{name} is held at {low:g}, which is not 0"
            source.ledger.warning(source.where(prim), what, "held at 0: turn or move the joint's frame instead")
        return None
    lower, upper = (bound * freedom.unit(source) for bound in (low, high))
    lower, upper = source.exact(prim, f"{name}:lower", lower), source.exact(prim, f"{name}:upper", upper)
    return UsdFreedom(name, name, freedom.axis, turns, lower, upper)


def _report_distance(source: UsdSource, prim: Any) -> None:
    if "PhysicsLimitAPI:distance" in source.schemas(prim):
        source.ledger.warning(source.where(prim), "a limit of the distance of the joint's frames", "not used")
