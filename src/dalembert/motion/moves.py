"""Moves from one configuration to another along the shortest way: only the time law differs.

q(t) = q0 ⊕ s(t) d with d = difference(q0, q1): straight in the coordinates, a screw motion of a free base. v = ṡ d and
a = s̈ d hold on the manifold too, since the velocity keeps its direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .motion import PolynomialMotion
from .points import allowed, configuration, freedom_names, per_freedom, positive
from .polynomials import Polynomials

STILL = 1e-14  # a change of coordinates below this is none


def cubic(q0: Any, q1: Any, duration: float = 1.0, robot: Robot | None = None) -> PolynomialMotion:
    """From rest to rest along 3 s² − 2 s³: least ∫ a² dt; the acceleration jumps at both ends.

    q0, q1 (nq,); duration [s]; robot: for joints with quaternions, and for names in messages.
    """
    law = Polynomials(np.array([0.0, positive("cubic", "duration", duration, "a time [s]")]), _law(0.0, 0.0, 3.0, -2.0))
    return _along("cubic", q0, q1, law, robot)


def quintic(q0: Any, q1: Any, duration: float = 1.0, robot: Robot | None = None) -> PolynomialMotion:
    """From rest to rest along 10 s³ − 15 s⁴ + 6 s⁵: least ∫ jerk² dt; the acceleration is 0 at both ends.

    q0, q1 (nq,); duration [s]; robot: for joints with quaternions, and for names in messages.
    """
    times = np.array([0.0, positive("quintic", "duration", duration, "a time [s]")])
    return _along("quintic", q0, q1, Polynomials(times, _law(0.0, 0.0, 0.0, 10.0, -15.0, 6.0)), robot)


def trapezoid(
    q0: Any,
    q1: Any,
    velocity: Any = None,
    acceleration: Any = None,
    duration: float | None = None,
    robot: Robot | None = None,
) -> PolynomialMotion:
    """From rest to rest at constant acceleration, constant velocity, constant deceleration; all joints together.

    velocity, acceleration: limits, a number or (nv,) [rad/s, rad/s² or m]; by default those of the robot, of
    acceleration and deceleration the lower one. duration [s]: default the shortest that the limits allow.
    """
    start, step, names = _way("trapezoid", q0, q1, robot)
    if not _moves(step):
        return _held("trapezoid", start, step, duration, robot)
    V, A = _shares("trapezoid", step, names, robot, velocity, acceleration)
    if V * V >= A:  # the limit of velocity is not reached
        lengths = np.full(2, np.sqrt(1.0 / A))
    else:
        lengths = np.array([V / A, 1.0 / V - V / A, V / A])
    jerks = (A, -A) if len(lengths) == 2 else (A, 0.0, -A)
    law = _built(lengths, [(0.0, a) for a in jerks])
    return _stretched("trapezoid", law, start, step, duration, robot)


def s_curve(
    q0: Any,
    q1: Any,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    duration: float | None = None,
    robot: Robot | None = None,
) -> PolynomialMotion:
    """From rest to rest with limited jerk: up to seven pieces, all joints together; the acceleration is continuous.

    velocity, acceleration, jerk: limits, a number or (nv,) [rad/s, rad/s², rad/s³ or m]; by default those of the robot,
    of acceleration and deceleration the lower one. duration [s]: default the shortest that the limits allow.
    """
    start, step, names = _way("s_curve", q0, q1, robot)
    if not _moves(step):
        return _held("s_curve", start, step, duration, robot)
    V, A = _shares("s_curve", step, names, robot, velocity, acceleration)
    J = _share("s_curve", "jerk", allowed("jerk", jerk, robot), step, names)
    ramp, hold, cruise = _seven(V, A, J)
    lengths = np.array([ramp, hold, ramp, cruise, ramp, hold, ramp])
    signs = np.array([1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0])
    peak = J * ramp
    accelerations = np.array([0.0, peak, peak, 0.0, 0.0, -peak, -peak])
    kept = lengths > 1e-12 * lengths.sum()
    law = _built(lengths[kept], list(zip(signs[kept] * J, accelerations[kept], strict=True)))
    return _stretched("s_curve", law, start, step, duration, robot)


def _seven(V: float, A: float, J: float) -> tuple[float, float, float]:
    """Times (of changing acceleration, of constant acceleration, of constant velocity) of a unit way."""
    if V * J >= A * A:  # the acceleration is reached before the velocity
        ramp, hold = A / J, V / A - A / J
    else:
        ramp, hold = np.sqrt(V / J), 0.0
    cruise = 1.0 / V - (2.0 * ramp + hold)
    if cruise >= 0.0:
        return ramp, hold, cruise
    top = 0.5 * (np.sqrt((A * A / J) ** 2 + 4.0 * A) - A * A / J)  # the velocity that is reached at acceleration A
    if top * J >= A * A:
        return A / J, top / A - A / J, 0.0
    return np.cbrt(0.5 / J), 0.0, 0.0


def _law(*coefficients: float) -> np.ndarray:
    return np.array(coefficients)[None, :, None]


def _built(lengths: np.ndarray, pieces: list[tuple[float, float]]) -> Polynomials:
    """A time law from 0 to 1 out of pieces of constant jerk that begin at an acceleration (jerk, acceleration)."""
    coefficients, x, v = [], 0.0, 0.0
    for h, (jerk, a) in zip(lengths, pieces, strict=True):
        coefficients.append([x, v * h, 0.5 * a * h**2, jerk * h**3 / 6.0])
        x, v = sum(coefficients[-1]), v + h * (a + 0.5 * jerk * h)
    table = np.array(coefficients)[:, :, None] / x  # the end is 1, without what rounding left
    return Polynomials(np.concatenate([[0.0], np.cumsum(lengths)]), table)


def _way(where: str, q0: Any, q1: Any, robot: Robot | None) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Start (nq,), displacement (nv,) and names of the freedoms."""
    start, end = configuration(where, "q0", q0, robot), configuration(where, "q1", q1, robot)
    if start.shape != end.shape:
        raise DalembertError(f"{where}: q0 has {len(start)} coordinates and q1 {len(end)}, expected as many")
    step = end - start if robot is None else robot.difference(start, end)
    return start, step, freedom_names(robot, len(step))


