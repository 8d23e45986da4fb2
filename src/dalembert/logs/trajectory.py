"""Motions of a robot: positions, velocities and accelerations over time, and measurements alongside."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.robot import Robot
from dalembert.tables import write_table

from .channels import names_of
from .log import KINDS, Log, read_log
from .sensors import Sensors
from .smoothing import Smoothed, smooth


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion of a robot: t (n,) [s]; q (n, nq); v, a (n, nv); tau, temperature [°C] (n, nv) where they were measured,
    else None.

    title: what it is, in words; log: what was chosen, converted or computed in reading it, and what is in doubt.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray | None = None
    log: tuple[str, ...] = ()
    title: str = ""
    temperature: np.ndarray | None = None

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.title!r}: {len(self.t)} times, {np.ptp(self.t):g} s>"
            if len(self.t)
            else f"<{type(self).__name__}: empty>"
        )


def read_trajectory(
    path: str | os.PathLike[str],
    robot: Robot,
    *,
    topic: str | None = None,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    sensors: Sensors = None,
    bandwidth: float | None = None,
    cut: tuple[float, float] | None = None,
) -> Trajectory:
    """Read a motion of `robot` from .csv .npz .parquet .h5 .mcap, or from a ROS bag.

    A column `t` (or time …), and for every joint a column named as the joint or `q.<joint>`; further `v.`, `a.`,
    `tau.`, `temperature.`; or matrices `q` or `positions` (n, nq) and the like. Units stand in the names
    ("elbow [deg]", "time_ms"), or are s, rad, m, N·m, N, °C. Velocities and accelerations that are missing come from
    differences of clean positions, from smoothing splines of noisy ones. `log` tells all of this.

    topic, columns, units, sensors, cut: where the file leaves a choice, as of `read_log`. bandwidth [Hz]: of the
    splines; None: chosen from the data.
    """
    log = read_log(path, robot, topic=topic, columns=columns, units=units, sensors=sensors, cut=cut)
    return trajectory(log, bandwidth)


def trajectory(log: Log, bandwidth: float | None = None) -> Trajectory:
    """The motion of a log; bandwidth [Hz]: of the splines, None: chosen from the data where rates are missing."""
    v, a, notes = log.v, log.a, []
    if bandwidth is not None and v is not None and a is not None:
        notes.append("the velocities and accelerations of the file are not used, as a bandwidth is given")
        v = a = None
    names = log.robot.model.freedom_names
    if v is None:
        rates = smooth(log.t, log.paths(), bandwidth, order=1 if a is not None else 2)
        wanted = "velocities" if a is not None else "velocities and accelerations"
        notes.append(_described(wanted, "positions", rates, names))
        v, a = rates.first, rates.second if a is None else a
    elif a is None:
        rates = smooth(log.t, v, bandwidth, order=1)
        notes.append(_described("accelerations", "velocities", rates, names))
        a = rates.first
    return Trajectory(log.t, log.q, v, a, log.tau, (*log.log, *notes), log.title, log.temperature)


def write_trajectory(path: str | os.PathLike[str], robot: Robot, trajectory: Trajectory) -> None:
    """Write a motion with columns t, q.<joint>, v., a., tau. and temperature.<joint>; the ending says how."""
    columns: dict[str, np.ndarray] = {"t": trajectory.t}
    for kind in (*KINDS, "temperature"):
        values = getattr(trajectory, kind, None)
        if values is not None:
            columns |= {f"{kind}.{name}": values[:, k] for k, name in enumerate(names_of(robot, kind))}
    write_table(path, columns)


def _described(wanted: str, of: str, rates: Smoothed, names: tuple[str, ...]) -> str:
    """How derivatives were found, in words."""
    noisy = np.isfinite(rates.bandwidth)
    if not noisy.any():
        return f"{wanted} come from differences of the {of}"
    band = rates.bandwidth[noisy]
    width = f"{band.min():.3g} Hz" if np.ptp(band) < 1e-9 else f"{band.min():.3g} to {band.max():.3g} Hz"
    which = "" if noisy.all() else f" of {', '.join(np.array(names)[noisy])}, and from differences of the others"
    worst = int(np.argmax(np.where(noisy, rates.noise, 0.0)))
    size = f"up to {rates.noise[worst]:.2g} RMS ({names[worst]}) averaged away"
    ends = f"less certain within {0.5 / band.min():.2g} s of both ends, which have rows on one side only"
    text = f"{wanted} come from quintic splines through the {of}{which}: bandwidth {width}, {size}; {ends}"
    coloured = noisy & rates.coloured
    if coloured.any():
        text += (
            f"; in doubt for {', '.join(np.array(names)[coloured])}: what was averaged away is no white noise, so the "
            "signal was filtered before or something vibrates, and noise remains: give a bandwidth [Hz]"
        )
    return text
