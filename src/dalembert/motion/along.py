"""Quantities that are no polynomials along a path: torques, and the rates of joints with quaternions.

Each is τ = m s̈ + c ṡ² + g + f ṡ, with m, c, g and f of the place on the path: of a torque they are inertia, centrifugal
and Coriolis forces, gravity with dry friction, and viscous friction; of an acceleration the path's first and second
derivative; of a squared velocity c is the square of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.robot import Robot

from .manifold import Displaced
from .motion import PolynomialMotion
from .polynomials import bernstein
from .reachable import FREE

if TYPE_CHECKING:
    from .time_optimal import Bounds, Division

FINE = 10  # instants of each interval at which limits are checked
HOLDS = 1.0 - 1e-9  # share of each limit that is used, so that rounding does not exceed it


class TorqueTerms(NamedTuple):
    """Torques (…, nv) along a path: m s̈ + c ṡ² + static + viscous ṡ."""

    m: np.ndarray
    c: np.ndarray
    static: np.ndarray
    viscous: np.ndarray

    @staticmethod
    def along(robot: Robot, path: Displaced) -> TorqueTerms:
        """By inverse dynamics; path: q and its derivatives by s, as those of a motion with ṡ = 1."""
        q, first, second = path
        none = np.zeros_like(first)
        weight = robot.inverse_dynamics(q, none, none)
        inertia = robot.inverse_dynamics(q, none, first) - weight
        # friction is odd in the velocity, centrifugal and Coriolis forces are even
        turning = 0.5 * (robot.inverse_dynamics(q, first, second) + robot.inverse_dynamics(q, -first, second)) - weight
        joints = [body.joint for body in robot.model.independent]
        dry = np.concatenate([joint.friction for joint in joints])
        damping = np.concatenate([joint.damping for joint in joints])
        return TorqueTerms(inertia, turning, weight + dry * np.sign(first), damping * first)


class LimitedColumns(NamedTuple):
    """Freedoms whose torque, acceleration and squared velocity are limited by such rows: indices (k,) of each."""

    torque: np.ndarray
    acceleration: np.ndarray
    velocity: np.ndarray

    @staticmethod
    def of(line: PolynomialMotion, bounds: Bounds, robot: Robot | None) -> LimitedColumns:
        """Torques of a robot; rates of joints with quaternions."""
        turning = ~line.straight
        return LimitedColumns(
            np.flatnonzero(np.isfinite(bounds.torque)) if robot is not None else np.zeros(0, int),
            np.flatnonzero(np.isfinite(bounds.acceleration) & turning),
            np.flatnonzero(np.isfinite(bounds.velocity) & turning),
        )

    @property
    def freedoms(self) -> np.ndarray:
        """Freedoms of each column."""
        return np.concatenate(self)

    def joined(self, torque: np.ndarray, acceleration: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Columns (…, k) of three arrays (…, nv)."""
        parts = zip((torque, acceleration, velocity), self, strict=True)
        return np.concatenate([array[..., chosen] for array, chosen in parts], axis=-1)


