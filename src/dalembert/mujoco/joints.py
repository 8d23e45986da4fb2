"""MuJoCo's constraints beside contacts: limits and dry friction of joints and tendons, and equalities.

Each is a small record, made once for a model, that gives its rows in a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.contact.rows import point_motion
from dalembert.dynamics.algorithms import acceleration, poses, velocity
from dalembert.dynamics.algorithms.actuation import transmission
from dalembert.dynamics.algorithms.free_bodies import turning
from dalembert.linear import sparse_product
from dalembert.linear.zeros import is_zero
from dalembert.math import sqrt, where
from dalembert.model import Actuator, Body, Frame, Model
from dalembert.model.mujoco import Mujoco, MujocoEquality, MujocoJoint, MujocoTendon, Softness
from dalembert.spatial import Pose, cross, so3
from dalembert.typing import Array

from .candidates import InverseMasses, body_of
from .rows import ConstraintBlock, simple_block

Coordinate = tuple[Any, np.ndarray]  # a length or angle, and its rates (nv,)


@dataclass(frozen=True)
class JointRow:
    """The coordinate of a joint with one freedom, its own or that of the joint that it follows."""

    joint: str

    def at(self, model: Model, q: Array) -> Coordinate:
        """At q (nq,)."""
        body, rates = model.joint(self.joint), np.zeros(model.nv, object)
        ratio = 1.0 if body.joint.mimic is None else body.joint.mimic.ratio
        rates[body.v.start] = ratio
        return body.joint.coordinate(q[body.q])[0], rates


@dataclass(frozen=True)
class TendonRow:
    """The length of a tendon."""

    joints: tuple[tuple[str, float], ...]
    path: tuple[str, ...]

    def at(self, model: Model, q: Array) -> Coordinate:
        """At q (nq,)."""
        return transmission(model, Actuator(name="tendon", tendon=self.joints, path=self.path), q)


@dataclass(frozen=True)
class BallRow:
    """The angle by which a ball joint is turned."""

    joint: str

    def at(self, model: Model, q: Array) -> Coordinate:
        """At q (nq,)."""
        body, rates = model.joint(self.joint), np.zeros(model.nv, object)
        turn = so3.quaternion_log(q[body.q])
        angle = sqrt(turn @ turn)
        rates[body.v] = turn / where(angle < 1e-12, 1.0, angle)
        return angle, rates


@dataclass(frozen=True)
class FreedomRow:
    """One velocity of a joint with several, which has no coordinate."""

    freedom: int

    def at(self, model: Model, q: Array) -> Coordinate:
        """Return 0 and the rates."""
        rates = np.zeros(model.nv, object)
        rates[self.freedom] = 1.0
        return 0.0, rates


Row = JointRow | TendonRow | BallRow | FreedomRow


@dataclass(frozen=True)
class SoftLimitRow:
    """lower ≤ x ≤ upper, felt from `margin` on."""

    row: Row
    lower: float
    upper: float
    margin: float
    softness: Softness
    weight: float

    def blocks(self, model: Model, q: Array, v: Array, shortest: float) -> Iterator[ConstraintBlock]:
        """Rows of the nearer limit, or of both where their margins meet."""
        x, rates = self.row.at(model, q)
        ends = [(sign, end) for sign, end in ((1.0, self.lower), (-1.0, self.upper)) if np.isfinite(end)]
        sides = [(sign, sign * (x - end)) for sign, end in ends]
        if len(sides) == 2 and self.upper - self.lower >= 2.0 * self.margin:
            (_, low), (_, high) = sides
            sides = [(where(low < high, 1.0, -1.0), where(low < high, low, high))]
        for sign, distance in sides:
            J = np.array([sign * r if not is_zero(r) else 0.0 for r in rates], object)[None]
            deep = distance - self.margin
            yield simple_block("limit", J, v, [deep], deep, self.softness, [self.weight], shortest, deep < 0.0)


@dataclass(frozen=True)
class SoftFrictionRow:
    """A force up to `most` against the rate of x."""

    row: Row
    most: float
    softness: Softness
    weight: float

    def blocks(self, model: Model, q: Array, v: Array, shortest: float) -> Iterator[ConstraintBlock]:
        """One row."""
        J = np.array(self.row.at(model, q)[1], object)[None]
        yield simple_block("friction", J, v, [0.0], 0.0, self.softness, [self.weight], shortest, most=self.most)


@dataclass(frozen=True)
class SoftLaw:
    """x − reference = a polynomial of y − reference; other: None, then the polynomial is its first number."""

    row: Row
    reference: float
    other: Row | None
    other_reference: float
    coefficients: tuple[float, ...]
    softness: Softness
    weight: float

    def blocks(self, model: Model, q: Array, v: Array, shortest: float) -> Iterator[ConstraintBlock]:
        """One row."""
        x, J = self.row.at(model, q)
        value: Any = self.coefficients[0]
        J = np.array(J, object)
        if self.other is not None:
            y, rates = self.other.at(model, q)
            value, slope = _polynomial(self.coefficients, y - self.other_reference)
            J = np.array([a if is_zero(b) else a - slope * b for a, b in zip(J, rates, strict=True)], object)
        missed = x - self.reference - value
        yield simple_block("equal", J[None], v, [missed], missed, self.softness, [self.weight], shortest)


@dataclass(frozen=True)
class SoftTie:
    """Two places of links that are held together; scale: of the rotation as well, None: of the points alone."""

    first: int
    second: int
    placement_first: Pose
    placement_second: Pose
    scale: float | None
    softness: Softness
    linear: float
    angular: float

    def blocks(self, model: Model, q: Array, v: Array, shortest: float) -> Iterator[ConstraintBlock]:
        """Three rows of positions, and three of half the rotation."""
        X = poses(model, q)
        ends = (self.first, self.placement_first), (self.second, self.placement_second)
        X_a, X_b = (place if body < 0 else X[body] @ place for body, place in ends)
        J, bias = np.zeros((6, model.nv), object), np.zeros(6)
        for sign, (body, place), end in ((1.0, ends[0], X_a), (-1.0, ends[1], X_b)):
            if body >= 0:
                J = J + sign * point_motion(model, X, q, body, end.p)
                frame = Frame("", body, place)
                bias = bias + sign * acceleration(model, q, v, -turning(model, v), frame)
        deviation = list(X_a.p - X_b.p)
        rows, weights, drift = J[3:], [self.linear] * 3, bias[3:]
        if self.scale is not None:
            turn = so3.to_quaternion(X_b.R.T @ X_a.R)
            deviation += [self.scale * x for x in turn[1:]]
            rows = np.concatenate([rows, self.scale * sparse_product(_half(turn) @ X_b.R.T, J[:3])])
            w_b = np.zeros(3)
            if self.second >= 0:
                w_b = velocity(model, q, v, Frame("", self.second, self.placement_second))[:3]
            weights += [self.angular] * 3
            w = sparse_product(J[:3], v)
            u = X_b.R.T @ w
            turning_rate = np.concatenate([[-0.5 * (turn[1:] @ u)], _half(turn) @ u])
            turned = _half(turning_rate) @ u + _half(turn) @ (X_b.R.T @ (bias[:3] - cross(w_b, w)))
            drift = np.concatenate([drift, self.scale * turned])
        size = sqrt(sum(x * x for x in deviation))
        block = simple_block("equal", rows, v, deviation, size, self.softness, weights, shortest)
        yield block._replace(reference=block.reference - drift)


Soft = SoftLimitRow | SoftFrictionRow | SoftLaw | SoftTie


def _half(turn: Array) -> Array:
    """(3, 3): rates of the vector part of the quaternion R_bᵀ R_a per angular velocity of a against b, in b's axes."""
    w, x, y, z = turn
    return 0.5 * np.array([[w, z, -y], [-z, w, x], [y, -x, w]])


