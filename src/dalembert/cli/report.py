"""`dalembert report`: one page about a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Arguments, Base, Json, Mimic, Source, open_robot, print_json, working


def run(
    robot: Source,
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    out: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("report.html"),
    payload: Annotated[float, typer.Option(help="Mass [kg] held at --frame.")] = 0.0,
    frame: Annotated[str | None, typer.Option(help="Tool frame; default: the end of the longest chain.")] = None,
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion for torques and sizing; default: a quintic.")
    ] = None,
    scene: Annotated[bool, typer.Option(help="Include the robot in 3-D.")] = True,
    as_json: Json = False,
) -> int:
    """Write structure, audit, reach, torques, reactions and actuator sizing as one offline HTML page.

    Example: `dalembert report ur5 --out ur5.html`
    """
    from dalembert import read_trajectory
    from dalembert.report import write_report

    made = open_robot(robot, base, mimic=mimic, arg=arg)
    motion = read_trajectory(trajectory, made) if trajectory else None
    with working(f"report of {made.name}"):
        path = write_report(made, out, motion=motion, payload=payload, frame=frame, source=robot, scene=scene)
    if as_json:
        print_json({"robot": made.name, "out": str(path), "bytes": path.stat().st_size})
        return 0
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB); open it in any browser, no network needed")
    return 0