@dataclass(frozen=True, eq=False)
class AlongPath:
    """Limited quantities along a path, in each interval at three points.

    m, c, static (N, 3, k); viscous (N, 3, k), or None; columns: what they are; limit (k,), share (N, k): of the limit
    that may be used; x (N + 1,): the profile about which the root of viscous friction is replaced by its tangent.
    """

    robot: Robot | None
    columns: LimitedColumns
    limit: np.ndarray
    lengths: np.ndarray
    m: np.ndarray
    c: np.ndarray
    static: np.ndarray
    viscous: np.ndarray | None
    share: np.ndarray
    x: np.ndarray | None = None

    @staticmethod
    def of(
        line: PolynomialMotion, cut: Division, columns: LimitedColumns, bounds: Bounds, robot: Robot | None
    ) -> AlongPath:
        """At the ends and in the middle of every interval, in one batch."""
        length = cut.grid.lengths[:, None]
        s = cut.starts[:, None] + length * np.array([0.0, 0.5, 1.0])
        inner = np.clip(s, s[:, :1] + 1e-9 * length, s[:, 2:] - 1e-9 * length)  # on this side of corners
        path = line.at(inner)
        none = np.zeros_like(path.v)
        terms = TorqueTerms(none, none, none, none)
        if robot is not None and len(columns.torque):
            terms = TorqueTerms.along(robot, path)
        m, c = columns.joined(terms.m, path.v, none), columns.joined(terms.c, path.a, path.v**2)
        static, viscous = columns.joined(terms.static, none, none), columns.joined(terms.viscous, none, none)
        limit = columns.joined(bounds.torque, bounds.acceleration, bounds.velocity**2)
        share = np.full((len(s), len(limit)), HOLDS)
        slow = viscous if viscous.any() else None
        return AlongPath(robot, columns, limit, cut.grid.lengths, m, c, static, slow, share)

    def rows(self) -> np.ndarray:
        """Rows α, β, mid, half (N, 4, 4 k): Bernstein coefficients of τ, a cubic in σ, in x at both ends."""
        turning, static = self.c, self.static
        half = np.repeat((self.limit * self.share)[:, None], 4, axis=1)
        if self.viscous is not None and self.x is not None:
            # √x lies below its tangent at the speed of the last profile, by at most `under` at the ends of an interval
            ends = np.stack([self.x[:-1], self.x[1:]])[..., None, None]
            speed = np.sqrt(np.maximum(ends.mean(axis=0), 1e-12))
            under = np.max(0.5 * (ends / speed + speed) - np.sqrt(ends), axis=0)
            turning = turning + 0.5 * self.viscous / speed
            static = static + 0.5 * self.viscous * (speed - under)
            half -= 0.5 * np.abs(self.viscous).max(axis=1, keepdims=True) * under
        quadratic = np.array([[1.0, 0.0, 0.0], [-3.0, 4.0, -1.0], [2.0, -4.0, 2.0]])  # through three points
        m, c, g = (np.einsum("pi,nik->npk", quadratic, x) for x in (self.m, turning, static))
        rate = m / (2.0 * self.lengths[:, None, None])
        raised, later = np.zeros((2, len(m), 4, m.shape[2]))
        raised[:, :3], later[:, 1:] = c, c
        alpha, beta, level = raised - later, later.copy(), np.zeros_like(raised)
        alpha[:, :3] -= rate
        beta[:, :3] += rate
        level[:, :3] = g
        alpha, beta, level = (np.einsum("ij,njk->nik", bernstein(3), x) for x in (alpha, beta, level))
        alpha[:, 0, self._squares] = 0.0  # a bound of x at the begin alone: one of `caps`
        return np.stack([alpha, beta, -level, half], axis=1).reshape(len(m), 4, -1)

    @property
    def _squares(self) -> slice:
        """Columns of squared velocities."""
        return slice(len(self.limit) - len(self.columns.velocity), None)

    def caps(self) -> np.ndarray:
        """The greatest x (N,) at the begin of each interval that velocities allow."""
        square = self.c[:, 0, self._squares]
        with np.errstate(divide="ignore"):
            return np.min((self.limit * self.share)[:, self._squares] / square, axis=1, initial=FREE)

    def at_speed(self, x: np.ndarray) -> AlongPath:
        """With viscous friction about another profile, half way to it from the last."""
        return replace(self, x=x if self.x is None else 0.5 * (self.x + x))

    def excess(self, motion: PolynomialMotion) -> np.ndarray:
        """Relative excess (N, k) over the limit in each interval, at ten instants of each."""
        times = motion.curves.times
        t = times[:-1, None] + np.diff(times)[:, None] * np.linspace(0.0, 1.0, FINE + 1)
        state = motion.at(np.clip(t, times[:-1, None] * (1 + 1e-15), times[1:, None] * (1 - 1e-15)))
        tau = np.zeros_like(state.v)
        if self.robot is not None and len(self.columns.torque):
            tau = self.robot.inverse_dynamics(*state)
        values = self.columns.joined(tau, state.a, state.v**2)
        return np.maximum(np.abs(values).max(axis=1) / self.limit - 1.0, 0.0)

    def drawn_in(self, excess: np.ndarray) -> AlongPath:
        """With less of the limits in and beside intervals where they were exceeded."""
        spread = excess.copy()
        spread[1:] = np.maximum(spread[1:], excess[:-1])
        spread[:-1] = np.maximum(spread[:-1], excess[1:])
        return replace(self, share=self.share * (1.0 - 1.05 * np.minimum(spread, 0.5)))
