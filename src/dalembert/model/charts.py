"""Charts: the factors of a joint's configuration space, such as an angle, a length, a rotation.

A joint lists its charts in the order of its coordinates. They say in which units it moves, which of its coordinates
repeat after a turn, where unit quaternions are, how configurations are advanced, compared and drawn at random.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.spatial import Pose, se3, so3

__all__ = ["ANGLE", "LENGTH", "MOTION", "ROTATION", "WINDING", "Chart", "Line", "Motion", "Rotation"]

UNIT_REST = 1e-6  # how far the length of a spring's rest quaternion may be from 1


class Chart(ABC):
    """One factor of a configuration space, with coordinates q (nq,) and velocities v (nv,) of any scalar type.

    coordinate_units, coordinate_labels (nq,): "rad", "m" or "" (of a quaternion), and the usual name of each.
    units, labels (nv,): the same of each freedom; velocities are in these units per second.
    """

    coordinate_units: tuple[str, ...]
    coordinate_labels: tuple[str, ...]
    units: tuple[str, ...]
    labels: tuple[str, ...]
    reach: tuple[float, ...]  # half range of each coordinate for random configurations where there is no limit
    flat: ClassVar[bool] = False  # v is the rate of q, and each coordinate can have limits
    turns: tuple[int, ...] = ()  # periodic coordinates: a full turn leaves the pose unchanged
    quaternion: ClassVar[slice | None] = None  # the coordinates that are a unit quaternion w x y z

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinate_units)

    @property
    def nv(self) -> int:
        """Number of freedoms."""
        return len(self.units)

    @abstractmethod
    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q ⊕ v: the configuration after unit time at the constant velocity v."""

    @abstractmethod
    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇ (nq,) at the velocity v; linear in v."""

    @abstractmethod
    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The velocity (nv,) with q0 ⊕ v = q1."""

    @abstractmethod
    def displacement_jacobian(self, d: np.ndarray) -> np.ndarray:
        """J (nv, nv): d = difference(q0, q) with q0 at rest has the rate J(d) v."""

    @abstractmethod
    def displacement_rate(self, v: np.ndarray) -> np.ndarray:
        """K (…, nv, nv): a displacement δ = difference(q0, q) from a motion at v (…, nv) has the rate δv + K δ.

        K δ is the bracket [δ, v] of the chart's velocities.
        """

    @abstractmethod
    def neutral(self) -> np.ndarray:
        """The configuration (nq,) that means no motion."""

    @abstractmethod
    def random(self, rng: np.random.Generator, n: int, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """n configurations (n, nq), uniform within the limits (nq,)."""

    def normalize(self, q: np.ndarray) -> np.ndarray:
        """q with its quaternion, if any, brought to unit length."""
        return q

    def size(self, q: np.ndarray) -> np.ndarray:
        """The magnitude (nv,) that relative tolerances refer to: |q|, or 1 for each freedom of a rotation."""
        return np.ones(self.nv)

    def problem(self, rest: np.ndarray, stiffness: np.ndarray) -> str | None:
        """The problem with a spring of stiffness (nv,) about rest (nq,) along this chart; None: nothing."""
        return None


@dataclass(frozen=True)
class Line(Chart):
    """The real line, in rad or m; v = q̇. periodic: a full turn (2π) leaves the pose unchanged."""

    unit: str
    half_range: float
    periodic: bool = False

    flat = True
    coordinate_labels = labels = ("",)

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]  # a constant elsewhere
        """The one unit."""
        return (self.unit,)

    coordinate_units = units

    @property
    def reach(self) -> tuple[float, ...]:  # type: ignore[override]
        """The one half range."""
        return (self.half_range,)

    @property
    def turns(self) -> tuple[int, ...]:  # type: ignore[override]
        """The one coordinate, if it is periodic."""
        return (0,) if self.periodic else ()

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q + v"""
        return q + v

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v"""
        return v

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """q1 − q0, also of angles: turns count."""
        return q1 - q0

    def displacement_jacobian(self, d: np.ndarray) -> np.ndarray:
        """1"""
        return np.eye(1)

    def displacement_rate(self, v: np.ndarray) -> np.ndarray:
        """0"""
        return np.zeros((*v.shape, 1))

    def neutral(self) -> np.ndarray:
        """0"""
        return np.zeros(1)

    def random(self, rng: np.random.Generator, n: int, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Uniform within the limits; beside a missing limit, over the reach."""
        return rng.uniform(*self.interval(lower, upper), (n, 1))

    def interval(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends (1,) of what `random` draws from."""
        reach, low, high = self.half_range, np.isfinite(lower), np.isfinite(upper)
        least = np.where(low, lower, np.where(high, upper - 2.0 * reach, -reach))
        most = np.where(high, upper, np.where(low, lower + 2.0 * reach, reach))
        return least, most + 0.0  # from 0 to −0 is refused

    def size(self, q: np.ndarray) -> np.ndarray:
        """|q|"""
        return abs(q)


@dataclass(frozen=True)
class Rotation(Chart):
    """SO(3): q = unit quaternion w x y z, v = angular velocity in the axes of the moving body [rad/s]."""

    quaternion = slice(0, 4)
    coordinate_units = ("", "", "", "")
    coordinate_labels = ("w", "x", "y", "z")
    units = ("rad", "rad", "rad")
    labels = ("rx", "ry", "rz")
    reach = (1.0, 1.0, 1.0, 1.0)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q exp(v), kept at unit length."""
        return self.normalize(so3.quaternion_multiply(q, so3.quaternion_exp(v)))

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """½ q [0, v]"""
        return so3.quaternion_multiply(q, np.concatenate([np.zeros(1), 0.5 * v]))

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """log(q0⁻¹ q1), the shorter way."""
        return so3.quaternion_log(so3.quaternion_multiply(so3.quaternion_conjugate(q0), q1))

    def displacement_jacobian(self, d: np.ndarray) -> np.ndarray:
        """The inverse right Jacobian of the rotation vector."""
        return so3.right_jacobian_inverse(d)

    def displacement_rate(self, v: np.ndarray) -> np.ndarray:
        """−[v]×: body axes turn away under a displacement."""
        return -so3.skew(v)

    def neutral(self) -> np.ndarray:
        """No rotation."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator, n: int, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Uniform rotations."""
        return so3.quaternion_normalize(rng.normal(size=(n, 4)))

    def normalize(self, q: np.ndarray) -> np.ndarray:
        """q at unit length."""
        return so3.quaternion_normalize(q)

    def problem(self, rest: np.ndarray, stiffness: np.ndarray) -> str | None:
        """A spring rests at a rotation, and is equally stiff about all axes."""
        if abs(np.linalg.norm(rest) - 1.0) > UNIT_REST:
            return f"rest is {rest}, expected a unit quaternion w x y z"
        if np.ptp(stiffness) != 0.0:
            return (
                f"stiffness of the rotation is {stiffness}, expected three equal numbers: unequal ones along the "
                "rotation vector are no spring (their torque has no potential)"
            )
        return None


@dataclass(frozen=True)
class Motion(Chart):
    """SE(3): q = [position (3) [m], unit quaternion w x y z], v = twist [ω; v] in the moving axes [rad/s, m/s]."""

    quaternion = slice(3, 7)
    coordinate_units = ("m", "m", "m", "", "", "", "")
    coordinate_labels = ("x", "y", "z", "qw", "qx", "qy", "qz")
    units = ("rad", "rad", "rad", "m", "m", "m")
    labels = ("rx", "ry", "rz", "x", "y", "z")
    reach = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The screw motion at constant twist v for unit time."""
        p = Pose(so3.from_quaternion(q[3:]), q[:3]).point(se3.position_reached(v[:3], v[3:]))
        quaternion = so3.quaternion_multiply(q[3:], so3.quaternion_exp(v[:3]))
        return np.concatenate([p, so3.quaternion_normalize(quaternion)])

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """[R v_linear, ½ quaternion [0, ω]]"""
        turning = so3.quaternion_multiply(q[3:], np.concatenate([np.zeros(1), 0.5 * v[:3]]))
        return np.concatenate([so3.from_quaternion(q[3:]) @ v[3:], turning])

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The twist of the screw motion from q0 to q1 in unit time."""
        w = so3.quaternion_log(so3.quaternion_multiply(so3.quaternion_conjugate(q0[3:]), q1[3:]))
        start = Pose(so3.from_quaternion(q0[3:]), q0[:3])
        return np.concatenate([w, se3.velocity_reaching(w, start.inverse().point(q1[:3]))])

    def displacement_jacobian(self, d: np.ndarray) -> np.ndarray:
        """The inverse right Jacobian of the screw motion."""
        return se3.right_jacobian_inverse(d)

    def displacement_rate(self, v: np.ndarray) -> np.ndarray:
        """−V ×, the motion cross product with the twist."""
        w = so3.skew(v[..., :3])
        return -np.block([[w, np.zeros_like(w)], [so3.skew(v[..., 3:]), w]])

    def neutral(self) -> np.ndarray:
        """No motion."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator, n: int, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Positions within the reach, uniform rotations."""
        position = rng.uniform(-1.0, 1.0, (n, 3)) * self.reach[:3]
        return np.concatenate([position, so3.quaternion_normalize(rng.normal(size=(n, 4)))], axis=1)

    def normalize(self, q: np.ndarray) -> np.ndarray:
        """q with its quaternion at unit length."""
        return np.concatenate([q[:3], so3.quaternion_normalize(q[3:])])

    def problem(self, rest: np.ndarray, stiffness: np.ndarray) -> str | None:
        """A spring holds only the rotation."""
        if np.any(stiffness[3:]):
            return (
                f"stiffness of the translation is {stiffness[3:]}, expected 0: along the screw from rest it would "
                "have no potential; use a ball joint on a body carried by prismatic joints"
            )
        return ROTATION.problem(rest[3:], stiffness[:3])


ANGLE = Line("rad", np.pi, periodic=True)
WINDING = Line("rad", np.pi)  # an angle whose full turn is another pose, as of a screw
LENGTH = Line("m", 1.0)
ROTATION = Rotation()
MOTION = Motion()
