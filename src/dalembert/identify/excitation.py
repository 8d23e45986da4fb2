"""Motions that show all base parameters: finite Fourier series within the limits, optimised.   Swevers et al. 1997.

q_j(t) = c_j + s_j Σ_k [A_jk sin(k ω t) + B_jk cos(k ω t)] / (k ω). The scale s_j is the largest that keeps position, velocity
and acceleration of joint j within its limits at every instant, so that every choice of A and B is allowed, and the
optimiser is free. What is minimised is the condition number of the base parameters' regressor, its columns scaled to unit
length, by L-BFGS with analytic gradients from several starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.graph import gradient
from dalembert.loading import function
from dalembert.logs import Trajectory, write_trajectory
from dalembert.robot import Robot

from .base import BaseParameters, base_of
from .columns import INERTIAL, Columns, columns

SAMPLES = 240  # instants of a period at which information is counted
FINE = 2400  # instants at which limits are looked at; between them a bound of the next derivative is added
STARTS, STEPS = 12, 300  # of the optimiser
SHIFTED = 0.7  # share of the range over which a joint's middle may move
FINISHED = 4  # of the starts, those that are finished
SHARPNESS = (
    4,
    24,
)  # the p of the p-norms that stand for the largest and the smallest eigenvalue: to explore, to finish
UNLIMITED = np.pi  # amplitude [rad or m] of joints without limits
PHASES = 96  # of the periodic part at which it may begin
RAMP = 2.0  # [s] from rest into the motion and out of it


@dataclass(frozen=True)
class Limits:
    """What each joint may do: lower, upper (n,) [rad or m], velocity, acceleration (n,), infinite where there is none."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    @property
    def center(self) -> np.ndarray:
        """(n,): the middle of the range."""
        return 0.5 * (self.lower + self.upper)


@dataclass(frozen=True)
class Series:
    """A periodic motion: center (n,), A and B (n, harmonics) with scale included, period [s]."""

    center: np.ndarray
    A: np.ndarray
    B: np.ndarray
    period: float

    def at(self, t: Any, order: int = 0) -> np.ndarray:
        """(T, n): position, velocity or acceleration (order 0, 1, 2) at times t (T,) [s]."""
        w = 2.0 * np.pi / self.period * np.arange(1, self.A.shape[1] + 1)
        phase = np.multiply.outer(np.asarray(t, float), w)
        sine, cosine = np.sin(phase) * w ** (order - 1), np.cos(phase) * w ** (order - 1)
        turned = ((sine, cosine), (cosine, -sine), (-sine, -cosine))[order]
        x = turned[0] @ self.A.T + turned[1] @ self.B.T
        return x + self.center if order == 0 else x


@dataclass(frozen=True, eq=False)
class Excitation(Trajectory):
    """A motion for identification, sampled: t, q, v, a as of any `Trajectory`.

    It starts at rest, enters the periodic part within `ramp` seconds, repeats it, and comes to rest again, not far off. `condition`: of
    the base parameters' regressor over one period, columns scaled to unit length.
    """

    robot: Robot | None = None
    series: Series | None = None
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
        end = self.duration - self.ramp
        inside = self.series.at(t - self.ramp), self.series.at(t - self.ramp, 1), self.series.at(t - self.ramp, 2)
        edge = _edge(self.series, self.ramp, self.bounds)
        into, out = _quintic(edge, self.ramp, t), _quintic(edge, self.ramp, self.duration - t, -1.0)
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


