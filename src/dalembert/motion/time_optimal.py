"""The shortest time along a path within limits of velocity, acceleration, jerk and torque."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, renamed
from dalembert.robot import Robot

from . import reachable
from .along import HOLDS, AlongPath, LimitedColumns
from .check import positions
from .motion import PolynomialMotion
from .points import allowed, configurations, freedom_names, per_freedom
from .polynomials import Polynomials
from .splines import straight, via

GRID = 200  # intervals of a path, at least
SLACK = 1e-6  # relative excess of a torque that is rounding of what was interpolated
ROUNDS = 20  # of drawing in limits until they hold between the points as well
SETTLING = 3  # of them, first, that follow the speed that viscous friction depends on


@dataclass(frozen=True)
class Limits:
    """Limits of a motion: velocity, acceleration, jerk, torque: a number or (nv,); None: no limit.

    With a robot, its limits take the place of None, for acceleration the lower one of its acceleration and
    deceleration; np.inf lifts them.
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
    """A path in intervals: its grid; whether its direction jumps at the start of each (N,); its piece of the path."""

    grid: reachable.Grid
    corners: np.ndarray
    piece: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """s (N,) at the start of each interval."""
        return np.cumsum(self.grid.lengths) - self.grid.lengths


class Fastest(NamedTuple):
    """The fastest motion without a limit of jerk, and ṡ² (N + 1,) at the ends of its intervals."""

    motion: PolynomialMotion
    x: np.ndarray


def path(points: Any, *, corners: bool = False, robot: Robot | None = None) -> PolynomialMotion:
    """A path through points (k, nq) for `time_optimal`, over the length of the way from point to point.

    By default the natural cubic spline; corners=True: straight lines, with a stop at each corner.
    """
    places = configurations("path", "points", points, robot)
    keep = np.concatenate([[True], np.any(np.diff(places, axis=0) != 0.0, axis=1)])
    places = places[keep]
    if len(places) < 2:
        raise DalembertError("path: there is one point only, expected two or more different ones")
    steps = np.diff(places, axis=0) if robot is None else robot.difference(places[:-1], places[1:])
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])
    if corners:
        return straight("path", places, s, robot)
    return via(places, s, np.full((len(places), steps.shape[1]), np.nan), robot=robot)


_through = path  # where a parameter has this name


@renamed(route="path")
def time_optimal(path: Any, limits: Limits | Robot, *, grid: int = GRID) -> PolynomialMotion:
    """The fastest motion along a path, from rest to rest, within limits at every instant.

    path: points (k, nq), or a motion whose path is followed (`motion.path`, `via`, `spline` …); where its direction
    jumps, the robot stops. limits: `motion.Limits(velocity=…, acceleration=…, jerk=…, torque=…, robot=…)`, or a robot
    for its limits. grid: number of intervals, at least: the finer, the nearer to the shortest
    time. Limits of velocity and acceleration hold at every instant by construction; torques, and rates of joints with
    quaternions, are checked at ten instants of each interval and drawn in until they hold there. With a limit of jerk,
    the motion is sought by another method (`third_order`), and slowed down as a whole by the last few parts in 1e4 that
    limits are passed between its points.
    """
    allowed = Limits(robot=limits) if isinstance(limits, Robot) else limits
    if not isinstance(allowed, Limits):
        raise DalembertError("time_optimal: limits are motion.Limits(velocity=…, acceleration=…) or a robot")
    line = path if isinstance(path, PolynomialMotion) else _through(path, robot=allowed.robot)
    bounds = _bounds(allowed, line)
    _refuse_places(line, allowed.robot)
    cut = divided(line, grid)
    names = freedom_names(allowed.robot, line.nv)
    fastest = _fastest(line, cut, bounds, allowed.robot, names)
    if not np.isfinite(bounds.jerk).any():
        return fastest.motion
    if cut.corners.any():  # averaging in time must not reach across a stop
        parts = _between_stops(line)
        counts = [max(2, int(np.ceil(grid * part.duration / line.duration))) for part in parts]
        return _joined([time_optimal(part, allowed, grid=n) for part, n in zip(parts, counts, strict=True)])
    from .jerk import limited

    return limited(fastest, line, cut, bounds, allowed.robot)


def _between_stops(line: PolynomialMotion) -> list[PolynomialMotion]:
    """The parts of a path between its corners."""
    curves, anchors = line.curves, line.anchors
    ends = [0, *(np.flatnonzero(line.corners) + 1), len(curves.coefficients)]
    return [
        PolynomialMotion(
            Polynomials(curves.times[i : j + 1] - curves.times[i], curves.coefficients[i:j]),
            line.robot,
            None if anchors is None else anchors[i:j],
        )
        for i, j in pairwise(ends)
    ]


def _joined(moves: list[PolynomialMotion]) -> PolynomialMotion:
    """Motions one after the other, each of the same degree."""
    starts = np.cumsum([0.0, *(move.duration for move in moves)])
    times = [move.curves.times[1:] + start for move, start in zip(moves, starts[:-1], strict=True)]
    coefficients = np.concatenate([move.curves.coefficients for move in moves])
    anchors = None if moves[0].anchors is None else np.concatenate([move.anchors for move in moves])
    curves = Polynomials(np.concatenate([[0.0], *times]), coefficients)
    return PolynomialMotion(curves, moves[0].robot, anchors, "time_optimal")


