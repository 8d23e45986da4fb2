"""`dalembert info`: what a robot is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.robot import Robot

from .common import Base, Json, Source, Strict, console, number, open_robot, print_json, table

TURNING = ("revolute", "continuous", "universal", "screw")


def run(robot: Source, base: Base = None, strict: Strict = False, as_json: Json = False) -> int:
    """Joints, limits, masses and frames of a robot, and what was noted when its file was read.

    Example: `dalembert info panda`
    """
    made = open_robot(robot, base, strict)
    if as_json:
        print_json(content(made))
        return 0
    out = console()
    mass = sum(body.mass for body in made.bodies)
    base_kind = made.model.bodies[0].joint.kind
    out.print(
        f"[bold]{made.name}[/bold]: {made.nv} degrees of freedom (nq = {made.nq}), {base_kind} base, {mass:.4g} kg"
    )
    out.print(table("\nJoints", ["joint", "kind", "range", "speed", "effort"], map(_joint, made.joints), 3))
    rows = [(b.name, b.mass, " ".join(number(x) for x in b.com), ", ".join(b.parts[1:])) for b in made.bodies]
    out.print(table("\nBodies", ["body", "mass [kg]", "centre of mass [m]", "fixed links"], rows))
    extra = [frame.name for frame in made.frames[len(made.bodies) :]]
    out.print(f"\nFrames beside the bodies': {', '.join(extra) or 'none'}")
    for closure in made.model.closures:
        out.print(f"Loop: {closure.name} ({closure.kind}, {closure.count} equations)")
    _log(out, made)
    return 0


def _joint(joint: Any) -> tuple[str, ...]:
    unit, scale = ("°", 180 / np.pi) if joint.kind in TURNING else (" m", 1.0)
    one = joint.lower.size == 1
    span = f"{_limit(joint.lower[0] * scale)} … {_limit(joint.upper[0] * scale)}{unit}" if one else ""
    follows = f" (follows {joint.leader})" if joint.leader else ""
    speed, effort = (
        _limit(limit[0]) if limit.size == 1 else "" for limit in (joint.velocity_limit, joint.effort_limit)
    )
    return joint.name, joint.kind + follows, span, speed, effort


def _limit(x: float) -> str:
    return number(x) if np.isfinite(x) else ("∞" if x > 0 else "-∞")


def _log(out: Any, robot: Robot) -> None:
    warnings = [finding for finding in robot.import_log if finding.severity == "warning"]
    remarks = len(robot.import_log) - len(warnings)
    out.print(f"\nImport: {len(warnings)} warnings, {remarks} remarks")
    for finding in warnings:
        out.print(f"  [yellow]warning[/yellow] {finding.where}: {finding.what}; {finding.action}", markup=True)


def content(robot: Robot) -> dict[str, Any]:
    """Everything `info` knows, for programs."""
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "base": robot.model.bodies[0].joint.kind,
        "mass": sum(body.mass for body in robot.bodies),
        "joints": [{**joint._asdict(), "q": [joint.q.start, joint.q.stop], "v": [joint.v.start, joint.v.stop]}
                   for joint in robot.joints],
        "bodies": [body._asdict() for body in robot.bodies],
        "frames": [frame._asdict() for frame in robot.frames],
        "loops": [{"name": c.name, "kind": c.kind, "equations": c.count} for c in robot.model.closures],
        "import_log": [vars(finding) for finding in robot.import_log],
    }  # fmt: skip