def _share(where: str, name: str, limit: Any, step: np.ndarray, names: tuple[str, ...]) -> float:
    """The limit as a rate of the share of the way: of the joint that is nearest to its own."""
    if limit is None:
        raise DalembertError(f"{where}: what {name} is allowed? pass {name}=…, a number or one for each joint")
    limits = per_freedom(where, name, limit, names)
    moving = np.abs(step) > STILL
    share = float(np.min(limits[moving] / np.abs(step[moving])))
    if not np.isfinite(share):
        raise DalembertError(f"{where}: {name} has no limit for any joint that moves, expected a finite one")
    return share


def _shares(
    where: str, step: np.ndarray, names: tuple[str, ...], robot: Robot | None, velocity: Any, acceleration: Any
) -> tuple[float, float]:
    velocity, acceleration = allowed("velocity", velocity, robot), allowed("steepest", acceleration, robot)
    return _share(where, "velocity", velocity, step, names), _share(where, "acceleration", acceleration, step, names)


def _moves(step: np.ndarray) -> bool:
    return bool(np.any(np.abs(step) > STILL))


def _held(
    where: str, start: np.ndarray, step: np.ndarray, duration: float | None, robot: Robot | None
) -> PolynomialMotion:
    """A move to where it starts: rest, for as long as it is told to."""
    if duration is None:
        raise DalembertError(f"{where}: q0 and q1 are the same, which takes no time: pass duration=… to stay there")
    seconds = positive(where, "duration", duration, "a time [s]")
    return _moved(where, start, step, Polynomials(np.array([0.0, seconds]), _law(0.0, 1.0)), robot)


def _stretched(
    where: str, law: Polynomials, start: np.ndarray, step: np.ndarray, duration: float | None, robot: Robot | None
) -> PolynomialMotion:
    """The move along a time law, as it is or in a longer time."""
    shortest = float(law.times[-1])
    if duration is not None:
        seconds = positive(where, "duration", duration, "a time [s]")
        if seconds < shortest * (1.0 - 1e-9):
            raise DalembertError(
                f"{where}: duration is {seconds:g} s, but the limits allow no less than {shortest:.6g} s: give the "
                "move more time, or raise a limit"
            )
        law = Polynomials(law.times * (seconds / shortest), law.coefficients)
    return _moved(where, start, step, law, robot)


def _along(where: str, q0: Any, q1: Any, law: Polynomials, robot: Robot | None) -> PolynomialMotion:
    start, step, _ = _way(where, q0, q1, robot)
    return _moved(where, start, step, law, robot)


def _moved(where: str, start: np.ndarray, step: np.ndarray, law: Polynomials, robot: Robot | None) -> PolynomialMotion:
    """q0 ⊕ s(t) d as curves; a piece's own anchor where a joint has a quaternion."""
    coefficients = law.coefficients * step
    if robot is None or robot.model.flat:
        coefficients[:, 0] += start
        return PolynomialMotion(Polynomials(law.times, coefficients), robot, title=where)
    anchor = start.copy()
    for body in robot.model.independent:
        if body.joint.flat:
            coefficients[:, 0, body.v] += start[body.q]
            anchor[body.q] = 0.0
    anchors = np.repeat(anchor[None], len(coefficients), axis=0)
    return PolynomialMotion(Polynomials(law.times, coefficients), robot, anchors, where)
