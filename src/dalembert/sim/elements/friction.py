"""Friction with true sticking: bristles that bend before they slide.

LuGre (Canudas de Wit, Olsson, Åström, Lischinsky 1995) with the elastic range of Dupont, Hayward, Armstrong, Altpeter
2002, so that nothing creeps while it sticks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import exp, maximum, minimum, sign, where
from dalembert.model import Model

from .base import Action, Element, Situation, positive, single

ELASTIC = 0.98  # share of the force of sliding up to which bristles only bend


@dataclass(frozen=True)
class Friction(Element):
    """Coulomb, Stribeck and viscous friction of a joint with one coordinate, with a bristle state z [rad or m].

    ż = v − α |v| z σ0/g(v), g = coulomb + (static − coulomb) exp(−(v / stribeck_speed)²), F = σ0 z + σ1 ż + viscous v;
    α rises from 0 to 1 while σ0 |z| goes from 98 % of g to g, and is 0 while the bristles straighten. Sticking is a
    spring of stiffness σ0 [N·m/rad or N/m] without creep. coulomb, static [N·m or N], static None: no Stribeck effect;
    viscous [N·m·s/rad or N·s/m]; bristle_damping σ1; surface_speed: of the surface slid on (a belt).
    """

    loses: ClassVar[bool] = True

    joint: str
    coulomb: float
    static: float | None = None
    viscous: float = 0.0
    stribeck_speed: float = 0.01
    stiffness: float = 1e5
    bristle_damping: float = 0.0
    surface_speed: float = 0.0

    @property
    def gives(self) -> bool:  # type: ignore[override]
        """Only a surface that moves puts in energy."""
        return self.surface_speed != 0.0

    def prepared(self, model: Model) -> Model:
        """Checks the joint and the numbers."""
        single(model, self.joint, self.label())
        positive(self.label(), viscous=self.viscous, bristle_damping=self.bristle_damping)
        if not (self.coulomb > 0.0 and self.stiffness > 0.0 and self.stribeck_speed > 0.0):
            raise DalembertError(f"{self.label()}: coulomb, stiffness and stribeck_speed must be above 0")
        if self.static is not None and self.static < self.coulomb:
            raise DalembertError(f"{self.label()}: static is {self.static}, expected at least coulomb, {self.coulomb}")
        return model

    def size(self, model: Model) -> int:
        """One bristle."""
        return 1

    def start(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Bent as in steady sliding at v; straight at rest."""
        speed = v[model.joint(self.joint).v][0] - self.surface_speed
        return np.array([sign(speed) * self._level(speed) / self.stiffness])

    def _level(self, v: Any) -> Any:
        """g(v): the force of steady sliding."""
        extra = 0.0 if self.static is None else self.static - self.coulomb
        return self.coulomb + extra * exp(-((v / self.stribeck_speed) ** 2))

    def act(self, s: Situation) -> Action:
        """Force of the bristles and how they bend."""
        body = s.model.joint(self.joint)
        v = s.v[body.v][0] - self.surface_speed
        (z,) = s.z
        share = self.stiffness * z / self._level(v)
        slip = minimum(maximum((absolute(share) - ELASTIC) / (1.0 - ELASTIC), 0.0), 1.0)
        slip = where(v * z > 0.0, slip * slip * (3.0 - 2.0 * slip), 0.0)
        rate = v - slip * absolute(v) * share
        force = self.stiffness * z + self.bristle_damping * rate + self.viscous * v
        lost = force * v - self.stiffness * z * rate
        return Action(
            {body.index: np.array([-force])}, rate=np.array([rate]), lost=lost, given=-force * self.surface_speed
        )

    def energy(self, s: Situation) -> Any:
        """½ σ0 z²."""
        return 0.5 * self.stiffness * s.z[0] ** 2
