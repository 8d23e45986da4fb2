"""The rows of one joint between free bodies, in one state: what they are off by, their rates, their Jacobians.

Rows are written along the axes of frame a of a closure, for twists [W; Rᵀ V] along body axes, as they are where the
closure is closed: then those of body a are mostly constants, and fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.linear import is_zero
from dalembert.model import Closure
from dalembert.spatial import Pose, cross

from .free_body import FreeBody, placed, snapped

PARALLEL = ("weld", "prismatic")  # closures that keep the axes of their frames parallel
AXIAL = (*PARALLEL, "revolute", "cylindrical", "planar")  # closures that keep one axis of each along the other's


class JointState:
    """The rows of one joint of a group: its closure, and its numbers by name."""

    def __init__(self, closure: Closure, named: Mapping[str, Any]) -> None:
        self.closure, self.named, self.exact = closure, named, "compliance" in named
        F_a, r_a, F_b, r_b = (named[f"{key} {side}"] for side in "ab" for key in "Fr")
        sides = [side for side in "ab" if f"pose {side}" in named]
        places = dict.fromkeys("ab", (np.eye(3), np.zeros(3)))
        places |= {side: placed(self._body(side), named[f"pose {side}"]) for side in sides}
        self.R = {side: places[side][0] for side in sides}
        (R_a, x_a), (R_b, x_b) = places["a"], places["b"]
        p = F_a.T @ (R_a.T @ (x_b - x_a) + (R_a.T @ R_b) @ r_b - r_a)
        self.X = Pose(F_a.T @ (R_a.T @ R_b) @ F_b, p)
        self.phi = closure.residual(self.X)
        self.J = {side: self._rows(side) for side in sides}
        self.rate = sum(J @ self._twist(side) for side, J in self.J.items())

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

    def _body(self, side: str) -> FreeBody:
        return FreeBody(*(self.named[f"{key} {side}"] for key in FreeBody._fields))

    def _twist(self, side: str) -> np.ndarray:
        return np.concatenate([self.named[f"spin {side}"], self.R[side].T @ self.named[f"velocity {side}"]])


def row_results(one: JointState, wanted: np.ndarray) -> dict[str, Any]:
    """Coordinates, what is wanted of them, J M⁻¹ Jᵀ of the joint's rows (k, k) below the diagonal, and J by side."""
    blocks = [
        response_block(J, J, one.named[f"mass {side}"], one.named[f"inverse {side}"])["block"]
        for side, J in one.J.items()
    ]
    return {"phi": one.phi, "wanted": wanted, "response": np.tril(sum(blocks)), **one.J}


def push_results(one: JointState, wanted: np.ndarray) -> dict[str, Any]:
    """Jᵀ of the impulses wanted, by side."""
    return {side: J.T @ wanted for side, J in one.J.items()}


def response_block(J: np.ndarray, K: np.ndarray, mass: Any, inverse: np.ndarray) -> dict[str, np.ndarray]:
    """J M⁻¹ Kᵀ of rows (k, 6) on a body."""
    return {"block": (J[:, :3] @ inverse) @ K[:, :3].T + (J[:, 3:] * (1.0 / mass)) @ K[:, 3:].T}


def _without_rounding(J: np.ndarray) -> np.ndarray:
    """J with constant entries that are only rounding set to 0."""
    if J.dtype != object:
        return snapped(J)
    return np.array([[0.0 if is_zero(x) else x for x in row] for row in J], object)
