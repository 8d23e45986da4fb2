"""`dalembert study`: a study of a TOML file, on this machine or a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.errors import DalembertError

from .common import Json, check_target, console, print_json


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML file with robot, run, samples and [space].")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the rows that its folder lacks.")] = False,
    executor: Annotated[
        str | None, typer.Option(help="threads, processes, ray, slurm or dask://HOST:PORT; default threads.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="How many; default as many as there are.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where rows go; default as in the file, or beside it.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with figures here (.html).")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what it will take, and run nothing.")] = False,
    as_json: Json = False,
) -> int:
    """Run a study: many rows of a space, each a motion or a call of a function; exit code 1 if all rows fail.

    Example: `dalembert study study.toml --executor processes --report study.html`
    """
    from dalembert.study.file import read_study
    from dalembert.study.provenance import FILE

    check_target(report, "--report", (".html",))
    read = read_study(file)
    place = folder or read.folder
    if explain:
        forecast = read.job.explain(workers)
        if as_json:
            print_json(vars(forecast))
        else:
            console().print(str(forecast), markup=False)
        return 0
    if (place / FILE).exists() and not resume:
        raise DalembertError(f"{place}: has a study already: pass --resume to go on with it, or --folder for another")
    result = read.job.run(place, executor, workers=workers)
    page = report or read.report
    if page is not None:
        result.report(page)
    rows, failed = result.table().rows, len(result.failed.rows)
    if as_json:
        reasons = {text: found.tolist() for text, found in result.failed.items()}
        print_json({"folder": str(place), "rows": rows, "outputs": list(result.outputs), "failed": reasons})
        return 1 if rows == failed else 0
    screen = console()
    screen.print(f"{rows} rows in {place}: {', '.join(result.outputs) or 'no outputs'}", markup=False)
    screen.print(str(result.failed), markup=False)
    for name in result.outputs:
        for record in result.worst(name, 1):
            screen.print(f"largest {name} in row {record['row']}", markup=False)
    if page is not None:
        screen.print(f"written to {page}", markup=False)
    return 1 if rows == failed else 0
