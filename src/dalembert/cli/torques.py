"""`dalembert torques`: the torques that a motion requires of the joints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dalembert.audit.verdicts import PASSED, Verdict, overall, verdicts
from dalembert.logs import write_trajectory
from dalembert.sizing import efforts, standard_motion
from dalembert.tables import FORMATS

from .common import (
    Arguments,
    Bandwidth,
    Base,
    Columns,
    Cut,
    Json,
    Mimic,
    Payload,
    PayloadFrame,
    SensorFile,
    Source,
    Topic,
    Units,
    check_target,
    console,
    open_motion,
    open_robot,
    print_json,
    table,
    with_payload,
)


def run(
    robot: Source,
    trajectory: Annotated[
        Path | None, typer.Argument(help="Motion: .csv .npz .parquet .h5 .mcap or a ROS bag; default: a quintic move.")
    ] = None,
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    payload: Payload = 0.0,
    frame: PayloadFrame = None,
    topic: Topic = None,
    unit: Units = None,
    column: Columns = None,
    bandwidth: Bandwidth = None,
    sensors: SensorFile = None,
    cut: Cut = None,
    out: Annotated[Path | None, typer.Option(help="Write the motion with its torques here.")] = None,
    as_json: Json = False,
) -> int:
    """Inverse dynamics along a motion: peak, RMS and power of every joint.

    Where the file has efforts, the verdict on the model, joint by joint; exit code 1 where one fails or is in doubt.

    Example: `dalembert torques ur5 --out torques.csv`
    """
    check_target(out, "--out", tuple(FORMATS))
    arm = open_robot(robot, base, mimic=mimic, arg=arg)
    loaded, carrier = with_payload(arm, payload, frame)
    motion = (
        open_motion(trajectory, arm, topic, unit, column, bandwidth, sensors, cut)
        if trajectory
        else standard_motion(arm)
    )
    measured = motion.tau
    motion, tau, held, driven, _, notes = efforts(loaded, motion)
    names = arm.model.freedom_names
    shown = [k for k, name in enumerate(names) if driven is None or name in driven]
    rows = [_row(names[k], motion.v[:, k], tau[:, k], held[:, k]) for k in shown]
    judged = verdicts([names[k] for k in shown], measured[:, shown], tau[:, shown]) if measured is not None else ()
    code = int(overall(judged) != PASSED)
    if out is not None:
        write_trajectory(out, arm, replace(motion, tau=tau))
    if as_json:
        load = {"payload": payload, "frame": carrier}
        for row, each in zip(rows, judged, strict=False):
            row |= {"measured_rms": each.torque, "left_over": each.left, "status": each.status, "why": each.why}
        print_json({"robot": arm.name, **load, "log": [*motion.log, *notes], "joints": rows})
        return code
    screen = console()
    screen.print(f"motion: {motion.title}", markup=False)
    if payload:
        screen.print(f"payload: {payload:g} kg at frame '{carrier}'", markup=False)
    for note in (*motion.log, *notes):
        screen.print(f"note: {note}", markup=False)
    heads = ["joint", "peak", "RMS", "gravity", "peak speed", "peak power"]
    title = f"{arm.name}: {len(motion.t)} samples over {motion.t[-1]:.4g} s; N·m and rad (N and m for slides), W"
    keys = ("joint", "peak", "rms", "gravity", "speed", "power")
    screen.print(table(title, heads, [[row[key] for key in keys] for row in rows], 5))
    _print_verdicts(judged)
    if out is not None:
        screen.print(f"written to {out}", markup=False)
    return code


def _print_verdicts(judged: tuple[Verdict, ...]) -> None:
    """The verdicts on the model beside the efforts in the file, if it has some."""
    if judged:
        rows = [(each.joint, each.torque, each.left, f"{100 * each.share:.3g}", each.status) for each in judged]
        heads = ["joint", "RMS", "left over", "%", "verdict"]
        console().print(table("\nBeside the efforts in the file", heads, rows, 4))
    for each in judged:
        if each.why:
            console().print(str(each), markup=False, soft_wrap=True)


def _row(name: str, v: np.ndarray, tau: np.ndarray, held: np.ndarray) -> dict[str, Any]:
    return {
        "joint": name,
        "peak": float(np.max(np.abs(tau))),
        "rms": float(np.sqrt(np.mean(tau**2))),
        "gravity": float(np.max(np.abs(held))),
        "speed": float(np.max(np.abs(v))),
        "power": float(np.max(np.abs(tau * v))),
    }
