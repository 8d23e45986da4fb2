"""Joints that give way: rows of a closure held by springs and dampers, between two frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.dynamics.algorithms import Load, body_loads, frame_pose, velocity
from dalembert.model import Model
from dalembert.model.closures import Closure
from dalembert.spatial import Pose, cross

from .base import Action, Element, Situation

NOTHING = np.zeros(3)


def relative_motion(s: Situation, a: str, b: str) -> tuple[Pose, np.ndarray, Pose]:
    """X_KL of frame b as seen from frame a, its motion [ω; ṗ] along a's axes, and X_WK."""
    K, L = (frame_pose(s.model, s.q, s.model.frame(name)) for name in (a, b))
    V_K, V_L = (velocity(s.model, s.q, s.v, s.model.frame(name), NOTHING) for name in (a, b))
    p = K.R.T @ (L.p - K.p)
    w = K.R.T @ V_K[:3]
    turning = K.R.T @ V_L[:3] - w
    moving = K.R.T @ (V_L[3:] - V_K[3:]) - cross(w, p)
    return Pose(K.R.T @ L.R, p), np.concatenate([turning, moving]), K


def opposite_wrenches(
    s: Situation, a: str, b: str, torque: np.ndarray, force: np.ndarray, X: Pose
) -> dict[int, np.ndarray]:
    """Wrenches of a torque and a force on b, at b's origin, along a's axes, and of the opposite ones on a."""
    K, L = s.model.frame(a), s.model.frame(b)
    return body_loads(s.model, s.q, [Load(L, X.R.T @ torque, X.R.T @ force, NOTHING), Load(K, -torque, -force, X.p)])


@dataclass(frozen=True, eq=False)
class Bushing(Element):
    """A joint held by springs and dampers instead of multipliers: λ = −stiffness φ − damping φ̇ for each row φ.

    closure: the rows, between the frames; stiffness [N/m or N·m/rad] and damping of each row. implicit: "leapfrog"
    takes
    its springs at the end of each step, which no stiffness makes unstable.
    """

    name: str
    frame: str
    other: str
    closure: Closure
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    implicit: bool = False
    loses: ClassVar[bool] = True

    def label(self) -> str:
        """Its own name."""
        return self.name

    def prepared(self, model: Model) -> Model:
        """Checks the frames."""
        for name in (self.frame, self.other):
            model.frame(name)
        return model

    def wrench(self, s: Situation) -> tuple[np.ndarray, Pose, np.ndarray]:
        """[τ; f] (6,) on `other` at its origin along the axes of `frame`, whose power is λ φ̇; X_KL, and φ̇."""
        X, V, _ = relative_motion(s, self.frame, self.other)
        rate = self.closure.rate(X, V)
        force = -(np.array(self.stiffness) * self.closure.residual(X)) - np.array(self.damping) * rate
        return np.array([force @ self.closure.rate(X, unit) for unit in np.eye(6)]), X, rate

    def act(self, s: Situation) -> Action:
        """Equal and opposite wrenches."""
        wrench, X, rate = self.wrench(s)
        loads = opposite_wrenches(s, self.frame, self.other, wrench[:3], wrench[3:], X)
        return Action(wrenches=loads, lost=rate @ (np.array(self.damping) * rate))

    def energy(self, s: Situation) -> Any:
        """½ Σ k φ²."""
        gap = self.closure.residual(relative_motion(s, self.frame, self.other)[0])
        return 0.5 * (gap @ (np.array(self.stiffness) * gap))


@dataclass(frozen=True)
class IndependentJoints(Element):
    """A promise that no equation of the closed joints follows from others: "leapfrog" then needs no test of pivots."""

    def act(self, s: Situation) -> Action:
        """Nothing."""
        return Action()
