"""`dalembert audit`, `expect` and `diagnose`: is this model to be trusted, and what explains a symptom?"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from dalembert.audit import Audit, Headroom, expectations_of, load_rules, read_suppressions, write_expectations
from dalembert.audit.diagnose import diagnose
from dalembert.audit.symptoms import SYMPTOMS
from dalembert.errors import LISTED, DalembertError, unknown
from dalembert.files import write_text
from dalembert.loading import robots
from dalembert.model import Motors
from dalembert.progress import Progress

from .common import (
    Expectations,
    Json,
    LogFiles,
    Payload,
    PayloadFrame,
    RobotFiles,
    Source,
    check_target,
    console,
    print_json,
    table,
    unexplained,
)

COLORS = {"error": "red", "warning": "yellow", "info": "blue"}
STATUS = {"passed": "green", "partly": "green", "failed": "red", "not run": "dim"}
PLURAL = {"has": "have", "is": "are"}
FAIL = ("error", "warning", "never")


def audit_robot(
    robot: Source,
    files: RobotFiles,
    logs: LogFiles,
    payload: Payload = 0.0,
    frame: PayloadFrame = None,
    rule: Annotated[list[str] | None, typer.Option(help="Only this rule; may be repeated.")] = None,
    accept: Annotated[Path | None, typer.Option(help="TOML file of findings that may stay.")] = None,
    expect: Expectations = None,
    motion: Annotated[Path | None, typer.Option(help="A log whose efforts the model should explain.")] = None,
    rules: Annotated[Path | None, typer.Option(help="Python file with your own rules; it is executed.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Also write SARIF, which code hosts show.")] = None,
    fail_on: Annotated[
        str, typer.Option(help="Exit with 1 on: error (or a rule that could not run), warning, never.")
    ] = "error",
    as_json: Json = False,
) -> int:
    """Check structure, limits, inertia, laws and motors; exit code 1 when something is wrong.

    Example: `dalembert audit ur5e --payload 5`
    """
    if fail_on not in FAIL:
        raise unknown("--fail-on level", fail_on, FAIL, "audit")
    check_target(sarif, "--sarif")
    opened = files.open(robot)
    if rules is not None:
        load_rules(rules)
    suppressions = read_suppressions(accept) if accept else ()
    log = logs.read(motion, opened) if motion else None
    audit = opened.audit(
        payload=payload, frame=frame, rules=rule or None, accept=suppressions, expect=expect, motion=log
    )
    if sarif:
        file = robot if Path(robot).exists() else robot.rpartition("#")[0]  # "world.sdf#model"
        write_text(sarif, audit.sarif(file if Path(file).is_file() else ""))
    if as_json:
        print_json(json.loads(audit.json()))
    else:
        show(audit)
    failed = not audit.ok or (fail_on == "warning" and audit.count("warning") > 0)
    return int(fail_on != "never" and failed)


def show(audit: Audit) -> None:
    """The findings, the headroom of the motors, the motors, the steps, and how much was checked."""
    out = console()
    if load := audit.facts["payload"]:
        out.print(f"payload: {load:g} kg at frame {escape(repr(audit.facts['frame']))}")
    groups = [list(group) for _, group in groupby(audit.findings, lambda f: replace(f, where=""))]
    for k, group in enumerate(groups, 1):
        finding = group[0]
        color = "dim" if finding.accepted else COLORS[finding.severity]
        where, what = _places([f.where for f in group]), finding.what
        if len(group) > 1:
            verb, _, predicate = what.partition(" ")
            what = f"{PLURAL.get(verb, verb)} {predicate}"
        out.print(f"[{color}]{finding.severity}[/{color}] {escape(where)}: {escape(what)}", style="")
        if any((f.rule, f.accepted) == (finding.rule, finding.accepted) for f, *_ in groups[k : k + 1]):
            continue  # the next one has the same cure
        note = f"accepted: {finding.accepted}" if finding.accepted else finding.cure
        out.print(f"  → {escape(note)} {escape(f'[{finding.rule}]')}", style="dim")
    if audit.headroom:
        rows = [(row.joint, row.gravity, *_limit(row)) for row in audit.headroom if row.gravity > 1e-9]
        out.print(table("\nWorst-case gravity and effort limits", ["joint", "gravity", "limit", "ratio"], rows, 3))
    out.print(f"\n{Motors(**audit.facts['motors'])}", markup=False)
    if len(audit.rules) > 1:
        out.print("\n[italic]The twelve steps[/italic]")
        for verdict in audit.steps:
            color, (head, _, text) = STATUS[verdict.status], str(verdict).partition(": ")
            out.print(f"{head}: [{color}]{escape(text)}[/{color}]")
    for item in audit.blocked:
        out.print(f"[red]not run[/red] {escape(item.rule)}, because {escape(item.because)}")
    out.print(f"\n[bold]{escape(audit.robot)}[/bold]: {audit.summary()}")


def _places(places: list[str]) -> str:
    """Where equal findings are: "joints 'a', 'b', … (12 in all)"."""
    first, *others = places
    kind = first.partition(" ")[0]
    if not others or not all(place.startswith(f"{kind} '") for place in places):
        return f"{first} and {len(others)} more" if others else first
    names = [place.removeprefix(f"{kind} ") for place in places]
    more = f", … ({len(names)} in all)" if len(names) > LISTED else ""
    return f"{kind}s {', '.join(names[:LISTED])}{more}"


def _limit(row: Headroom) -> tuple[str, str]:
    return (f"{row.limit:.4g}", f"{row.ratio:.2f}") if np.isfinite(row.limit) else ("not stated", "")


def expect(
    robot: Source,
    files: RobotFiles,
    out: Annotated[Path | None, typer.Option(help="File to write (.toml); default: print it.")] = None,
) -> int:
    """Write sizes, names, masses, reach and holding torques of a trusted robot, for `dalembert audit --expect`.

    Example: `dalembert expect ur5 --out ur5.toml`
    """
    check_target(out, "--out", (".toml",))
    opened = files.open(robot)
    text = write_expectations(expectations_of(opened), f"What {opened.name} is meant to be: dalembert audit --expect")
    if out is None:
        console().print(text, end="", markup=False, soft_wrap=True)
    else:
        write_text(out, text)
        console().print(f"written to {out}", markup=False)
    return 0


def diagnose_symptom(
    files: RobotFiles,
    logs: LogFiles,
    symptom: Annotated[
        str | None, typer.Argument(help="What you observe, in words; without, or with a robot's file: all findings.")
    ] = None,
    robot: Annotated[str | None, typer.Option(help="The robot it is seen on: a bundled name or a file.")] = None,
    motion: Annotated[Path | None, typer.Option(help="A log of the robot with efforts.")] = None,
    expect: Expectations = None,
    payload: Payload = 0.0,
    frame: PayloadFrame = None,
    as_json: Json = False,
) -> int:
    """Causes of a symptom, ranked by evidence in the robot and its log, with the check that decides.

    Exit code 1 where the model does not explain the torques of some joint of the log.

    Example: `dalembert diagnose "position drifts during a hold" --robot ur5`
    """
    if symptom is not None and robot is None and (Path(symptom).is_file() or symptom in robots()):
        symptom, robot = None, symptom
    if symptom is None and robot is None:
        listed = "\n".join(f"  {known.text}" for known in SYMPTOMS)
        console().print(f"Known symptoms (describe one in your own words, or give --robot):\n{listed}", markup=False)
        return 0
    opened = files.open(robot) if robot is not None else None
    log = None
    if motion is not None:
        if opened is None:
            raise DalembertError("--motion needs the robot it belongs to: --robot")
        log = logs.read(motion, opened)
    with Progress("diagnosis"):
        diagnoses = diagnose(symptom, opened, motion=log, expect=expect, payload=payload, frame=frame)
    failed = int(opened is not None and unexplained(opened, log))
    if as_json:
        print_json([
            {
                "symptom": d.symptom,
                "notes": d.notes,
                "suspects": [
                    {
                        "cause": s.cause.text,
                        "check": s.cause.check,
                        "cure": s.cause.fix,
                        "weight": s.weight,
                        "explained": s.explained,
                        "findings": [vars(finding) for finding in s.findings],
                    }
                    for s in d.suspects
                ],
            }
            for d in diagnoses
        ])  # fmt: skip
        return failed
    text = "\n\n".join(map(str, diagnoses)) or "no cause of a known symptom was found"
    console().print(text, markup=False, soft_wrap=True)
    return failed
