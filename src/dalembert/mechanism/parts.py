"""Parts of a mechanism as people state them: kinds of joints, bodies, points, relations; and their numbers, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.math import atan2
from dalembert.model.closures import CLOSURES, across
from dalembert.model.geometry import Box, Capsule, Cylinder, Shape, Sphere
from dalembert.spatial import Inertia, Pose, so3
from dalembert.typing import Array

Z, X = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)


@dataclass(frozen=True)
class JointKind:
    """freedoms: that it leaves; tree: the type of joint that carries a body, or None; closure: what closes a loop.

    shape: what it is given beside its two points, of axis, axis2, pitch and length.
    """

    freedoms: int
    tree: str | None
    closure: str
    shape: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Equations between the two points."""
        return CLOSURES[self.closure].count


KINDS: dict[str, JointKind] = {
    "fixed": JointKind(0, "fixed", "weld"),
    "revolute": JointKind(1, "revolute", "revolute", ("axis",)),
    "prismatic": JointKind(1, "prismatic", "prismatic", ("axis",)),
    "screw": JointKind(1, "screw", "screw", ("axis", "pitch")),
    "cylindrical": JointKind(2, "cylindrical", "cylindrical", ("axis",)),
    "universal": JointKind(2, "universal", "universal", ("axis", "axis2")),
    "spherical": JointKind(3, "ball", "point"),
    "planar": JointKind(3, "planar", "planar", ("axis",)),
    "point-on-line": JointKind(4, None, "point-on-line", ("axis",)),
    "point-on-plane": JointKind(5, None, "point-on-plane", ("axis",)),
    "distance": JointKind(5, None, "distance", ("length",)),
}
COUNTED = ("revolute", "prismatic", "screw")  # kinds with one coordinate


def coordinates(kind: str, shape: dict[str, Any], X_KL: Pose) -> Array:
    """Coordinates (nq,) of a joint in a tree that bring the frame of its body nearest to X_KL, seen from the parent."""
    p, R = X_KL.p, X_KL.R
    if kind == "fixed":
        return np.zeros(0)
    if kind == "spherical":
        return so3.to_quaternion(R)
    axis = shape["axis"]
    if kind == "prismatic":
        return np.array([axis @ p])
    if kind == "universal":
        return _universal(axis, shape["axis2"], R)
    angle = turn(axis, R)
    if kind == "cylindrical":
        return np.array([angle, axis @ p])
    if kind == "planar":
        following = np.eye(3)[(np.argmax(np.abs(axis)) + 1) % 3]
        x = following - (following @ axis) * axis
        x = x / np.linalg.norm(x)
        return np.array([x @ p, np.cross(axis, x) @ p, angle])
    if kind == "screw":  # as many turns as the advance tells
        whole = np.round((axis @ p / shape["pitch"] - angle) / (2.0 * np.pi))
        return np.array([angle + 2.0 * np.pi * whole])
    return np.array([angle])


def turn(axis: Array, R: Array) -> Any:
    """The angle [rad] about `axis` of a rotation that leaves it nearly where it is."""
    t, s = across(axis)
    return atan2(s @ (R @ t) - t @ (R @ s), t @ (R @ t) + s @ (R @ s))


def _universal(axis: Array, axis2: Array, R: Array) -> Array:
    best = np.zeros(2)
    for _ in range(20):  # Gauss-Newton on the rotation that is missing
        reached = so3.about_axis(axis, best[0]) @ so3.about_axis(axis2, best[1])
        missing = so3.log(reached.T @ R)
        columns = np.stack([so3.about_axis(axis2, best[1]).T @ axis, axis2], axis=1)
        step = np.linalg.lstsq(columns, missing, rcond=None)[0]
        best = best + step
        if np.max(np.abs(step)) < 1e-9:
            break
    return best


def unit(value: Any, where: str, what: str) -> Array:
    """A direction of length 1."""
    direction = numbers(value, where, what)
    size = float(np.linalg.norm(direction))
    if not size > 0.0:
        raise DalembertError(f"{where}: {what} is {value!r}, expected a direction such as (0, 0, 1)")
    direction = direction / size
    return np.where(np.abs(direction) < 1e-15, 0.0, direction)