def _polynomial(coefficients: tuple[float, ...], x: Any) -> tuple[Any, Any]:
    """Value and slope; powers without a coefficient are left out."""
    value: Any = 0.0
    slope: Any = 0.0
    used = max((k for k, c in enumerate(coefficients) if c), default=0)
    for c in reversed(coefficients[: used + 1]):
        slope = slope * x + value
        value = value * x + c
    return value, slope


def soft_rows(model: Model, mujoco: Mujoco, weights: InverseMasses) -> tuple[Soft, ...]:
    """Return the soft rows of a model, apart from contacts."""
    rows: list[Soft] = []
    for body in model.independent:
        rows += _of_joint(body, mujoco.joint(body.joint.name) or MujocoJoint(body.joint.name, ()), mujoco, weights)
    tendons = {tendon.name: tendon for tendon in mujoco.tendons}
    for tendon in mujoco.tendons:
        rows += _of_tendon(model, tendon, weights)
    if mujoco.option.equalities:
        for each in mujoco.equalities:
            rows += _EQUALITIES[each.kind](model, mujoco, each, tendons, weights)
    return tuple(rows)


def _of_joint(body: Body, stated: MujocoJoint, mujoco: Mujoco, weights: InverseMasses) -> Iterator[Soft]:
    joint, begin = body.joint, body.v.start
    if joint.nv == 1:
        lower, upper = float(joint.lower[0]), float(joint.upper[0])
        weight = float(weights.freedoms[begin])
        if mujoco.option.limits and (np.isfinite(lower) or np.isfinite(upper)):
            yield SoftLimitRow(JointRow(joint.name), lower, upper, stated.margin, stated.limit, weight)
        if joint.friction[0]:
            yield SoftFrictionRow(JointRow(joint.name), float(abs(joint.friction[0])), stated.friction, weight)
        return
    if stated.largest_angle is not None and mujoco.option.limits:
        weight = float(weights.freedoms[begin])
        yield SoftLimitRow(BallRow(joint.name), -np.inf, stated.largest_angle, stated.margin, stated.limit, weight)
    for k, level in enumerate(joint.friction):
        if level:
            row, weight = FreedomRow(begin + k), float(weights.freedoms[begin + k])
            yield SoftFrictionRow(row, float(abs(level)), stated.friction, weight)


