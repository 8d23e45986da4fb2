"""The rows of one joint between free bodies, in one state: what they are off by, their rates, their Jacobians.

Rows are written along the axes of frame a of a closure, for twists [W; Rᵀ V] along body axes, as they are where the
closure is closed: then those of body a are mostly constants, and fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.linear import is_zero
from dalembert.model import Closure
from dalembert.spatial import Pose, cross, so3

from .free_body import STILL, snapped

PARALLEL = ("weld", "prismatic")  # closures that keep the axes of their frames parallel
AXIAL = (*PARALLEL, "revolute", "cylindrical", "planar")  # closures that keep one axis of each along the other's


class JointState:
    """The rows of one joint of a group: its closure, and its numbers by name."""

    def __init__(self, closure: Closure, named: Mapping[str, Any]) -> None:
        self.closure, self.named, self.exact = closure, named, "compliance" in named
        F_a, r_a, F_b, r_b = (named[f"{key} {side}"] for side in "ab" for key in "Fr")
        pose = {side: named.get(f"pose {side}", STILL.pose) for side in "ab"}
        com = {side: named.get(f"com {side}", np.zeros(3)) for side in "ab"}
        self.sides = [side for side in "ab" if f"pose {side}" in named]
        self.R_a = so3.from_quaternion(pose["a"][3:])
        if self.exact:  # springs need R_b for nothing else
            back = so3.quaternion_conjugate(pose["a"][3:])
            self.R_ab = so3.from_quaternion(so3.quaternion_multiply(back, pose["b"][3:]))
        else:
            self.R_ab = self.R_a.T @ so3.from_quaternion(pose["b"][3:])
        between = self.R_a.T @ (pose["b"][:3] - pose["a"][:3]) - com["a"]
        self.reach = between + self.R_ab @ (com["b"] + r_b)  # from a's centre of mass to b's point, along a's axes
        self.X = Pose(F_a.T @ self.R_ab @ F_b, F_a.T @ (self.reach - r_a))
        self.phi = closure.residual(self.X)

    @cached_property
    def J(self) -> dict[str, np.ndarray]:
        """Rows (k, 6) on the twists of the bodies, by side."""
        return {side: self._rows(side) for side in self.sides}

    @cached_property
    def rate(self) -> np.ndarray:
        """J times the twists (k,)."""
        if not self.exact:
            return sum(J @ self._twist(side) for side, J in self.J.items())
        V, W = ({side: self.named.get(f"{key} {side}", np.zeros(3)) for side in "ab"} for key in ("velocity", "spin"))
        F = self.named["F a"]
        turning = self.R_ab @ W["b"] - W["a"]
        moving = (
            self.R_a.T @ (V["b"] - V["a"]) + self.R_ab @ cross(W["b"], self.named["r b"]) - cross(W["a"], self.reach)
        )
        return self.closure.rate(self.X, np.concatenate([F.T @ turning, F.T @ moving]))

    def pushes(self, impulses: np.ndarray) -> dict[str, np.ndarray]:
        """Jᵀ of impulses (k,) along exact rows, by side: equal and opposite wrenches."""
        F, r_b = self.named["F a"], self.named["r b"]
        wrench = np.array([impulses @ self.closure.rate(self.X, V) for V in np.eye(6)])
        moment, force = F @ wrench[:3], F @ wrench[3:]
        force_b = self.R_ab.T @ force
        both = {
            "a": np.concatenate([-moment - cross(self.reach, force), -force]),
            "b": np.concatenate([self.R_ab.T @ moment + cross(r_b, force_b), force_b]),
        }
        return {side: both[side] for side in self.sides}

    def _rows(self, side: str) -> np.ndarray:
        """J (k, 6) on the twist of the body; where the joint does not give way, as they are where it is closed."""
        closure, X, F, r = self.closure, self.X, self.named[f"F {side}"], self.named[f"r {side}"]
        straight = Pose(np.eye(3), X.p)
        seen = [np.concatenate([F.T @ e[:3], F.T @ (e[3:] + cross(e[:3], r))]) for e in np.eye(6)]
        if side == "b":
            X = straight if closure.kind in PARALLEL and not self.exact else X
            return _without_rounding(np.array([closure.rate_along_b(X, V) for V in seen]).T)
        X = straight if closure.kind in AXIAL and not self.exact else X
        if self.exact or not closure.coincident:
            seen = [np.concatenate([V[:3], V[3:] + cross(V[:3], X.p)]) for V in seen]
        return _without_rounding(np.array([closure.rate(X, -V) for V in seen]).T)

    def _twist(self, side: str) -> np.ndarray:
        R = so3.from_quaternion(self.named[f"pose {side}"][3:])
        return np.concatenate([self.named[f"spin {side}"], R.T @ self.named[f"velocity {side}"]])


def row_results(one: JointState, wanted: np.ndarray) -> dict[str, Any]:
    """Coordinates, what is wanted of them, J M⁻¹ Jᵀ of the joint's rows (k, k) below the diagonal, and J by side."""
    blocks = [
        response_block(J, J, one.named[f"mass {side}"], one.named[f"inverse {side}"])["block"]
        for side, J in one.J.items()
    ]
    return {"phi": one.phi, "wanted": wanted, "response": np.tril(sum(blocks)), **one.J}


def push_results(one: JointState, wanted: np.ndarray) -> dict[str, Any]:
    """Jᵀ of the impulses wanted, by side."""
    return one.pushes(wanted)


def response_block(J: np.ndarray, K: np.ndarray, mass: Any, inverse: np.ndarray) -> dict[str, np.ndarray]:
    """J M⁻¹ Kᵀ of rows (k, 6) on a body."""
    return {"block": (J[:, :3] @ inverse) @ K[:, :3].T + (J[:, 3:] * (1.0 / mass)) @ K[:, 3:].T}


def _without_rounding(J: np.ndarray) -> np.ndarray:
    """J with constant entries that are only rounding set to 0."""
    if J.dtype != object:
        return snapped(J)
    return np.array([[0.0 if is_zero(x) else x for x in row] for row in J], object)
