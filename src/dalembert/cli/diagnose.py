"""`dalembert diagnose`: from a symptom to its causes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.audit.diagnose import diagnose
from dalembert.audit.symptoms import SYMPTOMS
from dalembert.errors import DalembertError
from dalembert.loading import robots
from dalembert.progress import Progress

from .common import (
    Arguments,
    Bandwidth,
    Base,
    Columns,
    Cut,
    Expectations,
    Json,
    Mimic,
    Payload,
    PayloadFrame,
    SensorFile,
    Topic,
    Units,
    console,
    open_motion,
    open_robot,
    print_json,
    unexplained,
)


def run(
    symptom: Annotated[
        str | None, typer.Argument(help="What you observe, in words; without, or with a robot's file: all findings.")
    ] = None,
    robot: Annotated[str | None, typer.Option(help="The robot it is seen on: a bundled name or a file.")] = None,
    motion: Annotated[Path | None, typer.Option(help="A log of the robot with efforts.")] = None,
    topic: Topic = None,
    unit: Units = None,
    column: Columns = None,
    bandwidth: Bandwidth = None,
    sensors: SensorFile = None,
    cut: Cut = None,
    expect: Expectations = None,
    payload: Payload = 0.0,
    frame: PayloadFrame = None,
    base: Base = None,
    mimic: Mimic = "couple",
    arg: Arguments = None,
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
    opened = open_robot(robot, base, mimic=mimic, arg=arg) if robot is not None else None
    log = None
    if motion is not None:
        if opened is None:
            raise DalembertError("--motion needs the robot it belongs to: --robot")
        log = open_motion(motion, opened, topic, unit, column, bandwidth, sensors, cut)
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
