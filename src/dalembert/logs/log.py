"""A robot's log: measurements in SI units, and every decision that was taken in reading them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.tables import read_table

from .angles import normalized, outside, unwrapped
from .channels import Sources, channel, names_of, required, sources
from .sensors import MotorSide, Sensors, by_joint, from_counts, from_currents, from_motors
from .smoothing import SHORT, Smoothed, local_noise, smooth
from .times import Clock, clock, stamps, unevenness
from .units import SECONDS

KINDS = ("q", "v", "a", "tau")  # of a motion
WINDOWS = 60  # stretches over which positions and velocities are compared
AGREES = (0.8, 1.25)  # slope of positions over the integral of velocities
SMOOTHER = 0.5  # noise on equal steps over noise on the stamps, below which equal steps are right
TYPICAL = {np.pi / 180: "velocities in degrees per second", 180 / np.pi: "positions in degrees"}


@dataclass(frozen=True, eq=False)
class Log:
    """A robot's motion as in a file, in SI units and the robot's order.

    t (n,) [s] from 0, increasing; q (n, nq), angles continuous; v, a, tau, temperature [°C] (n, nv), each None where
    the file has none.
    log: what was chosen, converted, dropped or is in doubt. title: the file's name.
    """

    robot: Robot
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None = None
    a: np.ndarray | None = None
    tau: np.ndarray | None = None
    temperature: np.ndarray | None = None
    log: tuple[str, ...] = ()
    title: str = ""

    def paths(self) -> np.ndarray:
        """Positions (n, nv) whose derivatives are the velocities: q, and for quaternions the sum of their steps."""
        steps = np.zeros((len(self.t), self.robot.nv))
        steps[1:] = self.robot.difference(self.q[:-1], self.q[1:])
        path = np.cumsum(steps, axis=0)
        for body in self.robot.model.independent:
            if body.joint.nq == body.joint.nv:
                path[:, body.v] = self.q[:, body.q]
        return path

    def smoothed(self, bandwidth: float | None = None) -> Smoothed:
        """The path with velocities and accelerations; bandwidth [Hz], None: chosen from the data for each joint."""
        return smooth(self.t, self.paths(), bandwidth)

    def __repr__(self) -> str:
        return f"<Log {self.title!r} of robot {self.robot.name!r}: {len(self.t)} times>"


def read_log(
    path: str | os.PathLike[str],
    robot: Robot,
    *,
    topic: str | None = None,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    sensors: Sensors = None,
    cut: tuple[float, float] | None = None,
) -> Log:
    """Read a robot's motion from a file: .csv .npz .parquet .h5 .mcap, or a ROS bag.

    topic: of an .mcap file or a bag, where there are several. columns: which column is "t", "q.elbow", "tau.elbow" …,
    where the names do not say it. units: {"t": "ms", "q": "deg"}, where the file does not state them. sensors: for all
    joints or by name, where positions are encoder counts, or motor currents stand for torques; or `MotorSide`. cut:
    from and to which time [s] after the first row it is read.
    """
    where = str(Path(path))
    table = read_table(path, topic)
    source = sources(where, table, columns, units)
    stamped = stamps(source)
    count = len(stamped.values)
    q, notes = required(source, robot, "q", count)
    values = {"q": q}
    for kind in KINDS[1:]:
        numbers, more = channel(source, robot, kind, count)
        notes += more
        if numbers is not None:
            values[kind] = numbers
    notes += _converted(source, robot, values, sensors)
    rows, dropped = _rows_with_numbers(robot, values, where)
    values = {kind: numbers[rows] for kind, numbers in values.items()}
    times = clock(source, stamped, rows, np.nan_to_num(np.hstack(list(values.values()))))
    values = {kind: numbers[times.kept] for kind, numbers in values.items()}
    q, straightened = normalized(robot, values["q"], where)
    q, wraps = unwrapped(robot, q)
    log = Log(robot, times.t, q, values.get("v"), values.get("a"), values.get("tau"), title=Path(path).name)
    temperature, warm = _temperature(source, robot, rows[times.kept], count)
    log = replace(log, temperature=temperature)
    log, shorter = _cut(log, cut, where)
    q = log.q
    log, consistency = _compared(log, times)
    log, steadied = _steadied(log)
    read = [*table.log, *notes, *dropped, *times.notes, *straightened, *wraps, *warm, *shorter]
    return replace(log, log=(*read, *consistency, *steadied, *unevenness(log.t), *outside(robot, q)))


def _converted(source: Sources, robot: Robot, values: dict[str, np.ndarray], sensors: Sensors) -> list[str]:
    """Turn counts, motor angles and currents in `values` into motions and torques of the joints, in place; notes."""
    count, notes = len(values["q"]), []
    missing = sensors is not None and "tau" not in values
    currents, more = channel(source, robot, "current", count) if missing else (None, [])
    if isinstance(sensors, MotorSide):
        if currents is not None:
            if sensors.torque_constant is None:
                raise DalembertError(
                    f"{source.path}: has motor currents and no torques: give MotorSide a torque_constant"
                )
            values["tau"] = currents * np.asarray(sensors.torque_constant, float)
            notes = [*more, "torques are motor currents times torque constant; losses count as friction"]
        return [*notes, *from_motors(robot, values, sensors)]
    drives = by_joint(robot, sensors)
    notes = from_counts(robot, values, drives)
    if currents is not None:
        values["tau"], note = from_currents(robot, currents, drives, source.path)
        notes += [*more, note]
    return notes


def _cut(log: Log, cut: tuple[float, float] | None, where: str) -> tuple[Log, list[str]]:
    """The part of a log between two times [s] after its start, which then begins at 0."""
    if cut is None:
        return log, []
    begin, end = cut
    kept = np.flatnonzero((log.t >= begin) & (log.t <= end))
    if len(kept) < 2:
        raise DalembertError(f"{where}: cut {begin:g} … {end:g} s leaves {len(kept)} rows of 0 … {log.t[-1]:.4g} s")
    parts = {kind: x[kept] for kind in (*KINDS, "temperature") if (x := getattr(log, kind)) is not None}
    note = f"cut to {begin:g} … {end:g} s of {log.t[-1]:.4g} s"
    return replace(log, t=log.t[kept] - log.t[kept[0]], **parts), [note]


def _rows_with_numbers(robot: Robot, values: dict[str, np.ndarray], where: str) -> tuple[np.ndarray, list[str]]:
    """Rows that have numbers, without those that have none at all, as of messages about other joints."""
    missing = np.hstack([~np.isfinite(numbers) for numbers in values.values()])
    rows = np.flatnonzero(~missing.all(axis=1)) if missing.shape[1] else np.arange(len(missing))
    notes = []
    for kind, numbers in values.items():
        gaps = np.argwhere(~np.isfinite(numbers[rows]))
        if len(gaps) and kind == "tau":
            share = 100.0 * len(gaps) / max(numbers[rows].size, 1)
            notes.append(f"{share:.2g} % of the efforts are no numbers: they are left as NaN")
        elif len(gaps):
            row, place = gaps[0]
            name = names_of(robot, kind)[place]
            raise DalembertError(f"{where}: row {rows[row] + 1} has no number for {kind} of {name}; drop or fill it")
    empty = len(missing) - len(rows)
    dropped = [f"{empty} of {len(missing)} rows have no numbers of this robot and are dropped"] if empty else []
    return rows, dropped + notes


def _temperature(source: Sources, robot: Robot, kept: np.ndarray, count: int) -> tuple[np.ndarray | None, list[str]]:
    """Temperatures (n, nv) [°C] of the rows that are kept; slow sensors leave gaps, which are interpolated."""
    values, notes = channel(source, robot, "temperature", count)
    if values is None:
        return None, notes
    values = values[kept]
    known = np.isfinite(values)
    if not known.any(axis=0).all():
        return None, [*notes, "temperatures have joints without any number and are not used"]
    if not known.all():
        rows = np.arange(len(values))
        for k in range(values.shape[1]):
            values[:, k] = np.interp(rows, rows[known[:, k]], values[known[:, k], k])
        notes.append(f"{np.sum(~known)} missing temperatures are interpolated")
    return values, notes


def _steadied(log: Log) -> tuple[Log, list[str]]:
    """The log on equal steps of time if its positions are much smoother so: then its stamps are uneven, not its rows.

    Controllers sample by a steady clock; what jitters is often the computer that writes the stamps.
    """
    even = np.linspace(0.0, log.t[-1], len(log.t))
    step, deviation = float(even[1]), float(np.max(np.abs(log.t - even)))
    if len(log.t) < SHORT or deviation > step or deviation < 1e-6 * step or not log.robot.nv:
        return log, []
    paths = log.paths()
    stamped, steady = local_noise(log.t, paths), local_noise(even, paths)
    moving = stamped > 0.0
    if not moving.any() or np.median(steady[moving] / stamped[moving]) > SMOOTHER:
        return log, []
    spread = float(np.sqrt(np.mean((np.diff(log.t) - step) ** 2)))
    return replace(log, t=even), [
        f"times are put on equal steps of {step:.6g} s, on which the positions are smoother: the stamps jitter by "
        f"{100 * spread / step:.2g} % RMS"
    ]


def _compared(log: Log, times: Clock) -> tuple[Log, list[str]]:
    """Velocities against positions: the slope of one over the other tells of wrong units, signs and swapped columns.

    A unit of time that was not stated is corrected if the slopes say so; if it is in doubt, they must decide.
    """
    slopes = {} if log.v is None else rate_slopes(log.t, log.paths(), log.v)
    middle = float(np.median(list(slopes.values()))) if slopes else np.nan
    for text, size in SECONDS.items():
        if not times.stated and AGREES[0] < middle / size < AGREES[1] and (text != "s" or times.doubt):
            return replace(log, t=log.t * size), [f"times are taken as {text}: only so velocities fit the positions"]
    if times.doubt:
        raise DalembertError(times.doubt)
    if not slopes:
        return log, []
    for factor, cause in TYPICAL.items():
        if AGREES[0] < middle / factor < AGREES[1]:
            raise DalembertError(
                f"{log.title}: positions change {middle:.4g} times as fast as the velocities say: {cause}? "
                "State the units in the names of the columns, or give units={'q': 'deg', 'v': 'deg/s'}"
            )
    names = log.robot.model.freedom_names
    odd = [f"{names[k]} ({x:.3g})" for k, x in slopes.items() if not AGREES[0] < x < AGREES[1]]
    if not odd:
        return log, []
    return log, [f"velocities do not fit the positions, whose rate is so many times as large: {', '.join(odd)}"]


def rate_slopes(t: np.ndarray, paths: np.ndarray, v: np.ndarray) -> dict[int, float]:
    """Slope of changes of position over integrals of velocity, of those freedoms where the two go together.

    t (n,) [s]; paths, v (n, nv). Over a sixtieth of the log each, so that noise of single rows does not matter.
    """
    passed = np.zeros_like(v)
    passed[1:] = np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t)[:, None], axis=0)
    marks = np.unique(np.linspace(0, len(t) - 1, min(WINDOWS, len(t))).astype(int))
    moved, driven = np.diff(paths[marks], axis=0), np.diff(passed[marks], axis=0)
    slopes = {}
    for k in range(v.shape[1]):
        sizes = np.linalg.norm(moved[:, k]), np.linalg.norm(driven[:, k])
        if min(sizes) > 1e-9 and abs(moved[:, k] @ driven[:, k]) > 0.9 * sizes[0] * sizes[1]:
            slopes[k] = float(moved[:, k] @ driven[:, k] / sizes[1] ** 2)
    return slopes
