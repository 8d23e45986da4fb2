"""`dalembert identify`: a robot's parameters from its log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.audit.verdicts import overall
from dalembert.progress import Progress

from .common import (
    Arguments,
    Bandwidth,
    Base,
    Columns,
    Cut,
    Json,
    Mimic,
    SensorFile,
    Source,
    Topic,
    Units,
    check_target,
    console,
    open_motion,
    open_robot,
    print_json,
)

if TYPE_CHECKING:
    from dalembert.audit import Audit
    from dalembert.identify import Delays, Fit, Validation


def run(
    robot: Source,
    log: Annotated[list[Path], typer.Argument(help="Logs with torques: .csv .npz .parquet .h5 .mcap or ROS bags.")],
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
    validate: Annotated[Path | None, typer.Option(help="A log that is not fitted, to judge the result by.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the robot here: .urdf .xml .sdf .usda .dh.toml.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with tables and plots here (.html).")] = None,
    friction: Annotated[
        str, typer.Option(help="Terms to find, of viscous, coulomb, stribeck, offset; none: the file's own.")
    ] = "viscous,coulomb,offset",
    rotor: Annotated[bool, typer.Option("--rotor", help="Find reflected rotor inertia too.")] = False,
    method: Annotated[str, typer.Option(help="least-squares, weighted, total, physical or simulation.")] = "physical",
    align: Annotated[bool, typer.Option("--align", help="Shift torques back by their delay before the fit.")] = False,
    no_check: Annotated[bool, typer.Option("--no-check", help="Fit a log even if its checks fail.")] = False,
    topic: Topic = None,
    unit: Units = None,
    column: Columns = None,
    bandwidth: Bandwidth = None,
    sensors: SensorFile = None,
    cut: Cut = None,
    as_json: Json = False,
) -> int:
    """Fit a robot's masses, inertias and friction to logs; exit code 1 where a joint fails or is in doubt.

    The verdict is that of the robot found, read back from --out if it is written.

    Example: `dalembert identify arm.urdf log.csv --validate other.csv --out arm_identified.urdf --report page.html`

    Without a robot at hand: `dalembert excite 2r --out motion.csv`, `dalembert torques 2r motion.csv --out log.csv`,
    `dalembert identify 2r log.csv`
    """
    from dalembert import identify

    check_target(out, "--out", (".urdf", ".xml", ".sdf", ".usda", ".toml"))
    check_target(report, "--report", (".html",))
    subject = open_robot(robot, base, mimic=mimic, arg=arg)
    terms = () if friction.strip() in ("", "none") else tuple(word.strip() for word in friction.split(","))
    paths = [*log, *([validate] if validate is not None else [])]
    read = [open_motion(path, subject, topic, unit, column, bandwidth, sensors, cut) for path in paths]
    for file, each in zip(paths, read, strict=True):
        identify.check_torques(file, each)
    with Progress("fitting"):
        fit = identify.fit(subject, read[: len(log)], friction=terms, rotor=rotor, method=method, check=not no_check)
        late = [identify.delays(subject, each, friction=terms, rotor=rotor) for each in read]
        if align:
            read = [delays.aligned(each) for delays, each in zip(late, read, strict=True)]
            fit = identify.fit(subject, read[: len(log)], friction=terms, rotor=rotor, method=method, check=False)
    notes = [note for each in read for note in each.log] + [str(doubt) for doubt in fit.doubts] + list(fit.log)
    if not align:
        notes += [note for delays, path in zip(late, paths, strict=True) for note in _late(delays, path)]
    written = None
    if out is not None:
        notes += [str(change) for change in fit.save(out)]
        written = open_robot(str(out), base, mimic=mimic)
    judged = [fit.validate(each, written) for each in (read[len(log) :] or read)]
    if report is not None:
        fit.report(report, judged[0] if validate is not None else None)
    audit = fit.robot.audit()
    if as_json:
        print_json(_record(fit, judged, audit, notes, held_out=validate is not None, delay=late[0].common))
    else:
        _print(fit, judged, audit, notes, held_out=validate is not None)
        for path in (out, report):
            if path is not None:
                console().print(f"written: {path}", markup=False)
    return 0 if all(each.ok for each in judged) else 1


def _record(
    fit: Fit, judged: list[Validation], audit: Audit, notes: list[str], held_out: bool, delay: float
) -> dict[str, Any]:
    """The content of --json; of several logs that were fitted, the numbers of the first and the worst verdicts."""
    worst = [max((each.verdicts[k] for each in judged), key=lambda v: v.rank) for k in range(len(judged[0].joints))]
    return {
        "robot": fit.columns.robot.name,
        "method": fit.method,
        "held_out": held_out,
        "total_percent": judged[0].total_percent,
        "calibrated_percent": judged[0].calibrated_percent,
        "factory_percent": judged[0].factory_total,
        "ok": all(each.ok for each in judged),
        "status": overall(worst),
        "joints": {
            v.joint: {
                "rms": judged[0].rms[k],
                "percent": judged[0].rms_percent[k],
                "noise": v.noise,
                "status": v.status,
                "why": v.why,
            }
            for k, v in enumerate(worst)
        },
        "parameters": dict(zip(fit.names, fit.x.tolist(), strict=True)),
        "unseen": list(fit.unseen),
        "delay": delay,
        "audit": {"ok": audit.ok, "summary": audit.summary()},
        "log": notes,
    }


def _print(fit: Fit, judged: list[Validation], audit: Audit, notes: list[str], held_out: bool) -> None:
    """The notes, how well the robot found explains the logs, and its audit."""
    screen = console()
    for note in notes:
        screen.print(f"note: {note}", markup=False)
    for number, each in enumerate(judged, 1):
        log = "fitted log itself" if len(judged) == 1 else f"fitted log {number} itself"
        where = "held-out log" if held_out else f"{log} (give --validate to judge by another)"
        screen.print(f"{fit.columns.robot.name}, method {fit.method}, on the {where}:", markup=False)
        screen.print(each.table(), markup=False, soft_wrap=True)
    screen.print(f"{len(fit.unseen)} parameters or groups do not show in the data; the report lists them", markup=False)
    errors = [finding for finding in audit.findings if finding.severity == "error"]
    screen.print(f"audit of the result: {audit.summary()}", markup=False)
    for finding in errors:
        screen.print(f"  {finding.where}: {finding.what}", markup=False)


def _late(delays: Delays, path: Path) -> list[str]:
    """A note on torques that are later or earlier than the motion."""
    if not delays.notable:
        return []
    word = "lag behind" if delays.common > 0.0 else "are ahead of"
    return [f"{path.name}: torques {word} the motion by {abs(1e3 * delays.common):.1f} ms; --align shifts them back"]
