"""Motions that show all base parameters: finite Fourier series or moves from point to point, within the limits.

Swevers et al. 1997:

q_j(t) = c_j + s_j Σ_k [A_jk sin(k ω t) + B_jk cos(k ω t)] / (k ω). The scale s_j is the largest that keeps position,
velocity and acceleration of joint j within its limits at every instant, so that every choice of A and B is allowed, and
the optimiser is free. It minimises the condition number of the base regressor, columns scaled to unit length, or
another measure of how well the parameters show.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.logs import Trajectory, write_trajectory
from dalembert.model.keyframes import start_of
from dalembert.robot import Robot
from dalembert.robot.settings import Keywords, shared

from .base import base_of
from .columns import columns
from .optimum import Information, best_motion
from .series import (
    FINE,
    ExcitingMotion,
    Family,
    Fourier,
    JointLimits,
    PointToPoint,
    Series,
    best_phase,
    edge_of,
    joint_limits,
    quintic,
)

KINDS = ("fourier", "points")
CRITERIA = ("condition", "D", "A")
PLACES = 1000  # configurations among which the one is found that the motors hold most easily
INSIDE = 0.8  # share of the ranges in which it lies, so that there is room for a motion
SLOW = 0.05  # share of the largest speed, at most of 1 rad/s or m/s, at which friction counts there
EASED = 0.5  # share of the efforts that gravity takes at most in the middle of a motion that is only made smaller
POOR = 1000.0  # condition number above which some parameters hardly show
RAMP = 2.0  # [s] from rest into the motion and out of it


@dataclass(frozen=True, eq=False, repr=False)
class Excitation(Trajectory):
    """A motion for identification, sampled: t, q, v, a as of any `Trajectory`.

    A Fourier series starts at rest, enters the periodic part within `ramp` seconds, and comes to rest again nearby;
    moves from point to point need no ramp. `condition`: of the base parameters' regressor over one period, columns
    scaled to unit length.
    """

    robot: Robot | None = None
    series: ExcitingMotion | None = None
    bounds: tuple[np.ndarray, np.ndarray] | None = None
    ramp: float = RAMP
    periods: int = 1
    condition: float = np.inf

    @property
    def duration(self) -> float:
        """[s]"""
        assert self.series is not None
        return 2.0 * self.ramp + self.periods * self.series.period

    def at(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(q, v, a), each (T, n), at times t (T,) [s]: exact, not interpolated."""
        assert self.series is not None
        t = np.atleast_1d(np.asarray(t, float))
        if not isinstance(self.series, Series):
            return self.series.at(t), self.series.at(t, 1), self.series.at(t, 2)
        end = self.duration - self.ramp
        inside = self.series.at(t - self.ramp), self.series.at(t - self.ramp, 1), self.series.at(t - self.ramp, 2)
        edge = edge_of(self.series, self.ramp, self.bounds)
        into, out = quintic(edge, self.ramp, t), quintic(edge, self.ramp, self.duration - t, -1.0)
        picked = []
        for before, during, after in zip(into, inside, out, strict=True):
            picked.append(np.where((t < self.ramp)[:, None], before, np.where((t > end)[:, None], after, during)))
        return picked[0], picked[1], picked[2]

    def resampled(self, rate: float) -> Excitation:
        """The same motion at another rate [Hz]."""
        if not rate > 0.0:
            raise DalembertError(f"excitation: rate is {rate!r}, expected a number above 0 [Hz]")
        t = np.arange(0.0, self.duration + 0.5 / rate, 1.0 / rate)
        q, v, a = self.at(np.minimum(t, self.duration))
        return replace(self, t=t, q=q, v=v, a=a)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the samples to a file: .csv, .npz, .parquet, .h5."""
        assert self.robot is not None
        write_trajectory(path, self.robot, self)


@dataclass(frozen=True, kw_only=True, repr=False)
class ExcitationSettings(Keywords):
    """Keywords of `excitation`, where they are explained, given once as its `settings=`, as for all robots of a cell.

    A keyword that is given beside them wins.
    """

    kind: str = "fourier"
    moves: int | None = None
    friction: tuple[str, ...] = ()
    rotor: bool = False
    rate: float = 1000.0
    margin: float = 0.05
    acceleration: Any = None
    velocity: Any = None
    lower: Any = None
    upper: Any = None
    ramp: float = RAMP
    floor: float | None = None
    clearance: float | None = None
    allowed: Callable[[np.ndarray], np.ndarray] | None = None
    criterion: str = "condition"
    starts: int | None = None


@shared("excitation", lambda: ExcitationSettings)
def excitation(
    robot: Robot,
    duration: float = 20.0,
    harmonics: int = 5,
    seed: int = 0,
    *,
    kind: str = "fourier",
    moves: int | None = None,
    friction: tuple[str, ...] = (),
    rotor: bool = False,
    rate: float = 1000.0,
    margin: float = 0.05,
    acceleration: Any = None,
    velocity: Any = None,
    lower: Any = None,
    upper: Any = None,
    ramp: float = RAMP,
    floor: float | None = None,
    clearance: float | None = None,
    allowed: Callable[[np.ndarray], np.ndarray] | None = None,
    criterion: str = "condition",
    starts: int | None = None,
    settings: ExcitationSettings | None = None,
) -> Excitation:
    """A motion of `duration` seconds that shows the base parameters, within the limits of the joints at every instant.

    kind: "fourier", a periodic motion of so many harmonics with ramps from and to rest; or "points", quintic moves from
    point to point with a rest in each, `moves` of them (default: one a second), for controllers that take points only.
    friction, rotor: further parameters that it must show; friction shows in every motion that turns round.
    margin: share of each limit that is left. acceleration, velocity (n,): further limits [rad/s², rad/s or m]; lower,
    upper (n,): a smaller range; torques stay within the effort limits of the file. floor [m]: no frame goes below this
    height. clearance [m]: no two links that could touch come nearer than this, by their collision shapes; None: the
    distances of links are not checked, and the log says so. allowed(q) → further numbers that must stay ≥ 0. The
    motion is drawn in until all of this holds. criterion: what is minimised,
    "condition" (number of the base regressor), "D" (volume of the confidence ellipsoid) or "A" (sum of variances),
    columns scaled to unit length. starts: of the optimiser; default 32, fewer for robots with more than 90 base
    parameters, so that a humanoid takes seconds too. settings: an `ExcitationSettings` with values for keywords that
    are not given.
    """
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS, "excitation")
    if criterion not in CRITERIA:
        raise unknown("criterion", criterion, CRITERIA, "excitation")
    if clearance is not None and not robot.collision_pairs():
        raise DalembertError(
            f"excitation: clearance={clearance:g}: robot {robot.name!r} has no collision shapes of links that could "
            "touch: add some with robot.edit().add_geometry(…), or leave it out"
        )
    ramp = float(ramp) if kind == "fourier" else 0.0
    _check(robot, duration, harmonics, ramp, kind)
    parameters = columns(robot, friction, rotor)
    limits = joint_limits(robot, margin, velocity, acceleration, lower, upper)
    period = float(duration) - 2.0 * ramp
    count = max(2, round(period)) if moves is None else int(moves)
    if count < 2:
        raise DalembertError(f"excitation: moves is {moves!r}, expected a whole number of at least 2")
    family: Family = Fourier(int(harmonics), period) if kind == "fourier" else PointToPoint(count, period)
    surroundings = Surroundings(limits, margin, floor, clearance, allowed, _held(robot, limits, margin))
    problem = Information(base_of(parameters), limits, family, criterion)
    best = best_motion(problem, starts, np.random.default_rng(seed))
    series = best_phase(best, ramp, limits) if isinstance(best, Series) else best
    none, bounds = np.zeros(0), (limits.lower, limits.upper)
    motion = Excitation(*4 * (none,), title="excitation", robot=robot, series=series, bounds=bounds, ramp=ramp)
    motion, notes = _within(robot, motion, surroundings)
    if np.isfinite(robot.limits.jerk).any():
        notes.append("limits of jerk are not kept: motion.check says where they are exceeded")
    assert motion.series is not None
    condition = problem.condition_of(motion.series)
    if condition > POOR:
        notes.append(f"with a condition number of {condition:.2g} some parameters hardly show: give it more time")
    return replace(motion, condition=condition, log=tuple(notes)).resampled(rate)


def _check(robot: Robot, duration: float, harmonics: int, ramp: float, kind: str) -> None:
    if robot.nq != robot.nv:
        names = [b.joint.name for b in robot.model.independent if b.joint.nq != b.joint.nv]
        raise DalembertError(
            f"excitation: joint {names[0]!r} has a quaternion, and no series of angles: hold it, as by "
            "load(…, base='fixed') for a robot that hangs, or robot.edit().lock(…)"
        )
    if not robot.nv:
        raise DalembertError(f"excitation: robot {robot.name!r} has no joint that moves")
    if not (isinstance(harmonics, (int, np.integer)) and harmonics >= 1):
        raise DalembertError(f"excitation: harmonics is {harmonics!r}, expected a whole number of at least 1")
    if kind == "points" and not duration > 1.0:
        raise DalembertError(f"excitation: duration is {duration!r} s, expected more than 1 s")
    if kind == "fourier" and not (ramp > 0.0 and duration > 2.0 * ramp + 1.0):
        raise DalembertError(
            f"excitation: duration is {duration!r} s, expected more than {2.0 * ramp + 1.0:g} s: two ramps of {ramp:g} "
            "s and 1 s of motion"
        )


class Surroundings(NamedTuple):
    """Bounds on a motion beside its shape; see `excitation`."""

    limits: JointLimits
    margin: float
    floor: float | None
    clearance: float | None
    allowed: Callable[[np.ndarray], np.ndarray] | None
    held: np.ndarray


def _held(robot: Robot, limits: JointLimits, margin: float) -> np.ndarray:
    """Where the motors hold the robot most easily, of its usual start, the middle of its ranges and random places."""
    effort, half = _efforts(robot, margin), 0.5 * INSIDE * (limits.upper - limits.lower)
    if not np.all(effort > 0.0):
        raise DalembertError(
            f"excitation: joint {robot.model.freedom_names[int(np.argmin(effort))]!r} has an effort limit of 0: "
            "no motor moves it: state the limit, or lock the joint"
        )
    places = np.random.default_rng(0).uniform(limits.center - half, limits.center + half, (PLACES, robot.nq))
    places[:2] = np.clip(start_of(robot.model).q, limits.center - half, limits.center + half), limits.center
    gravity, slow = robot.gravity(places), SLOW * np.minimum(limits.velocity, 1.0)
    friction = robot.inverse_dynamics(places, np.broadcast_to(slow, (PLACES, robot.nv)), np.zeros((PLACES, robot.nv)))
    loads = (np.abs(gravity) + np.abs(friction - gravity)) / effort
    best = int(np.argmin(loads.max(axis=1)))
    k = int(np.argmax(loads[best]))
    if loads[best, k] >= 1.0:
        raise DalembertError(
            f"excitation: gravity and friction load joint {robot.model.freedom_names[k]!r} with at least "
            f"{loads[best, k] * effort[k]:.3g} N·m or N, and its motor gives {effort[k]:.3g}, less the margin: correct "
            "the effort limit, or lock the joint"
        )
    return np.asarray(places[best])


def _efforts(robot: Robot, margin: float) -> np.ndarray:
    """Effort limits (n,) [N·m or N] less the share that is left."""
    return np.concatenate([b.joint.effort_limit for b in robot.model.independent if b.joint.nv]) * (1.0 - margin)


def _within(robot: Robot, motion: Excitation, surroundings: Surroundings) -> tuple[Excitation, list[str]]:
    """The motion drawn in until torques, ramps and the surroundings allow it, and by how much that was."""
    notes, factor = [], 1.0
    whole = motion.series
    assert whole is not None
    middle = whole.drawn_in(0.0).at(np.zeros(1))[0]
    eased = np.all(np.abs(robot.gravity(middle)) <= EASED * _efforts(robot, surroundings.margin))
    off = np.zeros_like(middle) if eased else surroundings.held - middle
    for _ in range(60):
        t = np.linspace(0.0, motion.duration, FINE + 1)
        q, v, a = motion.at(t)
        why = _violated(robot, q, v, a, surroundings)
        if not why:
            break
        factor *= 0.93
        motion = replace(motion, series=whole.drawn_in(factor, (1.0 - factor) * off))
        notes = [f"amplitudes are {100.0 * factor:.0f} % of what the joints' own limits allow, because of {why}"]
    else:
        raise DalembertError(f"excitation: even small motions are not allowed: {why}")
    if surroundings.clearance is None and surroundings.allowed is None:
        notes.append("self-collision was not checked: give a clearance (--clearance), or play it in the viewer first")
    return motion, notes


def _violated(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, surroundings: Surroundings) -> str:
    """The bounds that a sampled motion breaks, in words; "" if none."""
    limits, margin, floor, clearance, allowed, _ = surroundings
    names, effort = robot.model.freedom_names, _efforts(robot, margin)
    checks = [("torque", np.abs(robot.inverse_dynamics(q, v, a)), effort), ("velocity", np.abs(v), limits.velocity)]
    checks += [
        ("acceleration", np.abs(a), limits.acceleration),
        ("upper limit", q, limits.upper),
        ("lower limit", -q, -limits.lower),
    ]
    for what, x, most in checks:
        over = (x > most + 1e-9).any(axis=0)
        if over.any():
            return f"the {what} of joint {names[int(np.argmax(over))]!r}"
    if floor is not None:
        heights = robot.poses(q)[:, :, 2, 3]
        moving = np.ptp(heights, axis=0) > 1e-9
        low = (heights < floor) & moving
        if low.any():
            return f"the floor below frame {robot.frames[int(np.argmax(low.any(axis=0)))].name!r}"
    if clearance is not None:
        apart = robot.distance(q)
        between = np.abs(np.diff(apart, axis=0)).max(axis=0)  # how much nearer they may come between two samples
        near = apart.min(axis=0) - between < clearance
        if near.any():
            return "the distance of {!r} and {!r}".format(*robot.collision_pairs()[int(np.argmax(near))])
    if allowed is not None and np.any(np.asarray(allowed(q)) < 0.0):
        return "allowed(q) < 0"
    return ""
