"""Springs and dampers at joints, and play."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.math import maximum, minimum, where
from dalembert.model import Model

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
        """Only with damping."""
        return bool(self.damping != 0.0)

    def prepared(self, model: Model) -> Model:
        """Checks the joint."""
        single(model, self.joint, self.label())
        positive(self.label(), stiffness=self.stiffness, damping=self.damping)
        return model

    def act(self, s: Situation) -> Action:
        """Spring and damper force."""
        body = s.model.joint(self.joint)
        v = s.v[body.v]
        tau = self.stiffness * (self.rest - s.q[body.q]) - self.damping * v
        return Action({body.index: tau}, lost=self.damping * (v @ v))

    def energy(self, s: Situation) -> Any:
        """½ k (rest − θ)²."""
        stretch = self.rest - s.q[s.model.joint(self.joint).q]
        return 0.5 * self.stiffness * (stretch @ stretch)


@dataclass(frozen=True)
class Damper(Element):
    """tau = −damping θ̇ at a joint of any kind [N·m·s/rad or N·s/m]."""

    loses: ClassVar[bool] = True

    joint: str
    damping: float

    def prepared(self, model: Model) -> Model:
        """Checks the joint."""
        body_of(model, self.joint, self.label())
        positive(self.label(), damping=self.damping)
        return model

    def act(self, s: Situation) -> Action:
        """−damping v."""
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
        """Checks the joint."""
        single(model, self.joint, self.label())
        positive(self.label(), gap=self.gap, stiffness=self.stiffness, damping=self.damping)
        return model

    def act(self, s: Situation) -> Action:
        """Force of the flank that is touched."""
        body = s.model.joint(self.joint)
        (x,), (v,) = s.q[body.q], s.v[body.v]
        force, lost = flank(x - self.center, v, self.gap, self.stiffness, self.damping)
        return Action({body.index: np.array([-force])}, lost=lost)

    def energy(self, s: Situation) -> Any:
        """½ k depth²."""
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
