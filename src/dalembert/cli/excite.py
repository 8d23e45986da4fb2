"""`dalembert excite`: a motion that shows a robot's parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dalembert.robot import Robot
from dalembert.tables import FORMATS

from .common import Arguments, Base, Json, Mimic, Source, check_target, console, open_robot, print_json, table

if TYPE_CHECKING:
    from dalembert.identify import Excitation


def run(
    robot: Source,
    out: Annotated[Path, typer.Option(help="Write the motion here: .csv .npz .parquet .h5.")],
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    duration: Annotated[float, typer.Option(help="Of the motion [s].")] = 20.0,
    harmonics: Annotated[int, typer.Option(help="Of the Fourier series of each joint.")] = 5,
    kind: Annotated[str, typer.Option(help="fourier, or points: moves from point to point.")] = "fourier",
    criterion: Annotated[str, typer.Option(help="What to minimise: condition, D or A.")] = "condition",
    rate: Annotated[float, typer.Option(help="Samples per second.")] = 500.0,
    acceleration: Annotated[float | None, typer.Option(help="Limit of every joint [rad/s² or m/s²].")] = None,
    floor: Annotated[float | None, typer.Option(help="Height [m] that no frame may go below.")] = None,
    clearance: Annotated[
        float | None, typer.Option(help="Least distance [m] of links that could touch, by their collision shapes.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the starts of the optimiser.")] = 0,
    starts: Annotated[int | None, typer.Option(min=1, help="Of the optimiser; default: 32, or fewer.")] = None,
    as_json: Json = False,
) -> int:
    """A motion within the limits of the joints that excites all identifiable parameters, for `dalembert identify`.

    Example: `dalembert excite ur10e --out motion.csv`
    """
    from dalembert.identify import excitation

    check_target(out, "--out", tuple(FORMATS))
    subject = open_robot(robot, base, mimic=mimic, arg=arg)
    motion = excitation(
        subject,
        duration,
        harmonics,
        seed,
        kind=kind,
        criterion=criterion,
        rate=rate,
        acceleration=acceleration,
        floor=floor,
        clearance=clearance,
        starts=starts,
    )
    motion.save(out)
    if as_json:
        print_json(
            {
                "robot": subject.name,
                "condition": motion.condition,
                "duration": motion.duration,
                "out": str(out),
                "log": list(motion.log),
                "joints": _rows(subject, motion),
            }
        )
        return 0
    screen = console()
    title = (
        f"{subject.name}: {motion.duration:g} s, condition number {motion.condition:.3g}; rad, N·m (m, N for slides)"
    )
    heads = ["joint", "from", "to", "speed", "acceleration", "torque"]
    screen.print(table(title, heads, [list(row.values()) for row in _rows(subject, motion)], 5))
    for note in motion.log:
        screen.print(f"note: {note}", markup=False)
    screen.print(f"written to {out}; look at it first: dalembert view {robot} --motion {out}", markup=False)
    return 0


def _rows(robot: Robot, motion: Excitation) -> list[dict[str, Any]]:
    """The motion of each joint: its range, and the largest speed, acceleration and torque."""
    tau = robot.inverse_dynamics(motion.q, motion.v, motion.a)
    return [
        {
            "joint": name,
            "lowest": motion.q[:, k].min(),
            "highest": motion.q[:, k].max(),
            "speed": np.abs(motion.v[:, k]).max(),
            "acceleration": np.abs(motion.a[:, k]).max(),
            "torque": np.abs(tau[:, k]).max(),
        }
        for k, name in enumerate(robot.model.freedom_names)
    ]
