"""The shortest time along a path within limits of velocity, acceleration, jerk and torque."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from . import reachable
from .motion import PolynomialMotion
from .points import configurations, freedom_names, per_freedom
from .polynomials import Polynomials, bernstein
from .splines import via

GRID = 200  # intervals of a path, at least
FINE = 10  # instants of each interval at which torques are checked
SLACK = 1e-6  # relative excess of a torque that is rounding of what was interpolated
ROUNDS = 20  # of drawing in torque limits until they hold between the points as well
SETTLING = 3  # of them, first, that follow the speed that viscous friction depends on
HOLDS = 1.0 - 1e-9  # share of each limit that is used, so that rounding does not exceed it


@dataclass(frozen=True)
class Limits:
    """Limits of a motion: velocity, acceleration, jerk, torque: a number or (nv,); None: no limit.

    With a robot, its limits of velocity and effort take the place of None; np.inf lifts them.
    """

    velocity: Any = None
    acceleration: Any = None
    jerk: Any = None
    torque: Any = None
    robot: Robot | None = None


class Bounds(NamedTuple):
    """Limits (nv,) of velocity, acceleration, jerk and torque; infinite where there are none."""

    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    torque: np.ndarray


class Division(NamedTuple):
    """A path in intervals: its grid, and whether its direction jumps at the start of each (N,)."""

    grid: reachable.Grid
    corners: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """s (N,) at the start of each interval."""
        return np.cumsum(self.grid.lengths) - self.grid.lengths


def path(points: Any, *, corners: bool = False, robot: Robot | None = None) -> PolynomialMotion:
    """A path through points (k, nq) for `time_optimal`, over the length of the way from point to point.

    By default the natural cubic spline; corners=True: straight lines, with a stop at each corner.
    """
    places = configurations("path", "points", points, robot)
    keep = np.concatenate([[True], np.any(np.diff(places, axis=0) != 0.0, axis=1)])
    places = places[keep]
    if len(places) < 2:
        raise DalembertError("path: there is one point only, expected two or more different ones")
    if robot is not None and not robot.model.flat:
        raise DalembertError(f"path: robot {robot.name!r} has quaternions: move them with motion.spline")
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1))])
    if corners:
        straight = np.stack([places[:-1], np.diff(places, axis=0)], axis=1)
        return PolynomialMotion(Polynomials(s, straight), robot, title="path")
    return via(places, s, np.full(places.shape, np.nan), robot=robot)


def time_optimal(route: Any, limits: Limits | Robot, *, grid: int = GRID) -> PolynomialMotion:
    """The fastest motion along a path, from rest to rest, within limits at every instant.

    route: points (k, nq), or a motion whose path is followed (`motion.path`, `via`, `spline` …); where its direction
    jumps, the robot stops. limits: `motion.Limits(velocity=…, acceleration=…, jerk=…, torque=…, robot=…)`, or a robot
    for its limits of velocity and torque. grid: number of intervals, at least: the finer, the nearer to the shortest
    time. Limits of velocity and acceleration hold at every instant by construction; torques are checked at
    ten instants of each interval and drawn in until they hold there; a jerk limit is kept by smoothing the motion in
    time, which takes somewhat longer than the shortest.
    """
    allowed = Limits(robot=limits) if isinstance(limits, Robot) else limits
    if not isinstance(allowed, Limits):
        raise DalembertError("time_optimal: limits are motion.Limits(velocity=…, acceleration=…) or a robot")
    line = route if isinstance(route, PolynomialMotion) else path(route, robot=allowed.robot)
    if line.anchors is not None:
        raise DalembertError("time_optimal: the path has joints with quaternions: their motion is motion.spline")
    bounds = _bounds(allowed, line)
    cut = divided(line.curves, grid)
    names = freedom_names(allowed.robot, line.nv)
    motion = _fastest(line, cut, bounds, allowed.robot, names)
    if not np.isfinite(bounds.jerk).any():
        return motion
    if cut.corners.any():  # averaging in time must not reach across a stop
        parts = _between_stops(line)
        counts = [max(2, int(np.ceil(grid * part.duration / line.duration))) for part in parts]
        return _joined([time_optimal(part, allowed, grid=n) for part, n in zip(parts, counts, strict=True)])
    from .jerk import smoothed

    return smoothed(motion, line, cut, bounds, allowed.robot)


def _between_stops(line: PolynomialMotion) -> list[PolynomialMotion]:
    """The parts of a path between its corners."""
    curves = line.curves
    ends = [0, *(np.flatnonzero(curves.corners) + 1), len(curves.coefficients)]
    return [
        PolynomialMotion(Polynomials(curves.times[i : j + 1] - curves.times[i], curves.coefficients[i:j]), line.robot)
        for i, j in pairwise(ends)
    ]


def _joined(moves: list[PolynomialMotion]) -> PolynomialMotion:
    """Motions one after the other."""
    starts = np.cumsum([0.0, *(move.duration for move in moves)])
    times = [move.curves.times[1:] + start for move, start in zip(moves, starts[:-1], strict=True)]
    coefficients = np.concatenate([move.curves.coefficients for move in moves])
    return PolynomialMotion(
        Polynomials(np.concatenate([[0.0], *times]), coefficients), moves[0].robot, title="time_optimal"
    )


def _bounds(limits: Limits, line: PolynomialMotion) -> Bounds:
    """Limits as arrays, with those of the robot."""
    robot = limits.robot
    if robot is not None:
        line.of(robot, "time_optimal")
    names = freedom_names(robot, line.nv)
    velocity, torque = limits.velocity, limits.torque
    if robot is not None:
        velocity = robot.limits.velocity if velocity is None else velocity
        torque = robot.limits.effort if torque is None else torque
    chosen = (("velocity", velocity), ("acceleration", limits.acceleration), ("jerk", limits.jerk), ("torque", torque))
    none = np.full(line.nv, np.inf)
    bounds = Bounds(*(none if x is None else per_freedom("time_optimal", name, x, names) for name, x in chosen))
    if robot is None and torque is not None:
        raise DalembertError("time_optimal: limits of torque need the robot: Limits(…, robot=robot)")
    if np.isinf(bounds.acceleration).all() and np.isinf(bounds.torque).all():
        raise DalembertError("time_optimal: no joint has a limit of acceleration or torque: pass one in Limits(…)")
    if not line.curves.coefficients[:, 1:].any():
        raise DalembertError("time_optimal: the path stays at one point")
    return bounds


def divided(curves: Polynomials, grid: int) -> Division:
    """A path in at least `grid` intervals, at least two in each of its pieces; knots are ends of intervals."""
    if not isinstance(grid, (int, np.integer)) or grid < 1:
        raise DalembertError(f"time_optimal: grid is {grid!r}, expected a number of intervals above 0")
    lengths = curves.times[1:] - curves.times[:-1]
    counts = np.maximum(2, np.ceil(grid / (curves.times[-1] * (1.0 + 1e-9)) * lengths)).astype(int)
    piece = np.arange(len(counts)).repeat(counts)
    first = counts.cumsum()
    place = np.empty((len(piece), 3))
    place[:, 1] = (1.0 / counts)[piece]
    place[:, 0] = (np.arange(len(piece)) - (first - counts)[piece]) * place[:, 1]
    place[:, 2] = (lengths / counts)[piece]
    corners = np.zeros(len(piece), bool)
    corners[first[:-1]] = curves.corners
    return Division(reachable.Grid(curves.coefficients[piece], place), corners)


def _fastest(
    line: PolynomialMotion, cut: Division, bounds: Bounds, robot: Robot | None, names: tuple[str, ...]
) -> PolynomialMotion:
    """The fastest motion within limits of velocity, acceleration and torque."""
    caps = np.where(cut.corners, 0.0, reachable.FREE)
    caps[0] = 0.0
    speed, force = (np.minimum(x * HOLDS, reachable.FREE) for x in (bounds.velocity, bounds.acceleration))
    limited = np.flatnonzero(np.isfinite(bounds.torque)) if robot is not None else np.zeros(0, int)
    if robot is None or not len(limited):
        profile = reachable.solve(cut.grid, speed, force, None, caps)
        _refuse(profile, cut, None, names)
        return _moving(profile, robot)
    torques = Torques.along(robot, line, cut, limited, bounds.torque[limited])
    for number in range(ROUNDS):
        profile = reachable.solve(cut.grid, speed, force, torques.rows(), caps)
        _refuse(profile, cut, torques, names)
        motion = _moving(profile, robot)
        excess = torques.excess(motion)
        if excess.max() <= SLACK:
            return motion
        if torques.viscous is not None:
            torques = torques.at_speed(profile.x)
        if torques.viscous is None or number >= SETTLING:
            torques = torques.drawn_in(excess)
    joint = names[limited[int(np.argmax(excess.max(axis=0)))]]
    raise DalembertError(
        f"time_optimal: the torque of {joint} exceeds its limit by {100 * excess.max():.2g} % between grid points: "
        "raise grid"
    )


def _moving(profile: reachable.Profile, robot: Robot | None) -> PolynomialMotion:
    times = np.zeros(len(profile.durations) + 1)
    np.cumsum(profile.durations, out=times[1:])
    return PolynomialMotion(Polynomials(times, profile.coefficients), robot, title="time_optimal")


def _refuse(profile: reachable.Profile, cut: Division, torques: Torques | None, names: tuple[str, ...]) -> None:
    """Raise where no speed is allowed, and say which joint cannot even rest there."""
    least, greatest = profile.reachable.T
    if greatest.min() >= 0.0 and least[0] <= 0.0 and profile.durations.max() < 0.5 * reachable.FREE:
        return
    stuck = np.flatnonzero(greatest[:-1] < 0.0)
    i = int(stuck[-1]) if len(stuck) else 0
    total = cut.starts[-1] + cut.grid.lengths[-1]
    where = f"{100.0 * cut.starts[i] / total:.3g} % of the way along the path"
    if torques is not None:
        share = np.abs(torques.static).max(axis=1) / torques.limit
        k = int(np.argmax(share.max(axis=0)))
        if share[:, k].max() > 1.0:
            i = int(np.argmax(share[:, k]))
            where = f"{100.0 * cut.starts[i] / total:.3g} % of the way along the path"
            raise DalembertError(
                f"time_optimal: the limits exclude the path: {where}, {names[torques.joints[k]]} takes "
                f"{torques.limit[k] * share[i, k]:.4g} only to hold its place, and its limit is {torques.limit[k]:.4g}"
            )
    raise DalembertError(f"time_optimal: the limits exclude the path: {where} no speed is allowed")


@dataclass(frozen=True, eq=False)
class Torques:
    """Torques of limited joints along a path: τ = m s̈ + c ṡ² + g + f ṡ, in each interval at three points.

    m, c, static (N, 3, k): of inertia, of centrifugal and Coriolis forces, of gravity, springs and dry friction;
    viscous (N, 3, k), or None; joints (k,); limit (k,), share (N, k): of the limit that may be used; x (N + 1,): the
    profile about which the root of viscous friction is replaced by its tangent.
    """

    robot: Robot
    joints: np.ndarray
    limit: np.ndarray
    lengths: np.ndarray
    m: np.ndarray
    c: np.ndarray
    static: np.ndarray
    viscous: np.ndarray | None
    share: np.ndarray
    x: np.ndarray | None = None

    @staticmethod
    def along(robot: Robot, line: PolynomialMotion, cut: Division, joints: np.ndarray, limit: np.ndarray) -> Torques:
        """By inverse dynamics at the ends and in the middle of every interval, in one batch."""
        length = cut.grid.lengths[:, None]
        s = cut.starts[:, None] + length * np.array([0.0, 0.5, 1.0])
        inner = np.clip(s, s[:, :1] + 1e-9 * length, s[:, 2:] - 1e-9 * length)  # on this side of corners
        q, first, second = (line.curves(inner, order) for order in range(3))
        none = np.zeros_like(q)
        weight = robot.inverse_dynamics(q, none, none)
        inertia = robot.inverse_dynamics(q, none, first) - weight
        # friction is odd in the velocity, centrifugal and Coriolis forces are even
        turning = 0.5 * (robot.inverse_dynamics(q, first, second) + robot.inverse_dynamics(q, -first, second)) - weight
        joints_of = [body.joint for body in robot.model.independent]
        dry = np.concatenate([joint.friction for joint in joints_of])
        damping = np.concatenate([joint.damping for joint in joints_of])
        static = weight + dry * np.sign(first)
        viscous = damping * first
        inertia, turning, static = (x[..., joints] for x in (inertia, turning, static))
        slow = viscous[..., joints] if damping[joints].any() else None
        share = np.full((len(q), len(joints)), HOLDS)
        return Torques(robot, joints, limit, cut.grid.lengths, inertia, turning, static, slow, share)

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
        return np.stack([alpha, beta, -level, half], axis=1).reshape(len(m), 4, -1)

    def at_speed(self, x: np.ndarray) -> Torques:
        """With viscous friction about another profile, half way to it from the last."""
        return replace(self, x=x if self.x is None else 0.5 * (self.x + x))

    def excess(self, motion: PolynomialMotion) -> np.ndarray:
        """Relative excess (N, k) of the torque over its limit in each interval, at ten instants of each."""
        times = motion.curves.times
        t = times[:-1, None] + np.diff(times)[:, None] * np.linspace(0.0, 1.0, FINE + 1)
        inner = np.clip(t, times[:-1, None] * (1 + 1e-15), times[1:, None] * (1 - 1e-15))
        tau = self.robot.inverse_dynamics(*motion.at(inner))[..., self.joints]
        return np.maximum(np.abs(tau).max(axis=1) / self.limit - 1.0, 0.0)

    def drawn_in(self, excess: np.ndarray) -> Torques:
        """With less of the limits in and beside intervals where they were exceeded."""
        spread = excess.copy()
        spread[1:] = np.maximum(spread[1:], excess[:-1])
        spread[:-1] = np.maximum(spread[:-1], excess[1:])
        return replace(self, share=self.share * (1.0 - 1.05 * np.minimum(spread, 0.5)))
