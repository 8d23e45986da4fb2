"""The actuators of a model as drives: controls instead of commanded forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import ServoStep, actuator_forces, servo_step
from dalembert.errors import DalembertError
from dalembert.math import logical_and, where
from dalembert.model import Actuator, JointForceLimits, Model
from dalembert.model.actuators import within

from .base import Action, Element, Situation


@dataclass(frozen=True)
class Actuators(Element):
    """Turns the controls (nu,), one for each actuator, into the commanded forces (nv,) of the robot.

    States: the activation of each actuator whose command has dynamics.
    """

    actuators: tuple[Actuator, ...]
    limits: tuple[JointForceLimits, ...] = ()

    @classmethod
    def of(cls, model: Model, where: str) -> Actuators:
        """The actuators of a model; an error where it has none, or one that cannot act here."""
        if not model.actuators:
            raise DalembertError(
                f"{where}: robot {model.name!r} has no actuators for controls to drive: give torque, or add them with "
                "ModelBuilder.add_actuator"
            )
        for actuator in model.actuators:
            if actuator.obstacle:
                raise DalembertError(
                    f"{where}: actuator {actuator.name!r} of robot {model.name!r} cannot be driven: "
                    f"{actuator.obstacle}; give torque instead of controls, or remove it from the file"
                )
        return cls(model.actuators, model.joint_force_limits)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each control."""
        return tuple(actuator.name for actuator in self.actuators)

    @property
    def _dynamic(self) -> tuple[int, ...]:
        """The numbers of the actuators with a state, in order."""
        return tuple(k for k, actuator in enumerate(self.actuators) if actuator.dynamics != "none")

    def label(self) -> str:
        """Name of its states."""
        return "actuators"

    def size(self, model: Model) -> int:
        """Activations."""
        return len(self._dynamic)

    def start(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Not activated; within the limits."""
        return np.array([within(0.0, self.actuators[k].activation_limits) for k in self._dynamic])

    def commands(self, z: np.ndarray, controls: np.ndarray) -> list[Any]:
        """Commands after limits and dynamics, of controls (nu,) and activations z."""
        commands: list[Any] = [a.limited(u) for a, u in zip(self.actuators, controls, strict=True)]
        for k, activation in zip(self._dynamic, z, strict=True):
            commands[k] = within(activation, self.actuators[k].activation_limits)
        return commands

    def forces(self, model: Model, q: np.ndarray, v: np.ndarray, z: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """Generalised forces (nv,) of controls (nu,) and activations z."""
        return actuator_forces(model, self.actuators, self.limits, q, v, self.commands(z, controls))

    def servo_step(
        self, model: Model, q: np.ndarray, v: np.ndarray, z: np.ndarray, controls: np.ndarray, h: Any, M: np.ndarray
    ) -> ServoStep:
        """Forces and inertia that the servos among them add in a time step h."""
        return servo_step(model, self.actuators, self.limits, q, v, self.commands(z, controls), h, M)

    def act(self, s: Situation) -> Action:
        """Its forces are the commanded ones already; here are the rates of the activations."""
        rates = []
        for k, activation in zip(self._dynamic, s.z, strict=True):
            actuator = self.actuators[k]
            rate = actuator.activation_rate(activation, actuator.limited(s.controls[k]))
            lower, upper = actuator.activation_limits
            if np.isfinite(lower):
                rate = where(logical_and(activation <= float(lower), rate < 0.0), 0.0, rate)
            if np.isfinite(upper):
                rate = where(logical_and(activation >= float(upper), rate > 0.0), 0.0, rate)
            rates.append(rate)
        return Action(rate=np.array(rates)) if rates else Action()

    def advanced(self, z: np.ndarray, rate: np.ndarray, h: Any) -> np.ndarray:
        """Activations after a step of first order: filters by their solution if asked for, within their limits."""
        following = [self.actuators[k].next_activation(x, r, h) for k, x, r in zip(self._dynamic, z, rate, strict=True)]
        return np.array(following)
