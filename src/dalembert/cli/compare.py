"""`dalembert compare`: do two files describe the same robot?"""

from __future__ import annotations

from typing import Annotated

import typer

from .common import Arguments, Base, Json, Mimic, Source, open_robots, print_json


def run(
    robot: Source,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The robot to compare with.")],
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    tolerance: Annotated[float, typer.Option(help="Relative difference that counts as none.")] = 1e-9,
    as_json: Json = False,
) -> int:
    """Match joints by name; say which bodies, parameters and dynamics differ, and by how much. Exit code 1 if any do.

    Example: `dalembert compare ur5 ur5e`
    """
    from dalembert import compare

    comparison = compare(*open_robots((robot, other), base, mimic=mimic, arg=arg), tolerance=tolerance)
    if as_json:
        print_json(comparison.content())
    else:
        print(comparison)
    return 0 if comparison.same else 1
