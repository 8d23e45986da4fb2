"""`dalembert export`: source code of a robot's functions, and its simulation as an FMU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dalembert.contact import Contact

from .common import Json, RobotFiles, Source, print_json


def run(
    robot: Source,
    files: RobotFiles,
    function: Annotated[
        str, typer.Argument(help="Such as inverse_dynamics, mass_matrix, gravity.")
    ] = "inverse_dynamics",
    language: Annotated[str, typer.Option(help="c, or fmu; robot.source has formulas and CUDA as text.")] = "c",
    to: Annotated[str | None, typer.Argument(help="c or fmu: the same as --language.")] = None,
    frame: Annotated[str | None, typer.Option(help="Frame of pose, jacobian and the like.")] = None,
    axes: Annotated[str | None, typer.Option(help='"world", "body" or a frame, where a quantity has axes.')] = None,
    dtype: Annotated[str, typer.Option(help="float64 (double in C), or float32 (float).")] = "float64",
    out: Annotated[Path, typer.Option(help="Folder for the files; of an FMU its path.")] = Path("export"),
    step: Annotated[float, typer.Option(help="FMU: fixed step [s].")] = 1e-3,
    fmi: Annotated[str, typer.Option(help="FMU: version of the interface, 2.0 or 3.0.")] = "2.0",
    kind: Annotated[str, typer.Option(help="FMU: co-simulation, model-exchange or both.")] = "co-simulation",
    contact: Annotated[bool, typer.Option("--contact", help="FMU: the robot touches the ground and itself.")] = False,
    controls: Annotated[bool, typer.Option("--controls", help="FMU: inputs are controls of actuators.")] = False,
    live: Annotated[str, typer.Option(help="Parameters as inputs, such as inertia,gravity.")] = "",
    sensors: Annotated[str, typer.Option(help="FMU: frames whose place and velocity are outputs, such as tool0.")] = "",
    binary: Annotated[bool, typer.Option(help="FMU: a binary beside the sources.")] = True,
    as_json: Json = False,
) -> int:
    """Write self-contained source of one function with a test vector, or the simulation as an FMU.

    Example: `dalembert export ur5 inverse_dynamics --out ur5_c`, `dalembert export ur5 simulate fmu --out ur5.fmu`
    """
    loaded = files.open(robot)
    named = tuple(name.strip() for name in live.split(",") if name.strip())
    language = to or language
    if language == "fmu":
        paths = loaded.export(
            function,
            language,
            out if out.suffix == ".fmu" or out.is_dir() else out.with_name(f"{out.name}.fmu"),
            step=step,
            version=fmi,
            kind=kind,
            contact=Contact() if contact else None,
            controls=controls,
            live=named,
            sensors=[name.strip() for name in sensors.split(",") if name.strip()],
            binary=binary,
        )
        log = getattr(paths, "log", ())
        for remark in log:
            print(remark, file=sys.stderr)
        if as_json:
            print_json({"files": list(paths), "log": list(log)})
            return 0
        print(paths[0])
        return 0
    paths = loaded.export(function, language, out, frame=frame, axes=axes, dtype=dtype, live=named)
    if as_json:
        print_json({"files": paths, "operations": loaded.operations(function, frame=frame, axes=axes)})
        return 0
    print(*paths, sep="\n")
    return 0
