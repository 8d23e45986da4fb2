"""`dalembert view`: robots in the browser."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.errors import DalembertError

from .common import Json, LogFiles, RobotFiles, console, print_json


def run(
    robots: Annotated[list[str], typer.Argument(metavar="ROBOT...", help="Bundled names or files; side by side.")],
    files: RobotFiles,
    logs: LogFiles,
    run_file: Annotated[Path | None, typer.Option("--run", help="A saved run of the first robot, to play.")] = None,
    motion_file: Annotated[
        Path | None,
        typer.Option("--motion", help="A motion of the first robot, to play: .csv .npz .mcap …"),
    ] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0: any free one.")] = 0,
    host: Annotated[str, typer.Option(help="Address to serve at; the default is reachable from this machine only.")] = (
        "127.0.0.1"
    ),
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
    as_json: Json = False,
) -> int:
    """Show robots in 3-D with sliders, frames, masses and reactions; stop with Ctrl-C.

    Example: `dalembert view panda`
    """
    from dalembert.view import Viewer

    loaded = files.open_all(robots)
    motion: Any = None
    if run_file is not None and motion_file is not None:
        raise DalembertError("--run and --motion: one motion is played at a time, pass one of them")
    if motion_file is not None:
        motion = logs.read(motion_file, loaded[0])
    if run_file is not None:
        from dalembert import load_run

        motion = load_run(run_file)
    viewer = Viewer(loaded, run=motion, host=host, port=port)
    names = [robot.name for robot in loaded]
    if as_json:
        print_json({"robots": names, "url": viewer.url, "not drawn": viewer.notes})
        sys.stdout.flush()
    else:
        out = console()
        for note in viewer.notes:
            out.print(f"not drawn: {note}", markup=False)
        out.print(f"{', '.join(names)} at {viewer.url} (Ctrl-C ends)", soft_wrap=True)
    if browser:
        webbrowser.open(viewer.url)
    viewer.wait()
    return 0
