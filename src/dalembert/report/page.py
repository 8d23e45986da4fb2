"""Putting a report together: numbers and figures into one page."""

from __future__ import annotations

import base64
import os
import platform
import shlex
from importlib.metadata import version
from pathlib import Path
from timeit import Timer
from typing import Any, NamedTuple

import numpy as np

from dalembert.audit.closed import motors
from dalembert.audit.subject import Subject
from dalembert.errors import DalembertError
from dalembert.files import write_text
from dalembert.logs import Trajectory
from dalembert.mechanism import MechanismRobot
from dalembert.model import tips
from dalembert.pictures.files import png
from dalembert.robot import Robot
from dalembert.sim.run.run import Run
from dalembert.sizing import efforts, size, standard_motion

from . import figures

TEMPLATE = Path(__file__).with_name("page.html.j2")
BATCH = 4096  # states of the timed calls


def write_report(
    robot: Robot,
    path: str | os.PathLike[str],
    *,
    motion: Trajectory | None = None,
    payload: float = 0.0,
    frame: str | None = None,
    source: str = "",
    command: str = "",
    scene: bool = True,
    run: Run | None = None,
) -> Path:
    """Write the report of a robot to `path` (.html) and return it.

    motion: that of torques, reactions and sizing; default a quintic move of every joint. payload [kg] hangs at
    `frame` (default: the tool at the end of the longest chain), whose reach is drawn. source: what the robot was loaded
    from, and command: the one that writes this page, for "how to reproduce". scene: whether the robot in 3-D, which
    needs viser, is part of the page. run: a simulation with contact, whose forces, cones and support are drawn, and
    played in 3-D instead of the motion.
    """
    try:
        import jinja2
    except ImportError:
        raise DalembertError("the report needs jinja2: pip install 'dalembert[report]'") from None
    path = Path(path)
    if not path.parent.is_dir():
        raise DalembertError(f"{path}: there is no folder {path.parent}; make it first")
    if not robot.nv:
        raise DalembertError(f"report: robot {robot.name!r} has no moving joint: there is nothing to report")
    given = motion
    if isinstance(robot, MechanismRobot) and robot.model.closures:
        begin, robot = robot.start[0], robot.driven()
        motion = motion or standard_motion(robot, about=begin)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["number"] = number
    motion = motion or standard_motion(robot)
    command = command or _command(source or robot.name, given, payload, frame)
    content = _content(robot, motion, payload, frame, command, scene, run)
    write_text(path, environment.from_string(TEMPLATE.read_text("utf-8")).render(content))
    return path


def number(x: float, digits: int = 4) -> str:
    """A number for a table."""
    if not np.isfinite(x):
        return "–" if np.isnan(x) else ("∞" if x > 0 else "−∞")
    rounded = 0.0 if abs(x) < 1e-12 else x
    return f"{rounded:.{digits}g}".replace("-", "−")


def _content(
    robot: Robot,
    motion: Trajectory,
    payload: float,
    frame: str | None,
    command: str,
    scene: bool,
    run: Run | None,
) -> dict[str, Any]:
    subject = Subject(robot, payload, frame)
    loaded = subject.loaded
    carrier = subject.tool if payload or frame else None
    seen = carrier or tips(robot.model)[0].name
    log = motion if motion.tau is not None else None
    sized = size(robot, motion, payload=payload, frame=frame) if motors(robot.model) else None
    motion, tau, _, driven, _, notes = efforts(loaded, motion)
    from markupsafe import Markup  # comes with jinja2

    def safe(text: str | None) -> Any:
        return None if text is None else Markup(text)

    return {
        "robot": robot,
        "bodies": robot.bodies,
        "joints": [_joint_row(joint) for joint in robot.joints],
        "mass": sum(body.mass for body in robot.bodies),
        "audit": robot.audit(payload=payload, frame=carrier, motion=log, run=run),
        "frame": carrier,
        "payload": payload,
        "motion": motion,
        "notes": (*motion.log, *notes),
        "sizing": sized,
        "peaks": loaded.peak_reactions(motion.q, motion.v, motion.a, actuated=driven or ()),
        "workspace": safe(figures.workspace(robot, seen)),
        "gravity_map": safe(figures.gravity_map(robot)),
        "curves": safe(figures.curves(robot, motion, tau)),
        "speeds": speeds(robot),
        "run": run,
        "contacts": None if run is None else run.contacts,
        "contact_rows": [] if run is None or run.contacts is None else _contact_rows(run.contacts),
        "contact_curves": safe(figures.contact_curves(run)),
        "support": safe(figures.support(run)),
        "scene": _scene(robot, motion, run) if scene else None,
        "picture": _picture(robot, motion, run),
        "fingerprint": robot.model.fingerprint,
        "command": command,
        "machine": platform.processor() or platform.machine(),
        "versions": {name: version(name) for name in ("numpy", "llvmlite")} | {"python": platform.python_version()},
    }


