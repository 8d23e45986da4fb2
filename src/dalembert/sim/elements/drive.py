"""Drives: motors with limits, and elasticity between motor and link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dalembert.dynamics.algorithms import ServoStep, actuator_forces, servo_step
from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import logical_and, maximum, minimum, tanh, where
from dalembert.model import Actuator, JointForceLimits, Model
from dalembert.model.actuators import within
from dalembert.typing import Array

from .base import Action, Element, Situation, above_zero, positive, single
from .joint import depth, flank

DERATING = 0.05  # share of the allowed rise of temperature over which the limit falls to the continuous torque


@dataclass(frozen=True)
class Motor(Element):
    """Limits the commanded force of a joint to what its motor can give, and adds rotor, losses of the gear, and heat.

    The line from stall_torque at rest to nothing at no_load_speed, both of the motor; gear: its turns per turn of the
    joint; rotor_inertia [kg·m²], felt at the joint gear² times. efficiency of the gear, 0 … 1, in both directions: a
    driving joint gets that share of the motor's force, a driven one hands on that share of its own; at rest it is a
    friction that is smooth within slip_speed [rad/s or m/s] of the joint. continuous [N·m of the motor]: torque that it
    stands for ever, with thermal_time [s], the time constant of its winding: the state is the share of the allowed rise
    of temperature, and the last twentieth of it takes the limit down to `continuous`.

    The account is that of the force that was cut off; losses of the gear are heat.
    """

    gives: ClassVar[bool] = True
    enforces: ClassVar[tuple[str, ...]] = ("effort",)

    joint: str
    stall_torque: float
    no_load_speed: float
    gear: float = 1.0
    rotor_inertia: float = 0.0
    efficiency: float = 1.0
    slip_speed: float = 1e-3
    continuous: float | None = None
    thermal_time: float | None = None

    @property
    def loses(self) -> bool:  # type: ignore[override]
        return self.efficiency < 1.0

    def prepared(self, model: Model) -> Model:
        body = single(model, self.joint, self.label())
        positive(self.label(), stall_torque=self.stall_torque, rotor_inertia=self.rotor_inertia)
        above_zero(self.label(), no_load_speed=self.no_load_speed, gear=abs(self.gear), slip_speed=self.slip_speed)
        if not 0.0 < self.efficiency <= 1.0:
            raise DalembertError(f"{self.label()}: efficiency is {self.efficiency!r}, expected above 0 and at most 1")
        if (self.continuous is None) != (self.thermal_time is None):
            raise DalembertError(f"{self.label()}: continuous and thermal_time belong together: give both, or neither")
        if self.continuous is not None and self.thermal_time is not None:
            above_zero(self.label(), continuous=self.continuous, thermal_time=self.thermal_time)
            if self.continuous > self.stall_torque:
                raise DalembertError(
                    f"{self.label()}: continuous is {self.continuous:g}, more than stall_torque, {self.stall_torque:g}"
                )
        joint = body.joint.with_values(armature=body.joint.armature + self.gear**2 * self.rotor_inertia)
        bodies = tuple(replace(b, joint=joint) if b.index == body.index else b for b in model.bodies)
        return replace(model, bodies=bodies)

    def size(self, model: Model) -> int:
        return 0 if self.continuous is None else 1

    def start(self, model: Model, q: Array, v: Array) -> Array:
        return np.zeros(self.size(model))

    def act(self, s: Situation) -> Action:
        """The difference between the force that the motor can give at the joint and the command."""
        body = s.model.joint(self.joint)
        (v,), (tau,) = s.v[body.v], s.tau[body.v]
        stall, share = self.stall_torque * abs(self.gear), v * abs(self.gear) / self.no_load_speed
        most, least = stall * minimum(maximum(1.0 - share, 0.0), 1.0), stall * minimum(maximum(1.0 + share, 0.0), 1.0)
        if self.continuous is not None:
            allowed = self.continuous * abs(self.gear)
            warm = allowed + (stall - allowed) * minimum(maximum((1.0 - s.z[0]) / DERATING, 0.0), 1.0)
            most, least = minimum(most, warm), minimum(least, warm)
        force = minimum(maximum(tau, -least), most)
        cut, loss, rate = force - tau, 0.0, np.zeros(0)
        if self.efficiency < 1.0:
            share = where(force * v > 0.0, 1.0 - self.efficiency, 1.0 / self.efficiency - 1.0)
            loss = share * absolute(force) * tanh(v / self.slip_speed)
        if self.continuous is not None and self.thermal_time is not None:
            load = force / (self.continuous * abs(self.gear))
            rate = np.array([(load * load - s.z[0]) / self.thermal_time])
        return Action({body.index: np.array([cut - loss])}, rate=rate, lost=loss * v, given=cut * v)


@dataclass(frozen=True)
class FlexibleJoint(Element):
    """Elasticity between motor and link: the command turns the motor's inertia, a spring turns the joint.

    All seen at the joint: stiffness, damping of the spring, inertia of the motor (gear² times that of its rotor),
    backlash: play of the gear [rad or m], viscous: friction of the motor. States: angle and speed of the motor.
    """

    loses: ClassVar[bool] = True
    gives: ClassVar[bool] = True

    joint: str
    stiffness: float
    inertia: float
    damping: float = 0.0
    backlash: float = 0.0
    viscous: float = 0.0

    def prepared(self, model: Model) -> Model:
        single(model, self.joint, self.label())
        positive(self.label(), stiffness=self.stiffness, damping=self.damping, backlash=self.backlash)
        positive(self.label(), viscous=self.viscous)
        above_zero(self.label(), inertia=self.inertia)
        return model

    def size(self, model: Model) -> int:
        return 2

    def start(self, model: Model, q: Array, v: Array) -> Array:
        body = model.joint(self.joint)
        return np.array([q[body.q][0], v[body.v][0]])

    def act(self, s: Situation) -> Action:
        body = s.model.joint(self.joint)
        (x,), (v,), (tau,) = s.q[body.q], s.v[body.v], s.tau[body.v]
        angle, speed = s.z
        force, lost = flank(angle - x, speed - v, self.backlash, self.stiffness, self.damping)
        rate = np.array([speed, (tau - force - self.viscous * speed) / self.inertia])
        lost = lost + self.viscous * speed * speed
        return Action({body.index: np.array([force - tau])}, rate=rate, lost=lost, given=tau * (speed - v))

    def energy(self, s: Situation) -> Any:
        (x,) = s.q[s.model.joint(self.joint).q]
        angle, speed = s.z
        return 0.5 * self.stiffness * depth(angle - x, self.backlash) ** 2 + 0.5 * self.inertia * speed * speed


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
        return "actuators"

    def size(self, model: Model) -> int:
        return len(self._dynamic)

    def start(self, model: Model, q: Array, v: Array) -> Array:
        return np.array([within(0.0, self.actuators[k].activation_limits) for k in self._dynamic])

    def commands(self, z: Array, controls: Array) -> list[Any]:
        """Commands after limits and dynamics, of controls (nu,) and activations z."""
        commands: list[Any] = [a.limited(u) for a, u in zip(self.actuators, controls, strict=True)]
        for k, activation in zip(self._dynamic, z, strict=True):
            commands[k] = within(activation, self.actuators[k].activation_limits)
        return commands

    def forces(self, model: Model, q: Array, v: Array, z: Array, controls: Array) -> Array:
        """Generalised forces (nv,) of controls (nu,) and activations z."""
        return actuator_forces(model, self.actuators, self.limits, q, v, self.commands(z, controls))

    def servo_step(self, model: Model, q: Array, v: Array, z: Array, controls: Array, h: Any, M: Array) -> ServoStep:
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

    def advanced(self, z: Array, rate: Array, h: Any) -> Array:
        """Activations after a step of first order: filters by their solution if asked for, within their limits."""
        following = [self.actuators[k].next_activation(x, r, h) for k, x, r in zip(self._dynamic, z, rate, strict=True)]
        return np.array(following)
