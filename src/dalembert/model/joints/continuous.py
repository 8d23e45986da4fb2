"""One angle about an axis, without limits."""

from __future__ import annotations

from dataclasses import dataclass

from .revolute import Revolute


@dataclass(frozen=True, eq=False, kw_only=True)
class Continuous(Revolute):
    """q = [θ] about the axis [rad], any number of turns (never wrapped), v = θ̇."""

    kind, limited = "continuous", False
    keywords = {"urdf": "continuous", "mjcf": "hinge", "sdf": "continuous", "dh": "revolute", "usd": "rotX"}
