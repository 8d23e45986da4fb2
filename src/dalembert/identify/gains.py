"""Drive gains: how many N·m a unit of motor current gives, from logs without and with a load that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import tool_frame
from dalembert.robot import Robot
from dalembert.spatial import Inertia

from .columns import INERTIAL, columns
from .fitted import Log
from .least_squares import SEEN

UNEXPLAINED = 0.3  # share of the squares of the load's torques that may be left over; without a difference it is 1/2


@dataclass(frozen=True)
class DriveGains:
    """gains (nv,) [N·m or N per unit of the log's tau], deviation (nv,), and which joints feel the load (nv,)."""

    joints: tuple[str, ...]
    gains: np.ndarray
    deviation: np.ndarray
    seen: np.ndarray

    def table(self) -> str:
        """One line per joint."""
        width = max(len(name) for name in self.joints)
        rows = zip(self.joints, self.gains, self.deviation, self.seen, strict=True)
        return "\n".join(
            f"{name:<{width}}  {gain:.5g} ± {1.96 * dev:.2g}" if seen else f"{name:<{width}}  does not feel the load"
            for name, gain, dev, seen in rows
        )


def drive_gains(
    robot: Robot,
    log_empty: Log,
    log_loaded: Log,
    *,
    mass: float,
    com: Any = (0.0, 0.0, 0.0),
    frame: str | None = None,
) -> DriveGains:
    """Gains g with g · tau the torque at each joint, where tau are currents, from one log without and one with a load.

    mass [kg] and com (3,) [m] of the load, in the axes of `frame` (default: the tool). The load is what sets the scale:
    W x − g tau = 0 without, and = −(torque of the load) with it; x are the robot's own parameters, friction included.
    """
    if not mass > 0.0:
        raise DalembertError(f"drive_gains: mass is {mass!r}, expected that of the known load, above 0 kg")
    place = tool_frame(robot.model, frame)
    parameters = columns(robot, ("viscous", "coulomb", "offset"), True)
    body = parameters.bodies.index(place.body)
    load = Inertia.from_com(mass, np.asarray(com, float), np.zeros((3, 3))).transform(place.placement).parameters()
    nv, size = robot.nv, parameters.size
    blocks, rights = [], []
    for log, share in ((log_empty, 0.0), (log_loaded, 1.0)):
        if log.tau is None:
            raise DalembertError("drive_gains: a log has no currents (tau)")
        q, v, a, current = (np.asarray(x, float) for x in (log.q, log.v, log.a, log.tau))
        W = parameters.matrix(q, v, a)
        known = W[:, :, len(INERTIAL) * body : len(INERTIAL) * (body + 1)] @ load
        driven = np.zeros((len(q), nv, nv))
        driven[:, np.arange(nv), np.arange(nv)] = -current
        blocks.append(np.concatenate([W, driven], axis=2).reshape(-1, size + nv))
        rights.append(-share * known.ravel())
    A, b = np.concatenate(blocks), np.concatenate(rights)
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    _, s, Vt = np.linalg.svd(np.asarray(np.linalg.qr(A / scale, mode="r")))
    kept = s > SEEN * s[0]
    inverse = (Vt[kept].T / s[kept] ** 2) @ Vt[kept]
    x = inverse @ ((A / scale).T @ b)
    left = b - (A / scale) @ x
    variance = float(left @ left) / max(len(b) - int(kept.sum()), 1)
    if not float(left @ left) < UNEXPLAINED * float(b @ b):
        raise DalembertError(
            f"drive_gains: the two logs do not show a load of {mass:g} kg: are both with it, or both without?"
        )
    hidden = np.sum(Vt[~kept] ** 2, axis=0)[size:] > 1e-6
    deviation = np.sqrt(variance * np.diag(inverse)[size:]) / scale[size:]
    names = robot.model.freedom_names
    return DriveGains(names, x[size:] / scale[size:], deviation, ~hidden)
