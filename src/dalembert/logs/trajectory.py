"""Motions from files: joint positions by name over time, and what was measured beside them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.tables import Table, read_table, write_table

SLACK = 1e-3  # rad or m by which a measured position may miss a limit
TIMES = ("t", "time", "timestamp", "stamp", "seconds")
# words that files use for a joint's position, velocity, acceleration and effort; {} is the joint
WORDS = {
    "q": ("q.{}", "{}", "{}.position", "{}_position", "{}_pos", "position.{}", "q_{}", "pos_{}"),
    "v": ("v.{}", "{}.velocity", "{}_velocity", "{}_vel", "velocity.{}", "qd.{}", "dq_{}", "vel_{}"),
    "a": ("a.{}", "{}.acceleration", "{}_acceleration", "{}_acc", "acceleration.{}", "qdd.{}", "ddq_{}", "acc_{}"),
    "tau": ("tau.{}", "{}.effort", "{}_effort", "{}_torque", "effort.{}", "torque.{}", "tau_{}"),
}


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion of a robot: t (n,) [s]; q (n, nq); v, a (n, nv); tau (n, nv) where it was measured, else None.

    title: what it is, in words; log: what was computed because the file does not have it.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray | None = None
    log: tuple[str, ...] = ()
    title: str = ""


def read_trajectory(path: str | os.PathLike[str], robot: Robot) -> Trajectory:
    """Read a motion of `robot` from .csv .npz .parquet .h5 .mcap, or from a ROS bag.

    A column `t` (or time …) in s, and for every joint a column named as the joint or `q.<joint>` in rad or m; further
    `v.`, `a.`, `tau.`. Velocities and accelerations that are missing come from differences, which the log says.
    """
    table, _ = read_table(path)
    where = str(Path(path))
    t = _times(table, where)
    q = _joint_columns(table, robot, "q", where)
    v, a, tau = (_joint_columns(table, robot, kind, where, required=False) for kind in ("v", "a", "tau"))
    assert q is not None
    log = []
    if v is None:
        v = _rates(robot, t, q)
        log.append("velocities come from differences of the positions")
    if a is None:
        a = np.gradient(v, t, axis=0)
        log.append("accelerations come from differences of the velocities")
    return Trajectory(t, q, v, a, tau, (*log, *_outside(robot, q)), Path(path).name)


def _outside(robot: Robot, q: np.ndarray) -> list[str]:
    """What a motion says beyond the limits of the joints: often degrees, or another robot's."""
    beyond = []
    for body in robot.model.independent:
        joint, x = body.joint, q[:, body.q]
        if joint.nq == 1 and (np.any(x < joint.lower - SLACK) or np.any(x > joint.upper + SLACK)):
            reached = f"{x.min():.4g} to {x.max():.4g}, limits {joint.lower[0]:.4g} to {joint.upper[0]:.4g}"
            beyond.append(f"{joint.name} ({reached})")
    if not beyond:
        return []
    others = f" and {len(beyond) - 1} more" if len(beyond) > 1 else ""
    return [f"positions leave the limits of {beyond[0]}{others}; expected rad and m"]


def write_trajectory(path: str | os.PathLike[str], robot: Robot, trajectory: Trajectory) -> None:
    """Write a motion with columns t, q.<joint>, v.<joint>, a.<joint> and tau.<joint>; the ending says how."""
    table: Table = {"t": trajectory.t}
    for kind in WORDS:
        values = getattr(trajectory, kind)
        if values is not None:
            table |= {f"{kind}.{name}": values[:, k] for k, name in enumerate(_names(robot, kind))}
    write_table(path, table)


def _times(table: Table, where: str) -> np.ndarray:
    lowered = {name.lower(): name for name in table}
    name = next((lowered[word] for word in TIMES if word in lowered), None)
    if name is None:
        raise DalembertError(f"{where}: no column of times; expected one called {', '.join(TIMES)}, in seconds")
    t = np.asarray(table[name], float)
    if len(t) < 2 or not np.all(np.diff(t) > 0.0):
        raise DalembertError(f"{where}: the times in column '{name}' must increase, over two rows or more")
    return t - t[0]


def _names(robot: Robot, kind: str) -> tuple[str, ...]:
    return robot.model.coordinate_names if kind == "q" else robot.model.freedom_names


def _joint_columns(table: Table, robot: Robot, kind: str, where: str, *, required: bool = True) -> np.ndarray | None:
    lowered = {name.lower(): name for name in table}
    names = _names(robot, kind)
    found: list[np.ndarray] = []
    missing = []
    for name in names:
        words = (word.format(name).lower() for word in WORDS[kind])
        column = next((lowered[word] for word in words if word in lowered), None)
        if column is None:
            missing.append(name)
        else:
            found.append(np.asarray(table[column], float))
    if missing and (required or found):
        columns = ", ".join(list(table)[:12]) + (" …" if len(table) > 12 else "")
        raise DalembertError(
            f"{where}: no column for {kind} of {', '.join(missing[:4])}{' …' if len(missing) > 4 else ''}; "
            f"expected {WORDS[kind][0].format(missing[0])!r}; the columns are {columns}"
        )
    if missing:
        return None
    values = np.stack(found, axis=1)
    if not np.all(np.isfinite(values)):
        row, place = np.argwhere(~np.isfinite(values))[0]
        raise DalembertError(f"{where}: row {row + 1} has no number for {kind} of {names[place]}; drop or fill it")
    return values


def _rates(robot: Robot, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Velocities (n, nv) by central differences on the manifold, one-sided at the ends."""
    step = robot.difference(q[:-1], q[1:])
    pace = step / np.diff(t)[:, None]
    before, after = np.diff(t)[:-1, None], np.diff(t)[1:, None]
    inner = (pace[:-1] * after + pace[1:] * before) / (before + after)
    return np.concatenate([pace[:1], inner, pace[-1:]])
