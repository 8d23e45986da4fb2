"""Dry friction of joints: rigid, with exact sticking, or on bristles that bend before they slide.

Bristles: LuGre (Canudas de Wit, Olsson, Åström, Lischinsky 1995) with the elastic range of Dupont, Hayward, Armstrong,
Altpeter 2002, so that nothing creeps while it sticks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.dynamics.algorithms.tensors import gathered
from dalembert.errors import DalembertError, unknown
from dalembert.math import abs as absolute
from dalembert.math import exp, maximum, minimum, sign, where
from dalembert.model import Model
from dalembert.typing import Array

from ..system.constraints import Constraint, Interval, Rows, joint_rows
from .base import Action, Element, Situation, positive, single

FRICTION = ("dry", "smooth")
ELASTIC = 0.98  # share of the force of sliding up to which bristles only bend


@dataclass(frozen=True)
class Friction(Element):
    """Coulomb, Stribeck and viscous friction of a joint with one coordinate.

    It sticks while the force that this takes is at most `static`; it slides against g(v) = coulomb + (static − coulomb)
    exp(−(v / stribeck_speed)²), and viscous · v in addition. `simulate` locates when it sticks and when it slides; its
    mode in `run.states` is 0 while it sticks, ±1 while it slides. coulomb, static [N·m or N], static None: no
    Stribeck effect; viscous [N·m·s/rad or N·s/m]; surface_speed: of the surface slid on (a belt).

    With a stiffness σ0 [N·m/rad or N/m] sticking is elastic, on bristles bent by z: ż = v − α |v| z σ0/g(v), F = σ0 z +
    σ1 ż + viscous v, σ1 the bristle_damping; α rises from 0 to 1 while σ0 |z| goes from 98 % of g to g, and is 0 while
    the bristles straighten. Every integrator takes that, without events. A load that jumps makes undamped bristles
    overshoot to twice its force: give bristle_damping ≈ 2 √(σ0 m).
    """

    loses: ClassVar[bool] = True

    joint: str
    coulomb: float
    static: float | None = None
    viscous: float = 0.0
    stribeck_speed: float = 0.01
    stiffness: float | None = None
    bristle_damping: float = 0.0
    surface_speed: float = 0.0

    @property
    def gives(self) -> bool:  # type: ignore[override]
        return bool(self.surface_speed != 0.0)

    def prepared(self, model: Model) -> Model:
        single(model, self.joint, self.label())
        positive(self.label(), viscous=self.viscous, bristle_damping=self.bristle_damping)
        if not (self.coulomb > 0.0 and self.stribeck_speed > 0.0 and (self.stiffness is None or self.stiffness > 0.0)):
            raise DalembertError(f"{self.label()}: coulomb, stiffness and stribeck_speed must be above 0")
        if self.bristle_damping and self.stiffness is None:
            raise DalembertError(f"{self.label()}: bristle_damping needs a stiffness of the bristles")
        if self.static is not None and self.static < self.coulomb:
            raise DalembertError(f"{self.label()}: static is {self.static}, expected at least coulomb, {self.coulomb}")
        return model

    def size(self, model: Model) -> int:
        return 0 if self.stiffness is None else 1

    def start(self, model: Model, q: Array, v: Array) -> Array:
        """Bristles bent as in steady sliding at v; straight at rest."""
        if self.stiffness is None:
            return np.zeros(0)
        speed = v[model.joint(self.joint).v][0] - self.surface_speed
        return np.array([sign(speed) * self._level(speed) / self.stiffness])

    def _level(self, v: Any) -> Any:
        """g(v): the force of steady sliding."""
        extra = 0.0 if self.static is None else self.static - self.coulomb
        return self.coulomb + extra * exp(-((v / self.stribeck_speed) ** 2))

    def constraints(self, model: Model) -> tuple[Constraint, ...]:
        """Rigid friction: a force within ± static while nothing moves."""
        if self.stiffness is not None:
            return ()
        freedom = model.joint(self.joint).v.start

        def rows(s: Situation) -> Rows:
            return joint_rows(s.model.nv, freedom, surface=self.surface_speed)

        static = self.coulomb if self.static is None else self.static
        return (Constraint(self.label(), 1, rows, Interval(static, self._level)),)

    def act(self, s: Situation) -> Action:
        body = s.model.joint(self.joint)
        v = s.v[body.v][0] - self.surface_speed
        if self.stiffness is None:
            force = self.viscous * v
            return Action({body.index: np.array([-force])}, lost=force * v, given=-force * self.surface_speed)
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
        return 0.0 if self.stiffness is None else 0.5 * self.stiffness * s.z[0] ** 2


@dataclass(frozen=True)
class HeldFriction(Element):
    """The Coulomb friction that the model states for a joint, held exactly in place of its smooth law.

    levels (nv_i,): friction of each freedom of the joint in fast sliding, with that of joints that follow it [N·m or
    N]; rises (nv_i,): by which it is larger in slow sliding, as pairs of a size [N·m or N] and a speed [rad/s or m/s].
    """

    loses: ClassVar[bool] = True

    joint: str
    levels: tuple[float, ...]
    rises: tuple[tuple[tuple[float, float], ...], ...]

    def label(self) -> str:
        return f"friction {self.joint}"

    def constraints(self, model: Model) -> tuple[Constraint, ...]:
        first = model.joint(self.joint).v.start
        return tuple(
            Constraint(self.label(), 1, _freedom_rows(first + k), _interval(level, rises), reported=False)
            for k, (level, rises) in enumerate(zip(self.levels, self.rises, strict=True))
            if level > 0.0 or rises
        )


def _interval(level: float, rises: tuple[tuple[float, float], ...]) -> Interval:
    """Friction that is larger at rest and in slow sliding than `level`."""

    def sliding(v: Array) -> Any:
        return level + sum(size * exp(-((v / speed) ** 2)) for size, speed in rises)

    return Interval(level + sum(size for size, _ in rises), sliding if rises else None)


def _freedom_rows(freedom: int) -> Any:
    def rows(s: Situation) -> Rows:
        return joint_rows(s.model.nv, freedom)

    return rows


def with_friction(
    where: str, model: Model, elements: tuple[Element, ...], friction: str
) -> tuple[Model, tuple[Element, ...], list[str]]:
    """The model and the elements with dry or smooth joint friction, and lines for the log."""
    if friction not in FRICTION:
        raise unknown("friction", friction, FRICTION, where)
    levels = gathered(model, [np.abs(body.joint.friction) for body in model.bodies])
    rises: list[tuple[tuple[float, float], ...]] = [()] * model.nv
    for body in model.bodies:
        for k, size in enumerate(body.joint.stribeck, body.v.start):
            rises[k] += ((float(size), float(body.joint.stribeck_speed)),) if size else ()
    if not np.any(levels) and not any(rises):
        return model, elements, []
    if friction == "smooth":
        said = "friction: smooth, as forward_dynamics has it: loaded joints creep; friction='dry' holds them"
        return model, elements, [said]
    joints = [(body.joint.name, tuple(levels[body.v].tolist()), tuple(rises[body.v])) for body in model.independent]
    dry = [HeldFriction(name, level, more) for name, level, more in joints if any(level) or any(more)]
    said = "friction: dry, joints can stick; forward_dynamics and friction='smooth' use a smooth sign of the velocity"
    return model.without("friction"), (*elements, *dry), [said]
