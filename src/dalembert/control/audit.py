"""The audit of a controller: margins, damping, saturation, robustness to an inexact model, and its time budget.

About a state of rest the loop is linear: ẋ = A x + B δτ with the law's slopes δτ = −K x. From these come the poles.
The law is sampled, and its answers are late: with both come the damping, how much gain and delay the loop stands, and
how near its return difference 1 + L comes to being singular. A run from the start to the goal shows what the motors
must give, and rollouts with other masses whether the law still gets there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import matrix_exponential
from dalembert.errors import DalembertError
from dalembert.loading import function
from dalembert.model import motorized
from dalembert.progress import Progress
from dalembert.robot import Robot
from dalembert.sim.system.sampled import Sampled

LONGEST_DELAY = 200  # periods of further delay up to which a margin is sought
ANGLES = 2000  # frequencies at which magnitudes are compared with 1


@dataclass(frozen=True)
class Loop:
    """x⁺ = F x + G u over a period, u = −K x of `late` periods ago: the loop as its computer closes it.

    Its state is x, then the answers that are on their way, the oldest first.
    """

    F: np.ndarray
    G: np.ndarray
    K: np.ndarray
    late: int

    @classmethod
    def sampled(cls, A: np.ndarray, B: np.ndarray, K: np.ndarray, period: float, late: int) -> Loop:
        """Return the loop of ẋ = A x + B u with u held over each period."""
        n, m = len(A), B.shape[1]
        whole = np.zeros((n + m, n + m))
        whole[:n, :n], whole[:n, n:] = A, B
        after = matrix_exponential(whole * period)[:n]
        return cls(after[:, :n], after[:, n:], K, late)

    def poles(self, gain: float = 1.0) -> np.ndarray:
        """Eigenvalues z of the closed loop with its gains times `gain`."""
        n, m = self.G.shape
        size = n + m * self.late
        loop = np.zeros((size, size))
        loop[:n, :n] = self.F
        if self.late:
            loop[:n, n : n + m] = self.G  # the oldest answer acts
            loop[n : size - m, n + m :] = np.eye(m * (self.late - 1))
            loop[size - m :, :n] = -gain * self.K
        else:
            loop[:n, :n] -= gain * self.G @ self.K
        return np.linalg.eigvals(loop)

    def stable(self, gain: float = 1.0) -> bool:
        """Whether it comes to rest with its gains times `gain`."""
        return bool(np.abs(self.poles(gain)).max() < 1.0)

    def damping(self) -> float:
        """The lowest damping ratio of poles that swing and last longer than a period; those within it are no motion."""
        z = self.poles().astype(complex)
        s = np.log(z[np.abs(z) > np.exp(-1.0)])
        swinging = s[np.abs(s.imag) > 1e-9 * np.abs(s)]
        return float(np.min(-swinging.real / np.abs(swinging), initial=1.0))

    def gain_margins(self) -> tuple[float, float]:
        """Factors of the gain up to which, and down to which, the loop is stable; (0, 1) where it is not at 1."""
        if not self.stable():
            return 0.0, 1.0
        up = next((f for f in np.logspace(0.0, 2.0, 81) if not self.stable(f)), np.inf)
        down = next((f for f in np.logspace(0.0, -3.0, 121) if not self.stable(f)), 0.0)
        return float(up), float(down)

    def gains(self, angles: np.ndarray) -> np.ndarray:
        """L(z) = K (z − F)⁻¹ G z^−late at z = exp(i angle), for each angle: (len(angles), m, m)."""
        z = np.exp(1j * angles)[:, None, None]
        return self.K @ np.linalg.solve(z * np.eye(len(self.F)) - self.F, self.G[None] + 0j) * z**-self.late

    def disk_margin(self) -> float:
        """The least singular value of 1 + L(z) over frequencies up to half the rate."""
        L = self.gains(np.pi * np.logspace(-5.0, 0.0, 400))
        return float(np.linalg.svd(np.eye(L.shape[-1]) + L, compute_uv=False)[:, -1].min())

    def delay_margin(self) -> int:
        """Periods of further delay that the loop tolerates, up to 199; −1: it is unstable as it is.

        A delay of k periods turns each eigenvalue of L(z) by −k times the angle of z. A pole can leave the unit circle
        only where an eigenvalue of magnitude 1 is turned to −1: at the first k past the least of these delays.
        """
        if not self.stable():
            return -1
        if self._magnitudes(np.array([np.pi])).max() >= 1.0:  # a further period turns these by half a turn
            return next(
                (k - 1 for k in range(LONGEST_DELAY) if not replace(self, late=self.late + k).stable()),
                LONGEST_DELAY - 1,
            )
        angles = np.pi * np.logspace(-6.0, 0.0, ANGLES)
        above = np.concatenate([self._magnitudes(part) for part in np.array_split(angles, ANGLES // 250)]) > 1.0
        at, which = np.nonzero(above[1:] != above[:-1])
        if not len(at):
            return LONGEST_DELAY - 1
        low, high, falling = angles[at], angles[at + 1], above[at, which]
        for _ in range(60):
            middle = 0.5 * (low + high)
            past = (self._magnitudes(middle)[range(len(at)), which] > 1.0) != falling
            low, high = np.where(past, low, middle), np.where(past, middle, high)
        values = np.linalg.eigvals(self.gains(high))
        chosen = np.take_along_axis(values, np.argsort(np.abs(values)), axis=1)[range(len(at)), which]
        left = np.mod(np.angle(chosen) + np.pi, 2.0 * np.pi) / high
        return min(int(np.ceil(left.min())) - 1, LONGEST_DELAY - 1)

    def _magnitudes(self, angles: np.ndarray) -> np.ndarray:
        """Magnitudes of the eigenvalues of L at these angles, in ascending order."""
        return np.sort(np.abs(np.linalg.eigvals(self.gains(angles))))


RINGING, LEAST_GAIN, LEAST_DISK = 0.4, 2.0, 0.5  # damping ratio, gain, distance from singular: below, a warning
DELAYS = 4.0  # periods that the delay margin should be, at least
BUDGET = 0.3  # share of the period that a law may take
STEP = 1e-3  # s, the longest of the runs
VARIANTS, ARRIVED = 64, 0.05  # robots with other masses, and rad or m that counts as arrived


@dataclass(frozen=True)
class ControlFinding:
    """severity: "ok", "warning" or "error"; what was checked, and what was found."""

    severity: str
    topic: str
    what: str


@dataclass(frozen=True)
class ControlAudit:
    """The findings of a controller's audit; print it to read it.

    poles [1/s] of the loop at rest, were the law continuous. Of the loop with its period and delay: damping: lowest
    ratio of what swings; gain_margin: it stays stable up to this factor on its gains; gain_reduction: and down to this
    one; disk_margin: the least singular value of 1 + L; delay_margin [s]: further delay that it stands, negative where
    it is unstable as it is. saturation: share of the run in which a motor is at its limit, NaN where none has a limit;
    robust: share of robots with masses off by a relative `error` that arrive; tick [s]: time that the law takes; period
    [s].
    """

    robot: str
    law: str
    poles: np.ndarray
    damping: float
    gain_margin: float
    gain_reduction: float
    disk_margin: float
    delay_margin: float
    saturation: float
    robust: float
    tick: float
    period: float
    error: float

    @cached_property
    def findings(self) -> tuple[ControlFinding, ...]:
        """Each number with its verdict."""
        slowest, fastest, late = float(-self.poles.real.max()), float(np.abs(self.poles).max()), self.delay_margin
        findings, share = [], self.tick / self.period

        def say(topic: str, bad: bool, wary: bool, what: str) -> None:
            findings.append(ControlFinding("error" if bad else "warning" if wary else "ok", topic, what))

        say(
            "stability",
            slowest <= 0.0,
            False,
            f"slowest pole {-slowest:.3g} 1/s, fastest {fastest:.3g} rad/s, unsampled",
        )
        say("damping", False, self.damping < RINGING, f"lowest ratio {self.damping:.2f}, expected {RINGING} or more")
        up, down, disk = self.gain_margin, self.gain_reduction, self.disk_margin
        say("gain margin", False, up < LEAST_GAIN, f"stable from {down:.2g} to {up:.3g} times its gains")
        say("disk margin", False, disk < LEAST_DISK, f"1 + L stays {disk:.2f} from singular, expected {LEAST_DISK}")
        unstable = "the sampled loop is unstable" if late < 0.0 else f"tolerates {1e3 * late:.3g} ms more"
        say("delay margin", late < 0.0, late < DELAYS * self.period, unstable)
        if np.isnan(self.saturation):
            findings.append(ControlFinding("info", "saturation", "not known: no motor has an effort limit"))
        else:
            what = f"a motor is at its limit in {100 * self.saturation:.0f} % of the run"
            say("saturation", False, self.saturation > 0.1, what)
        what = f"{100 * self.robust:.0f} % of robots with masses ±{100 * self.error:.0f} % reach the goal"
        say("model error", self.robust < 0.5, self.robust < 1.0, what)
        what = f"{1e6 * self.tick:.1f} µs per tick, {100 * share:.1f} % of the period"
        say("time budget", share > 1.0, share > BUDGET, what)
        return tuple(findings)

    @property
    def ok(self) -> bool:
        """Whether nothing was found that is an error."""
        return all(finding.severity != "error" for finding in self.findings)

    def __str__(self) -> str:
        lines = [f"audit of {self.law} on robot '{self.robot}', every {1e3 * self.period:g} ms"]
        lines += [f"  {finding.severity:8s}{finding.topic}: {finding.what}" for finding in self.findings]
        return "\n".join(lines)


def audit(
    law: Any,
    q: Any,
    start: Any = None,
    *,
    robot: Robot | None = None,
    period: float = 1e-3,
    delay: float = 0.0,
    duration: float = 2.0,
    error: float = 0.15,
) -> ControlAudit:
    """Audit a law that holds the configuration q (nq,), run every `period` [s], its answers `delay` [s] late.

    start (nq,): where the run sets out, default 0.1 rad or m from q at every driven joint. error: relative, by which
    the masses of other robots differ from the law's model. robot: where the law does not name its own.
    """
    robot = getattr(law, "robot", None) if robot is None else robot
    if not isinstance(robot, Robot):
        raise DalembertError("control.audit: the law does not say of which robot it is: pass robot=…")
    if not (0.0 < period < np.inf and 0.0 <= delay < np.inf and 0.0 < duration < np.inf and 0.0 <= error < 1.0):
        raise DalembertError(
            f"control.audit: period {period!r}, delay {delay!r}, duration {duration!r}, error {error!r}: expected "
            "times above 0 [s], and a relative error below 1"
        )
    q = robot.normalize(np.asarray(q, float))
    mask = motorized(robot.model)
    begin = robot.integrate(q, 0.1 * mask) if start is None else robot.normalize(np.asarray(start, float))
    compiled = function(lambda t, q, v: law(t[0], q, v), robot, t=1)
    with Progress(f"control of {robot.name}", 4, "parts") as task:
        A, B, K = _linear(robot, compiled, q, mask)
        poles = np.linalg.eigvals(A - B @ K)
        task.show(1, "margins")
        loop = Loop.sampled(A, B, K, period, round(delay / period))
        damping, disk, late = loop.damping(), loop.disk_margin(), loop.delay_margin() * period
        up, down = loop.gain_margins()
        task.show(2, "runs with other masses")
        saturation, robust = _tried(robot, law, q, begin, period, delay, duration, error)
        task.show(3, "time of a tick")
        tick = _timed(compiled, robot, begin)
    name = getattr(law, "__name__", type(law).__name__)
    return ControlAudit(robot.name, name, poles, damping, up, down, disk, late, saturation, robust, tick, period, error)


def _linear(robot: Robot, compiled: Any, q: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B of the robot at rest, and K (m, 2nv) of the law, by central differences."""
    n, zero, h = robot.nv, np.zeros(1), 1e-6
    rest = compiled(zero, q, np.zeros(n))
    A, B = robot.linearize(q, np.zeros(n), rest)  # with friction, which the law may make up for
    still, ways = np.zeros(n), h * np.eye(n)
    columns = [
        compiled(zero, robot.integrate(q, d), still) - compiled(zero, robot.integrate(q, -d), still) for d in ways
    ]
    columns += [compiled(zero, q, d) - compiled(zero, q, -d) for d in ways]
    K = -np.array(columns).T / (2.0 * h)
    return A, B[:, mask], K[mask]


