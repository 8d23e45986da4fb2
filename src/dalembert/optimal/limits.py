"""Limits on torque, velocity and position: of the robot's file or in numbers, as constraints of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .motion_models import MotionModel
from .terms import Constraint

LIMITS = ("torque", "velocity", "position")
Range = tuple[np.ndarray, np.ndarray]


def ranges(motion: MotionModel, limits: Sequence[str] | Mapping[str, Any]) -> dict[str, Range]:
    """Lower and upper limits by name: "torque", "velocity", "position" of the robot, or in numbers of one's own."""
    names = [limits] if isinstance(limits, str) else list(limits)
    for name in names:
        if name not in LIMITS:
            raise unknown("limit", name, LIMITS, "optimal_control")
    numbers = limits if isinstance(limits, Mapping) else {}
    return {name: _range(motion, name, numbers[name]) if name in numbers else _stated(motion, name) for name in names}


def _stated(motion: MotionModel, name: str) -> Range:
    """The limits that the robot's file states."""
    limits = motion.robot.limits
    if name == "position":
        return limits.lower, limits.upper
    if name == "velocity":
        return -limits.velocity, limits.velocity
    if motion.actuation is not None:
        raise DalembertError(
            "optimal_control: the robot's torque limits say nothing of controls that act by actuation=: give "
            "numbers, as "
            'in limits={"torque": (0.0, 0.5)}'
        )
    effort = limits.effort[list(motion.driven)]
    return -effort, effort


def limit_constraint(motion: MotionModel, name: str, lower: np.ndarray, upper: np.ndarray) -> Callable[..., Constraint]:
    """The limits as a constraint on a node's values."""
    robot = motion.robot
    key, labels = {
        "torque": ("u", control_names(motion)),
        "velocity": ("v", robot.model.freedom_names),
        "position": ("q", robot.model.coordinate_names),
    }[name]
    some = [k for k in range(len(lower)) if np.isfinite(lower[k]) or np.isfinite(upper[k])]
    if not some:
        raise DalembertError(
            f"optimal_control: robot {robot.name!r} states no {name} limit: leave {name!r} out, or give numbers, as in "
            f'limits={{"{name}": 2.0}}'
        )
    for k in some:
        if not lower[k] < upper[k]:
            raise DalembertError(
                f"optimal_control: the {name} limits of {labels[k]!r}, {lower[k]:g} and {upper[k]:g}, leave no room"
            )
    named = tuple(f"{name} of {labels[k]}" for k in some)
    return lambda values: Constraint(named, np.asarray(values[key])[some], lower[some], upper[some])


def control_names(motion: MotionModel) -> list[str]:
    names = motion.robot.model.freedom_names
    return [names[k] for k in motion.driven] or [f"u[{k}]" for k in range(motion.controls)]


def _range(motion: MotionModel, name: str, limits: Any) -> Range:
    """From a number, numbers (size,) for both sides, or a pair (lower, upper) of either."""
    size = {"torque": motion.controls, "velocity": motion.robot.nv, "position": motion.robot.nq}[name]
    pair = limits if isinstance(limits, tuple) and len(limits) == 2 else None
    if pair is None and name == "position":
        raise DalembertError('optimal_control: give position limits as a pair, limits={"position": (lower, upper)}')
    try:
        low, high = pair if pair is not None else (-np.asarray(limits, float), limits)
        lower, upper = (np.broadcast_to(np.asarray(x, float), (size,)).copy() for x in (low, high))
    except (TypeError, ValueError):
        raise DalembertError(
            f"optimal_control: {name} limits {limits!r}: expected a number, {size} numbers, or a pair (lower, upper)"
        ) from None
    if np.any(np.isnan(lower) | np.isnan(upper)):
        raise DalembertError(f"optimal_control: {name} limits have NaN, expected numbers")
    return lower, upper
