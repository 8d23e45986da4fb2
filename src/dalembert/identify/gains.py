"""Drive gains: how many N·m a unit of motor current gives, from logs without and with a load that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.logs import Trajectory
from dalembert.math.blas import one_blas_thread
from dalembert.model import tool_frame
from dalembert.robot import Robot
from dalembert.spatial import Inertia

from .columns import INERTIAL, Columns, columns
from .compression import Samples, triangle
from .fitted import CONFIDENCE, Log, samples_of
from .least_squares import SEEN, memory
from .scales import Piece, fitted

STRANGE = 1e3  # factor beyond the usual gain at which one is rounding: the joint does not feel the load
KNOWN = 0.1  # deviation of a gain, relative to it, beyond which it is not known
UNEXPLAINED = 0.3  # share of the squares of the load's torques that may be left over; without a difference it is 1/2


@dataclass(frozen=True)
class DriveGains:
    """gains (nv,) [N·m or N per unit of the log's tau] and their standard deviations (nv,).

    seen (nv,): whether the logs tell a joint's gain to 10 %; where they do not, as of a joint that no weight loads,
    the gain is NaN and its deviation infinite: not known. com (3,) [m]: of the load, as given or found with the gains.
    """

    joints: tuple[str, ...]
    gains: np.ndarray
    deviation: np.ndarray
    seen: np.ndarray
    com: np.ndarray

    def torques(self, log: Log) -> Trajectory:
        """The log with torques for its currents; NaN, which a fit leaves out, where the gain is not known."""
        if log.tau is None:
            raise DalembertError("drive_gains: the log has no currents (tau)")
        return Trajectory(log.t, log.q, log.v, log.a, np.asarray(log.tau, float) * self.gains)

    def table(self) -> str:
        """One line per joint."""
        width = max(len(name) for name in self.joints)
        rows = zip(self.joints, self.gains, self.deviation, self.seen, strict=True)
        return "\n".join(
            f"{name:<{width}}  {gain:.5g} ± {CONFIDENCE * dev:.2g}" if seen else f"{name:<{width}}  not known"
            for name, gain, dev, seen in rows
        )


@one_blas_thread()
def drive_gains(
    robot: Robot,
    log_empty: Log,
    log_loaded: Log,
    *,
    mass: float,
    com: Any = None,
    frame: str | None = None,
) -> DriveGains:
    """Gains g with g · tau the torque at each joint, where tau are currents, from one log without and one with a load.

    mass [kg] of the load, which sets the scale; com (3,) [m] of it, in the axes of `frame` (default: the tool), None:
    not known, and found with the gains, as its moments of inertia are. tau = (W x + torque of the load) / g, where x
    are the robot's own parameters, friction and rotors included, without load.
    """
    if not mass > 0.0:
        raise DalembertError(f"drive_gains: mass is {mass!r}, expected that of the known load, above 0 kg")
    place = tool_frame(robot.model, frame)
    parameters = columns(robot, ("viscous", "coulomb", "offset"), True)
    body = parameters.bodies.index(place.body)
    center = np.zeros(3) if com is None else np.asarray(com, float)
    load = Inertia.from_com(mass, center, np.zeros((3, 3))).transform(place.placement).parameters()
    unknown = np.arange(4 if com is not None else 1, len(INERTIAL))
    if log_empty.tau is None or log_loaded.tau is None:
        raise DalembertError("drive_gains: a log has no currents (tau)")
    logs = [samples_of(robot, log) for log in (log_empty, log_loaded)]
    blocks = [_equations(parameters, body, load, unknown, log, share) for share, log in enumerate(logs)]
    rows = np.concatenate(blocks)
    x, gains = _linear(rows, robot.nv, mass)
    pieces = []
    for k in range(robot.nv):
        used = rows[k :: robot.nv]
        used = used[np.isfinite(used[:, -1])]
        pieces.append(Piece(triangle(used), len(used)))
    x, scales, deviations = fitted(pieces, x, 1.0 / gains, np.ones(robot.nv, bool))
    modelled = rows[:, : len(x)] @ x + rows[:, -2]
    left = (rows[:, -1] - np.tile(scales, len(rows) // robot.nv) * modelled).reshape(-1, robot.nv)
    deviations = deviations * np.sqrt(memory(np.nan_to_num(left / np.maximum(np.nanstd(left, axis=0), 1e-300))))
    seen = deviations < KNOWN
    found = load.copy()
    found[unknown] += x[parameters.size :]
    where = Inertia.from_parameters(found).transform(place.placement.inverse()).com if com is None else center
    return DriveGains(
        robot.model.freedom_names,
        np.where(seen, 1.0 / scales, np.nan),
        np.where(seen, deviations / np.abs(scales), np.inf),
        seen,
        np.asarray(where),
    )


def _equations(
    parameters: Columns, body: int, load: np.ndarray, unknown: np.ndarray, log: Samples, share: int
) -> np.ndarray:
    """(T nv, n + 2): [A | known | current] of one log; share: 1 with the load, 0 without."""
    W = parameters.matrix(log.q, log.v, log.a)
    own = W[:, :, len(INERTIAL) * body : len(INERTIAL) * (body + 1)]
    parts = [W, share * own[:, :, unknown], share * (own @ load)[:, :, None], log.tau[:, :, None]]
    rows = np.concatenate(parts, axis=2).reshape(-1, W.shape[2] + len(unknown) + 2)
    return np.asarray(rows)


def _linear(rows: np.ndarray, nv: int, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """(x, gains) from A x + known = g tau, which is linear: where Gauss-Newton starts."""
    n, currents = rows.shape[1] - 2, np.zeros((len(rows), nv))
    currents[np.arange(len(rows)), np.tile(np.arange(nv), len(rows) // nv)] = -rows[:, -1]
    used = np.isfinite(rows[:, -1])
    A, b = np.concatenate([rows[:, :n], currents], axis=1)[used], -rows[used, -2]
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    x = np.linalg.lstsq(A / scale, b, rcond=SEEN)[0]
    left = b - (A / scale) @ x
    if not float(left @ left) < UNEXPLAINED * float(b @ b):
        raise DalembertError(
            f"drive_gains: the two logs do not show a load of {mass:g} kg: are both with it, or both without?"
        )
    gains = x[n:] / scale[n:]
    usual = float(np.median(np.abs(gains)))
    strange = ~((np.abs(gains) > usual / STRANGE) & (np.abs(gains) < usual * STRANGE))
    return x[:n] / scale[:n], np.where(strange, usual or 1.0, gains)