def excitation(
    robot: Robot,
    duration: float = 20.0,
    harmonics: int = 5,
    seed: int = 0,
    *,
    friction: tuple[str, ...] = ("viscous", "coulomb", "offset"),
    rotor: bool = True,
    rate: float = 1000.0,
    margin: float = 0.05,
    acceleration: Any = None,
    velocity: Any = None,
    lower: Any = None,
    upper: Any = None,
    ramp: float = RAMP,
    floor: float | None = None,
    allowed: Callable[[np.ndarray], np.ndarray] | None = None,
    starts: int = STARTS,
) -> Excitation:
    """A motion of `duration` seconds that shows the base parameters, within the limits of the joints at every instant.

    margin: share of each limit that is left. acceleration, velocity (n,): further limits [rad/s², rad/s or m]; lower,
    upper (n,): a smaller range; torques stay within the effort limits of the file. floor [m]: no frame goes below this
    height. allowed(q) → numbers (…) that must stay ≥ 0, as of distances: the motion is drawn in towards the middle of the range until
    they do. Self-collision is only looked at through `allowed`, and the log says so.
    """
    parameters = columns(robot, friction, rotor)
    limits = _limits(robot, margin, velocity, acceleration, lower, upper)
    _check(robot, duration, harmonics, ramp)
    base = base_of(parameters)
    period = float(duration) - 2.0 * ramp
    problem = _Problem(base, limits, period, int(harmonics))
    spread = np.append(np.ones(2 * harmonics), 0.3)
    rng = np.random.default_rng(seed)
    explore, finish = SHARPNESS
    climbed = [problem.climb(rng.normal(size=(robot.nv, 2 * harmonics + 1)) * spread, explore) for _ in range(starts)]
    promising = sorted(climbed, key=lambda each: each[1])[:FINISHED]
    best, _ = min((problem.climb(theta, finish) for theta, _ in promising), key=lambda each: each[1])
    series = _best_phase(problem.series(best), ramp, limits)
    motion = Excitation(
        *[np.zeros(0)] * 4,
        robot=robot,
        series=series,
        bounds=(limits.lower, limits.upper),
        ramp=ramp,
        title="excitation",
    )
    motion, notes = _within(robot, motion, limits, margin, floor, allowed)
    assert motion.series is not None
    condition = problem.condition_of(motion.series)
    return replace(motion, condition=condition, log=tuple(notes)).resampled(rate)


def _best_phase(series: Series, ramp: float, limits: Limits) -> Series:
    """The same periodic motion, begun where the ramps from and to rest are gentlest."""
    w = 2.0 * np.pi / series.period * np.arange(1, series.A.shape[1] + 1)
    t, best = np.linspace(0.0, ramp, 60), (np.inf, series)
    for shift in np.arange(PHASES) / PHASES * series.period:
        s, c = np.sin(w * shift), np.cos(w * shift)
        shifted = replace(series, A=series.A * c - series.B * s, B=series.A * s + series.B * c)
        edge = _edge(shifted, ramp, (limits.lower, limits.upper))
        worst = 0.0
        for direction in (1.0, -1.0):
            q, v, a = _quintic(edge, ramp, t, direction)
            worst = max(worst, _share(np.abs(v), limits.velocity), _share(np.abs(a), limits.acceleration))
            worst = max(worst, _share(np.abs(q - limits.center), 0.5 * (limits.upper - limits.lower)))
        if worst < best[0]:
            best = worst, shifted
    return best[1]


def _share(x: np.ndarray, most: np.ndarray) -> float:
    return float(np.max(x / most))


def random_series(robot: Robot, duration: float, harmonics: int, rng: np.random.Generator, **limits: Any) -> Series:
    """A random series within the same limits, to compare with."""
    ramp = limits.pop("ramp", RAMP)
    bounds = _limits(
        robot, limits.pop("margin", 0.05), *(limits.get(k) for k in ("velocity", "acceleration", "lower", "upper"))
    )
    return _scaled(rng.normal(size=(robot.nv, 2 * harmonics)), bounds, duration - 2.0 * ramp)[0]


def _check(robot: Robot, duration: float, harmonics: int, ramp: float) -> None:
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
    if not (ramp > 0.0 and duration > 2.0 * ramp + 1.0):
        raise DalembertError(
            f"excitation: duration is {duration!r} s, expected more than two ramps of {ramp:g} s and 1 s"
        )


def _limits(robot: Robot, margin: float, velocity: Any, acceleration: Any, lower: Any, upper: Any) -> Limits:
    if not 0.0 <= margin < 1.0:
        raise DalembertError(f"excitation: margin is {margin!r}, expected 0 … 1")
    joints = [body.joint for body in robot.model.independent if body.joint.nv]
    low, high, fast = (np.concatenate([getattr(j, f) for j in joints]) for f in ("lower", "upper", "velocity_limit"))
    low = low if lower is None else np.maximum(low, lower)
    high = high if upper is None else np.minimum(high, upper)
    names = robot.model.freedom_names
    for k, name in enumerate(names):
        if not low[k] < high[k]:
            raise DalembertError(f"excitation: joint {name!r}: limits {low[k]:g} … {high[k]:g} leave nothing to move")
    low, high = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * UNLIMITED, -UNLIMITED)), high
    high = np.where(np.isfinite(high), high, low + 2 * UNLIMITED)
    fast = np.minimum(fast, np.inf if velocity is None else np.broadcast_to(velocity, fast.shape))
    slope = np.broadcast_to(np.inf if acceleration is None else acceleration, fast.shape).astype(float)
    half = 0.5 * (1.0 - margin) * (high - low)
    middle = 0.5 * (low + high)
    return Limits(middle - half, middle + half, (1.0 - margin) * fast, (1.0 - margin) * slope)


