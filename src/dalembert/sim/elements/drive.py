"""Drives: motors with limits, and elasticity between motor and link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dalembert.math import maximum, minimum
from dalembert.model import Model

from .base import Action, Element, Situation, above_zero, positive, single
from .joint import depth, flank


@dataclass(frozen=True)
class Motor(Element):
    """Limits the commanded force of a joint to what its motor can give, and adds the inertia of its rotor.

    The line from stall_torque at rest to nothing at no_load_speed, both of the motor; gear: its turns per turn of the
    joint; rotor_inertia [kg·m²], felt at the joint gear² times. The account is that of the force that was cut off.
    """

    gives: ClassVar[bool] = True
    enforces: ClassVar[tuple[str, ...]] = ("effort",)

    joint: str
    stall_torque: float
    no_load_speed: float
    gear: float = 1.0
    rotor_inertia: float = 0.0

    def prepared(self, model: Model) -> Model:
        """The joint with the rotor's inertia."""
        body = single(model, self.joint, self.label())
        positive(self.label(), stall_torque=self.stall_torque, rotor_inertia=self.rotor_inertia)
        above_zero(self.label(), no_load_speed=self.no_load_speed, gear=abs(self.gear))
        joint = body.joint.with_values(armature=body.joint.armature + self.gear**2 * self.rotor_inertia)
        bodies = tuple(replace(b, joint=joint) if b.index == body.index else b for b in model.bodies)
        return replace(model, bodies=bodies)

    def act(self, s: Situation) -> Action:
        """The difference between the force that the motor can give and the command."""
        body = s.model.joint(self.joint)
        (v,), (tau,) = s.v[body.v], s.tau[body.v]
        stall, share = self.stall_torque * abs(self.gear), v * abs(self.gear) / self.no_load_speed
        most, least = stall * minimum(maximum(1.0 - share, 0.0), 1.0), stall * minimum(maximum(1.0 + share, 0.0), 1.0)
        cut = minimum(maximum(tau, -least), most) - tau
        return Action({body.index: np.array([cut])}, given=cut * v)


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
        """Checks the joint and the numbers."""
        single(model, self.joint, self.label())
        positive(self.label(), stiffness=self.stiffness, damping=self.damping, backlash=self.backlash)
        positive(self.label(), viscous=self.viscous)
        above_zero(self.label(), inertia=self.inertia)
        return model

    def size(self, model: Model) -> int:
        """Angle and speed of the motor."""
        return 2

    def start(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The motor goes with the joint."""
        body = model.joint(self.joint)
        return np.array([q[body.q][0], v[body.v][0]])

    def act(self, s: Situation) -> Action:
        """The spring's force instead of the command, and the motor's motion."""
        body = s.model.joint(self.joint)
        (x,), (v,), (tau,) = s.q[body.q], s.v[body.v], s.tau[body.v]
        angle, speed = s.z
        force, lost = flank(angle - x, speed - v, self.backlash, self.stiffness, self.damping)
        rate = np.array([speed, (tau - force - self.viscous * speed) / self.inertia])
        lost = lost + self.viscous * speed * speed
        return Action({body.index: np.array([force - tau])}, rate=rate, lost=lost, given=tau * (speed - v))

    def energy(self, s: Situation) -> Any:
        """Energy of the spring and of the motor's inertia."""
        (x,) = s.q[s.model.joint(self.joint).q]
        angle, speed = s.z
        return 0.5 * self.stiffness * depth(angle - x, self.backlash) ** 2 + 0.5 * self.inertia * speed * speed