def _of_tendon(model: Model, tendon: MujocoTendon, weights: InverseMasses) -> Iterator[Soft]:
    row = TendonRow(tendon.joints, tendon.path)
    weight = _weight(model, row, weights)
    if tendon.range is not None:
        yield SoftLimitRow(row, *tendon.range, tendon.margin, tendon.limit, weight)
    if tendon.frictionloss:
        yield SoftFrictionRow(row, tendon.frictionloss, tendon.friction, weight)


def _weight(model: Model, row: Row, weights: InverseMasses) -> float:
    """The inverse mass along a coordinate in the first state."""
    return weights.along(np.array(row.at(model, weights.q)[1], float))


def _tied_joints(
    model: Model, mujoco: Mujoco, each: MujocoEquality, tendons: dict[str, MujocoTendon], weights: InverseMasses
) -> Iterator[Soft]:
    names = [name for name in (each.a, each.b) if name]
    if any(model.joint(name).joint.mimic is not None for name in names):
        return  # it shares the coordinate of the joint that it follows
    references, total = [], 0.0
    for name in names:
        body = model.joint(name)
        references.append(float(weights.q[body.q][0]))
        total += float(weights.freedoms[body.v.start])
    other = JointRow(each.b) if each.b else None
    yield SoftLaw(JointRow(each.a), references[0], other, references[-1], each.coefficients, each.softness, total)


def _tied_tendons(
    model: Model, mujoco: Mujoco, each: MujocoEquality, tendons: dict[str, MujocoTendon], weights: InverseMasses
) -> Iterator[Soft]:
    parts = [tendons[name] for name in (each.a, each.b) if name]
    if any(model.joint(name).joint.mimic is not None for tendon in parts for name, _ in tendon.joints):
        return  # joints that follow each other keep its length
    rows = [TendonRow(tendon.joints, tendon.path) for tendon in parts]
    total = sum(_weight(model, row, weights) for row in rows)
    other = rows[1] if len(rows) > 1 else None
    yield SoftLaw(rows[0], parts[0].reference, other, parts[-1].reference, each.coefficients, each.softness, total)


def _tied_links(
    model: Model, mujoco: Mujoco, each: MujocoEquality, tendons: dict[str, MujocoTendon], weights: InverseMasses
) -> Iterator[Soft]:
    places, linear, angular = [], 0.0, 0.0
    for link, placement in ((each.a, each.placement_a), (each.b, each.placement_b)):
        body, still = body_of(model, link), Pose.identity()
        frame = next((frame for frame in model.frames if frame.name == link), None)
        inside = (still if frame is None else frame.placement) @ (placement or still)
        places.append((-1 if body is None else body.index, inside))
        lin, ang = weights.links.get(link, (0.0, 0.0))
        linear, angular = linear + lin, angular + ang
    (first, X_a), (second, X_b) = places
    if first == second:
        return
    scale = each.torque_scale if each.kind == "weld" else None
    yield SoftTie(first, second, X_a, X_b, scale, each.softness, linear, angular)


_EQUALITIES: dict[str, Callable[..., Iterator[Soft]]] = {
    "joint": _tied_joints,
    "tendon": _tied_tendons,
    "connect": _tied_links,
    "weld": _tied_links,
}