def _scaled(
    theta: np.ndarray, limits: Limits, period: float, shift: np.ndarray | None = None
) -> tuple[Series, np.ndarray, np.ndarray, np.ndarray]:
    """The series of raw coefficients theta = [A, B] (n, 2 harmonics), as large as the limits allow.

    shift (n,), −1 … 1: where in its range a joint has its middle; what is left on the nearer side bounds its amplitude.
    Also: the scale (n,), the slope of its logarithm in theta (n, 2 harmonics), and that in shift (n,).
    """
    n, m = len(theta), theta.shape[1] // 2
    shift = np.zeros(n) if shift is None else shift
    raw = Series(np.zeros(n), theta[:, :m], theta[:, m:], period)
    t = np.arange(FINE) * period / FINE
    w = 2.0 * np.pi / period * np.arange(1, m + 1)
    amplitude = np.hypot(theta[:, :m], theta[:, m:])
    scale, slope = np.full(n, np.inf), np.zeros_like(theta)
    half = 0.5 * (limits.upper - limits.lower)
    by_shift = np.zeros(n)
    joints = np.arange(n)
    for order, most in ((0, half * (1.0 - np.abs(shift))), (1, limits.velocity), (2, limits.acceleration)):
        x = raw.at(t, order)
        at = np.argmax(np.abs(x), axis=0)
        # between two instants a curve rises above both by at most h²/8 times its largest curvature
        above = (period / FINE) ** 2 / 8.0 * amplitude @ (w ** (order + 1))
        size = np.abs(x[at, joints]) + above
        tighter = most / size < scale
        phase = np.multiply.outer(t[at], w)
        sine, cosine = np.sin(phase) * w ** (order - 1), np.cos(phase) * w ** (order - 1)
        pair = ((sine, cosine), (cosine, -sine), (-sine, -cosine))[order]
        here = -np.sign(x[at, joints])[:, None] * np.concatenate(pair, axis=1) / size[:, None]
        slope = np.where(tighter[:, None], here, slope)
        by_shift = np.where(tighter, 0.0 if order else -np.sign(shift) / (1.0 - np.abs(shift)), by_shift)
        scale = np.where(tighter, most / size, scale)
    A, B = scale[:, None] * theta[:, :m], scale[:, None] * theta[:, m:]
    return Series(limits.center + half * shift, A, B, period), scale, slope, by_shift


