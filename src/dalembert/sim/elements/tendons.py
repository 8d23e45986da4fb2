"""Springs and dampers of tendons that a model states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dalembert.dynamics.algorithms.actuation import Transmission, transmission
from dalembert.math import maximum, minimum
from dalembert.model import Actuator, Model
from dalembert.model.mujoco import MujocoTendon

from .base import Action, Element, Situation


@dataclass(frozen=True)
class Tendon(Element):
    """A spring that does not act between two lengths, and a damper, along a sum of coordinates or a path of frames.

    rest: (shortest, longest) length [m or rad] without a force; stiffness, damping: per length and per its rate.
    """

    loses: ClassVar[bool] = True

    name: str
    stiffness: float
    damping: float
    rest: tuple[float, float]
    joints: tuple[tuple[str, float], ...] = ()
    path: tuple[str, ...] = ()

    @classmethod
    def of(cls, tendon: MujocoTendon) -> Tendon:
        """The element for a tendon of a file."""
        return cls(tendon.name, tendon.stiffness, tendon.damping, tendon.rest, tendon.joints, tendon.path)

    def label(self) -> str:
        """Its own name."""
        return f"tendon {self.name}"

    def _line(self, s: Situation) -> Transmission:
        return transmission(s.model, Actuator(name=self.name, tendon=self.joints, path=self.path), s.q)

    def _stretch(self, length: Any) -> Any:
        """The stretch beyond its rest length; below 0 it is shorter."""
        short, long = self.rest
        return maximum(length - long, 0.0) + minimum(length - short, 0.0)

    def act(self, s: Situation) -> Action:
        """Its pull at the joints."""
        length, moment = self._line(s)
        rate = moment @ s.v
        tau = -(self.stiffness * self._stretch(length) + self.damping * rate) * moment
        at_joints = {body.index: tau[body.v] for body in s.model.independent if body.joint.nv}
        return Action(at_joints, lost=self.damping * rate * rate)

    def energy(self, s: Situation) -> Any:
        """½ k stretch²."""
        stretch = self._stretch(self._line(s).length)
        return 0.5 * self.stiffness * stretch * stretch


def tendons(model: Model) -> tuple[Element, ...]:
    """The tendons of a model that have a spring or a damper."""
    stated = model.mujoco.tendons if model.mujoco else ()
    return tuple(Tendon.of(tendon) for tendon in stated if tendon.pulls)
