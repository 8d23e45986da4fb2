"""Hydraulic cylinders: length and lever at a joint, stiffness of trapped oil, closed valves, constant piston speed.

A cylinder between two points has the length l(θ). Its force F acts on a joint as F ∂l/∂θ, and a piston that moves at
the
speed v turns the joint at θ̇ = v / (∂l/∂θ). The oil in chambers and hoses is a spring, k = β (A₁² / V₁ + A₂² / V₂),
which
the joint feels as k (∂l/∂θ)², and the cylinder's damping d as d (∂l/∂θ)².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.math import maximum, minimum, where
from dalembert.model import Model
from dalembert.robot import Robot
from dalembert.sim.elements.base import Action, Situation, above_zero, positive
from dalembert.typing import Array

from .elements import LineForce

BULK_MODULUS = 1.4e9  # [Pa]: of mineral oil with the air that it usually holds


@dataclass(frozen=True)
class Cylinder(LineForce):
    """A double-acting hydraulic cylinder between two frames, fed at a constant flow until its valve closes.

    bore, rod: diameters [m]; stroke [m]; hose [m³]: volume of oil on each side beside its chamber; bulk [Pa]: modulus
    of oil and hoses together; damping [N·s/m]. speed [m/s]: of the piston while the valve is open; closure [s]: when it
    closes (None: it stays open). extended [m]: how far the piston is out at the start; None: half way. varying: the
    oil is as stiff as the volumes of its chambers make it while the piston moves; False: as stiff as at the start.
    preload [N]: what the oil pushes outward with at the start of the run, as the weight on it asks; 0: it is relaxed.

    The oil is a spring about the length that the flow asks for: that at the start of the run, and
    what the preload compresses, plus speed · t, up to the closure.
    """

    bore: float = 0.1
    rod: float = 0.05
    stroke: float = 1.0
    hose: float = 1e-3
    bulk: float = BULK_MODULUS
    damping: float = 0.0
    speed: float = 0.0
    closure: float | None = None
    extended: float | None = None
    preload: float = 0.0
    varying: bool = False
    loses: ClassVar[bool] = True

    def prepared(self, model: Model) -> Model:
        above_zero(self.label(), bore=self.bore, stroke=self.stroke, hose=self.hose, bulk=self.bulk)
        positive(self.label(), rod=self.rod, damping=self.damping)
        if not self.rod < self.bore:
            raise DalembertError(f"{self.label()}: rod is {self.rod:g} m, expected less than the bore, {self.bore:g} m")
        if not np.isfinite(self.preload):
            raise DalembertError(f"{self.label()}: preload is {self.preload!r}, expected a finite force [N]")
        if self.extended is not None and not 0.0 <= self.extended <= self.stroke:
            raise DalembertError(f"{self.label()}: extended is {self.extended:g} m, expected 0 to {self.stroke:g} m")
        return super().prepared(model)

    @property
    def areas(self) -> tuple[float, float]:
        """Areas of the piston on the bore's and on the rod's side [m²]."""
        return 0.25 * np.pi * self.bore**2, 0.25 * np.pi * (self.bore**2 - self.rod**2)

    @property
    def stiffness(self) -> float:
        """Stiffness of the oil along the cylinder [N/m]: β (A₁² / V₁ + A₂² / V₂)."""
        return float(self._oil(self._out)[0])

    @property
    def _out(self) -> float:
        """How far the piston is out at the start [m]."""
        return 0.5 * self.stroke if self.extended is None else self.extended

    def _oil(self, out: Any) -> tuple[Any, Any]:
        """Stiffness of the oil with the piston so far out, and its slope [N/m²]; at the ends of the stroke it stays."""
        first, second = self.areas
        held = minimum(maximum(out, 0.0), self.stroke)
        one, two = self.hose + first * held, self.hose + second * (self.stroke - held)
        slope = self.bulk * (second**3 / (two * two) - first**3 / (one * one))
        inside = (out > 0.0) & (out < self.stroke)
        return self.bulk * (first**2 / one + second**2 / two), where(inside, slope, 0.0)

    def _spring(self, s: Situation, commanded: Any) -> tuple[Any, Any]:
        """Stiffness of the oil in a situation, and its slope in the length that the flow asks for."""
        if not self.varying:
            return self.stiffness, 0.0
        return self._oil(self._out + commanded - s.z[0])

    def size(self, model: Model) -> int:
        return 1

    def start(self, model: Model, q: Array, v: Array) -> Array:
        """The length that the flow asks for at the start: that of the cylinder, and what the preload compresses."""
        length = self.measured(Situation(model, 0.0, q, v, np.zeros(0), np.zeros(len(v))))[0]
        return np.array([length + self.preload / self.stiffness])

    def _asked(self, s: Situation) -> tuple[Any, Any]:
        """Length and speed that the flow asks for."""
        if self.closure is None:
            return s.z[0] + self.speed * s.t, self.speed
        return s.z[0] + self.speed * minimum(s.t, self.closure), where(s.t < self.closure, self.speed, 0.0)

    def act(self, s: Situation) -> Action:
        length, rate, direction = self.measured(s)
        commanded, speed = self._asked(s)
        slip = rate - speed
        stiffness, slope = self._spring(s, commanded)
        strain = length - commanded
        push = -stiffness * strain - self.damping * slip
        loads = self.loads(s, push * direction)
        given = (push + 0.5 * slope * strain * strain) * speed  # oil that comes in or goes out changes the spring
        return Action(wrenches=loads, rate=np.zeros(1), given=given, lost=self.damping * slip * slip)

    def energy(self, s: Situation) -> Any:
        commanded = self._asked(s)[0]
        return 0.5 * self._spring(s, commanded)[0] * (self.measured(s)[0] - commanded) ** 2


class AtJoint(NamedTuple):
    """A cylinder as a joint feels it.

    length l [m]; lever ∂l/∂θ [m/rad]; stiffness [N·m/rad] and damping [N·m·s/rad]; rate θ̇₀ [rad/s] of the joint at the
    speed of the piston, infinite at a dead point.
    """

    length: float
    lever: float
    stiffness: float
    damping: float
    rate: float


def at_joint(robot: Robot, q: Any, cylinder: Cylinder, joint: str) -> AtJoint:
    """The effect of a cylinder on a joint of one coordinate at q (nq,), other joints still unless a loop moves them."""
    model, q = robot.model, np.asarray(q, float)
    moving = unit_motion(model, q, joint)
    still = Situation(model, 0.0, q, moving, np.zeros(1), np.zeros(model.nv))
    length, lever, _ = cylinder.measured(still)
    with np.errstate(divide="ignore"):
        rate = float(np.divide(cylinder.speed, lever))
    square = float(lever) ** 2
    return AtJoint(float(length), float(lever), cylinder.stiffness * square, cylinder.damping * square, rate)


def unit_motion(model: Model, q: Array, joint: str) -> Array:
    """The velocity (nv,) with that joint at speed 1 and all loops closed, of least size."""
    body = model.joint(joint)
    if body.joint.nv != 1:
        raise DalembertError(f"joint {joint!r} is {body.joint.kind} with {body.joint.nv} freedoms, expected one")
    moving = np.zeros(model.nv)
    moving[body.v] = 1.0
    if not model.closures:
        return moving
    J = algorithms.constraints(model, q, np.zeros(model.nv)).J
    others = np.setdiff1d(np.arange(model.nv), [body.v.start])
    moving[others] = np.linalg.lstsq(J[:, others], -J[:, body.v.start], rcond=1e-9)[0]
    if np.max(np.abs(J @ moving), initial=0.0) > 1e-6 * np.max(np.abs(J)):
        raise DalembertError(
            f"robot {model.name!r}: joint {joint!r} cannot move at this position: it is a dead point, or loops lock it"
        )
    return moving
