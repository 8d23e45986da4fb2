"""`dalembert robots` and `info`: the bundled robots; joints, limits, masses and frames of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape

from dalembert.errors import DalembertError
from dalembert.loading import load
from dalembert.loading import robots as bundled
from dalembert.model import Actuator
from dalembert.quantities.structure import JointInfo
from dalembert.robot import Robot

from .common import Json, RobotFiles, Strict, console, counted, number, print_json, table

OptionalSource = Annotated[
    str | None, typer.Argument(metavar="ROBOT", help="A bundled robot's name, or a file (.urdf .xacro .xml .sdf …).")
]
System = Annotated[bool, typer.Option("--system", help="Show the machine instead: compiler, threads, fast call.")]
EFFECTS = ("damping", "friction", "stribeck", "armature", "stiffness")


def info(
    files: RobotFiles,
    robot: OptionalSource = None,
    system: System = False,
    strict: Strict = False,
    as_json: Json = False,
) -> int:
    """Joints, limits, masses and frames of a robot, and the findings of the import.

    Example: `dalembert info panda`; `dalembert info --system` for the machine, the compiler and the fast call.
    """
    if system:
        return _show_system(as_json)
    if robot is None:
        raise DalembertError("info: of which robot? write dalembert info ROBOT, or dalembert info --system")
    loaded = files.open(robot, strict)
    if as_json:
        print_json(content(loaded))
        return 0
    out = console()
    out.print(_summary(loaded), markup=False)
    if loaded.joints:
        shown = 6 if np.isfinite(loaded.limits.continuous).any() else 5
        heads = ["joint", "kind", "range", "speed", "effort", "continuous"][:shown]
        joints = [_joint(joint)[:shown] for joint in loaded.joints]
        out.print(table("\nJoints", heads, joints, shown - 2))
        out.print("speed in rad/s or m/s, effort in N·m or N", style="dim")
        out.print(str(loaded.motors), style="dim", markup=False)
    if effects := [row for joint in loaded.joints for row in _effects(joint)]:
        out.print(table("\nJoint dynamics (SI units)", ["joint", *EFFECTS], effects, len(EFFECTS)))
    if loaded.actuators:
        heads = ["actuator", "on", "kind", "control", "force"]
        out.print(table("\nActuators, in the order of controls", heads, map(_actuator, loaded.actuators)))
    rows = [(b.name, b.mass, " ".join(number(x) for x in b.com), ", ".join(b.parts[1:])) for b in loaded.bodies]
    out.print(table("\nBodies", ["body", "mass [kg]", "centre of mass [m]", "fixed links"], rows))
    extra = [frame.name for frame in loaded.frames[len(loaded.bodies) :]]
    out.print(f"\nFurther frames: {', '.join(extra) or 'none'}", markup=False)
    for closure in loaded.model.closures:
        out.print(f"Loop: {closure.name} ({closure.kind}, {counted(closure.count, 'equation')})", markup=False)
    _log(out, loaded)
    return 0


def _show_system(as_json: bool) -> int:
    from dalembert.compiler.execute.system import system

    lines = system()
    if as_json:
        print_json(lines)
        return 0
    for name, words in lines.items():
        console().print(f"{name}: {words}", markup=False)
    return 0


def _summary(robot: Robot) -> str:
    mass = sum(body.mass for body in robot.bodies)
    loops = sum(closure.count for closure in robot.model.closures)
    held = f", {counted(loops, 'loop equation')}" if loops else ""
    freedoms = f"{robot.nv} {'degree' if robot.nv == 1 else 'degrees'} of freedom (nq = {robot.nq}){held}"
    gravity = " ".join(number(x) for x in robot.model.gravity)
    base_joint = robot.model.base.joint
    loose = [
        body.joint.name for body in robot.model.bodies if body.joint.kind == "free" and body.joint is not base_joint
    ]
    base = f"{base_joint.kind} base" + (f" with free bodies ({', '.join(loose)})" if loose else "")
    return f"{robot.name}: {freedoms}, {base}, {mass:.4g} kg, gravity {gravity} m/s²"


def _actuator(actuator: Actuator) -> tuple[str, ...]:
    places = {"joint": actuator.joint, "tendon": " ".join(actuator.joints), "wire": " ".join(actuator.path)}
    word, place = next(((word, name) for word, name in places.items() if name), ("site", actuator.site))
    kind = "cannot be driven" if actuator.obstacle else "servo" if actuator.is_servo else "motor"
    limits = ["", ""]
    for k, (low, high) in enumerate((actuator.control_limits, actuator.force_limits)):
        limits[k] = f"{_limit(low)} … {_limit(high)}" if np.isfinite([low, high]).any() else ""
    return actuator.name, actuator.obstacle or f"{word} {place}", kind, *limits


def _joint(joint: JointInfo) -> tuple[str, ...]:
    unit, scale = ("°", 180 / np.pi) if set(joint.units) == {"rad"} else (" m", 1.0)
    one = joint.lower.size == 1
    span = f"{_limit(joint.lower[0] * scale)} … {_limit(joint.upper[0] * scale)}{unit}" if one else ""
    follows = f" (follows {joint.leader})" if joint.leader else ""
    limits = (joint.velocity_limit, joint.effort_limit, joint.continuous_limit)
    speed, effort, continuous = (_limit(limit[0]) if limit.size == 1 else "" for limit in limits)
    return joint.name, joint.kind + follows, span, speed, effort, continuous


def _effects(joint: JointInfo) -> Iterator[tuple[str, ...]]:
    """Rows for the coordinates of a joint that feel anything but inertia and motors."""
    values = np.array([getattr(joint, name) for name in EFFECTS])
    for k, column in enumerate(values.T):
        if column.any():
            yield (joint.name + (f"[{k}]" if values.shape[1] > 1 else ""), *map(number, column))


def _limit(x: float) -> str:
    return number(x) if np.isfinite(x) else ("∞" if x > 0 else "-∞")


def _log(out: Console, robot: Robot) -> None:
    warnings = sum(finding.severity == "warning" for finding in robot.import_log)
    out.print(f"\nImport: {counted(warnings, 'warning')}, {counted(len(robot.import_log) - warnings, 'remark')}")
    for finding in robot.import_log:
        color = "yellow" if finding.severity == "warning" else "dim"
        text = escape(f"{finding.where}: {finding.what}; {finding.action}")
        out.print(f"  [{color}]{finding.severity}[/{color}] {text}", soft_wrap=True)


def content(robot: Robot) -> dict[str, Any]:
    """Everything `info` knows, for programs."""
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "gravity": robot.model.gravity,
        "base": robot.model.bodies[0].joint.kind,
        "mass": sum(body.mass for body in robot.bodies),
        "joints": [{**joint._asdict(), "q": [joint.q.start, joint.q.stop], "v": [joint.v.start, joint.v.stop]}
                   for joint in robot.joints],
        "motors": robot.motors._asdict(),
        "bodies": [body._asdict() for body in robot.bodies],
        "frames": [frame._asdict() for frame in robot.frames],
        "loops": [{"name": c.name, "kind": c.kind, "equations": c.count} for c in robot.model.closures],
        "import_log": [vars(finding) for finding in robot.import_log],
    }  # fmt: skip


def robots(as_json: Json = False) -> int:
    """List the bundled robots: their names work wherever a robot is expected.

    Example: `dalembert robots`
    """
    loaded = [load(name) for name in bundled()]
    rows = [
        {
            "name": name,
            "base": robot.model.bodies[0].joint.kind,
            "degrees of freedom": robot.nv,
            "loop equations": sum(closure.count for closure in robot.model.closures),
            "mass": sum(body.mass for body in robot.bodies),
        }
        for name, robot in zip(bundled(), loaded, strict=True)
    ]
    if as_json:
        print_json(rows)
        return 0
    heads = ["name", "base", "degrees of freedom", "loop equations", "mass [kg]"]
    console().print(table("Bundled robots", heads, [list(row.values()) for row in rows], 3))
    return 0
