"""What closes a loop: conditions between two frames, or between two coordinates, beside the tree of joints.

Frame K lies in body A, frame L in body B; X = X_KL is L seen from K. Most closures ask for something that is linear in
the position p and the rotation R of X, so `rows(p, R)` says all of it: zero when the loop is closed, and the same rows
of (ṗ, Ṙ) and (p̈, R̈) are its rate and its acceleration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.math import sqrt
from dalembert.spatial import Pose, so3
from dalembert.spatial.vectors import cross

from .frame import Frame
from .joints.joint import snapped

WORLD_BODY = -1  # the body index of a frame that is fixed in the world


@dataclass(frozen=True, eq=False)
class Closure(ABC):
    """A condition between frame a (K) and frame b (L); a body index of -1 is the world.

    V (6,) = [ω; ṗ] and A (6,) = [ω̇; p̈] are the motion of L as seen from K, along K's axes.
    """

    name: str
    a: Frame
    b: Frame
    kind: ClassVar[str]
    count: ClassVar[int]  # number of equations
    coincident: ClassVar[bool] = False  # whether the origins of K and L are together when it is closed

    @abstractmethod
    def residual(self, X: Pose) -> np.ndarray:
        """(count,) zeros when closed: lengths [m] and sines of angles."""

    @abstractmethod
    def rate(self, X: Pose, V: Any) -> np.ndarray:
        """(count,) d residual/dt, linear in V."""

    def rate_along_b(self, X: Pose, V: Any) -> np.ndarray:
        """`rate` of a motion V that is given along L's axes."""
        return self.rate(X, np.concatenate([X.R @ V[:3], X.R @ V[3:]]))

    @abstractmethod
    def acceleration(self, X: Pose, V: Any, A: Any) -> np.ndarray:
        """(count,) d² residual/dt²."""


class _Linear(Closure):
    @abstractmethod
    def rows(self, p: Any, R: Any) -> np.ndarray:
        """(count,): the residual, linear in p (3,) and R (3, 3)."""

    def residual(self, X: Pose) -> np.ndarray:
        return self.rows(X.p, X.R)

    def rate(self, X: Pose, V: Any) -> np.ndarray:
        return self.rows(V[3:], _turned(V[:3], X.R))

    def rate_along_b(self, X: Pose, V: Any) -> np.ndarray:
        return self.rows(X.R @ V[3:], X.R @ so3.skew(V[:3]))

    def acceleration(self, X: Pose, V: Any, A: Any) -> np.ndarray:
        w = V[:3]
        return self.rows(A[3:], _turned(A[:3], X.R) + _turned(w, _turned(w, X.R)))


def _turned(w: Any, R: Any) -> np.ndarray:
    """Columns w × R."""
    return np.stack([cross(w, R[:, k]) for k in range(3)], axis=1)


def _sines(R: Any) -> np.ndarray:
    """sin(angle) · axis of a rotation: zero for none, and for half turns, which a loop must not start near."""
    return 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])


