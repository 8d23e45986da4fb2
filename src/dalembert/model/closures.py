"""Closures of loops: conditions between two frames, or between two coordinates, beside the tree of joints.

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
from dalembert.math import cos, floor, lookup, sin, sqrt
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
        """`rate` of a motion V along L's axes."""
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
class Thread(Closure):
    """A screw: axes along each other, L's origin on K's axis, z = pitch θ along and about it; pitch [m/rad], not 0.

    The last row is pitch sin(θ − z / pitch): closed after any number of turns, without counting them.
    """

    axis: np.ndarray  # (3,) unit, in K and in L alike
    pitch: float
    kind, count = "screw", 5

    def _linear(self, p: Any, R: Any) -> tuple[Any, ...]:
        """Tilt and shift across the axis, sine and cosine of θ, and z: all linear in p and R."""
        t, s = across(self.axis)
        tilted, turned = R @ self.axis, R @ t
        return np.array([t @ tilted, s @ tilted, t @ p, s @ p]), s @ turned, t @ turned, self.axis @ p

    def residual(self, X: Pose) -> np.ndarray:
        across_axis, sine, cosine, z = self._linear(X.p, X.R)
        a, b = sin(z / self.pitch), cos(z / self.pitch)
        return np.concatenate([across_axis, [self.pitch * (sine * b - cosine * a)]])

    def rate(self, X: Pose, V: Any) -> np.ndarray:
        _, sine, cosine, z = self._linear(X.p, X.R)
        across_rate, sine_rate, cosine_rate, z_rate = self._linear(V[3:], _turned(V[:3], X.R))
        a, b = sin(z / self.pitch), cos(z / self.pitch)
        last = self.pitch * (sine_rate * b - cosine_rate * a) - (sine * a + cosine * b) * z_rate
        return np.concatenate([across_rate, [last]])

    def acceleration(self, X: Pose, V: Any, A: Any) -> np.ndarray:
        w = V[:3]
        _, sine, cosine, z = self._linear(X.p, X.R)
        _, sine_rate, cosine_rate, z_rate = self._linear(V[3:], _turned(w, X.R))
        second = self._linear(A[3:], _turned(A[:3], X.R) + _turned(w, _turned(w, X.R)))
        across_axis, sine_second, cosine_second, z_second = second
        a, b = sin(z / self.pitch), cos(z / self.pitch)
        last = self.pitch * (sine_second * b - cosine_second * a) - (sine * a + cosine * b) * z_second
        last = last - (2.0 * (sine_rate * a + cosine_rate * b) + (sine * b - cosine * a) * z_rate / self.pitch) * z_rate
        return np.concatenate([across_axis, [last]])


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
    """A coordinate follows others: q(follower) = Σ c_k q(leader)^k + Σ f_j q(other j) [rad or m].

    Without a leader ("") the polynomial is c_0. others: (joint, f_j), as of gears on a moving carrier. Linear laws of
    one leader are better stated as mimic joints, which need no multiplier.
    """

    name: str
    follower: str
    leader: str
    coefficients: np.ndarray  # (k,), lowest power first
    others: tuple[tuple[str, float], ...] = ()
    kind: ClassVar[str] = "equation"
    count: ClassVar[int] = 1

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of all joints that take part."""
        return (self.follower, *([self.leader] if self.leader else []), *(name for name, _ in self.others))

    def law(self, x: Any) -> tuple[Any, Any, Any]:
        """The polynomial, its slope and its curvature at q(leader) = x."""
        value = slope = curvature = 0.0
        for c in reversed(self.coefficients.tolist()):
            curvature = curvature * x + 2.0 * slope
            slope = slope * x + value
            value = value * x + c
        return value, slope, curvature


@dataclass(frozen=True, eq=False)
class CamEquation(JointEquation):
    """A follower on a cam: q(follower) = lift(q(leader)), repeating with every turn of the leader.

    coefficients (4 n,): of n cubic pieces of equal length, the first from q(leader) = 0, in the share of the piece that
    is covered, lowest power first.
    """

    kind: ClassVar[str] = "cam"

    def law(self, x: Any) -> tuple[Any, Any, Any]:
        """Lift, its slope and its curvature at the cam's angle x."""
        pieces = self.coefficients.reshape(-1, 4)
        scale = len(pieces) / (2.0 * np.pi)
        place = scale * x - len(pieces) * floor(x / (2.0 * np.pi))
        k = floor(place)
        a, b, c, d = lookup(pieces, k)
        t = place - k
        return (
            a + t * (b + t * (c + t * d)),
            scale * (b + t * (2.0 * c + 3.0 * d * t)),
            scale * scale * (2.0 * c + 6.0 * d * t),
        )


def periodic_spline(values: np.ndarray) -> np.ndarray:
    """Coefficients (n, 4) of the cubic pieces, twice continuously differentiable, through n values of one period."""
    n, following = len(values), np.roll(values, -1)
    tied = 4.0 * np.eye(n) + np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)
    slopes = np.linalg.solve(tied, 3.0 * (following - np.roll(values, 1)))
    rise, after = following - values, np.roll(slopes, -1)
    return np.stack([values, slopes, 3.0 * rise - 2.0 * slopes - after, slopes + after - 2.0 * rise], axis=1)


CLOSURES: dict[str, type[Closure]] = {
    kind.kind: kind
    for kind in (Weld, Point, Hinge, Slider, Sleeve, OnPlane, PointOnLine, PointOnPlane, Cross, Thread, Distance)
}


def closure_maker(kind: str, shape: dict[str, Any], where: str) -> Callable[..., Closure]:
    """A closure of that kind without its name and frames; `shape` holds axis, axis2, length, as the kind needs."""
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
    """An axis made unit length, a length above zero, or a pitch that is not zero."""
    numbers = {"length": "a length above 0 [m]", "pitch": "an advance other than 0 [m/rad]"}
    shape, expected = ((), numbers[key]) if key in numbers else ((3,), "three numbers, not all zero")
    try:
        x = np.array(value, float)
    except (TypeError, ValueError):
        x = np.array(np.nan)
    size = x if key == "length" else np.linalg.norm(x)
    if x.shape != shape or not np.isfinite(size) or size <= 0.0:
        raise DalembertError(f"{where}: {key} is {value!r}, expected {expected}")
    return float(x) if key in numbers else snapped(x / size)
