"""`dalembert identify`: a robot's parameters from its log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Arguments, Base, Json, Mimic, Source, check_target, console, open_robot, print_json, working


def run(
    robot: Source,
    log: Annotated[list[Path], typer.Argument(help="Logs with torques: .csv .npz .parquet .h5 .mcap or ROS bags.")],
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    validate: Annotated[Path | None, typer.Option(help="A log that is not fitted, to judge the result by.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the robot here: .urdf .xml .sdf .dh.toml.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with tables and plots here (.html).")] = None,
    friction: Annotated[
        str, typer.Option(help="Terms to find, of viscous, coulomb, stribeck, offset; none: the file's own.")
    ] = "viscous,coulomb,offset",
    rotor: Annotated[bool, typer.Option("--rotor", help="Find reflected rotor inertia too.")] = False,
    method: Annotated[str, typer.Option(help="least-squares, weighted, total, physical or simulation.")] = "physical",
    no_check: Annotated[bool, typer.Option("--no-check", help="Fit a log even where it makes no sense.")] = False,
    as_json: Json = False,
) -> int:
    """Fit a robot's masses, inertias and friction to logs; exit code 1 if more than 5 % of the torques is left over.

    Example: `dalembert identify arm.urdf log.csv --validate other.csv --out arm_identified.urdf --report page.html`
    """
    from dalembert import identify

    check_target(out, "--out", (".urdf", ".xml", ".sdf", ".toml"))
    check_target(report, "--report", (".html",))
    subject = open_robot(robot, base, mimic=mimic, arg=arg)
    terms = () if friction.strip() in ("", "none") else tuple(word.strip() for word in friction.split(","))
    logs = [identify.read_log(path, subject) for path in log]
    with working("fitting"):
        fit = identify.fit(subject, logs, friction=terms, rotor=rotor, method=method, check=not no_check)
    other = fit.validate(identify.read_log(validate, subject)) if validate is not None else None
    judged = other if other is not None else fit.validate(logs[0])
    if out is not None:
        fit.save(out)
    if report is not None:
        fit.report(report, other)
    if as_json:
        print_json(
            {
                "robot": subject.name,
                "method": fit.method,
                "held_out": other is not None,
                "total_percent": judged.total_percent,
                "factory_percent": judged.factory_total,
                "ok": judged.ok,
                "joints": {
                    name: {"rms": judged.rms[k], "percent": judged.rms_percent[k]}
                    for k, name in enumerate(judged.joints)
                },
                "parameters": dict(zip(fit.names, fit.x.tolist(), strict=True)),
                "unseen": list(fit.unseen),
                "log": [note for each in logs for note in each.log] + list(fit.log),
            }
        )
        return 0 if judged.ok else 1
    screen = console()
    for note in [note for each in logs for note in each.log] + [str(doubt) for doubt in fit.doubts] + list(fit.log):
        screen.print(f"note: {note}", markup=False)
    where = "held-out log" if other is not None else "the fitted log itself (give --validate to judge by another)"
    screen.print(f"{subject.name}, method {fit.method}, on the {where}:", markup=False)
    screen.print(judged.table(), markup=False)
    screen.print(f"{len(fit.unseen)} parameters or groups do not show in the data; the report lists them", markup=False)
    for path in (out, report):
        if path is not None:
            screen.print(f"written: {path}", markup=False)
    return 0 if judged.ok else 1
