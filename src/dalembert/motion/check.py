"""Limits of a robot along a motion: at every instant, with the joint and the time of what goes beyond."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .motion import Motion, PolynomialMotion
from .points import freedom_names, per_freedom

SLACK = 1e-9  # relative excess that counts as rounding
INSTANTS = 2000  # at which torques, and velocities of joints with quaternions, are computed
JUMP = 1e-3  # share of the largest rate that a rate may jump by between pieces, for rounding of short ones
LISTED = 3  # joints named in a note
FINER = 20  # instants around a peak for the second look
RATES = ("velocity", "acceleration", "deceleration", "jerk")
EFFORTS = {"torque": "torque", "continuous": "continuous torque"}  # in words
RMS = "RMS torque"
UNITS = {"position": "", "velocity": "/s", "acceleration": "/s²", "deceleration": "/s²", "jerk": "/s³"}


class Violation(NamedTuple):
    """A violated limit: the joint, when it is worst [s], its value and the limit."""

    what: str
    joint: str
    time: float
    value: float
    limit: float
    unit: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"{self.what} of {self.joint} is {self.value:.6g}{unit} at {self.time:.6g} s, beyond its limit of "
            f"{self.limit:.6g}{unit}"
        )


@dataclass(frozen=True)
class Check:
    """Whether a motion keeps to its limits: true or false, and the violations; notes: how it was found.

    checked: the kinds of limits that some joint has, such as position and velocity.
    """

    violations: tuple[Violation, ...]
    notes: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all limits are kept; False where there is none, so that nothing was checked."""
        return not self.violations and bool(self.checked)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        kept = f"all limits of {', '.join(self.checked)} are kept" if self.checked else "nothing was checked: no limits"
        lines = [str(violation) for violation in self.violations] or [kept]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def check(
    motion: Motion,
    robot: Robot | None = None,
    *,
    velocity: Any = None,
    acceleration: Any = None,
    deceleration: Any = None,
    jerk: Any = None,
    torque: Any = None,
    continuous: Any = None,
) -> Check:
    """Whether a motion keeps to the limits of a robot: position, velocity, acceleration, deceleration, jerk, torque.

    velocity, acceleration, deceleration (by default as a stated acceleration), jerk, torque (at its peak), continuous
    (RMS torque, for a motion repeated for ever): a number or (nv,), instead of the robot's. Extremes of polynomials and
    series are exact; torques, rates of joints with quaternions, and accelerations whose limit is another one while the
    speed falls, are computed at 2000 instants and finer about their peaks. Without a robot, only what is passed is
    checked. Limits of the motion's own, such as those of rotors, are checked too.
    """
    mover = robot if robot is not None else motion.robot
    names = freedom_names(mover, motion.nv)
    falling = acceleration if deceleration is None else deceleration
    chosen = {
        "velocity": velocity,
        "acceleration": acceleration,
        "deceleration": falling,
        "jerk": jerk,
        "torque": torque,
        "continuous": continuous,
    }
    limits = {name: per_freedom("check", name, x, names) for name, x in chosen.items() if x is not None}
    if mover is None and not limits:
        raise DalembertError("check: there is nothing to check: pass robot=…, or limits such as velocity=…")
    units: tuple[str, ...] = ("",) * motion.nv
    violations, notes = motion.further_violations(), []
    if mover is not None:
        motion.of(mover, "check")
        stated = mover.limits._asdict()
        limits = {name: stated["effort" if name == "torque" else name] for name in chosen} | limits
        units = tuple(u for body in mover.model.independent for u in body.joint.units)
        violations += positions(motion, mover, names, units)
        notes += _unstated(mover, limits, names)
    bounded, one_way = _per_order(limits, motion.nv)
    for order, (what, limit) in enumerate(bounded.items(), start=1):
        if np.isfinite(limit).any():
            violations += _rates(motion, what, order, limit, names, units)
            if isinstance(motion, PolynomialMotion):
                violations += _jumps(motion, what, order - 1, limit, names)
    if one_way:
        violations += _one_way(motion, one_way, names, units)
        notes.append(f"limits of acceleration unlike those of deceleration are sampled at {INSTANTS} instants")
    quaternions = mover is not None and not mover.model.flat
    if quaternions and {"velocity", "acceleration"} & set(limits):
        notes.append(f"rates of joints with quaternions are sampled at {INSTANTS} instants")
        if np.isfinite(bounded["jerk"]).any() and not isinstance(motion, PolynomialMotion):
            notes.append("the jerk of joints with quaternions is not checked")
    if mover is not None and np.isfinite([limits["torque"], limits["continuous"]]).any():
        if mover.model.closures:
            notes.append("torques are not checked: the robot has loops")
        else:
            peaks = _peaks(motion, lambda t: mover.inverse_dynamics(*motion.at(t)))
            violations += _beyond("torque", *peaks, limits["torque"], names, units)
            if np.isfinite(limits["continuous"]).any():
                always = np.full(motion.nv, motion.duration)
                violations += _beyond(RMS, _heating(motion, mover), always, limits["continuous"], names, units)
            notes.append(f"torques are computed at {INSTANTS} instants, and finer about their peaks")
    return Check(tuple(violations), tuple(notes), tuple(_checked(motion, mover, limits)))


