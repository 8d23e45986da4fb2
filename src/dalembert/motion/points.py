"""Configurations, times and numbers that people pass to motions: checked, and named in errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.errors import DalembertError, is_number
from dalembert.robot import Robot


def configuration(where: str, name: str, q: Any, robot: Robot | None) -> np.ndarray:
    """One configuration (nq,), finite; quaternions of unit length where a robot is given."""
    return configurations(where, name, np.atleast_1d(real_array(f"{where}: {name}", q, "expected (nq,)"))[None], robot)[
        0
    ]


def configurations(where: str, name: str, q: Any, robot: Robot | None) -> np.ndarray:
    """Configurations (k, nq), finite; quaternions of unit length where a robot is given."""
    expected = "expected one row of coordinates for each point"
    points = real_array(f"{where}: {name}", q, expected).astype(float)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or not points.size:
        raise DalembertError(f"{where}: {name} has shape {points.shape}, {expected}")
    if robot is not None and points.shape[1] != robot.nq:
        raise DalembertError(f"{where}: {name} has {points.shape[1]} coordinates, robot {robot.name!r} has {robot.nq}")
    if not np.all(np.isfinite(points)):
        k, j = np.argwhere(~np.isfinite(points))[0]
        joint = f"coordinate {j}" if robot is None else repr(robot.model.coordinate_names[j])
        raise DalembertError(f"{where}: {name}: point {k} has {points[k, j]} for {joint}, expected finite numbers")
    if robot is not None and not robot.model.flat:
        robot.difference(points, points)  # refuses quaternions that are not of unit length
    return points


def rising(where: str, times: Any, count: int) -> np.ndarray:
    """Times (count,) [s], rising, moved to begin at 0."""
    t = np.atleast_1d(real_array(f"{where}: times", times, f"expected {count} rising times [s]").astype(float))
    if t.shape != (count,):
        raise DalembertError(f"{where}: times has shape {t.shape}, expected ({count},): one for each point")
    if not np.all(np.isfinite(t)):
        raise DalembertError(f"{where}: times has NaN or inf, expected finite numbers [s]")
    falls = np.flatnonzero(np.diff(t) <= 0.0)
    if len(falls):
        k = int(falls[0])
        raise DalembertError(f"{where}: times are not in order: {t[k]:g} s of point {k}, then {t[k + 1]:g} s")
    return t - t[0]


def positive(where: str, name: str, x: Any, what: str) -> float:
    """One finite number above 0."""
    if not is_number(x) or not 0.0 < float(x) < np.inf:
        raise DalembertError(f"{where}: {name} is {x!r}, expected {what} above 0")
    return float(x)


def per_freedom(where: str, name: str, x: Any, names: tuple[str, ...]) -> np.ndarray:
    """Limits (n,) from one number or one for each freedom: above 0, infinite where there is none."""
    values = real_array(f"{where}: {name}", x, f"expected a number or ({len(names)},)").astype(float)
    if values.ndim > 1 or values.size not in (1, len(names)):
        raise DalembertError(f"{where}: {name} has shape {values.shape}, expected one number or ({len(names)},)")
    values = np.broadcast_to(values, (len(names),))
    if not (values > 0.0).all():
        k = int(np.argmin(values > 0.0))
        raise DalembertError(f"{where}: {name} of {names[k]} is {values[k]:g}, expected a limit above 0")
    return values


def allowed(name: str, limit: Any, robot: Robot | None) -> Any:
    """The limit that is passed, else that of the robot by its name in `robot.limits`; None where neither states one."""
    if limit is not None or robot is None:
        return limit
    stated = getattr(robot.limits, name)
    return stated if np.isfinite(stated).any() else None


def freedom_names(robot: Robot | None, n: int) -> tuple[str, ...]:
    """The name of each freedom in errors."""
    return tuple(f"coordinate {k}" for k in range(n)) if robot is None else robot.model.freedom_names