def _command(source: str, given: Trajectory | None, payload: float, frame: str | None) -> str:
    """The command that writes the page; given: a motion that a program gave, which must be saved first."""
    words = ["dalembert", "report", source, *(["--payload", str(payload).removesuffix(".0")] if payload else [])]
    plain = shlex.join([*words, *(["--frame", frame] if frame else [])])
    if given is None:
        return f"{plain} --out report.html"
    return (
        f'write_trajectory("motion.csv", robot, motion)  # in Python\n{plain} --trajectory motion.csv --out report.html'
    )


def _joint_row(joint: Any) -> dict[str, Any]:
    turning = set(joint.units) == {"rad"}
    scale, unit = (180 / np.pi, "°") if turning else (1.0, "")
    one = joint.lower.size == 1
    span = f"{number(joint.lower[0] * scale)} … {number(joint.upper[0] * scale)}{unit}" if one else ""
    return {
        "name": joint.name,
        "kind": joint.kind,
        "way": f"{joint.parent} → {joint.child}",
        "range": span,
        "speed": number(joint.velocity_limit[0]) if joint.velocity_limit.size == 1 else "",
        "effort": number(joint.effort_limit[0]) if joint.effort_limit.size == 1 else "",
        "friction": f"{number(joint.damping[0])} / {number(joint.friction[0])}" if joint.damping.size == 1 else "",
    }


def _contact_rows(contacts: Any) -> list[dict[str, Any]]:
    """A row for each point that pushes: largest and last force, how much of its friction it used, how deep it was."""
    rows = []
    for k in np.flatnonzero((contacts.normal_force > 0.0).any(axis=0)):
        force = contacts.normal_force[:, k]
        rows.append(
            {
                "name": contacts.names[k],
                "friction": float(contacts.friction[k]),
                "most": float(force.max()),
                "last": float(force[-1]),
                "ratio": float(contacts.ratio[:, k].max()),
                "depth": 1e3 * max(0.0, -float(contacts.gap[:, k].min())),
            }
        )
    return rows


def _picture(robot: Robot, motion: Trajectory, run: Run | None) -> str:
    """The robot as the motion begins, or in the middle of a run with its contact forces: a PNG in base64."""
    drawn = robot.render(motion.q[0]) if run is None else run.render(0.5 * float(run.t[0] + run.t[-1]))
    return base64.b64encode(png(drawn)).decode()


def _scene(robot: Robot, motion: Trajectory, run: Run | None) -> str:
    """The recorded scene as the value of an iframe's srcdoc; jinja2 escapes it."""
    from dalembert.view.viewer import recording

    if run is not None:
        return recording(robot, run.t, run.q, run.contacts)
    there_and_back = np.concatenate([motion.q, motion.q[::-1]])
    t = np.concatenate([motion.t, motion.t[-1] + motion.t])
    return recording(robot, t, there_and_back)


class Speed(NamedTuple):
    """One function: µs for one call from Python, and per state of a batch of 4096 on one thread."""

    function: str
    call: float
    state: float


def speeds(robot: Robot) -> list[Speed]:
    """The functions people call in loops."""
    rng = np.random.default_rng(1)
    q = robot.random(rng, BATCH)
    v, a = rng.normal(size=(2, BATCH, robot.nv))
    arguments = {"inverse_dynamics": (q, v, a), "forward_dynamics": (q, v, a), "mass_matrix": (q,), "gravity": (q,)}
    rows = []
    for name, values in arguments.items():
        function = getattr(robot, name)
        first = tuple(x[0] for x in values)
        try:
            out = function(*values, threads=1)
        except DalembertError:  # no forward dynamics: loops, or joints that move no mass, which the audit reports
            continue
        function(*first)
        one = min(Timer("f(*x)", globals={"f": function, "x": first}).repeat(5, 2000)) / 2000
        batch = {"f": function, "x": values, "out": out}
        every = min(Timer("f(*x, out=out, threads=1)", globals=batch).repeat(5, 1)) / BATCH
        rows.append(Speed(name, 1e6 * one, 1e6 * every))
    return rows
