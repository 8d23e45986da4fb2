"""Sizing: a table of the requirements on each motor, and the drives that meet them."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.audit.classes import coriolis_class
from dalembert.audit.subject import Subject
from dalembert.errors import DalembertError, is_number
from dalembert.logs import Trajectory
from dalembert.motion import Motion
from dalembert.notebook import html
from dalembert.robot import Robot

from .demand import Course, Demand, PoseHeadroom, demands, pose_headroom
from .drives import Catalogue, Drive, choose, read_catalogue
from .motion import efforts, standard_motion

MARGIN = 1.3  # for payload variance, model error and friction


@dataclass(frozen=True)
class Sizing:
    """The requirements of motions and gravity on a robot's motors.

    rows: a `Demand` for each motor. coriolis: peak of ‖C v‖ by peak of ‖g‖ over the motions, which `coriolis_class`
    names. drives: the lightest of a catalogue for each joint, or None where none fits; nearest: the best there is.
    loaded: the robot with its payload.
    """

    robot: str
    payload: float
    frame: str | None
    margin: float
    motions: tuple[str, ...]
    rows: tuple[Demand, ...]
    coriolis: float
    notes: tuple[str, ...]
    drives: dict[str, Drive | None]
    nearest: dict[str, Drive]
    courses: dict[str, list[Course]]
    loaded: Robot

    @property
    def ok(self) -> bool:
        """Whether the stated limits, or the chosen drives, allow all that is needed; not where a limit is not known."""
        if self.nearest:
            return all(drive is not None for drive in self.drives.values())
        return all(row.enough is True for row in self.rows)

    @property
    def coriolis_class(self) -> str:
        """The class of the motions by `coriolis`, and its demand on the controller."""
        return "{}: {}".format(*coriolis_class(self.coriolis))

    def __str__(self) -> str:
        load = f", {self.payload:g} kg at frame '{self.frame}'" if self.payload else ""
        lines = [f"sizing of {self.robot}{load}, margin {self.margin:g}"]
        lines += [f"  motion: {title}" for title in self.motions]
        for row in self.rows:
            limit = f"{row.limit:.4g}" if np.isfinite(row.limit) else "not stated"
            verdict = f"; {row.verdict}" if row.verdict else ""
            lines.append(
                f"  {row.joint}: needs {row.needed:.4g} {row.unit} (gravity {row.gravity:.4g}, dynamic "
                f"{row.dynamic:.4g}), limit {limit}; RMS {row.rms:.4g}, speed {row.speed:.4g}, power {row.power:.4g} W"
                f"{verdict}"
            )
            if row.joint in self.nearest:
                lines.append(f"    {self.choice(row.joint)}")
        lines.append(f"  Coriolis over gravity: {self.coriolis:.3g}, {self.coriolis_class}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        heading = str(self).partition("\n")[0]
        columns = ("joint", "needed", "gravity", "dynamic", "RMS", "limit", "unit", "speed", "power [W]", "verdict")
        rows = [
            (r.joint, r.needed, r.gravity, r.dynamic, r.rms, r.limit, r.unit, r.speed, r.power, r.verdict)
            for r in self.rows
        ]
        remarks = [*self.motions, f"Coriolis over gravity: {self.coriolis:.3g}, {self.coriolis_class}"]
        remarks += [self.choice(row.joint) for row in self.rows if row.joint in self.nearest]
        return html(heading, columns, rows, [*remarks, *self.notes])

    def choice(self, joint: str) -> str:
        """The drive of a joint in words."""
        drive = self.drives[joint]
        if drive is None:
            near = self.nearest[joint]
            return f"nothing in the catalogue fits; nearest {near.motor.name} with {near.gear.name}: {near.tightest}"
        return (
            f"{drive.motor.name} with {drive.gear.name} ({drive.mass:.3g} kg): {drive.tightest}; reflected inertia "
            f"{drive.reflected:.3g}, {100 * drive.share:.0f} % of what it accelerates; {drive.gear.transparency}"
        )

    def at(self, q: Any) -> dict[str, PoseHeadroom]:
        """For each motor, its limit less the holding load in the pose q (nq,), and the acceleration it can cause."""
        return pose_headroom(self.loaded, np.asarray(q, float))

    def json(self) -> str:
        """Everything but the courses as JSON text; infinite or unknown values are null."""
        content = {
            "robot": self.robot,
            "payload": self.payload,
            "frame": self.frame,
            "margin": self.margin,
            "ok": self.ok,
            "motions": list(self.motions),
            "joints": [self._record(row) for row in self.rows],
            "coriolis": {"ratio": self.coriolis, "class": self.coriolis_class},
            "notes": list(self.notes),
        }
        return json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False)

    def csv(self) -> str:
        """A row for each motor as CSV text."""
        text = io.StringIO()
        records = [self._record(row) for row in self.rows]
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def _record(self, row: Demand) -> dict[str, Any]:
        record = {**row._asdict(), "inertia_least": row.inertia[0], "inertia_largest": row.inertia[1]}
        del record["inertia"]
        record |= {"enough": row.enough, "decides": row.decides, "available": row.available}
        record["continuous"] = row.continuous
        if row.joint in self.nearest:
            drive = self.drives[row.joint]
            chosen = drive or self.nearest[row.joint]
            record |= {
                "fits": drive is not None,
                "motor": chosen.motor.name,
                "gear": chosen.gear.name,
                "ratio": chosen.gear.ratio,
                "peak_ratio": chosen.peak,
                "continuous_ratio": chosen.continuous,
                "speed_ratio": chosen.speed,
                "gear_ratio": chosen.output,
                "motor_torque": chosen.motor_torque,
                "motor_speed": chosen.motor_speed,
                "reflected_inertia": chosen.reflected,
                "backdrivability": chosen.gear.backdrivability,
                "drive_mass": chosen.mass,
            }
        return record

    def __repr__(self) -> str:
        unknown = not self.nearest and any(row.enough is None for row in self.rows)
        known = all(row.enough is not False for row in self.rows)
        verdict = "enough" if self.ok else "not known" if unknown and known else "not enough"
        return f"<Sizing of {self.robot!r}: {len(self.rows)} motors, {verdict}>"


def size(
    robot: Robot,
    motions: Any = None,
    *,
    payload: float = 0.0,
    frame: str | None = None,
    margin: float = MARGIN,
    contacts: Sequence[str] = (),
    stiffness: float | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
) -> Sizing:
    """The requirements of motions and gravity on the motors; see `Robot.sizing`."""
    if not (is_number(margin) and 1.0 <= margin < np.inf):
        raise DalembertError(f"sizing: margin is {margin!r}, expected 1 or more")
    if stiffness is not None and not 0.0 < stiffness < np.inf:
        raise DalembertError(f"sizing: stiffness is {stiffness!r}, expected above 0 [N·m/rad]")
    if not robot.nv:
        raise DalembertError(f"sizing: robot {robot.name!r} has no joint that moves")
    subject = Subject(robot, payload, frame)
    if payload or frame is not None:
        subject.check_load()
    listed = _motions(robot, motions)
    runs = [efforts(subject.loaded, motion, contacts) for motion in listed]
    table, along = demands(subject, runs, margin, stiffness)
    drives: dict[str, Drive | None] = {}
    nearest: dict[str, Drive] = {}
    if catalogue is not None:
        choices = catalogue if isinstance(catalogue, Catalogue) else read_catalogue(catalogue)
        for name, demand in table.items():
            drives[name], nearest[name] = choose(demand, along[name], choices, margin)
    remarks = [] if subject.motors.rows else [f"gravity is that of the motions: {subject.motors.because}"]
    if nearest:
        remarks.append("the masses of chosen motors and gears are not part of the robot: add them and size again")
    notes = tuple(dict.fromkeys([*(n for run in runs for n in run.notes), *remarks]))
    return Sizing(
        robot.name,
        payload,
        subject.tool if payload else None,
        margin,
        tuple(motion.title or f"motion {k + 1}" for k, motion in enumerate(listed)),
        tuple(table.values()),
        max(run.coriolis for run in runs),
        notes,
        drives,
        nearest,
        along,
        subject.loaded,
    )


def _motions(robot: Robot, motions: Any) -> list[Trajectory]:
    """One motion or several, as trajectories; the standard one for None."""
    if motions is None:
        return [standard_motion(robot)]
    several = motions if isinstance(motions, list | tuple) else [motions]
    if not several:
        raise DalembertError("sizing: the list of motions is empty")
    return [_trajectory(robot, motion, f"sizing: motion {k + 1}") for k, motion in enumerate(several)]


def _trajectory(robot: Robot, motion: Any, where: str) -> Trajectory:
    if isinstance(motion, Trajectory):
        taken = motion
    elif isinstance(motion, Motion):
        taken = motion.sample()
    else:
        missing = [name for name in ("t", "q", "v", "a") if not hasattr(motion, name)]
        if missing:
            raise DalembertError(
                f"{where} has no {', '.join(missing)}: expected a motion, or a Trajectory as read_trajectory gives"
            )
        t, q, v, a = (np.asarray(getattr(motion, name), float) for name in ("t", "q", "v", "a"))
        taken = Trajectory(t, q, v, a)
    n = len(taken.t)
    shapes = {"q": (n, robot.nq), "v": (n, robot.nv), "a": (n, robot.nv)}
    for name, shape in shapes.items():
        if np.shape(getattr(taken, name)) != shape:
            raise DalembertError(f"{where}: {name} has shape {np.shape(getattr(taken, name))}, expected {shape}")
    if n < 2 or not np.all(np.diff(taken.t) > 0.0):
        raise DalembertError(f"{where}: times must increase, over two samples or more")
    return taken


def _finite(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _finite(value) for key, value in x.items()}
    if isinstance(x, list):
        return [_finite(value) for value in x]
    return None if isinstance(x, float) and not np.isfinite(x) else x