def _checked(motion: Motion, robot: Robot | None, limits: dict[str, np.ndarray]) -> Iterator[str]:
    """Kinds of limits that some joint has, and those of the motion's own."""
    if type(motion).further_violations is not Motion.further_violations:
        yield "the motion's own"
    if robot is not None and np.isfinite([robot.limits.lower, robot.limits.upper]).any():
        yield "position"
    for what in (*RATES, *EFFORTS):
        judged = what in RATES or (robot is not None and not robot.model.closures)
        if judged and what in limits and np.isfinite(limits[what]).any():
            yield EFFORTS.get(what, what)


def _per_order(limits: dict[str, np.ndarray], nv: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Limits (nv,) of velocity, acceleration and jerk that hold always; and, where a joint may speed up otherwise than
    slow down, its limits of both."""
    none = np.full(nv, np.inf)
    up, down = limits.get("acceleration", none), limits.get("deceleration", none)
    always = {"velocity": limits.get("velocity", none), "acceleration": up, "jerk": limits.get("jerk", none)}
    unlike = up != down
    if not unlike.any():
        return always, {}
    one_way = {"acceleration": np.where(unlike, up, np.inf), "deceleration": np.where(unlike, down, np.inf)}
    return always | {"acceleration": np.where(unlike, np.inf, up)}, one_way


def _one_way(
    motion: Motion, limits: dict[str, np.ndarray], names: tuple[str, ...], units: tuple[str, ...]
) -> list[Violation]:
    """Accelerations beyond a limit that holds only while the speed grows, or only while it falls."""
    violations = []
    still = SLACK * np.abs(_peaks(motion, motion.v)[0])  # speeds that are rounding, at an end at rest
    for what, sign in (("acceleration", 1.0), ("deceleration", -1.0)):

        def counted(t: np.ndarray, sign: float = sign) -> np.ndarray:
            v, a = motion.v(t), motion.a(t)
            return np.where((sign * v * a > 0.0) & (np.abs(v) > still), a, 0.0)

        violations += _beyond(what, *_peaks(motion, counted), limits[what], names, units)
    return violations


def _unstated(robot: Robot, limits: dict[str, np.ndarray], names: tuple[str, ...]) -> list[str]:
    """Notes on joints whose velocity or torque nothing bounds, which is no check that they passed."""
    notes, base = [], robot.model.base.v
    for what in ("velocity", "torque"):
        bounded = np.isfinite(limits[what])
        free = [name for k, name in enumerate(names) if not bounded[k] and not base.start <= k < base.stop]
        if free:
            listed = ", ".join(free[:LISTED]) + (f" and {len(free) - LISTED} more" if len(free) > LISTED else "")
            notes.append(f"not checked: no limit of {what} is stated for {listed}")
    return notes


def positions(motion: Motion, robot: Robot, names: tuple[str, ...], units: tuple[str, ...]) -> list[Violation]:
    """Where coordinates leave the ranges of a robot's joints."""
    extremes = motion.extremes(0)
    violations = []
    for body in robot.model.independent:
        for i, k, _ in body.joint.lines:
            coordinate, freedom = body.q.start + i, body.v.start + k
            low, high = robot.limits.lower[coordinate], robot.limits.upper[coordinate]
            slack = SLACK * max(1.0, abs(low) if np.isfinite(low) else 0.0, abs(high) if np.isfinite(high) else 0.0)
            for sign, value, time, bound in (
                (-1.0, extremes.least, extremes.least_time, low),
                (1.0, extremes.greatest, extremes.greatest_time, high),
            ):
                if sign * (value[freedom] - bound) > slack:
                    when, x, limit = float(time[freedom]), float(value[freedom]), float(bound)
                    violations.append(Violation("position", names[freedom], when, x, limit, units[freedom]))
    return violations


def _rates(
    motion: Motion, what: str, order: int, limit: np.ndarray, names: tuple[str, ...], units: tuple[str, ...]
) -> list[Violation]:
    extremes = motion.extremes(order)
    lower = -extremes.least > extremes.greatest
    value = np.where(lower, extremes.least, extremes.greatest)
    time = np.where(lower, extremes.least_time, extremes.greatest_time)
    sampled_rates = [motion.v, motion.a, *([motion.jerk] if isinstance(motion, PolynomialMotion) else [])]
    if np.isnan(value).any() and order <= len(sampled_rates):  # joints with quaternions
        sampled, sampled_time = _peaks(motion, sampled_rates[order - 1])
        unknown = np.isnan(value)
        value, time = np.where(unknown, sampled, value), np.where(unknown, sampled_time, time)
    return _beyond(what, value, time, limit, names, units)


def _beyond(
    what: str, value: np.ndarray, time: np.ndarray, limit: np.ndarray, names: tuple[str, ...], units: tuple[str, ...]
) -> list[Violation]:
    """The freedoms whose peak (nv,) exceeds its limit (nv,); units: of positions, from which follow those of `what`."""
    efforts, violations = what in ("torque", RMS), []
    for k in np.flatnonzero(np.abs(value) > limit * (1.0 + SLACK)):
        word, unit = what, f"{units[k]}{UNITS.get(what, '')}" if units[k] else ""
        if efforts:
            turns = units[k] == "rad"
            word, unit = what if turns else what.replace("torque", "force"), "N·m" if turns else "N"
        bound = float(np.copysign(limit[k], value[k]))
        violations.append(Violation(word, names[k], float(time[k]), float(value[k]), bound, unit))
    return violations


def _jumps(
    motion: PolynomialMotion, what: str, order: int, limit: np.ndarray, names: tuple[str, ...]
) -> list[Violation]:
    """Infinite accelerations and jerks where the rate below them jumps between two pieces."""
    rate = motion.curves.derivative(order)
    jump = np.abs(rate[1:, 0] - rate[:-1].sum(axis=1))
    sizes = np.abs(rate).max(axis=(0, 1), initial=0.0)
    large = (jump > JUMP * sizes + 1e-12) & np.isfinite(limit) & motion.straight
    return [
        Violation(what, names[k], float(motion.curves.times[1 + int(np.argmax(jump[:, k]))]), np.inf, float(limit[k]))
        for k in np.flatnonzero(large.any(axis=0))
    ]


def _heating(motion: Motion, robot: Robot) -> np.ndarray:
    """RMS torque (nv,) over the motion, which motors give for ever where it is repeated."""
    tau = robot.inverse_dynamics(*motion.at(np.linspace(0.0, motion.duration, INSTANTS + 1)))
    return np.sqrt((0.5 * (tau[1:] ** 2 + tau[:-1] ** 2)).mean(axis=0))


def _peaks(motion: Motion, function: Any) -> tuple[np.ndarray, np.ndarray]:
    """The value of largest size of each freedom, with its sign, and when: sampled, then finer about the largest."""
    t = np.linspace(0.0, motion.duration, INSTANTS + 1)
    values = function(t)
    at = np.argmax(np.abs(values), axis=0)
    best, time = values[at, np.arange(values.shape[1])].copy(), t[at].copy()
    for k, i in enumerate(at):
        fine = np.linspace(t[max(i - 1, 0)], t[min(i + 1, INSTANTS)], FINER + 1)
        near = function(fine)[:, k]
        j = int(np.argmax(np.abs(near)))
        if abs(near[j]) > abs(best[k]):
            best[k], time[k] = near[j], fine[j]
    return best, time
