"""Additions to a law: dither against stick-slip, buffers before joint limits, limits of motors, losses of gears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, check_positive
from dalembert.math import abs as absolute
from dalembert.math import maximum, pi, sin, tanh, where
from dalembert.model import motorized
from dalembert.robot import Robot
from dalembert.sim.system.sampled import settings_of

from ..gains import per_freedom
from .law import Law, within_effort


class _Around(Law):
    """A law and the robot that it acts on; settings passed to the call go to the law."""

    def __init__(self, robot: Robot, law: Callable[..., Any]) -> None:
        if not callable(law):
            raise DalembertError(f"{type(self).__name__}: law is {type(law).__name__}, expected (t, q, v) → tau")
        self.robot, self.law = robot, law
        self.notes = tuple(getattr(law, "notes", ()))

    def inner(self, t: Any, q: np.ndarray, v: np.ndarray, settings: Mapping[str, Any]) -> Any:
        """The law's torques, with those of the settings that it takes."""
        return self.law(t, q, v, **settings_of(self.law, settings))


class Dither(_Around):
    """law + amplitude · sin(2π f t)."""

    amplitude: np.ndarray
    frequency = 0.0

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray, **settings: Any) -> np.ndarray:
        return self.inner(t, q, v, settings) + self.amplitude * sin(2.0 * pi * self.frequency * t)


class LimitBuffer(_Around):
    """law + a spring and a damper that push back from `margin` before each limit on."""

    margin: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray, **settings: Any) -> np.ndarray:
        tau = np.asarray(self.inner(t, q, v, settings))
        limits = self.robot.limits
        tau = np.array(tau, np.result_type(tau, np.asarray(q), np.asarray(v), float))
        for k, place in _limited(self.robot):
            into_upper = maximum(q[place] - (limits.upper[place] - self.margin[k]), 0.0)
            into_lower = maximum(limits.lower[place] + self.margin[k] - q[place], 0.0)
            depth = (into_upper + into_lower) / self.margin[k]  # 0 outside, 1 at the limit
            push = self.stiffness[k] * (into_lower - into_upper) - self.damping[k] * depth * v[k]
            tau[k] = tau[k] + push
        return tau


class WithinLimits(_Around):
    """The law, cut off at the motors' limits."""

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray, **settings: Any) -> np.ndarray:
        return within_effort(self.robot, np.asarray(self.inner(t, q, v, settings)))


class GearLosses(_Around):
    """The law's torques as those that the motors give before gears with losses."""

    efficiency: np.ndarray
    slip_speed = 1e-3

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray, **settings: Any) -> np.ndarray:
        tau = np.asarray(self.inner(t, q, v, settings))
        return np.asarray(before_gears(tau, v, self.efficiency, self.slip_speed))


def before_gears(tau: Any, v: Any, efficiency: Any, slip_speed: Any = 1e-3) -> Any:
    """The torques (…, nv) that motors give, seen at the joints, where the joints need tau (…, nv) at the speeds v.

    efficiency: of the gears, (nv,) or a number: a motor that drives its joint gives 1/η of the torque, one that is
    driven η of it; at rest, within slip_speed [rad/s or m/s], all of it. The inverse of `elements.Motor`; of a motion,
    with tau = robot.inverse_dynamics(q, v, a).
    """
    turning = absolute(tanh(v / slip_speed))
    driving = 1.0 - (1.0 - efficiency) * turning
    driven = 1.0 + (1.0 / efficiency - 1.0) * turning
    return tau / where(tau * v > 0.0, driving, driven)


def gear_losses(robot: Robot, law: Callable[..., Any], efficiency: Any, slip_speed: float = 1e-3) -> GearLosses:
    """Make up for the losses of gears, so that the joints get what the law asks; see `before_gears`."""
    added = GearLosses(robot, law)
    added.efficiency = per_freedom("gear_losses", robot, "efficiency", efficiency, "the share that a gear hands on")
    if not np.all(added.efficiency <= 1.0):
        raise DalembertError(f"gear_losses: efficiency is {efficiency!r}, expected above 0 and at most 1")
    check_positive("gear_losses: slip_speed", slip_speed, "rad/s or m/s")
    added.slip_speed = float(slip_speed)
    return added


def dither(robot: Robot, law: Callable[..., Any], amplitude: Any, frequency: float = 50.0) -> Dither:
    """Add a small oscillation, which keeps joints from sticking: amplitude (nv,) or a number [N·m], frequency [Hz]."""
    added = Dither(robot, law)
    check_positive("dither: frequency", frequency, "Hz")
    added.amplitude = per_freedom("dither", robot, "amplitude", amplitude, "N·m or N", zero=True)
    added.amplitude[~motorized(robot.model)] = 0.0
    added.frequency = float(frequency)
    return added


def limit_buffer(robot: Robot, law: Callable[..., Any], margin: Any = 0.05, frequency: float = 30.0) -> LimitBuffer:
    """Push joints back before they reach their limits: a spring that begins `margin` [rad or m] before each of them.

    frequency [rad/s] of the spring with the inertia that the joint feels at rest in the middle of its range; the damper
    is critical at the limit itself. Joints without limits or motors are left alone; a margin that leaves a joint no
    free way is an error.
    """
    added = LimitBuffer(robot, law)
    added.margin = per_freedom("limit_buffer", robot, "margin", margin, "rad or m")
    check_positive("limit_buffer: frequency", frequency, "rad/s")
    q, limits = robot.neutral(), robot.limits
    for k, place in _limited(robot):
        low, high = limits.lower[place], limits.upper[place]
        if high - low <= 2.0 * added.margin[k]:
            raise DalembertError(
                f"limit_buffer: joint {robot.model.freedom_names[k]!r} moves from {low:g} to {high:g}: a margin of "
                f"{added.margin[k]:g} at both ends leaves no free way"
            )
        if np.isfinite(low) and np.isfinite(high):
            q[place] = 0.5 * (low + high)
    inertia = np.diag(robot.mass_matrix(q))
    added.stiffness, added.damping = frequency**2 * inertia, 2.0 * frequency * inertia
    return added


def within_limits(robot: Robot, law: Callable[..., Any]) -> WithinLimits:
    """Cut a law off at the motors' limits, as the motors would."""
    return WithinLimits(robot, law)


def _limited(robot: Robot) -> list[tuple[int, int]]:
    """(freedom, place in q) of driven joints with one coordinate that have limits."""
    mask, limits = motorized(robot.model), robot.limits
    places = []
    for body in robot.model.independent:
        if body.joint.flat and body.joint.nq == body.joint.nv:
            for k in range(body.joint.nv):
                place, freedom = body.q.start + k, body.v.start + k
                if mask[freedom] and (np.isfinite(limits.lower[place]) or np.isfinite(limits.upper[place])):
                    places.append((freedom, place))
    return places
