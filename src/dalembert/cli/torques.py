"""`dalembert torques` and `size`: what motions and gravity require of the joints, and which motors to buy."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dalembert.audit.verdicts import PASSED, JointVerdict, overall, verdicts
from dalembert.files import write_text
from dalembert.logs import write_trajectory
from dalembert.progress import Progress
from dalembert.sizing import Demand, Sizing, efforts, standard_motion
from dalembert.tables import FORMATS

from .common import (
    Json,
    LogFiles,
    Payload,
    PayloadFrame,
    RobotFiles,
    Source,
    check_target,
    console,
    number,
    print_json,
    table,
    unexplained,
    with_payload,
)


def torques(
    robot: Source,
    files: RobotFiles,
    logs: LogFiles,
    trajectory: Annotated[
        Path | None, typer.Argument(help="Motion: .csv .npz .parquet .h5 .mcap or a ROS bag; default: a quintic move.")
    ] = None,
    payload: Payload = 0.0,
    frame: PayloadFrame = None,
    out: Annotated[Path | None, typer.Option(help="Write the motion with its torques here.")] = None,
    as_json: Json = False,
) -> int:
    """Inverse dynamics along a motion: peak, RMS and power of every joint.

    Where the file has efforts, the verdict on the model, joint by joint; exit code 1 where one fails or is in doubt.

    Example: `dalembert torques ur5 --out torques.csv`
    """
    check_target(out, "--out", tuple(FORMATS))
    arm = files.open(robot)
    loaded, carrier = with_payload(arm, payload, frame)
    motion = logs.read(trajectory, arm) if trajectory else standard_motion(arm)
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


def _print_verdicts(judged: tuple[JointVerdict, ...]) -> None:
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


def size(
    robot: Source,
    files: RobotFiles,
    logs: LogFiles,
    motion: Annotated[
        list[Path] | None, typer.Argument(help="Motions: .csv .npz .parquet .h5 .mcap; default: a quintic move.")
    ] = None,
    payload: Payload = 0.0,
    frame: PayloadFrame = None,
    margin: Annotated[
        float, typer.Option(help="Factor on the sum of worst-case gravity and the motion's dynamic part.")
    ] = 1.3,
    contact: Annotated[
        list[str] | None, typer.Option(help="Frame that carries a floating robot; may be repeated.")
    ] = None,
    stiffness: Annotated[
        float | None, typer.Option(help="Stiffness of the joints [N·m/rad], for the bandwidth.")
    ] = None,
    catalogue: Annotated[Path | None, typer.Option(help="TOML file of motors and gears to choose from.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the table here (.csv).")] = None,
    as_json: Json = False,
) -> int:
    """Torque, speed, power, energy, inertia that each motor needs; exit code 1 unless limits or drives are known to do.

    A motion with measured efforts that the model does not explain is exit code 1, too.

    Example: `dalembert size ur5 --payload 5`
    """
    check_target(csv, "--csv", (".csv",))
    opened = files.open(robot)
    motions = [logs.read(file, opened) for file in motion or ()]
    with Progress(f"sizing of {opened.name}"):
        sizing = opened.sizing(
            motions or None,
            payload=payload,
            frame=frame,
            margin=margin,
            contacts=tuple(contact or ()),
            stiffness=stiffness,
            catalogue=catalogue,
        )
    if csv is not None:
        write_text(csv, sizing.csv())
    doubted = [each.title for each in motions if unexplained(opened, each) and unexplained(sizing.loaded, each)]
    if as_json:
        print_json({**json.loads(sizing.json()), "unexplained": doubted})
    else:
        _print_sizing(sizing, stiffness is not None, catalogue is not None)
        for title in doubted:
            what = "the model does not explain its measured efforts: dalembert torques shows them joint by joint"
            console().print(f"note: {title}: {what}", markup=False, soft_wrap=True)
    return int(bool(doubted) or not sizing.ok)


def _print_sizing(sizing: Sizing, bandwidths: bool, drives: bool) -> None:
    """The tables; bandwidths, drives: whether those of a stiffness and from a catalogue were computed."""
    out = console()
    for title in sizing.motions:
        out.print(f"motion: {title}", markup=False)
    if sizing.payload:
        out.print(f"payload: {sizing.payload:g} kg at frame '{sizing.frame}'", markup=False)
    heads = ["joint", "gravity", "dynamic", "needed", "limit", ""]
    rows = [(r.joint, r.gravity, r.dynamic, r.needed, _limit(r.limit), _verdict(r)) for r in sizing.rows]
    out.print(table(f"\nEffort [N·m, N for slides], margin {sizing.margin:g}", heads, rows, 5))
    for row in sizing.rows if not drives else ():
        if row.verdict:
            out.print(f"{row.joint}: {row.verdict}", markup=False)
    heads = ["joint", "peak", "RMS", "speed", "power", "energy", "back"]
    moved = [(r.joint, r.peak, r.rms, r.speed, r.power, r.energy, r.regenerated) for r in sizing.rows]
    out.print(table("\nAlong the motion [N·m, rad/s, W, J]", heads, moved, 6))
    heads = ["joint", "inertia from", "to", "rotor", "acceleration"]
    felt = [(r.joint, *r.inertia, r.rotor, _limit(r.acceleration)) for r in sizing.rows]
    out.print(table("\nInertia at the joint [kg·m²], acceleration reached in any pose [rad/s²]", heads, felt, 4))
    if bandwidths:
        bands = [(r.joint, r.resonance or np.nan, r.bandwidth or np.nan) for r in sizing.rows]
        out.print(table("\nResonance and bandwidth [Hz]", ["joint", "resonance", "bandwidth"], bands, 2))
    for row in sizing.rows if drives else ():
        out.print(f"{row.joint}: {sizing.choice(row.joint)}", markup=False)
    out.print(f"\nCoriolis over gravity: {sizing.coriolis:.3g}, {sizing.coriolis_class}", markup=False)
    for note in sizing.notes:
        out.print(f"note: {note}", markup=False)


def _limit(x: float) -> str:
    return number(x) if np.isfinite(x) else "–"


def _verdict(row: Demand) -> str:
    """Name the limit that decides, in a column; the sentences are below the table."""
    weak = {"gravity": "too weak", "motion": "too weak", "speed": "too slow", "heat": "too hot"}
    return weak.get(row.decides, row.decides)
