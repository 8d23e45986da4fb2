"""`dalembert expect`: the properties of a trusted robot, saved to check later versions of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.audit import expectations_of, write_expectations
from dalembert.files import write_text

from .common import Arguments, Base, Mimic, Source, check_target, console, open_robot


def run(
    robot: Source,
    out: Annotated[Path | None, typer.Option(help="File to write (.toml); default: print it.")] = None,
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
) -> int:
    """Write sizes, names, masses, reach and holding torques of a trusted robot, for `dalembert audit --expect`.

    Example: `dalembert expect ur5 --out ur5.toml`
    """
    check_target(out, "--out", (".toml",))
    opened = open_robot(robot, base, mimic=mimic, arg=arg)
    text = write_expectations(expectations_of(opened), f"What {opened.name} is meant to be: dalembert audit --expect")
    if out is None:
        console().print(text, end="", markup=False, soft_wrap=True)
    else:
        write_text(out, text)
        console().print(f"written to {out}", markup=False)
    return 0