class _Problem:
    """Information about the base parameters as a function of the raw coefficients."""

    def __init__(self, base: BaseParameters, limits: Limits, period: float, harmonics: int) -> None:
        self.base, self.limits, self.period, self.harmonics = base, limits, period, harmonics
        self.columns: Columns = base.columns
        self.chosen = list(base.independent)
        self.t = np.arange(SAMPLES) * period / SAMPLES
        self._slopes = _regressor_slopes(self.columns)
        w = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
        phase = np.multiply.outer(self.t, w)
        s, c = np.sin(phase), np.cos(phase)
        # dq, dv, da / d[A, B]: (T, 2 harmonics) each
        self.maps = [np.concatenate(pair, axis=1) for pair in ((s / w, c / w), (c, -s), (-s * w, -c * w))]

    def series(self, theta: np.ndarray) -> Series:
        """Within the limits."""
        return _scaled(theta[:, :-1], self.limits, self.period, SHIFTED * np.tanh(theta[:, -1]))[0]

    def matrix(self, series: Series) -> np.ndarray:
        """(T, nv, rank): the regressor of the base parameters over a period."""
        W = self.columns.matrix(*(series.at(self.t, order) for order in range(3)))
        return W[:, :, self.chosen]

    def condition_of(self, series: Series) -> float:
        """Condition number with columns scaled to unit length."""
        W = self.matrix(series).reshape(-1, len(self.chosen))
        size = np.linalg.norm(W, axis=0)
        if np.any(size == 0.0):
            return np.inf
        values = np.linalg.svd(np.linalg.qr(W / size, mode="r"), compute_uv=False)
        return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf

    def value(self, theta: np.ndarray, sharpness: int) -> tuple[float, np.ndarray]:
        """A smooth stand-in for the logarithm of the squared condition number, and its slope in theta."""
        bend = np.tanh(theta[:, -1])
        series, scale, slope, by_shift = _scaled(theta[:, :-1], self.limits, self.period, SHIFTED * bend)
        W = self.matrix(series)
        flat = W.reshape(-1, len(self.chosen))
        size = np.linalg.norm(flat, axis=0)
        size[size == 0.0] = 1.0
        unit = flat / size
        values, vectors = np.linalg.eigh(unit.T @ unit)
        values = np.maximum(values, 1e-12)
        low, high = values[0] / values, values / values[-1]  # near 0 … 1, so that powers stay finite
        lows, highs = np.sum(low**sharpness), np.sum(high**sharpness)
        weights = (high**sharpness / highs - low**sharpness / lows) / values
        # of a function of C = UᵀU with slope D: 2 U D dU, dU = (dW − U diag(Uᵀ dW)) / size
        pull = 2.0 * unit @ ((vectors * weights) @ vectors.T) / size
        pull -= unit * np.sum(unit * pull, axis=0)
        full = np.zeros((*W.shape[:2], self.columns.size))
        full[:, :, self.chosen] = pull.reshape(W.shape)
        states = [series.at(self.t, order) for order in range(3)]
        slopes = self._slopes(*states, full)
        by_coefficients = sum(g.T @ m for g, m in zip(slopes, self.maps, strict=True))  # (n, 2 harmonics)
        along = np.sum(by_coefficients * theta[:, :-1], axis=1)
        total = scale[:, None] * (by_coefficients + along[:, None] * slope)
        half = 0.5 * (self.limits.upper - self.limits.lower)
        moved = (half * slopes[0].sum(axis=0) + scale * along * by_shift) * SHIFTED * (1.0 - bend**2)
        total = np.column_stack([total, moved])
        value = np.log(values[-1] / values[0]) + (np.log(lows) + np.log(highs)) / sharpness
        return float(value), total

    def climb(self, theta: np.ndarray, sharpness: int) -> tuple[np.ndarray, float]:
        """A local optimum by L-BFGS, and its condition number."""
        theta = _normalized(theta)
        value, slope = self.value(theta, sharpness)
        pairs: list[tuple[np.ndarray, np.ndarray]] = []
        best = theta, self.condition_of(self.series(theta))
        for _ in range(STEPS):
            step = _direction(slope, pairs)
            length = 1.0 if pairs else 0.1 / max(float(np.abs(slope).max()), 1e-12)
            for _ in range(12):
                trial = _normalized(theta + length * step)
                trial_value, trial_slope = self.value(trial, sharpness)
                if trial_value < value + 1e-4 * length * float(np.sum(step * slope)):
                    break
                length *= 0.4
            else:
                if not pairs:
                    break
                pairs = []
                continue
            s, y = trial - theta, trial_slope - slope
            if float(np.sum(s * y)) > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
                pairs = [*pairs[-9:], (s, y)]
            gained = value - trial_value
            theta, value, slope = trial, trial_value, trial_slope
            condition = self.condition_of(self.series(theta))
            if condition < best[1]:
                best = theta, condition
            if gained < 1e-4:
                break
        return best


def _normalized(theta: np.ndarray) -> np.ndarray:
    """Coefficients of length 1 per joint, as the motion does not depend on it; the last column is the shift."""
    length = np.linalg.norm(theta[:, :-1], axis=1)[:, None]
    return np.column_stack([theta[:, :-1] / length, theta[:, -1]])


