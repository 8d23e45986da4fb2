"""The payload of a robot, from a log without and one with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math.blas import one_blas_thread
from dalembert.model import tool_frame
from dalembert.robot import Robot
from dalembert.spatial import Inertia

from . import physical
from .columns import INERTIAL
from .compression import triangle
from .fit import fit
from .fitted import Fit, Log
from .gains import DriveGains
from .least_squares import SEEN, column_scale, independent_pieces, jackknife, unseen

SIZE = 0.05  # radius of gyration [m] of the prior body: that of a thing one can hold
CERTAIN = 4.0  # standard deviations below zero at which a mass is no noise
STRENGTH = 0.1  # of that prior, in units of the noise


@dataclass(frozen=True)
class Payload:
    """A load: mass [kg]; com (3,) [m] in the frame's axes from its origin; inertia (3, 3) [kg·m²] about the com.

    deviation (10,): standard deviations of m, m·c (3), and the six moments about the frame's origin, infinite where the
    motion does not show them. robot: the one without load, as fitted, with the load added.
    """

    frame: str
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    deviation: np.ndarray
    robot: Robot

    def __repr__(self) -> str:
        com = ", ".join(f"{x:.4f}" for x in self.com)
        return f"<Payload at {self.frame!r}: {self.mass:.4g} ± {1.96 * self.deviation[0]:.2g} kg, com ({com}) m>"


@one_blas_thread()
def payload(
    robot: Robot,
    log_empty: Log,
    log_loaded: Log,
    *,
    frame: str | None = None,
    gains: DriveGains | None = None,
    check: bool = True,
) -> Payload:
    """The load that a robot holds at a frame (default: the tool at the end of the longest chain).

    The log without load gives the robot's own parameters and friction; what the other needs beyond them is the load.
    Both logs should show the same kind of motion, with the wrist turning. gains: of the drives, where the logs' tau are
    currents; joints of which the gain is not known are left out, and the errors of the others are in the deviations.
    """
    place = tool_frame(robot.model, frame)
    if gains is not None:
        log_empty, log_loaded = gains.torques(log_empty), gains.torques(log_loaded)
    return payload_beyond(fit(robot, log_empty, check=check), log_loaded, place.name, gains)


def payload_beyond(empty: Fit, log: Log, frame: str, gains: DriveGains | None = None) -> Payload:
    """The load at a frame that a log shows beyond a fit without load."""
    columns = empty.columns
    place = columns.robot.model.frame(frame)
    body = columns.bodies.index(place.body)
    if log.tau is None:
        raise DalembertError("payload: the log has no torques")
    q, v, a = (np.asarray(x, float) for x in (log.q, log.v, log.a))
    beyond = (np.asarray(log.tau, float) - empty.torque(q, v, a)) / empty.sigma
    W = columns.matrix(q, v, a)[:, :, len(INERTIAL) * body : len(INERTIAL) * (body + 1)] / empty.sigma[:, None]
    offsets = np.broadcast_to(np.diag(1.0 / empty.sigma), (len(q), *np.diag(empty.sigma).shape))
    full = np.concatenate([W, offsets], axis=2)  # friction offsets drift with temperature: they are free again
    used = np.isfinite(beyond)
    R = triangle(np.column_stack([full[used], beyond[used]]))
    _, visible = column_scale(R[:, :10])
    if not visible[0]:
        raise DalembertError("payload: the motion does not show a mass: joints that lift it must move")
    size = R.shape[1] - 1
    plain = np.linalg.lstsq(R[:size, :size], R[:size, size], rcond=1e-6)[0]
    sure = _deviation(full, np.nan_to_num(beyond), used, R[:size, :size], plain)[0]
    if plain[0] < -CERTAIN * sure:
        raise DalembertError(
            f"payload: the log with load shows {-plain[0]:.3g} kg less than the one without; are the two exchanged?"
        )
    rough = max(float(plain[0]), 1e-2)
    guess = Inertia.from_com(rough, place.placement.p, rough * SIZE**2 * np.eye(3)).parameters()
    problem = physical.PhysicalProblem(
        R[:size, :size], R[:size, size], 1, guess, np.zeros((0, size)), strength=STRENGTH
    )
    solution = physical.solve(problem)
    load = Inertia.from_parameters(solution.x[:10])
    seen = load.transform(place.placement.inverse())
    deviation = _deviation(full, np.nan_to_num(beyond), used, R[:size, :size], solution.x)[:10]
    rows = np.where(used[:, :, None], full, 0.0)
    inverse = np.linalg.pinv(np.einsum("tjc,tjd->cd", rows, rows), rcond=SEEN**2, hermitian=True)
    variance = deviation**2 + _from_robot(empty, rows, inverse, columns.matrix(q, v, a))[:10]
    if gains is not None:
        variance += _from_gains(gains, rows, inverse, np.where(used, beyond, 0.0))[:10]
    heavier = columns.robot_with(empty.x).edit()
    heavier.payload(float(load.mass), frame=frame, com=tuple(seen.com), inertia=seen.about_com())
    return Payload(frame, float(load.mass), np.asarray(seen.com), seen.about_com(), np.sqrt(variance), heavier.done())


def _from_robot(empty: Fit, rows: np.ndarray, inverse: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Variance of each parameter of the rows (T, nv, n) from the error of the robot's own, fitted without load.

    inverse (n, n): of the normal equations of the rows; W (T, nv, size): the regressor of the robot.
    """
    chosen = [k for k, seen in zip(empty.base.independent, empty.seen, strict=True) if seen]
    changes = inverse @ np.einsum("tjc,tjd->cd", rows, W[:, :, chosen] / empty.sigma[:, None])
    covariance = empty.covariance[np.ix_(empty.seen, empty.seen)]
    return np.asarray(np.einsum("cd,de,ce->c", changes, covariance, changes))


def _from_gains(gains: DriveGains, rows: np.ndarray, inverse: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """The same from the errors of the gains, which scale what each joint's torque (T, nv) is beyond the robot's own."""
    relative = np.where(gains.seen, gains.deviation / np.abs(gains.gains), 0.0)
    changes = np.einsum("tjc,tj->jc", rows, beyond) @ inverse * relative[:, None]
    return np.asarray(np.sum(changes**2, axis=0))


def _deviation(full: np.ndarray, beyond: np.ndarray, used: np.ndarray, R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Standard deviation of each parameter of `full` (T, nv, n), infinite where R, its triangle, does not show it."""
    rows = np.where(used[:, :, None], full, 0.0)
    residuals = np.where(used, beyond - full @ x, 0.0)
    pieces = [(rows[at], residuals[at]) for at in independent_pieces(residuals)]
    return np.where(unseen(R), np.inf, np.sqrt(np.diag(jackknife(R.T @ R, pieces))))
