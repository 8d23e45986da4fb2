"""The base class of joints whose parameters follow from those of another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .joint import Joint


@dataclass(frozen=True, eq=False, kw_only=True)
class Derived(Joint):
    """A joint made from `joint`: it is created from that one, and computes the fields below in `__post_init__`."""

    joint: Joint

    name: str = field(init=False)
    armature: Any = field(init=False)
    damping: Any = field(init=False)
    friction: Any = field(init=False)
    slip_speed: float = field(init=False)
    stribeck: Any = field(init=False)
    stribeck_speed: float = field(init=False)
    stiffness: Any = field(init=False)
    rest: Any = field(init=False)
    lower: Any = field(init=False)
    upper: Any = field(init=False)
    velocity_limit: Any = field(init=False)
    acceleration_limit: Any = field(init=False)
    deceleration_limit: Any = field(init=False)
    jerk_limit: Any = field(init=False)
    effort_limit: Any = field(init=False)
    continuous_limit: Any = field(init=False)
    motor: bool | None = field(init=False)
