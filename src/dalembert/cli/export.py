"""`dalembert export`: source code of a robot's functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Arguments, Base, Json, Mimic, Source, open_robot, print_json


def run(
    robot: Source,
    function: Annotated[
        str, typer.Argument(help="Such as inverse_dynamics, mass_matrix, gravity.")
    ] = "inverse_dynamics",
    language: Annotated[str, typer.Option(help="c; robot.source has formulas and CUDA as text.")] = "c",
    frame: Annotated[str | None, typer.Option(help="Of pose, jacobian and the like.")] = None,
    axes: Annotated[str | None, typer.Option(help='"world", "body" or a frame, where a quantity has axes.')] = None,
    dtype: Annotated[str, typer.Option(help="float64 (double in C), or float32 (float).")] = "float64",
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("export"),
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    as_json: Json = False,
) -> int:
    """Write self-contained source of one function with a test vector.

    Example: `dalembert export ur5 inverse_dynamics --out ur5_c`
    """
    loaded = open_robot(robot, base, mimic=mimic, arg=arg)
    files = loaded.export(function, language, out, frame=frame, axes=axes, dtype=dtype)
    if as_json:
        print_json(
            {"files": [str(file) for file in files], "operations": loaded.operations(function, frame=frame, axes=axes)}
        )
        return 0
    for file in files:
        print(file)
    return 0
