"""`dalembert size`: the torques and powers that motions and gravity require of motors, and which motors to buy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dalembert.files import write_text
from dalembert.progress import Progress
from dalembert.sizing import Demand, Sizing

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
    number,
    open_motion,
    open_robot,
    print_json,
    table,
    unexplained,
)


def run(
    robot: Source,
    motion: Annotated[
        list[Path] | None, typer.Argument(help="Motions: .csv .npz .parquet .h5 .mcap; default: a quintic move.")
    ] = None,
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    payload: Payload = 0.0,
    frame: PayloadFrame = None,
    margin: Annotated[float, typer.Option(help="On gravity at its worst and the motion's dynamic part.")] = 1.3,
    contact: Annotated[
        list[str] | None, typer.Option(help="Frame that carries a floating robot; may be repeated.")
    ] = None,
    stiffness: Annotated[float | None, typer.Option(help="Of the joints [N·m/rad], for the bandwidth.")] = None,
    catalogue: Annotated[Path | None, typer.Option(help="TOML file of motors and gears to choose from.")] = None,
    topic: Topic = None,
    unit: Units = None,
    column: Columns = None,
    bandwidth: Bandwidth = None,
    sensors: SensorFile = None,
    cut: Cut = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the table here (.csv).")] = None,
    as_json: Json = False,
) -> int:
    """Torque, speed, power, energy, inertia that each motor needs; exit code 1 unless limits or drives are known to do.

    A motion with measured efforts that the model does not explain is exit code 1, too.

    Example: `dalembert size ur5 --payload 5`
    """
    check_target(csv, "--csv", (".csv",))
    opened = open_robot(robot, base, mimic=mimic, arg=arg)
    motions = [open_motion(file, opened, topic, unit, column, bandwidth, sensors, cut) for file in motion or ()]
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
        _print(sizing, stiffness is not None, catalogue is not None)
        for title in doubted:
            what = "the model does not explain its measured efforts: dalembert torques shows them joint by joint"
            console().print(f"note: {title}: {what}", markup=False, soft_wrap=True)
    return int(bool(doubted) or not sizing.ok)


def _print(sizing: Sizing, bandwidths: bool, drives: bool) -> None:
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
