"""`dalembert report`: one page about a robot."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dalembert.progress import Progress

from .common import Json, LogFiles, Payload, RobotFiles, Source, console, print_json, unexplained


def run(
    robot: Source,
    files: RobotFiles,
    logs: LogFiles,
    out: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("report.html"),
    payload: Payload = 0.0,
    frame: Annotated[str | None, typer.Option(help="Tool frame; default: the end of the longest chain.")] = None,
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion for torques and sizing; default: a quintic.")
    ] = None,
    scene: Annotated[bool, typer.Option(help="Include the robot in 3-D.")] = True,
    as_json: Json = False,
) -> int:
    """Write structure, audit, reach, torques, reactions and actuator sizing as one offline HTML page.

    Exit code 1 where the motion has efforts that the model does not explain.

    Example: `dalembert report ur5 --out ur5.html`
    """
    from dalembert.report import write_report

    loaded = files.open(robot)
    motion = logs.read(trajectory, loaded) if trajectory else None
    named = {"trajectory": trajectory, "payload": payload or None, "frame": frame}
    options = vars(files) | {"mimic": None if files.mimic == "couple" else files.mimic} | named | vars(logs)
    command = _command(robot, options)
    with Progress(f"report of {loaded.name}"):
        path = write_report(loaded, out, motion=motion, payload=payload, frame=frame, command=command, scene=scene)
    failed = int(unexplained(loaded, motion))
    if as_json:
        log = motion.log if motion else ()
        print_json({"robot": loaded.name, "out": str(path), "bytes": path.stat().st_size, "log": log})
        return failed
    for note in motion.log if motion else ():
        console().print(f"note: {note}", markup=False)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB); open it in any browser, no network needed")
    return failed


def _command(robot: str, options: dict[str, object]) -> str:
    """The command that writes the same report again."""
    words = ["dalembert", "report", robot]
    for name, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                words += [f"--{name}", str(item).removesuffix(".0")]
    return shlex.join([*words, "--out", "report.html"])
