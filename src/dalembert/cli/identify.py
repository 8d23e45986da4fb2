"""`dalembert excite` and `identify`: a motion that shows a robot's parameters, and these from its log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dalembert.audit.verdicts import overall
from dalembert.progress import Progress
from dalembert.robot import Robot
from dalembert.tables import FORMATS

from .common import Json, LogFiles, RobotFiles, Source, check_target, console, print_json, table

if TYPE_CHECKING:
    from dalembert.audit import Audit
    from dalembert.identify import Delays, Excitation, Fit, Validation


def excite(
    robot: Source,
    out: Annotated[Path, typer.Option(help="Write the motion here: .csv .npz .parquet .h5.")],
    files: RobotFiles,
    duration: Annotated[float, typer.Option(help="Duration of the motion [s].")] = 20.0,
    harmonics: Annotated[int, typer.Option(help="Harmonics of the Fourier series of each joint.")] = 5,
    kind: Annotated[str, typer.Option(help="fourier, or points: moves from point to point.")] = "fourier",
    criterion: Annotated[str, typer.Option(help="What to minimise: condition, D or A.")] = "condition",
    rate: Annotated[float, typer.Option(help="Samples per second.")] = 500.0,
    acceleration: Annotated[float | None, typer.Option(help="Limit of every joint [rad/s² or m/s²].")] = None,
    floor: Annotated[float | None, typer.Option(help="Height [m] that no frame may go below.")] = None,
    clearance: Annotated[
        float | None, typer.Option(help="Least distance [m] of links that could touch, by their collision shapes.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the optimiser's starts.")] = 0,
    starts: Annotated[int | None, typer.Option(min=1, help="Starts of the optimiser; default: 32 or fewer.")] = None,
    as_json: Json = False,
) -> int:
    """A motion within the limits of the joints that excites all identifiable parameters, for `dalembert identify`.

    Example: `dalembert excite ur10e --out motion.csv`
    """
    from dalembert.identify import excitation

    check_target(out, "--out", tuple(FORMATS))
    subject = files.open(robot)
    motion = excitation(
        subject,
        duration,
        harmonics,
        seed,
        kind=kind,
        criterion=criterion,
        rate=rate,
        acceleration=acceleration,
        floor=floor,
        clearance=clearance,
        starts=starts,
    )
    motion.save(out)
    if as_json:
        print_json(
            {
                "robot": subject.name,
                "condition": motion.condition,
                "duration": motion.duration,
                "out": str(out),
                "log": list(motion.log),
                "joints": _joints(subject, motion),
            }
        )
        return 0
    screen = console()
    title = (
        f"{subject.name}: {motion.duration:g} s, condition number {motion.condition:.3g}; rad, N·m (m, N for slides)"
    )
    heads = ["joint", "from", "to", "speed", "acceleration", "torque"]
    screen.print(table(title, heads, [list(row.values()) for row in _joints(subject, motion)], 5))
    for note in motion.log:
        screen.print(f"note: {note}", markup=False)
    screen.print(f"written to {out}; look at it first: dalembert view {robot} --motion {out}", markup=False)
    return 0


def _joints(robot: Robot, motion: Excitation) -> list[dict[str, Any]]:
    """The motion of each joint: its range, and the largest speed, acceleration and torque."""
    tau = robot.inverse_dynamics(motion.q, motion.v, motion.a)
    return [
        {
            "joint": name,
            "lowest": motion.q[:, k].min(),
            "highest": motion.q[:, k].max(),
            "speed": np.abs(motion.v[:, k]).max(),
            "acceleration": np.abs(motion.a[:, k]).max(),
            "torque": np.abs(tau[:, k]).max(),
        }
        for k, name in enumerate(robot.model.freedom_names)
    ]


def identify_robot(
    robot: Source,
    log: Annotated[list[Path], typer.Argument(help="Logs with torques: .csv .npz .parquet .h5 .mcap or ROS bags.")],
    files: RobotFiles,
    logs: LogFiles,
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
    subject = files.open(robot)
    terms = () if friction.strip() in ("", "none") else tuple(word.strip() for word in friction.split(","))
    paths = [*log, *([validate] if validate is not None else [])]
    read = [logs.read(path, subject) for path in paths]
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
        written = replace(files, arg=None).open(str(out))
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