def _direction(slope: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """L-BFGS direction from pairs (step, change of slope)."""
    d, factors = -slope, []
    for s, y in reversed(pairs):
        a = float(np.sum(s * d)) / float(np.sum(s * y))
        d = d - a * y
        factors.append(a)
    if pairs:
        s, y = pairs[-1]
        d = d * (float(np.sum(s * y)) / float(np.sum(y * y)))
    for (s, y), a in zip(pairs, reversed(factors), strict=True):
        d = d + (a - float(np.sum(y * d)) / float(np.sum(s * y))) * s
    return d


def _regressor_slopes(parameters: Columns) -> Callable[..., list[np.ndarray]]:
    """(q, v, a, G (T, nv, size)) → slopes of Σ G W in q, v, a, each (T, nv): the regressor's compiled, friction's by hand."""
    robot = parameters.robot
    nv, count = robot.nv, len(INERTIAL) * len(robot.model.bodies)

    def information(q: Any, v: Any, a: Any, G: Any) -> Any:
        Y = robot.regressor(q, v, a)
        total = sum((g * y for g, y in zip(G, Y.ravel(), strict=True)), 0.0)
        return gradient(total, np.concatenate([q, v, a]))

    compiled = function(information, robot, G=nv * count)

    def slopes(q: np.ndarray, v: np.ndarray, a: np.ndarray, G: np.ndarray) -> list[np.ndarray]:
        inertial = np.zeros((len(q), nv, count // len(INERTIAL), len(INERTIAL)))
        inertial[:, :, list(parameters.bodies)] = G[:, :, : parameters.inertial].reshape(len(q), nv, -1, len(INERTIAL))
        found = compiled(q, v, a, inertial.reshape(len(q), -1))
        dq, dv, da = (found[:, k * nv : (k + 1) * nv].copy() for k in range(3))
        at = np.arange(nv)
        for name in parameters.terms:
            weight = G[:, at, parameters.inertial + parameters.terms.index(name) * nv + at]
            if name == "viscous":
                dv += weight
            elif name == "rotor":
                da += weight
            elif name == "spring":
                dq += weight  # sgn and constants have no slope
        return [dq, dv, da]

    return slopes


def _within(
    robot: Robot,
    motion: Excitation,
    limits: Limits,
    margin: float,
    floor: float | None,
    allowed: Callable[[np.ndarray], np.ndarray] | None,
) -> tuple[Excitation, list[str]]:
    """The motion drawn in until torques, ramps and the surroundings allow it, and what was done."""
    effort = np.concatenate([b.joint.effort_limit for b in robot.model.independent if b.joint.nv]) * (1.0 - margin)
    notes, factor = [], 1.0
    whole = motion.series
    assert whole is not None
    for _ in range(60):
        t = np.linspace(0.0, motion.duration, FINE + 1)
        q, v, a = motion.at(t)
        why = _violated(robot, q, v, a, effort, limits, floor, allowed)
        if not why:
            break
        factor *= 0.93
        motion = replace(motion, series=Series(whole.center, factor * whole.A, factor * whole.B, whole.period))
        notes = [f"amplitudes are {100.0 * factor:.0f} % of what the joints' own limits allow, because of {why}"]
    else:
        raise DalembertError(f"excitation: even small motions about the middle of the range are not allowed: {why}")
    if allowed is None:
        notes.append("self-collision was not looked at: pass allowed=…, or play the motion in the viewer first")
    return motion, notes


def _violated(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    effort: np.ndarray,
    limits: Limits,
    floor: float | None,
    allowed: Callable[[np.ndarray], np.ndarray] | None,
) -> str:
    """What a sampled motion breaks, in words; "" if nothing."""
    names = robot.model.freedom_names
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
    if allowed is not None and np.any(np.asarray(allowed(q)) < 0.0):
        return "allowed(q) < 0"
    return ""


class _Edge(NamedTuple):
    """Where the periodic part begins and ends: position, velocity, acceleration (n,); and where it rests before and after."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    before: np.ndarray
    after: np.ndarray


def _edge(series: Series, ramp: float, bounds: tuple[np.ndarray, np.ndarray] | None) -> _Edge:
    """Places of rest are where a joint that speeds up evenly would have to start, within the bounds."""
    q, v, a = (series.at([0.0], order)[0] for order in range(3))
    lower, upper = bounds if bounds is not None else (-np.inf, np.inf)
    before, after = (np.clip(q + sign * 0.5 * v * ramp, lower, upper) for sign in (-1.0, 1.0))
    return _Edge(q, v, a, before, after)


def _quintic(edge: _Edge, length: float, t: np.ndarray, direction: float = 1.0) -> tuple[np.ndarray, ...]:
    """(q, v, a) at t of the quintic from rest to the edge after `length`; direction −1: run backwards, to rest."""
    start = edge.before if direction > 0.0 else edge.after
    p, w, c = edge.q - start, direction * edge.v * length, edge.a * length**2
    s = np.clip(t / length, 0.0, 1.0)[:, None]
    k3, k4, k5 = 10.0 * p - 4.0 * w + 0.5 * c, -15.0 * p + 7.0 * w - c, 6.0 * p - 3.0 * w + 0.5 * c
    q = start + s**3 * (k3 + s * (k4 + s * k5))
    v = s**2 * (3.0 * k3 + s * (4.0 * k4 + 5.0 * s * k5)) / length * direction
    a = s * (6.0 * k3 + s * (12.0 * k4 + 20.0 * s * k5)) / length**2
    return q, v, a
