"""`dalembert convert`: a robot from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Arguments, Base, Json, Mimic, Source, Strict, open_robot, print_json


def run(
    robot: Source,
    out: Annotated[
        Path, typer.Argument(help="File to write: .urdf .xml .sdf .usda .dh.toml; one that exists is replaced.")
    ],
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    strict: Strict = False,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Write the closest equivalent where the format has no exact one.")
    ] = False,
    geometry: Annotated[bool, typer.Option(help="Write the shapes of links.")] = True,
    package: Annotated[
        Path | None, typer.Option(help="Folder whose meshes are named package://… (SDF: model://…).")
    ] = None,
    as_json: Json = False,
) -> int:
    """Write a robot in another format; what the format cannot express is an error, never a silent loss.

    Example: `dalembert convert ur5 ur5.xml`
    """
    loaded = open_robot(robot, base, mimic=mimic, arg=arg, strict=strict)
    written = loaded.save(out, approximate=approximate, geometry=geometry, package=package)
    if as_json:
        logs = {"read": [vars(f) for f in loaded.import_log], "written": [vars(f) for f in written]}
        print_json({"robot": loaded.name, "out": str(out), **logs})
        return 0
    for finding in (*loaded.import_log, *written):
        print(finding)
    print(f"{loaded.name} written to {out}")
    return 0
