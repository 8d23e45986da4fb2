"""Springs and dampers at joints, and play."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import maximum, minimum, where
from dalembert.model import Model
from dalembert.typing import Array

from ..system.constraints import Constraint, Impact, Range, Rows, joint_rows
from .base import Action, Element, Situation, body_of, positive, single


@dataclass(frozen=True)
class Spring(Element):
    """tau = stiffness (rest − θ) − damping θ̇ at a joint with one coordinate: a closed hydraulic valve, a return spring.

    stiffness [N·m/rad or N/m], rest [rad or m], damping [N·m·s/rad or N·s/m].
    """

    joint: str
    stiffness: float
    rest: float = 0.0
    damping: float = 0.0

    @property
    def loses(self) -> bool:  # type: ignore[override]
        return bool(self.damping != 0.0)

    def prepared(self, model: Model) -> Model:
        single(model, self.joint, self.label())
        positive(self.label(), stiffness=self.stiffness, damping=self.damping)
        return model

    def act(self, s: Situation) -> Action:
        body = s.model.joint(self.joint)
        v = s.v[body.v]
        tau = self.stiffness * (self.rest - s.q[body.q]) - self.damping * v
        return Action({body.index: tau}, lost=self.damping * (v @ v))

    def energy(self, s: Situation) -> Any:
        stretch = self.rest - s.q[s.model.joint(self.joint).q]
        return 0.5 * self.stiffness * (stretch @ stretch)


@dataclass(frozen=True)
class Damper(Element):
    """tau = −damping θ̇ at a joint of any kind [N·m·s/rad or N·s/m]."""

    loses: ClassVar[bool] = True

    joint: str
    damping: float

    def prepared(self, model: Model) -> Model:
        body_of(model, self.joint, self.label())
        positive(self.label(), damping=self.damping)
        return model

    def act(self, s: Situation) -> Action:
        body = s.model.joint(self.joint)
        v = s.v[body.v]
        return Action({body.index: -self.damping * v}, lost=self.damping * (v @ v))


@dataclass(frozen=True)
class Backlash(Element):
    """Play at a joint with one coordinate: free within ± gap/2 of `center`, a spring and damper at the flanks.

    gap [rad or m]; stiffness and damping of the flanks. For play inside a drive see `FlexibleJoint`.
    """

    loses: ClassVar[bool] = True

    joint: str
    gap: float
    stiffness: float
    damping: float = 0.0
    center: float = 0.0

    def prepared(self, model: Model) -> Model:
        single(model, self.joint, self.label())
        positive(self.label(), gap=self.gap, stiffness=self.stiffness, damping=self.damping)
        return model

    def act(self, s: Situation) -> Action:
        body = s.model.joint(self.joint)
        (x,), (v,) = s.q[body.q], s.v[body.v]
        force, lost = flank(x - self.center, v, self.gap, self.stiffness, self.damping)
        return Action({body.index: np.array([-force])}, lost=lost)

    def energy(self, s: Situation) -> Any:
        (x,) = s.q[s.model.joint(self.joint).q]
        return 0.5 * self.stiffness * depth(x - self.center, self.gap) ** 2


def depth(x: Any, gap: float) -> Any:
    """How far x is beyond ± gap/2, signed; 0 between."""
    return x - minimum(maximum(x, -0.5 * gap), 0.5 * gap)


def flank(x: Any, v: Any, gap: float, stiffness: float, damping: float) -> tuple[Any, Any]:
    """Force of a spring and damper with play, and the power that it loses. The flanks push, they do not pull."""
    d = depth(x, gap)
    pushed = stiffness * d + damping * v
    force = maximum(pushed, 0.0) * _positive(d) + minimum(pushed, 0.0) * _positive(-d)
    return force, force * v - stiffness * d * v


def _positive(x: Any) -> Any:
    return where(x > 0.0, 1.0, 0.0)


@dataclass(frozen=True)
class SoftLimit(Element):
    """A buffer beyond the limits of a joint with one coordinate: stiffness depth³ (1 + damping · speed into it).

    stiffness [N·m/rad³ or N/m³]; damping [s/rad or s/m]; lower, upper: by default the joint's own.
    """

    loses: ClassVar[bool] = True
    enforces: ClassVar[tuple[str, ...]] = ("range",)

    joint: str
    stiffness: float
    damping: float = 0.0
    lower: float | None = None
    upper: float | None = None

    def prepared(self, model: Model) -> Model:
        limits(model, self)
        positive(self.label(), stiffness=self.stiffness, damping=self.damping)
        return model

    def _sides(self, s: Situation) -> list[tuple[float, Any]]:
        """(direction of the push, depth) of each limit."""
        (x,) = s.q[s.model.joint(self.joint).q]
        lower, upper = limits(s.model, self)
        sides = [(1.0, maximum(lower - x, 0.0))] if np.isfinite(lower) else []
        return [*sides, (-1.0, maximum(x - upper, 0.0))] if np.isfinite(upper) else sides

    def act(self, s: Situation) -> Action:
        body = s.model.joint(self.joint)
        (v,) = s.v[body.v]
        tau, lost = 0.0, 0.0
        for sign, x in self._sides(s):
            spring, into = self.stiffness * x * x * x, -sign * v
            push = maximum(spring * (1.0 + self.damping * into), 0.0)
            tau, lost = tau + sign * push, lost + (push - spring) * into
        return Action({body.index: np.array([tau])}, lost=lost)

    def energy(self, s: Situation) -> Any:
        return sum((0.25 * self.stiffness * x * x * x * x for _, x in self._sides(s)), 0.0)


@dataclass(frozen=True)
class HardStop(Element):
    """Stops at the limits of a joint with one coordinate: an impact with restitution, rest when it is slow.

    An impact is an event in the run: velocities change by an impulse such that the speed at the stop turns into
    −restitution times itself; everything else follows from the inertia. Below rest_speed [rad/s or m/s] the joint stays
    on the stop, which then pushes, and does not pull, until it is left. Its mode in `run.states` is the stop on which
    the joint rests, −1 or 1, or 0. Events are located by `simulate`; in rollouts and steppers an impact falls on
    the end of a step.
    """

    loses: ClassVar[bool] = True
    enforces: ClassVar[tuple[str, ...]] = ("range",)

    joint: str
    restitution: float = 0.0
    lower: float | None = None
    upper: float | None = None
    rest_speed: float = 1e-3

    def prepared(self, model: Model) -> Model:
        limits(model, self)
        positive(self.label(), rest_speed=self.rest_speed)
        if not 0.0 <= self.restitution <= 1.0:
            raise DalembertError(f"{self.label()}: restitution is {self.restitution}, expected 0 … 1")
        return model

    def start(self, model: Model, q: Array, v: Array) -> Array:
        """No state of its own; the joint must start within the limits."""
        x, (lower, upper) = float(q[model.joint(self.joint).q][0]), limits(model, self)
        if not lower <= x <= upper:
            raise DalembertError(f"{self.label()}: the joint starts at {x:g}, expected within {lower:g} … {upper:g}")
        return np.zeros(0)

    def constraints(self, model: Model) -> tuple[Constraint, ...]:
        body = model.joint(self.joint)

        def rows(s: Situation) -> Rows:
            return joint_rows(s.model.nv, body.v.start, s.q[body.q][0])

        impact = Impact(self.restitution, self.rest_speed)
        return (Constraint(self.label(), 1, rows, Range(*limits(model, self)), impact),)


def stops(model: Model, restitution: float = 0.0) -> tuple[HardStop, ...]:
    """A `HardStop` at the limits of every joint with one coordinate that has any."""
    joints = [body.joint for body in model.independent if body.joint.nq == 1]
    limited = [joint for joint in joints if np.isfinite([joint.lower[0], joint.upper[0]]).any()]
    return tuple(HardStop(joint.name, restitution) for joint in limited)


def limits(model: Model, element: Any) -> tuple[float, float]:
    """Lower and upper limit of an element: its own, else the joint's."""
    body = single(model, element.joint, element.label())
    lower = float(body.joint.lower[0]) if element.lower is None else float(element.lower)
    upper = float(body.joint.upper[0]) if element.upper is None else float(element.upper)
    if not (np.isfinite(lower) or np.isfinite(upper)) or lower > upper:
        raise DalembertError(f"{element.label()}: limits are {lower:g} … {upper:g}: give lower or upper")
    return lower, upper