def across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that are perpendicular to a unit axis and to each other, constants of the model."""
    first = cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first = first / np.linalg.norm(first)
    return first, cross(axis, first)


class Weld(_Linear):
    """L is held on K altogether."""

    kind, count = "weld", 6
    coincident = True

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return np.concatenate([_sines(R), p])


class Point(_Linear):
    """L's origin is held on K's: a ball joint."""

    kind, count = "point", 3
    coincident = True

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return np.array([*p])


@dataclass(frozen=True, eq=False)
class _Axial(_Linear):
    axis: np.ndarray  # (3,) unit, in K and in L alike

    def _aligned(self, R: Any) -> np.ndarray:
        return np.array([t @ (R @ self.axis) for t in across(self.axis)])

    def _on_line(self, p: Any) -> np.ndarray:
        return np.array([t @ p for t in across(self.axis)])


class Hinge(_Axial):
    """A revolute joint: origins together, axes along each other."""

    kind, count = "revolute", 5
    coincident = True

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return np.concatenate([self._aligned(R), p])


class Slider(_Axial):
    """A prismatic joint: no turn, L's origin on K's axis."""

    kind, count = "prismatic", 5

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return np.concatenate([_sines(R), self._on_line(p)])


class Sleeve(_Axial):
    """A cylindrical joint: axes along each other, L's origin on K's axis."""

    kind, count = "cylindrical", 4

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return np.concatenate([self._aligned(R), self._on_line(p)])


class OnPlane(_Axial):
    """A planar joint: axes along each other, L's origin in the plane through K's across the axis."""

    kind, count = "planar", 3

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return np.concatenate([self._aligned(R), [self.axis @ p]])


class PointOnLine(_Axial):
    """L's origin stays on K's axis."""

    kind, count = "point-on-line", 2

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return self._on_line(p)


class PointOnPlane(_Axial):
    """L's origin stays in the plane through K's across the axis."""

    kind, count = "point-on-plane", 1

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return np.array([self.axis @ p])


@dataclass(frozen=True, eq=False)
class Cross(_Linear):
    """A universal joint: origins together, `axis` of K across `axis2` of L."""

    axis: np.ndarray  # (3,) unit, in K
    axis2: np.ndarray  # (3,) unit, in L
    kind, count = "universal", 4
    coincident = True

    def rows(self, p: Any, R: Any) -> np.ndarray:
        return np.concatenate([[self.axis @ (R @ self.axis2)], p])


@dataclass(frozen=True, eq=False)
class Distance(Closure):
    """L's origin keeps its distance from K's; length > 0 [m]."""

    length: float
    kind, count = "distance", 1

    def residual(self, X: Pose) -> np.ndarray:
        return np.array([sqrt(X.p @ X.p) - self.length])

    def rate(self, X: Pose, V: Any) -> np.ndarray:
        return np.array([X.p @ V[3:] / sqrt(X.p @ X.p)])

    def acceleration(self, X: Pose, V: Any, A: Any) -> np.ndarray:
        d, p, v = sqrt(X.p @ X.p), X.p, V[3:]
        along = p @ v / d
        return np.array([(p @ A[3:] + v @ v - along * along) / d])


@dataclass(frozen=True, eq=False)
class JointEquation:
    """A coordinate follows another one by a polynomial: q(follower) = Σ c_k q(leader)^k [rad or m].

    Without a leader ("") the follower is held at c_0. Linear laws are better stated as mimic joints, which need no
    multiplier.
    """

    name: str
    follower: str
    leader: str
    coefficients: np.ndarray  # (k,), lowest power first
    kind: ClassVar[str] = "equation"
    count: ClassVar[int] = 1

    def law(self, x: Any) -> tuple[Any, Any, Any]:
        """The polynomial, its slope and its curvature at q(leader) = x."""
        value = slope = curvature = 0.0
        for c in reversed(self.coefficients.tolist()):
            curvature = curvature * x + 2.0 * slope
            slope = slope * x + value
            value = value * x + c
        return value, slope, curvature


CLOSURES: dict[str, type[Closure]] = {
    kind.kind: kind
    for kind in (Weld, Point, Hinge, Slider, Sleeve, OnPlane, PointOnLine, PointOnPlane, Cross, Distance)
}


def closure_maker(kind: str, shape: dict[str, Any], where: str) -> Callable[..., Closure]:
    """A closure of that kind but for its name and frames; `shape` holds axis, axis2, length, as the kind needs."""
    if kind not in CLOSURES:
        raise unknown("closure kind", kind, CLOSURES, where)
    needed = [field.name for field in fields(CLOSURES[kind]) if field.name not in ("name", "a", "b")]
    for argument_name in shape:
        if argument_name not in needed:
            raise unknown("argument", argument_name, needed, f"{where}: a {kind} closure")
    for missing in (argument for argument in needed if argument not in shape):
        raise DalembertError(f"{where}: a {kind} closure needs {missing}=…")
    return partial(CLOSURES[kind], **{key: _checked(key, value, where) for key, value in shape.items()})


def _checked(key: str, value: Any, where: str) -> Any:
    """An axis made unit length, or a length above zero."""
    shape, expected = ((), "a length above 0") if key == "length" else ((3,), "three numbers, not all zero")
    try:
        numbers = np.array(value, float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    size = np.linalg.norm(numbers) if key != "length" else numbers
    if numbers.shape != shape or not np.isfinite(size) or size <= 0.0:
        raise DalembertError(f"{where}: {key} is {value!r}, expected {expected}")
    return float(numbers) if key == "length" else snapped(numbers / size)
