"""`dalembert demo`: the main job on a bundled robot."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Annotated

import typer

from .common import Json, print_json


def run(
    out: Annotated[Path, typer.Option(help="Folder for the plot and the report.")] = Path("demo"),
    states: Annotated[int, typer.Option(min=1, help="Size of the timed batch.")] = 100_000,
    as_json: Json = False,
) -> int:
    """Torques of a one-second move of a UR5, a plot, a report, and what it costs.

    Example: `dalembert demo --out /tmp/demo`
    """
    from dalembert.cli import demonstration as demo

    if not as_json:
        return demo.main(out, states)
    with contextlib.redirect_stdout(io.StringIO()):  # its messages
        code, facts = demo.run(out, states)
    print_json(facts)
    return code
