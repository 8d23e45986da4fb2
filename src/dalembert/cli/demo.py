"""`dalembert demo`: the main job on a bundled robot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    out: Annotated[Path, typer.Option(help="Folder for the plot and the report.")] = Path("demo"),
    states: Annotated[int, typer.Option(min=1, help="Size of the timed batch.")] = 100_000,
) -> int:
    """Torques of a one-second move of a UR5, a plot, a report, and what it costs.

    Example: `dalembert demo --out /tmp/demo`
    """
    from dalembert import demo

    return demo.main(out, states)
