"""What every joint has: coordinates, limits, armature, damping, friction, springs; and what each type must give."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial import Pose

# Rounding π/2 leaves cosines of some 1e-16 where the author meant 0; as exact zeros they vanish from traced code.
SNAP = 4 * np.finfo(float).eps


def snapped(x: np.ndarray) -> np.ndarray:
    """A copy in which entries within a few ulp of 0 or ±1 are exactly that."""
    nearest = np.round(x)
    return np.where((np.abs(x - nearest) <= SNAP) & (np.abs(nearest) <= 1.0), nearest + 0.0, x)


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint(ABC):
    """A joint between the joint frame J, fixed in the parent body, and the child's body frame B.

    q (nq,) and v (nv,) are the joint's own parts of the configuration and the velocity, of any scalar type.
    Joint forces: armature·a + damping·v + friction·tanh(v / slip_speed) + stiffness·difference(rest, q).
    """

    kind: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    reach: ClassVar[tuple[float, ...]]  # half range of each coordinate for random states where there is no limit
    turns: ClassVar[tuple[int, ...]] = ()  # coordinates that are angles: a full turn leaves the pose as it is
    # freedoms that act together; of two groups the second is carried by the first, so that S changes with q
    stages: ClassVar[tuple[slice, ...]] = (slice(None),)

    name: str
    armature: Any = 0.0  # (nv,) rotor inertia seen at the joint [kg·m² or kg]
    damping: Any = 0.0  # (nv,) viscous [N·m·s/rad or N·s/m]
    friction: Any = 0.0  # (nv,) Coulomb [N·m or N]
    slip_speed: float = 0.01  # speed at which friction reaches tanh(1) of its full value [rad/s or m/s]
    stiffness: Any = 0.0  # (nv,) [N·m/rad or N/m]
    rest: Any = None  # (nq,) configuration in which the spring is relaxed; None: neutral
    lower: Any = None  # (nq,) [rad or m]; None: unlimited
    upper: Any = None  # (nq,)
    velocity_limit: Any = None  # (nv,) [rad/s or m/s]; None: unlimited
    effort_limit: Any = None  # (nv,) [N·m or N]; None: unlimited

    def __post_init__(self) -> None:
        for field in ("armature", "damping", "friction", "stiffness"):
            self._store(field, self._vector(field, self.nv), least=0.0)
        for field in ("velocity_limit", "effort_limit"):
            self._store(field, self._vector(field, self.nv, np.inf), least=0.0, finite=False)
        self._store("slip_speed", self._vector("slip_speed", 1)[0])
        if not self.slip_speed > 0.0:
            raise self._error(f"slip_speed is {self.slip_speed}, expected a speed above 0")
        self._store("rest", np.array(self.neutral()) if self.rest is None else self._vector("rest", self.nq))
        self._store("lower", self._vector("lower", self.nq, -np.inf), finite=False)
        self._store("upper", self._vector("upper", self.nq, np.inf), finite=False)
        if (self.lower > self.upper).any():
            raise self._error(f"lower limit {self.lower} is above upper limit {self.upper}: swap them")

    @property
    def units(self) -> tuple[str, ...]:
        """Of each freedom (nv,): "rad" or "m"."""
        return tuple("rad" if reach == np.pi else "m" for reach in self.reach)

    def _vector(self, field: str, size: int, default: float | None = None) -> np.ndarray:
        """The field as a float array (size,); one number stands for all."""
        value = getattr(self, field)
        try:
            array = np.array(default if value is None else value, float)
        except (TypeError, ValueError):
            raise self._error(f"{field} is {value!r}, expected {size} number(s)") from None
        if array.shape not in ((), (size,)):
            raise self._error(f"{field} has shape {array.shape}, expected ({size},) for a {self.kind} joint")
        return np.full(size, array) if array.ndim == 0 else array

    def _store(self, field: str, value: Any, least: float = -np.inf, finite: bool = True) -> None:
        if np.isnan(value).any() or (finite and not np.isfinite(value).all()):
            raise self._error(f"{field} is {value}, expected {'finite numbers' if finite else 'numbers, not NaN'}")
        if (value < least).any():
            raise self._error(f"{field} is {value}, expected at least {least:g}")
        object.__setattr__(self, field, value)

    def _unit(self, field: str) -> np.ndarray:
        """An axis field as a unit vector (3,)."""
        axis = self._vector(field, 3)
        length = np.linalg.norm(axis)
        if not 0.0 < length < np.inf:
            raise self._error(f"{field} is {axis}, expected a direction such as (0, 0, 1)")
        return snapped(axis if abs(length - 1.0) <= SNAP else axis / length)  # a unit vector stays as it is

    def with_values(self, **values: Any) -> Self:
        """A copy with other values of some fields, unchecked: they may be traced."""
        made = copy(self)
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return made

    def _error(self, what: str) -> DalembertError:
        return DalembertError(f"joint {self.name!r}: {what}")

    @abstractmethod
    def pose(self, q: np.ndarray) -> Pose:
        """X_JB: the body in the joint frame."""

    @abstractmethod
    def subspace(self, q: np.ndarray) -> np.ndarray:
        """S (6, nv): S v is the twist of B relative to J, at B's origin, in B's axes."""

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ṡ v (6,), the rate of S in B's axes times v; zero where S is constant."""
        return np.zeros(6)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q ⊕ v: the configuration after unit time at the constant velocity v."""
        return q + v

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇ (nq,) at the velocity v; linear in v."""
        return v

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The velocity (nv,) with q0 ⊕ v = q1."""
        return q1 - q0

    def difference_jacobian(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """∂difference(q0, q1) / ∂q1 (nv, nv), along the velocities at q1."""
        return self.displacement_jacobian(self.difference(q0, q1))

    def displacement_jacobian(self, d: np.ndarray) -> np.ndarray:
        """J (nv, nv): d = difference(q0, q) with q0 at rest has the rate J(d) v."""
        return np.eye(self.nv)

    def displacement_rate(self, v: np.ndarray) -> np.ndarray:
        """K (…, nv, nv): a displacement δ = difference(q0, q) from a motion at v (…, nv) has the rate δv + K δ."""
        return np.zeros((*v.shape, self.nv))

    def normalize(self, q: np.ndarray) -> np.ndarray:
        """q with its quaternion, if any, brought to unit length."""
        return q

    def neutral(self) -> np.ndarray:
        """The configuration (nq,) in which B coincides with J."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n configurations (n, nq), uniform within the limits; beside a missing limit, over the usual reach."""
        reach = np.array(self.reach)
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        lower = np.where(low, self.lower, np.where(high, self.upper - 2.0 * reach, -reach))
        upper = np.where(high, self.upper, np.where(low, self.lower + 2.0 * reach, reach))
        return rng.uniform(lower, upper, (n, self.nq))


@dataclass(frozen=True, eq=False, kw_only=True)
class AxisJoint(Joint):
    """A joint with one axis, the same in J and in B."""

    axis: Any = (0.0, 0.0, 1.0)  # (3,) made a unit vector

    def __post_init__(self) -> None:
        self._store("axis", self._unit("axis"))
        super().__post_init__()
