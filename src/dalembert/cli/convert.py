"""`dalembert convert`, `edit` and `compare`: robots from file to file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.errors import DalembertError
from dalembert.model import tool_frame
from dalembert.robot import Robot

from .common import Json, Payload, RobotFiles, Source, Strict, print_json


def convert(
    robot: Source,
    out: Annotated[
        Path, typer.Argument(help="File to write: .urdf .xml .sdf .usda .dh.toml; one that exists is replaced.")
    ],
    files: RobotFiles,
    strict: Strict = False,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Write the closest equivalent where the format has no exact one.")
    ] = False,
    geometry: Annotated[bool, typer.Option(help="Write the shapes of links.")] = True,
    package: Annotated[
        Path | None, typer.Option(help="Folder whose meshes are named package://… (SDF: model://…).")
    ] = None,
    as_json: Json = False,
) -> int:
    """Write a robot in another format; what the format cannot express is an error, never a silent loss.

    Example: `dalembert convert ur5 ur5.xml`
    """
    loaded = files.open(robot, strict)
    written = loaded.save(out, approximate=approximate, geometry=geometry, package=package)
    if as_json:
        logs = {"read": [vars(f) for f in loaded.import_log], "written": [vars(f) for f in written]}
        print_json({"robot": loaded.name, "out": str(out), **logs})
        return 0
    for finding in (*loaded.import_log, *written):
        print(finding)
    print(f"{loaded.name} written to {out}")
    return 0


def edit(
    robot: Source,
    out: Annotated[
        Path, typer.Argument(help="File to write: .urdf .xml .sdf .usda .dh.toml; one that exists is replaced.")
    ],
    files: RobotFiles,
    lock: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=VALUE", help="Hold a joint there [rad, m]; may be repeated.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(help="Take off a link with all on it; may be repeated.")] = None,
    merge: Annotated[list[str] | None, typer.Option(help="Merge a link into the link that carries it.")] = None,
    reroot: Annotated[str | None, typer.Option(help="Make this link the base.")] = None,
    scale: Annotated[float | None, typer.Option(help="Factor of all lengths, of the same density.")] = None,
    attach: Annotated[str | None, typer.Option(metavar="ROBOT", help="Another robot, to be put on --frame.")] = None,
    prefix: Annotated[str, typer.Option(help="Prefix of the names that --attach adds.")] = "",
    payload: Payload = 0.0,
    frame: Annotated[str | None, typer.Option(help="Where --attach and --payload go; default: the tool.")] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="The maker's calibration of this arm: calibration.conf of Universal Robots.")
    ] = None,
    gravity: Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Another gravity [m/s²].")] = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Write the closest equivalent where the format has no exact one.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Calibrate, lock, remove, merge, reroot, scale, attach, load a robot, in this order, and write it; all is checked.

    Example: `dalembert edit panda held.urdf --lock panda_joint7=0.3 --payload 2`
    """
    loaded = files.open(robot)
    editor = loaded.edit()
    if calibration is not None:
        editor.calibrate(calibration)
    if lock:
        editor.lock(dict(map(_held, lock)))
    for link in remove or ():
        editor.remove(link)
    for link in merge or ():
        editor.merge(link)
    if reroot is not None:
        editor.reroot(reroot)
    if scale is not None:
        editor.scale(scale)
    if attach is not None or payload:
        seat = frame if frame and not payload else tool_frame(editor.model, frame).name
        if attach is not None:
            editor.attach(RobotFiles(mimic=files.mimic).open(attach), frame=seat, prefix=prefix)
        if payload:
            editor.payload(payload, frame=seat)
    if gravity is not None:
        editor.gravity(_numbers(gravity, "--gravity"))
    return _write(loaded, editor.done(), out, approximate, as_json)


def _write(before: Robot, changed: Robot, out: Path, approximate: bool, as_json: bool) -> int:
    edits = changed.import_log[len(before.import_log) :]
    written = changed.save(out, approximate=approximate)
    if as_json:
        logs = {"edits": [vars(f) for f in edits], "written": [vars(f) for f in written]}
        print_json({"robot": changed.name, "out": str(out), **logs})
        return 0
    for finding in (*edits, *written):
        print(finding)
    mass = [sum(body.mass for body in robot.bodies) for robot in (before, changed)]
    freedoms = f"{changed.nv} degrees of freedom (were {before.nv})"
    print(f"{changed.name} written to {out}: {freedoms}, {mass[1]:.6g} kg (was {mass[0]:.6g})")
    return 0


def _held(text: str) -> tuple[str, list[float]]:
    joint, equals, value = text.rpartition("=")
    if not equals or not joint:
        raise DalembertError(f"--lock {text}: expected JOINT=VALUE, such as elbow=0.3")
    return joint, _numbers(value, f"--lock {text}")


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise DalembertError(f"{option}: {text!r} is not a number or several separated by commas") from None


def compare_robots(
    robot: Source,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The robot to compare with.")],
    files: RobotFiles,
    tolerance: Annotated[float, typer.Option(help="Relative difference that counts as none.")] = 1e-9,
    as_json: Json = False,
) -> int:
    """Match joints by name; say which bodies, parameters and dynamics differ, and by how much. Exit code 1 if any do.

    Example: `dalembert compare ur5 ur5e`
    """
    from dalembert import compare

    comparison = compare(*files.open_all((robot, other)), tolerance=tolerance)
    if as_json:
        print_json(comparison.content())
    else:
        print(comparison)
    return 0 if comparison.same else 1