def _tried(
    robot: Robot, law: Any, q: np.ndarray, begin: np.ndarray, period: float, delay: float, duration: float, error: float
) -> tuple[float, float]:
    """(share of a run in which a motor is at its limit, share of robots with other masses that arrive)."""
    from .laws.additions import within_limits

    n, within = robot.nv, max(1, int(np.ceil(period / STEP - 1e-9)))
    step, steps = period / within, max(1, round(duration / period)) * within
    sampled = Sampled(within_limits(robot, law), period, round(delay / period) * period)
    most, mask = robot.limits.effort, motorized(robot.model) & np.isfinite(robot.limits.effort)
    options: dict[str, Any] = {"friction": "smooth", "check": False}
    path = robot.rollout(begin, np.zeros(n), sampled, step, steps, every=max(1, steps // 200), **options)
    full = []
    for t, at, speed in zip(path.t, path.q, path.v, strict=True):
        finite = np.isfinite(at).all() and np.isfinite(speed).all()
        full.append(not finite or bool(np.any(np.abs(law(t, at, speed)[mask]) >= most[mask] * (1 - 1e-9))))
    variants = robot.random_parameters(np.random.default_rng(11), VARIANTS, mass=error)
    end = robot.rollout(begin, np.zeros(n), sampled, step, steps, parameters={"inertia": variants}, **options)
    near = max(ARRIVED, 0.2 * float(np.abs(robot.difference(begin, q)).max()))
    arrived = [bool(np.isfinite(each).all() and np.abs(robot.difference(q, each)).max() < near) for each in end.q]
    return float(np.mean(full)) if mask.any() else np.nan, float(np.mean(arrived))


def _timed(compiled: Any, robot: Robot, q: np.ndarray) -> float:
    """The shortest of some measured times of a call [s]."""
    v, zero, best = np.zeros(robot.nv), np.zeros(1), np.inf
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(50):
            compiled(zero, q, v)
        best = min(best, (time.perf_counter() - begin) / 50.0)
    return best
