"""Forces from outside without sensors for them: what the momentum does that the motors do not explain.

r = K [p − ∫ (tau + Cᵀ v − g − friction + r) dt − p(0)] follows the external generalised force as a first-order filter
with cutoff K, ṙ = K (tau_ext − r), and needs no accelerations (De Luca & Mattone 2003).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.dynamics.algorithms.passive import dissipation
from dalembert.errors import DalembertError, is_number
from dalembert.loading import function
from dalembert.math import abs as absolute
from dalembert.math import maximum, where
from dalembert.robot import Robot
from dalembert.sim.system.sampled import Sampled

from .gains import per_freedom

SIGMAS = 5.0  # standard deviations of the residual that count as noise


class Residual(NamedTuple):
    """The state of the observer: the integral (nv,) [N·m·s], and the external force it has found (nv,) [N·m, N]."""

    integral: np.ndarray
    force: np.ndarray


class ObservedContact(NamedTuple):
    """An external force that is above the noise.

    joint: name of the last one that feels it: the contact is on the body that it moves, or beyond; force (nv,).
    """

    joint: str
    force: np.ndarray


class MomentumObserver:
    """Observes external forces of a robot at a rate; made by `momentum`.

    update(q, v, tau) → force (nv,) keeps its state; `start` and `step` do not, and can be traced.
    """

    def __init__(self, robot: Robot, gain: np.ndarray, period: float) -> None:
        self.robot, self.gain, self.period = robot, gain, period
        self._compiled: Callable[..., Any] | None = None
        self._state: Residual | None = None

    def __repr__(self) -> str:
        return f"<MomentumObserver of {self.robot.name!r}: every {self.period:g} s>"

    def start(self, q: Any, v: Any) -> Residual:
        """The state before the first step, at q (nq,), v (nv,)."""
        return Residual(self.robot.generalized_momentum(q, v), np.zeros(self.robot.nv))

    def step(self, state: Residual, q: Any, v: Any, tau: Any) -> Residual:
        """The state a period later, with q, v now and the torque tau (nv,) that acted since the last step."""
        robot = self.robot
        model_rate = robot.coriolis_matrix(q, v).T @ v - robot.gravity(q) - dissipation(robot.model, v)
        integral = state.integral + self.period * (tau + model_rate + state.force)
        return Residual(integral, self.gain * (robot.generalized_momentum(q, v) - integral))

    def reset(self) -> None:
        """Forget everything: the next update starts anew."""
        self._state = None

    def update(self, q: Any, v: Any, tau: Any) -> np.ndarray:
        """The external force (nv,) [N·m, N] after a measurement q (nq,), v (nv,), and the torque that acted before."""
        if self._state is None:
            self._state = self.start(np.asarray(q, float), np.asarray(v, float))
            return self._state.force
        if self._compiled is None:

            def observe(q: Any, v: Any, tau: Any, integral: Any, force: Any) -> np.ndarray:
                return np.concatenate(self.step(Residual(integral, force), q, v, tau))

            self._compiled = function(observe, self.robot, integral=self.robot.nv, force=self.robot.nv)
        both = self._compiled(q, v, tau, *self._state)
        self._state = Residual(both[: self.robot.nv], both[self.robot.nv :])
        return self._state.force

    def threshold(self, q: Any, *, velocity: Any = 0.0, torque: Any = 0.0, sigmas: float = SIGMAS) -> np.ndarray:
        """The size (nv,) of the residual that noise alone hardly reaches, at a configuration q (nq,).

        velocity [rad/s or m/s], torque [N·m or N]: standard deviations of the noise of each sample, a number or (nv,).
        The residual is p through K (1 − z⁻¹) / (1 − a z⁻¹) and tau through K h / (1 − a z⁻¹), a = 1 − K h, whose noise
        has the variances 2 K² σ_p² / (1 + a) and K² h² σ_tau² / (1 − a²).
        """
        names = self.robot.model.freedom_names
        v, tau = (_noise(name, x, names) for name, x in (("velocity", velocity), ("torque", torque)))
        K, h = self.gain, self.period
        a = 1.0 - K * h
        in_p = (self.robot.mass_matrix(q) ** 2) @ v**2
        return sigmas * np.sqrt(2.0 * K**2 * in_p / (1.0 + a) + (K * h * tau) ** 2 / (1.0 - a**2))

    def contact(self, force: Any, threshold: Any) -> ObservedContact | None:
        """The contact that a residual (nv,) above the threshold (nv,) or a number tells of; None: none."""
        force = np.asarray(force, float)
        above = np.flatnonzero(np.abs(force) > threshold)
        if not len(above):
            return None
        return ObservedContact(self.robot.model.freedom_names[int(above[-1])], force.copy())

    def reflex(self, law: Callable[..., Any], reaction: Callable[..., Any], threshold: Any) -> Sampled:
        """A law that gives way to a reaction as soon as a contact is felt, and for good: both (t, q, v) → tau.

        threshold (nv,) or a number [N·m, N]. Compiled into simulations and rollouts; its state is the observer's, the
        last torque, and whether a contact was felt.
        """
        n = self.robot.nv
        limit = np.broadcast_to(np.asarray(threshold, float), (n,))

        def guarded(t: Any, q: np.ndarray, v: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            begun, felt = state[-2], state[-1]
            kept = Residual(state[:n], state[n : 2 * n])
            seen = self.step(kept, q, v, state[2 * n : 3 * n])
            p = self.robot.generalized_momentum(q, v)
            integral = [where(begun > 0.0, x, y) for x, y in zip(seen.integral, p, strict=True)]
            force = [where(begun > 0.0, x, 0.0) for x in seen.force]
            for x, most in zip(force, limit, strict=True):
                felt = maximum(felt, where(absolute(x) > most, 1.0, 0.0))
            calm, hit = law(t, q, v), reaction(t, q, v)
            tau = np.array([where(felt > 0.0, y, x) for x, y in zip(calm, hit, strict=True)])
            one = 0.0 * felt + 1.0
            return tau, np.concatenate([integral, force, tau, [one, felt]])

        return Sampled(guarded, self.period, state=np.zeros(3 * n + 2))


def _noise(name: str, x: Any, names: tuple[str, ...]) -> np.ndarray:
    values = np.broadcast_to(
        real_array(f"threshold: {name}", x, "expected a number or (nv,)").astype(float), (len(names),)
    )
    if not np.all((values >= 0.0) & np.isfinite(values)):
        raise DalembertError(f"threshold: {name} is {x!r}, expected standard deviations of at least 0")
    return values


def momentum(robot: Robot, gain: Any = 50.0, period: float = 1e-3) -> MomentumObserver:
    """An observer of external forces: what the momentum does beyond what motors, gravity and friction explain.

    gain [1/s]: cutoff of the filter, a number or (nv,): a step of force is felt to 63 % after 1/gain. period [s]
    between updates; gain · period below 1. The robot's model, friction included, is taken as true: what it does not
    know of looks like a force.
    """
    if robot.model.closures:
        raise DalembertError(f"observer: robot {robot.name!r} has closed loops, and its momenta are not independent")
    if not (is_number(period) and 0.0 < period < np.inf):
        raise DalembertError(f"observer: period is {period!r}, expected a time above 0 [s]")
    gains = per_freedom("observer", robot, "gain", gain, "1/s")
    if np.any(gains * period >= 1.0):
        k = int(np.argmax(gains))
        raise DalembertError(
            f"observer: gain {gains[k]:g} 1/s of {robot.model.freedom_names[k]} times the period {period:g} s is not "
            "below 1: the filter would be unstable"
        )
    return MomentumObserver(robot, gains, float(period))


def motor_torque(
    current: Any, constant: Any, gear: Any = 1.0, *, efficiency: Any = 1.0, velocity: Any = None,
    acceleration: Any = None, rotor_inertia: Any = 0.0,
) -> np.ndarray:  # fmt: skip
    """The torque (…, n) at the joints from motor currents (…, n) [A].

    constant [N·m/A]: of the motor; gear: turns of the motor per turn of the joint; efficiency: of the gear, 0 … 1: it
    takes its part where the motor drives the joint, and adds to it where the joint drives the motor, which needs the
    velocity (…, n) of the joints. rotor_inertia [kg·m²] with acceleration (…, n) of the joints: what the rotor takes.
    """
    i, k, N, eta = (np.asarray(x, float) for x in (current, constant, gear, efficiency))
    if np.any((eta <= 0.0) | (eta > 1.0)):
        raise DalembertError(f"motor_torque: efficiency is {efficiency!r}, expected above 0 and at most 1")
    motor = k * i
    if acceleration is not None:
        motor = motor - np.asarray(rotor_inertia, float) * N * np.asarray(acceleration, float)
    ideal = N * motor
    if velocity is None:
        if np.any(eta != 1.0):
            raise DalembertError("motor_torque: an efficiency below 1 needs the velocity: which way does power flow?")
        return ideal
    driving = ideal * np.asarray(velocity, float) >= 0.0
    return np.where(driving, ideal * eta, ideal / eta)
