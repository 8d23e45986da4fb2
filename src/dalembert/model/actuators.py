"""Actuators as data: what turns a command into the force of a joint. They act only where used as drives."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import maximum, minimum

DYNAMICS = ("none", "integrator", "filter", "filterexact")


@dataclass(frozen=True, eq=False, kw_only=True)
class Actuator:
    """A motor or servo on one joint with one coordinate.

    With length x = gear · q, speed ẋ = gear · v and command u, the force gain·(1, x, ẋ) u + bias·(1, x, ẋ) acts along
    x, and gear times that on the joint. A motor has gain (k, 0, 0) and no bias; a position servo gain (kp, 0, 0) and
    bias (0, −kp, −kd); a velocity servo gain (kv, 0, 0) and bias (0, 0, −kv).
    """

    name: str
    joint: str
    gear: float = 1.0
    gain: Any = (1.0, 0.0, 0.0)
    bias: Any = (0.0, 0.0, 0.0)
    control_limits: Any = (-np.inf, np.inf)
    force_limits: Any = (-np.inf, np.inf)  # before the gear
    dynamics: str = (
        "none"  # of the command: "integrator", or a "filter" of first order ("filterexact": by its solution)
    )
    time_constant: float = 1.0  # of a filter [s]

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, (tuple, list, np.ndarray)):
                size = 3 if field.name in ("gain", "bias") else 2
                numbers = np.array(value, float)
                if numbers.shape != (size,) or np.isnan(numbers).any():
                    raise self._error(f"{field.name} is {value!r}, expected {size} numbers")
                object.__setattr__(self, field.name, numbers)
        if self.dynamics not in DYNAMICS:
            raise self._error(f"dynamics is {self.dynamics!r}, expected one of {', '.join(DYNAMICS)}")
        for name in ("control_limits", "force_limits"):
            lower, upper = getattr(self, name)
            if lower > upper:
                raise self._error(f"{name} are {lower:g} and {upper:g}: swap them")

    @property
    def is_servo(self) -> bool:
        """Whether its force depends on the joint's state, not only on the command."""
        return bool(np.any(self.bias) or np.any(self.gain[1:]))

    def force(self, command: Any, q: Any, v: Any) -> Any:
        """The force on the joint [N·m or N], of numbers or traced scalars; the command after its dynamics."""
        x, speed = self.gear * q, self.gear * v
        g, b = self.gain, self.bias
        push = (g[0] + g[1] * x + g[2] * speed) * command + (b[0] + b[1] * x + b[2] * speed)
        return self.gear * _within(push, self.force_limits)

    def limited(self, command: Any) -> Any:
        """The command within its limits."""
        return _within(command, self.control_limits)

    def _error(self, what: str) -> DalembertError:
        return DalembertError(f"actuator {self.name!r}: {what}")


def _within(x: Any, limits: np.ndarray) -> Any:
    lower, upper = limits
    x = maximum(x, float(lower)) if np.isfinite(lower) else x
    return minimum(x, float(upper)) if np.isfinite(upper) else x
