"""`dalembert bench`: how fast, beside the libraries that are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json


def run(
    robots: Annotated[list[str] | None, typer.Argument(help="Robots to measure; default: a few of each kind.")] = None,
    function: Annotated[list[str] | None, typer.Option(help="Only this function; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer robots, batches and repetitions.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for bench.json, bench.txt and bench.png.")] = None,
    as_json: Json = False,
) -> int:
    """Time dalembert beside every installed peer, after checking that the answers agree.

    Example: `dalembert bench ur5 --function inverse_dynamics --quick`
    """
    from dalembert.bench import run as bench

    return bench.main(robots or [], function or [], quick=quick, out=out, as_json=as_json)
