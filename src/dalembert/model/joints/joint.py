"""The base class of joints: charts, limits, armature, damping, friction, springs; and what each type must define."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math.tolerances import ROUNDED
from dalembert.spatial import Pose

from ..charts import Chart
from ..content import SHOWN

# Rounding π/2 leaves cosines of some 1e-16 where the author meant 0; as exact zeros they vanish from traced code.
LENGTH_FIELD = {"length": 1}  # metadata of a joint's field that is a length: it grows with the robot
RATE_LIMITS = ("velocity_limit", "acceleration_limit", "deceleration_limit", "jerk_limit")
LIMITS = (*RATE_LIMITS, "effort_limit", "continuous_limit")  # one number for each freedom; infinite where there is none
MOTION_METHODS = ("pose", "subspace", "bias", "charts")


def snapped(x: np.ndarray) -> np.ndarray:
    """A copy in which entries within a few ulp of 0 or ±1 are exactly that."""
    nearest = np.round(x)
    return np.where((np.abs(x - nearest) <= ROUNDED) & (np.abs(nearest) <= 1.0), nearest + 0.0, x)


class Mimic(NamedTuple):
    """A joint's coordinate is ratio · q(leader) + offset [rad or m]."""

    leader: str
    ratio: float = 1.0
    offset: float = 0.0


class Factor(NamedTuple):
    """A chart of a joint, and where its coordinates lie in the joint's q and v."""

    chart: Chart
    q: slice
    v: slice


class LineCoordinate(NamedTuple):
    """A coordinate on a line, which can have limits: its places in the joint's q and v, and whether it is periodic."""

    q: int
    v: int
    periodic: bool


