"""The audit of a robot: is this model to be trusted? And what its motors must give."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.audit import Audit, Expectations, Rule, Suppression
    from dalembert.audit.logs import Motion
    from dalembert.formats import Finding
    from dalembert.robot import Robot
    from dalembert.sim.run.run import Run
    from dalembert.sizing import Catalogue, Sizing


def audit(
    robot: Robot,
    *,
    payload: float = 0.0,
    frame: str | None = None,
    rules: Iterable[str | Rule] | None = None,
    accept: Sequence[Suppression] = (),
    expect: Expectations | str | os.PathLike[str] | None = None,
    motion: Motion | None = None,
    run: Run | None = None,
) -> Audit:
    """Try every rule of `dalembert.audit.RULES` (or those named in `rules`); print the result to read it.

    payload [kg] hangs at `frame` when the rules check what the motors can hold; default: the tool at the end of the
    longest chain of joints, which the result names.
    accept: findings that may stay, see `read_suppressions`; `audit.ok` and `audit.failed` pass over them.
    expect: what the robot is meant to be, or a file of it (`dalembert expect` writes one). motion: a log, as
    `read_trajectory` gives it, whose torques the model should explain. run: a simulation with contact, whose friction,
    depths, loads and residuals are checked.
    """
    import dalembert.control.rules  # noqa: F401  (its rule tries the stated controller)
    from dalembert.audit import run_audit  # its rules are loaded when they are asked for

    return run_audit(
        robot, payload=payload, frame=frame, rules=rules, accept=accept, expect=expect, motion=motion, run=run
    )


def check_inertia(robot: Robot, *, tolerance: float = 0.3) -> tuple[Finding, ...]:
    """Findings about links whose stated mass, centre of mass or inertia their shapes do not explain.

    A uniform solid of the link's shapes and mass is compared: density, centre of mass within the shapes, principal
    moments within `tolerance` of the solid's. Each warning names the slip that would explain it.
    """
    from dalembert.audit.solidity import check_inertia

    return check_inertia(robot.model, tolerance=tolerance)


def sizing(
    robot: Robot,
    motions: Any = None,
    *,
    payload: float = 0.0,
    frame: str | None = None,
    margin: float = 1.3,
    contacts: Sequence[str] = (),
    stiffness: float | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
) -> Sizing:
    """Demands of motions and gravity on each motor: torque, speed, power, energy, inertia; print the result to read it.

    motions: a motion or trajectory, or a list of them; default: a quintic move of every joint. payload [kg] at `frame`
    (default: the tool). margin: on the sum of gravity at its worst and the motion's dynamic part. contacts: frames that
    carry a floating robot. stiffness [N·m/rad] of the joints: for the resonance and the bandwidth it allows. catalogue:
    motors and gears, or a file of them (`dalembert.sizing.read_catalogue`), of which the lightest are chosen.
    """
    from dalembert.sizing import size

    return size(
        robot,
        motions,
        payload=payload,
        frame=frame,
        margin=margin,
        contacts=contacts,
        stiffness=stiffness,
        catalogue=catalogue,
    )
