"""Actuators as data: what turns a command into forces on the robot. They act where `controls` drive it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import exp, maximum, minimum

DYNAMICS = ("none", "integrator", "filter", "filterexact")
TRANSMISSIONS = ("joint", "tendon", "path", "site")
LIMITS = ("control_limits", "force_limits", "activation_limits")
UNLIMITED = (-np.inf, np.inf)
MIN_TIME = 1e-15  # [s]: a filter is never faster


@dataclass(frozen=True, eq=False, kw_only=True)
class Actuator:
    """A motor or servo: a force along one length x of the robot.

    With length x, speed ẋ and command u the force gain·(1, x, ẋ) u + bias·(1, x, ẋ) acts along x. A motor has gain
    (k, 0, 0) and no bias; a position servo gain (kp, 0, 0) and bias (0, −kp, −kd); a velocity servo gain (kv, 0, 0) and
    bias (0, 0, −kv). x is gear times one of these:

    joint: the coordinate of a joint. On a ball joint gear is (3,), x = gear · rotation vector, and the torque acts
    along the axes of what turns; on a free one gear is (6,), x = 0, [torque in the body's axes, force in the world's].
    tendon: Σ coefficient · coordinate over (joint, coefficient) pairs.
    path: the length of the straight lines from frame to frame.
    site: a frame on which the wrench gear (6,) = [torque, force] acts, in its own axes, with x = 0; with a frame
    `reference`, the wrench is in its axes and acts between the two, and x = gear · [rotation vector, position] of the
    site seen from it.
    """

    name: str
    joint: str = ""
    gear: Any = 1.0
    gain: Any = (1.0, 0.0, 0.0)
    bias: Any = (0.0, 0.0, 0.0)
    control_limits: Any = UNLIMITED
    force_limits: Any = UNLIMITED  # along x
    dynamics: str = "none"  # of the command; "filterexact": a filter, in steps of fixed size by its solution
    time_constant: float = 1.0  # of a filter [s]
    activation_limits: Any = UNLIMITED  # of the state of its dynamics
    tendon: tuple[tuple[str, float], ...] = ()
    path: tuple[str, ...] = ()
    site: str = ""
    reference: str = ""
    obstacle: str = ""  # what keeps it from acting as a drive here; "": nothing

    def __post_init__(self) -> None:
        self._store("gear", (), (3,), (6,))
        for name in ("gain", "bias"):
            self._store(name, (3,))
        for name in LIMITS:
            self._store(name, (2,))
        if self.dynamics not in DYNAMICS:
            raise self._error(f"dynamics is {self.dynamics!r}, expected one of {', '.join(DYNAMICS)}")
        if self.dynamics.startswith("filter") and not 0.0 <= self.time_constant < np.inf:
            raise self._error(f"time_constant is {self.time_constant!r}, expected a time ≥ 0 [s]")
        for name in LIMITS:
            lower, upper = getattr(self, name)
            if lower > upper:
                raise self._error(f"{name} are {lower:g} and {upper:g}: swap them")
        stated = [name for name in TRANSMISSIONS if getattr(self, name)]
        if len(stated) != 1 and not self.obstacle:
            raise self._error(f"it acts on {' and '.join(stated) or 'nothing'}: give one of {', '.join(TRANSMISSIONS)}")

    def _store(self, name: str, *shapes: tuple[int, ...]) -> None:
        value = getattr(self, name)
        expected = " or ".join(f"{shape[0]}" if shape else "one" for shape in shapes)
        try:
            numbers = np.array(value, float)
        except (TypeError, ValueError):
            raise self._error(f"{name} is {value!r}, expected {expected} number(s)") from None
        if numbers.shape not in shapes or np.isnan(numbers).any():
            raise self._error(f"{name} is {value!r}, expected {expected} number(s)")
        object.__setattr__(self, name, numbers if numbers.ndim else float(numbers))

    @property
    def is_servo(self) -> bool:
        """Whether its force depends on the robot's state, not only on the command."""
        return bool(np.any(self.bias) or np.any(self.gain[1:]))

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it names."""
        return (self.joint,) if self.joint else tuple(joint for joint, _ in self.tendon)

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames that it names."""
        return (*self.path, *(frame for frame in (self.site, self.reference) if frame))

    def renamed(self, joints: Mapping[str, str], frames: Mapping[str, str]) -> Actuator:
        """The same with other names of joints and frames."""
        return replace(
            self,
            joint=joints.get(self.joint, self.joint),
            tendon=tuple((joints.get(joint, joint), x) for joint, x in self.tendon),
            path=tuple(frames.get(frame, frame) for frame in self.path),
            site=frames.get(self.site, self.site),
            reference=frames.get(self.reference, self.reference),
        )

    def demand(self, command: Any, length: Any, speed: Any) -> Any:
        """The force along x before its limits, of numbers or traced scalars; the command after limits and dynamics."""
        g, b = self.gain, self.bias
        return (g[0] + g[1] * length + g[2] * speed) * command + (b[0] + b[1] * length + b[2] * speed)

    def push(self, command: Any, length: Any, speed: Any) -> Any:
        """The force along x."""
        return within(self.demand(command, length, speed), self.force_limits)

    def feedback(self, command: Any) -> tuple[Any, Any]:
        """Stiffness and damping along x of a servo; 0 where it would push on instead of holding back."""
        stiffness, damping = (maximum(-(self.gain[k] * command + self.bias[k]), 0.0) for k in (1, 2))
        return stiffness, damping

    def force(self, command: Any, q: Any, v: Any) -> Any:
        """The force on its joint with one coordinate q [N·m or N], which moves at v."""
        return self.gear * self.push(command, self.gear * q, self.gear * v)

    def limited(self, command: Any) -> Any:
        """The command within its limits."""
        return within(command, self.control_limits)

    def activation_rate(self, activation: Any, command: Any) -> Any:
        """The rate of the state of its dynamics [1/s]: it stays within the limits."""
        if self.dynamics == "integrator":
            return command
        return (command - activation) / max(self.time_constant, MIN_TIME)

    def next_activation(self, activation: Any, rate: Any, h: Any) -> Any:
        """The state of its dynamics after a step h [s] of first order from which it sets out with this rate."""
        if self.dynamics == "filterexact":
            tau = max(self.time_constant, MIN_TIME)
            h = tau * (1.0 - exp(-h / tau))
        return within(activation + h * rate, self.activation_limits)

    def _error(self, what: str) -> DalembertError:
        return DalembertError(f"actuator {self.name!r}: {what}")


class JointForceLimits(NamedTuple):
    """Limits of the force [N·m or N] of all actuators together on a joint with one coordinate."""

    joint: str
    lower: float
    upper: float


def within(x: Any, limits: Sequence[float] | np.ndarray) -> Any:
    """x, but not beyond a limit that is finite."""
    lower, upper = limits
    x = maximum(x, float(lower)) if np.isfinite(lower) else x
    return minimum(x, float(upper)) if np.isfinite(upper) else x