class Step(NamedTuple):
    """One of the simple joints that together are equivalent to another joint; mimic: the joint that it follows."""

    joint: Joint
    mimic: Mimic | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint(ABC):
    """A joint between the joint frame J, fixed in the parent body, and the child's body frame B.

    q (nq,) and v (nv,) are the joint's own parts of the configuration and the velocity, of any scalar type.
    Joint forces: armature·a + damping·v + (friction + stribeck·exp(−(v / stribeck_speed)²))·tanh(v / slip_speed)
    + stiffness·difference(rest, q).

    A joint type is a frozen dataclass that names its `charts` and gives `pose`, `subspace` and, unless the subspace is
    constant, `bias`. What else it can have: `keywords`, `row` and `reversed`, for files and for another base.
    """

    kind: ClassVar[str]  # default: the name of the class, in lower case
    charts: ClassVar[tuple[Chart, ...]]  # in the order of the coordinates
    # groups of freedoms of which each is carried by the one before, and moves along directions that are fixed in what
    # it moves. A type with a `bias` of its own that states none has (): S may change in any way.
    stages: ClassVar[tuple[slice, ...]] = (slice(None),)
    # format ("urdf", "mjcf", "sdf", "dh"; "usd": its freedoms, about or along the x axis) → its word for this type of
    # joint; a type that is not there is written as
    # its `row`, or refused
    keywords: ClassVar[Mapping[str, str]] = {}
    limited: ClassVar[bool] = True  # whether coordinates on lines can have limits
    keeps_coordinates: ClassVar[bool] = True  # whether q and v of the reversed joint are those of this one

    # from the charts
    nq: ClassVar[int]
    nv: ClassVar[int]
    factors: ClassVar[tuple[Factor, ...]]
    flat: ClassVar[bool]  # v is the rate of q
    units: ClassVar[tuple[str, ...]]  # (nv,) of each freedom: "rad" or "m"
    coordinate_units: ClassVar[tuple[str, ...]]  # (nq,) "rad", "m", or "" of a quaternion's
    labels: ClassVar[tuple[str, ...]]  # (nv,) the usual name of each freedom; "": its number
    coordinate_labels: ClassVar[tuple[str, ...]]  # (nq,)
    reach: ClassVar[tuple[float, ...]]  # (nq,) half range for random states where there is no limit
    turns: ClassVar[tuple[int, ...]]  # coordinates that are angles: a full turn leaves the pose unchanged
    lines: ClassVar[tuple[LineCoordinate, ...]]  # coordinates that can have limits
    quaternions: ClassVar[tuple[slice, ...]]  # where unit quaternions w x y z are in q

    name: str
    armature: Any = 0.0  # (nv,) rotor inertia seen at the joint [kg·m² or kg]
    damping: Any = 0.0  # (nv,) viscous [N·m·s/rad or N·s/m]
    friction: Any = 0.0  # (nv,) Coulomb [N·m or N]
    slip_speed: float = 0.01  # speed at which friction reaches tanh(1) of its full value [rad/s or m/s]
    stribeck: Any = 0.0  # (nv,) by which friction is larger at rest than in fast sliding [N·m or N]
    stribeck_speed: float = 0.1  # speed of sliding at which 1/e of that is left [rad/s or m/s]
    stiffness: Any = 0.0  # (nv,) [N·m/rad or N/m]
    rest: Any = None  # (nq,) configuration in which the spring is relaxed; None: neutral
    lower: Any = None  # (nq,) [rad or m]; None: unlimited
    upper: Any = None  # (nq,)
    velocity_limit: Any = None  # (nv,) [rad/s or m/s]; None: unlimited
    acceleration_limit: Any = None  # (nv,) while the speed grows [rad/s² or m/s²]; None: unlimited
    deceleration_limit: Any = None  # (nv,) while it falls; None: as acceleration_limit
    jerk_limit: Any = None  # (nv,) [rad/s³ or m/s³]; None: unlimited
    effort_limit: Any = None  # (nv,) peak [N·m or N]; None: unlimited
    continuous_limit: Any = None  # (nv,) effort that the motor may give for ever [N·m or N]; None: not known
    motor: bool | None = field(default=None, metadata=SHOWN)  # whether a motor drives it; None: not stated

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "kind" not in cls.__dict__:
            cls.kind = cls.__name__.lower()
        if "charts" in cls.__dict__ and isinstance(cls.charts, tuple):
            for trait, value in traits(cls.charts).items():
                setattr(cls, trait, value)
        # Attributes derived from the kinematics are not inherited by a type with other kinematics.
        if "keywords" not in cls.__dict__:
            cls.keywords = {}
        if any(method in cls.__dict__ for method in MOTION_METHODS):
            for method in ("row", "reversed", "reversed_state", "keeps_coordinates", "span"):
                if method not in cls.__dict__:
                    setattr(cls, method, Joint.__dict__[method])
        if "bias" in cls.__dict__ and "stages" not in cls.__dict__:
            cls.stages = ()

    def __post_init__(self) -> None:
        for name in ("armature", "damping", "friction", "stribeck", "stiffness"):
            self._store(name, self._vector(name, self.nv), least=0.0)
        if self.deceleration_limit is None:
            object.__setattr__(self, "deceleration_limit", self.acceleration_limit)
        for name in LIMITS:
            self._store(name, self._vector(name, self.nv, np.inf), least=0.0, finite=False)
        if self.motor not in (True, False, None):
            raise self._error(f"motor is {self.motor!r}, expected True, False, or None where nothing is known")
        for name in ("slip_speed", "stribeck_speed"):
            self._store(name, self._vector(name, 1)[0])
            if not getattr(self, name) > 0.0:
                raise self._error(f"{name} is {getattr(self, name)}, expected a speed above 0")
        self._store("rest", np.array(self.neutral()) if self.rest is None else self._vector("rest", self.nq))
        self._store("lower", self._vector("lower", self.nq, -np.inf), finite=False)
        self._store("upper", self._vector("upper", self.nq, np.inf), finite=False)
        if (self.lower > self.upper).any():
            raise self._error(f"lower limit {self.lower} is above upper limit {self.upper}: swap them")
        for chart, q, v in self.factors:
            if not (chart.flat and self.limited) and np.any(np.isfinite([self.lower[q], self.upper[q]])):
                other = "use joint='revolute', or " if chart.flat else ""
                raise self._error(f"a {self.kind} joint has no position limits: {other}drop lower and upper")
            if problem := chart.problem(self.rest[q], self.stiffness[v]):
                raise self._error(problem)

    def _vector(self, field: str, size: int, default: float | None = None) -> np.ndarray:
        """The field as a float array (size,); one number applies to all."""
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
        return snapped(axis if abs(length - 1.0) <= ROUNDED else axis / length)  # a unit vector stays unchanged

    def with_values(self, **values: Any) -> Self:
        """A copy with other values of some fields, unchecked: they may be traced."""
        joint = copy(self)
        for name, value in values.items():
            object.__setattr__(joint, name, value)
        return joint

    def changed(self, change: Callable[[Joint], Joint]) -> Joint:
        """The joint after a change of its fields or type; of one that wraps another, of the joint inside."""
        return change(self)

    def _error(self, what: str) -> DalembertError:
        return DalembertError(f"joint {self.name!r}: {what}")

    # ---- how it moves

    @abstractmethod
    def pose(self, q: np.ndarray) -> Pose:
        """X_JB: the body in the joint frame."""

    @abstractmethod
    def subspace(self, q: np.ndarray) -> np.ndarray:
        """S (6, nv): S v is the twist of B relative to J, at B's origin, in B's axes."""

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ṡ v (6,), the rate of S in B's axes times v; zero where S is constant."""
        return np.zeros(6)

    def span(self) -> np.ndarray:
        """Twists (6, k), in B's axes, that span S at any q: a point that none of them moves never moves."""
        constant = type(self).bias is Joint.bias
        return np.array(self.subspace(self.neutral()), float) if constant else np.eye(6)

    # ---- its configurations

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q ⊕ v: the configuration after unit time at the constant velocity v."""
        return self._joined(lambda part: part.chart.integrate(q[part.q], v[part.v]))

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇ (nq,) at the velocity v; linear in v."""
        return self._joined(lambda part: part.chart.rate(q[part.q], v[part.v]))

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The velocity (nv,) with q0 ⊕ v = q1."""
        return self._joined(lambda part: part.chart.difference(q0[part.q], q1[part.q]))

    def difference_jacobian(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """∂difference(q0, q1) / ∂q1 (nv, nv), along the velocities at q1."""
        return self.displacement_jacobian(self.difference(q0, q1))

    def displacement_jacobian(self, d: np.ndarray) -> np.ndarray:
        """J (nv, nv): d = difference(q0, q) with q0 at rest has the rate J(d) v."""
        return self._diagonal((), lambda part: part.chart.displacement_jacobian(d[part.v]))

    def displacement_rate(self, v: np.ndarray) -> np.ndarray:
        """K (…, nv, nv): a displacement δ = difference(q0, q) from a motion at v (…, nv) has the rate δv + K δ."""
        return self._diagonal(v.shape[:-1], lambda part: part.chart.displacement_rate(v[..., part.v]))

    def normalize(self, q: np.ndarray) -> np.ndarray:
        """q with its quaternions, if any, brought to unit length."""
        return self._joined(lambda part: part.chart.normalize(q[part.q])) if self.quaternions else q

    def neutral(self) -> np.ndarray:
        """The configuration (nq,) in which B coincides with J."""
        return self._joined(lambda part: part.chart.neutral())

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n configurations (n, nq), uniform within the limits; beside a missing limit, over the usual reach."""
        drawn = [chart.random(rng, n, self.lower[q], self.upper[q]) for chart, q, _ in self.factors]
        return np.concatenate(drawn, axis=1) if drawn else np.zeros((n, 0))

    def size(self, q: np.ndarray) -> np.ndarray:
        """The magnitude (nv,) of each freedom's coordinate, for relative tolerances; 1 of a rotation's."""
        return self._joined(lambda part: part.chart.size(q[part.q]))

    def _joined(self, one: Callable[[Factor], np.ndarray]) -> np.ndarray:
        parts = [one(part) for part in self.factors]
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0)

    def _diagonal(self, shape: tuple[int, ...], one: Callable[[Factor], np.ndarray]) -> np.ndarray:
        """A matrix (…, nv, nv) with one block for each chart."""
        blocks = [one(part) for part in self.factors]
        if len(blocks) == 1:
            return blocks[0]
        matrix = np.zeros((*shape, self.nv, self.nv), np.result_type(float, *(block.dtype for block in blocks)))
        for (_, _, v), block in zip(self.factors, blocks, strict=True):
            matrix[..., v, v] = block
        return matrix

    # ---- joints that follow another joint

    @property
    def mimic(self) -> Mimic | None:
        """The joint that this one follows, and how; None: it has its own coordinates."""
        return None

    @property
    def uncoupled(self) -> Joint:
        """The joint with its own coordinate, whether or not it follows another one."""
        return self

    def coordinate(self, q: np.ndarray) -> np.ndarray:
        """The joint's coordinates (nq,), from q of its leader, or from q itself if it follows none."""
        return q

    # ---- other words for it

    def row(self) -> tuple[Step, ...]:
        """Revolute and prismatic joints, one for each coordinate, that move as this one in a row; (): none do."""
        return ()

    def reversed(self) -> Joint:
        """The joint with parent and child exchanged: its pose is the inverse. Same name, coordinates as before."""
        from .reversed import Reversed

        return Reversed(joint=self)

    def _not_reversible(self, what: str) -> DalembertError:
        return DalembertError(
            f"reroot: joint {self.name!r} is {self.kind} and has {what}, which no {self.kind} joint has that is run "
            "through backwards: set these to 0 (or None) with set_joint, or lock the joint"
        )

    def reversed_state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of the reversed joint for (q, v) of this one: the same motion."""
        return q, v


def traits(charts: tuple[Chart, ...]) -> dict[str, Any]:
    """The properties that a joint gets from its charts, by name."""
    factors, lines, nq, nv = [], [], 0, 0
    for chart in charts:
        factors.append(Factor(chart, slice(nq, nq + chart.nq), slice(nv, nv + chart.nv)))
        if chart.flat:
            lines += [LineCoordinate(nq + k, nv + k, k in chart.turns) for k in range(chart.nq)]
        nq, nv = nq + chart.nq, nv + chart.nv
    each = ("units", "coordinate_units", "labels", "coordinate_labels", "reach")
    joined: dict[str, Any] = {name: tuple(x for chart in charts for x in getattr(chart, name)) for name in each}
    return joined | {
        "nq": nq,
        "nv": nv,
        "factors": tuple(factors),
        "flat": all(chart.flat for chart in charts),
        "turns": tuple(part.q.start + k for part in factors for k in part.chart.turns),
        "lines": tuple(lines),
        "quaternions": tuple(
            slice(part.q.start + places.start, part.q.start + places.stop)
            for part in factors
            if (places := part.chart.quaternion) is not None
        ),
    }


@dataclass(frozen=True, eq=False, kw_only=True)
class AxisJoint(Joint):
    """A joint with one axis, the same in J and in B."""

    axis: Any = (0.0, 0.0, 1.0)  # (3,) normalised

    def __post_init__(self) -> None:
        self._store("axis", self._unit("axis"))
        super().__post_init__()