def numbers(value: Any, where: str, what: str, shape: tuple[int, ...] = (3,)) -> Array:
    """Finite numbers of that shape; two numbers are a point or direction of the x-y plane."""
    try:
        array = np.array(value, float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if shape == (3,) and array.shape == (2,):
        array = np.append(array, 0.0)
    if array.shape != shape or not np.all(np.isfinite(array)):
        count = "a finite number" if shape == () else f"{' × '.join(map(str, shape))} finite numbers"
        raise DalembertError(f"{where}: {what} is {value!r}, expected {count}")
    return array


GROUND = "ground"
ORIGIN, COM = "origin", "com"  # points that every body has


@dataclass(frozen=True, eq=False)
class BodyPart:
    """A body: its inertia about the origin of its frame, where it roughly is, and how it roughly moves.

    pose: X_WB, None where the joints that carry it decide; velocity (3,) of its origin [m/s] and spin (3,) [rad/s],
    in the world, None likewise.
    """

    name: str
    inertia: Inertia
    points: dict[str, Pose] = field(default_factory=dict)  # X_BP of each named point
    pose: Pose | None = None
    velocity: Array | None = None
    spin: Array | None = None


class End(NamedTuple):
    """A point of a body, as in "crank.tip"."""

    body: str
    point: str

    @property
    def name(self) -> str:
        """The name of its frame."""
        return f"{self.body}.{self.point}"


@dataclass(frozen=True, eq=False)
class JointPart:
    """A joint of a kind between two points. shape: axis (3,), axis2 (3,), pitch, length, as the kind needs.

    start: its coordinate when it is put together, rate: its speed then, None where they follow; values: fields of the
    joint in a tree (lower, upper, friction, armature); springs: (stiffness, damping) by which it is held in the
    place of
    multipliers, each None where the step decides; compliance: [m/N, rad/(N·m)] (linear, angular) or None.
    """

    name: str
    kind: str
    a: End
    b: End
    shape: dict[str, Any]
    start: float | None = None
    rate: float | None = None
    values: dict[str, Any] = field(default_factory=dict)
    springs: tuple[float | None, float | None] | None = None
    compliance: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class MeshPart:
    """Two bodies on a carrier whose motions relative to it are tied: factor_a · x_a + factor_b · x_b stays constant."""

    name: str
    kind: str  # gear, rack, belt
    a: str
    b: str
    carrier: str
    factor_a: float
    factor_b: float


@dataclass(frozen=True, eq=False)
class CamPart:
    """A joint that follows the angle of another one: lift (n,) at n equal parts of a turn."""

    name: str
    cam: str
    follower: str
    lift: Array


@dataclass(frozen=True, eq=False)
class ShapePart:
    """A shape to be seen and touched, at a point of a body; kind and sizes: as they were stated."""

    name: str
    at: End
    kind: str
    sizes: dict[str, Any]
    shape: Shape


Relation = MeshPart | CamPart


SHAPES: dict[str, tuple[Callable[..., Shape], tuple[str, ...]]] = {
    "sphere": (Sphere, ("radius",)),
    "box": (Box, ("size",)),
    "cylinder": (Cylinder, ("radius", "length")),
    "capsule": (Capsule, ("radius", "length")),
}
SYMMETRIC = 1e-9  # share of an inertia tensor by which its halves may differ
SAMPLES = 360  # at which a cam's profile that is a function is taken


def inertia_stated(value: Any, where: str) -> Array:
    """(3, 3) about the centre of mass."""
    if value is None:
        return np.zeros((3, 3))
    size = np.ndim(value) if not isinstance(value, str) else -1
    if size == 0:
        about_z = float(numbers(value, where, "inertia", ()))
        return np.diag([0.5 * about_z, 0.5 * about_z, about_z])
    if size == 1:
        if len(value) != 3:
            raise DalembertError(f"{where}: inertia is {value!r}, expected 3 principal moments, or one about z [kg·m²]")
        return np.diag(numbers(value, where, "inertia"))
    tensor = numbers(value, where, "inertia", (3, 3))
    if np.max(np.abs(tensor - tensor.T)) > SYMMETRIC * np.max(np.abs(tensor)):
        raise DalembertError(f"{where}: inertia is {tensor.tolist()}, expected a symmetric matrix [kg·m²]")
    return tensor


def place_stated(place: Any, rpy: Any, where: str) -> Pose:
    if isinstance(place, Pose):
        return place
    if rpy is None and isinstance(place, (tuple, list)) and len(place) == 2 and np.ndim(place[0]) == 1:
        place, rpy = place
    p = numbers(place, where, "position")
    return Pose(np.eye(3), p) if rpy is None else Pose(so3.from_rpy(*numbers(rpy, where, "rpy")), p)


def compliance_stated(value: Any, where: str) -> tuple[float, float] | None:
    if value is None:
        return None
    pair = (value, value) if np.ndim(value) == 0 else value
    linear, angular = (float(x) for x in numbers(pair, where, "compliance", (2,)))
    if not (linear > 0.0 and angular > 0.0):
        raise DalembertError(f"{where}: compliance is {value!r}, expected numbers above 0 [m/N, rad/(N·m)]")
    return linear, angular


def shape_stated(kind: str, sizes: dict[str, Any], where: str) -> Shape:
    """A shape of a kind and its sizes [m]."""
    if kind not in SHAPES:
        raise unknown("shape", kind, SHAPES, where)
    make, names = SHAPES[kind]
    if set(sizes) != set(names):
        raise DalembertError(
            f"{where}: a {kind} is stated by {' and '.join(names)}, got {', '.join(sizes) or 'nothing'}: write them as "
            f"{', '.join(f'{name}=…' for name in names)} [m]"
        )
    lengths = [numbers(sizes[name], where, name, (3,) if name == "size" else ()) for name in names]
    if not all(np.all(x > 0.0) for x in lengths):
        raise DalembertError(f"{where}: sizes of a {kind} are {sizes!r}, expected lengths above 0 [m]")
    return make(*(x if x.ndim else float(x) for x in lengths))


def lift_stated(lift: Any, where: str) -> Array:
    """The lift at equal parts of a turn, the last one left out: it is the first again."""
    if callable(lift):
        angles = np.linspace(0.0, 2.0 * np.pi, SAMPLES + 1)
        values = np.array([float(lift(angle)) for angle in angles])
    else:
        try:
            rows = np.array(lift, float)
        except (TypeError, ValueError):
            rows = np.zeros(0)
        if rows.ndim != 2 or rows.shape[1] != 2 or len(rows) < 5:
            raise DalembertError(f"{where}: lift is {lift!r}, expected five or more rows (angle, lift) from 0 to 2π")
        even = np.linspace(0.0, 2.0 * np.pi, len(rows))
        if np.max(np.abs(rows[:, 0] - even)) > 1e-3:
            raise DalembertError(f"{where}: angles must run from 0 to 2π at equal distances, got {rows[:, 0].tolist()}")
        values = rows[:, 1]
    if not np.all(np.isfinite(values)):
        raise DalembertError(f"{where}: the lift is not finite everywhere")
    gap, scale = abs(values[-1] - values[0]), max(float(np.ptp(values)), 1e-9)
    if gap > 1e-6 * scale:
        raise DalembertError(
            f"{where}: the cam is not closed: its lift is {values[0]:g} at 0 and {values[-1]:g} at 2π, expected "
            "the same"
        )
    return values[:-1]


def law_stated(law: Any, where: str, what: str, arguments: tuple[str, ...], shape: tuple[int, ...] = ()) -> Any:
    """Numbers, or a function of the arguments that gives as many."""
    if not callable(law):
        values = numbers(law, where, what, shape)
        return tuple(values.tolist()) if shape else float(values)
    try:
        inspect.signature(law).bind(*arguments)
    except TypeError:
        raise DalembertError(
            f"{where}: {what} is a function of {inspect.signature(law)}, expected ({', '.join(arguments)})"
        ) from None
    except ValueError:  # builtins without a signature
        pass
    return law
