"""`dalembert convert`: a robot from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Base, Source, Strict, open_robot


def run(
    robot: Source,
    out: Annotated[Path, typer.Argument(help="File to write: .urdf .xml .sdf .dh.toml")],
    base: Base = None,
    strict: Strict = False,
    approximate: Annotated[bool, typer.Option("--approximate", help="Allow named approximations.")] = False,
) -> int:
    """Write a robot in another format; what the format cannot say is an error, never a silent loss.

    Example: `dalembert convert ur5 ur5.xml`
    """
    made = open_robot(robot, base, strict)
    for finding in made.save(out, approximate=approximate):
        print(finding)
    print(f"{made.name} written to {out}")
    return 0
