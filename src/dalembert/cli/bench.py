"""`dalembert bench`: how fast, beside the libraries that are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.errors import DalembertError

from .common import Json, RobotFiles, console, print_json, table


def run(
    robots: Annotated[list[str] | None, typer.Argument(help="Robots to measure; default: a few of each kind.")] = None,
    function: Annotated[list[str] | None, typer.Option(help="Only this function; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer robots, batches and repetitions.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for bench.json, bench.txt and bench.png.")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Rate of a controller [Hz]: show the share of its period that each call takes.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Time dalembert beside every installed peer, after checking that the answers agree.

    With --rate: the share of the control period; exit code 1 if a call takes more than 30 % of it.

    Example: `dalembert bench ur5 --function inverse_dynamics --quick`
    """
    if rate is not None:
        return _shares(robots or [], function or [], rate, as_json)
    from dalembert.cli.benchmark import run as bench

    return bench.main(robots or [], function or [], quick=quick, out=out, as_json=as_json)


def _shares(robots: list[str], functions: list[str], rate: float, as_json: bool) -> int:
    """Shares of the period 1/rate, robot by robot."""
    from dalembert.cli.benchmark.period import shares

    if not robots:
        raise DalembertError("--rate: of which robot? write dalembert bench ur5 --rate 1000")
    found = {name: shares(RobotFiles().open(name), rate, functions) for name in robots}
    if as_json:
        print_json({name: [vars(each) for each in listed] for name, listed in found.items()})
    else:
        for name, listed in found.items():
            rows = [(each.call, f"{1e6 * each.seconds:.2f}", f"{each.share:.3%}") for each in listed]
            title = f"{name}: one call from Python beside a period of {1e3 / rate:g} ms"
            console().print(table(title, ["call", "µs", "of the period"], rows))
    return 0 if all(each.fits for listed in found.values() for each in listed) else 1