def _bounds(limits: Limits, line: PolynomialMotion) -> Bounds:
    """Limits as arrays, with those of the robot."""
    robot = limits.robot
    if robot is not None:
        line.of(robot, "time_optimal")
    names = freedom_names(robot, line.nv)
    of_robot = {"velocity": "velocity", "acceleration": "steepest", "jerk": "jerk", "torque": "effort"}
    chosen = {name: allowed(word, getattr(limits, name), robot) for name, word in of_robot.items()}
    none = np.full(line.nv, np.inf)
    bounds = Bounds(*(none if x is None else per_freedom("time_optimal", name, x, names) for name, x in chosen.items()))
    if robot is None and limits.torque is not None:
        raise DalembertError("time_optimal: limits of torque need the robot: Limits(…, robot=robot)")
    if np.isinf(bounds.acceleration).all() and np.isinf(bounds.torque).all():
        raise DalembertError("time_optimal: no joint has a limit of acceleration or torque: pass one in Limits(…)")
    if not line.curves.coefficients[:, 1:].any():
        raise DalembertError("time_optimal: the path stays at one point")
    return bounds


def _refuse_places(line: PolynomialMotion, robot: Robot | None) -> None:
    """Raise where the path leaves the range of a joint."""
    if robot is None:
        return
    units = tuple(unit for body in robot.model.independent for unit in body.joint.units)
    for violation in positions(line, robot, robot.model.freedom_names, units):
        raise DalembertError(
            f"time_optimal: the limits exclude the path: {100.0 * violation.time / line.duration:.3g} % of the way "
            f"along it, {violation.joint} is at {violation.value:.6g} {violation.unit}, beyond its limit of "
            f"{violation.limit:.6g}: move its points"
        )


def divided(line: PolynomialMotion, grid: int) -> Division:
    """A path in at least `grid` intervals, at least two in each of its pieces; knots are ends of intervals."""
    curves = line.curves
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
    corners[first[:-1]] = line.corners
    return Division(reachable.Grid(curves.coefficients[piece], place), corners, piece)


def _fastest(
    line: PolynomialMotion, cut: Division, bounds: Bounds, robot: Robot | None, names: tuple[str, ...]
) -> Fastest:
    """The fastest motion within limits of velocity, acceleration and torque."""
    caps = np.where(cut.corners, 0.0, reachable.FREE)
    caps[0] = 0.0
    polynomial = line.straight  # rates of others are no polynomials: they get rows of their own
    speed, force = (
        np.where(polynomial, np.minimum(x * HOLDS, reachable.FREE), reachable.FREE)
        for x in (bounds.velocity, bounds.acceleration)
    )
    columns = LimitedColumns.of(line, bounds, robot)
    if not len(columns.freedoms):
        profile = reachable.solve(cut.grid, speed, force, None, caps)
        _refuse(profile, cut, None, names)
        return Fastest(_moving(profile, line, cut, robot), profile.x)
    rows = AlongPath.of(line, cut, columns, bounds, robot)
    for number in range(ROUNDS):
        profile = reachable.solve(cut.grid, speed, force, rows.rows(), np.minimum(caps, rows.caps()))
        _refuse(profile, cut, rows, names)
        motion = _moving(profile, line, cut, robot)
        excess = rows.excess(motion)
        if excess.max() <= SLACK:
            return Fastest(motion, profile.x)
        if rows.viscous is not None:
            rows = rows.at_speed(profile.x)
        if rows.viscous is None or number >= SETTLING:
            rows = rows.drawn_in(excess)
    joint = names[columns.freedoms[int(np.argmax(excess.max(axis=0)))]]
    raise DalembertError(
        f"time_optimal: {joint} exceeds a limit by {100 * excess.max():.2g} % between grid points: raise grid"
    )


def _moving(profile: reachable.Profile, line: PolynomialMotion, cut: Division, robot: Robot | None) -> PolynomialMotion:
    times = np.zeros(len(profile.durations) + 1)
    np.cumsum(profile.durations, out=times[1:])
    anchors = None if line.anchors is None else line.anchors[cut.piece]
    return PolynomialMotion(Polynomials(times, profile.coefficients), robot, anchors, "time_optimal")


def _refuse(profile: reachable.Profile, cut: Division, rows: AlongPath | None, names: tuple[str, ...]) -> None:
    """Raise where no speed is allowed, and say which joint cannot even rest there."""
    least, greatest = profile.reachable.T
    if greatest.min() >= 0.0 and least[0] <= 0.0 and profile.durations.max() < 0.5 * reachable.FREE:
        return
    stuck = np.flatnonzero(greatest[:-1] < 0.0)
    i = int(stuck[-1]) if len(stuck) else 0
    total = cut.starts[-1] + cut.grid.lengths[-1]
    where = f"{100.0 * cut.starts[i] / total:.3g} % of the way along the path"
    if rows is not None:
        share = np.abs(rows.static).max(axis=1) / rows.limit
        k = int(np.argmax(share.max(axis=0)))
        if share[:, k].max() > 1.0:
            i = int(np.argmax(share[:, k]))
            where = f"{100.0 * cut.starts[i] / total:.3g} % of the way along the path"
            raise DalembertError(
                f"time_optimal: the limits exclude the path: {where}, {names[rows.columns.freedoms[k]]} takes "
                f"{rows.limit[k] * share[i, k]:.4g} only to hold its place, and its limit is {rows.limit[k]:.4g}"
            )
    raise DalembertError(f"time_optimal: the limits exclude the path: {where} no speed is allowed")
