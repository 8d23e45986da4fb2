"""`dalembert simulate`: let a robot move."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dalembert import motion as motions
from dalembert.compiler.execute import Interrupted
from dalembert.contact import Contact
from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing
from dalembert.mechanism import MechanismRobot
from dalembert.robot import Robot
from dalembert.sim.run.run import Run
from dalembert.tables import FORMATS

from .common import Json, RobotFiles, Source, check_target, console, counted, numbers_of, print_json

STEP_WITH_CONTACT = 1e-3  # [s]
STILL = 1e-9  # [rad/s, m/s]
FIGURES = (".png", ".svg", ".pdf", ".jpg", ".eps")


def run(
    robot: Source,
    files: RobotFiles,
    duration: Annotated[
        float | None, typer.Option(help="Duration [s]; default: 1, or that of the motion.", show_default=False)
    ] = None,
    q: Annotated[
        str | None, typer.Option(help="Start, comma separated [rad, m]; default: as built, or neutral in range.")
    ] = None,
    v: Annotated[str | None, typer.Option(help="Start velocity, comma separated; default: rest.")] = None,
    torque: Annotated[str | None, typer.Option(help="Constant torques, comma separated; default: none.")] = None,
    controls: Annotated[
        str | None, typer.Option(help="Constant controls of the robot's actuators, comma separated.")
    ] = None,
    motion: Annotated[
        Path | None, typer.Option(help="Follow this motion by computed torque: .csv .npz .parquet .h5 .mcap.")
    ] = None,
    frequency: Annotated[float, typer.Option(min=0.0, help="Bandwidth of the law that follows it [rad/s].")] = 20.0,
    hold: Annotated[bool, typer.Option("--hold", help="Add the gravity torque of the start.")] = False,
    keyframe: Annotated[str | None, typer.Option(help="Start from this named state of the robot's file.")] = None,
    ground: Annotated[
        float | None, typer.Option(help="Height of a level floor [m] that the collision shapes touch.")
    ] = None,
    friction: Annotated[float | None, typer.Option(min=0.0, help="Of the floor; default: the file's, or 0.6.")] = None,
    integrator: Annotated[
        str | None,
        typer.Option(help="rk45 (default), rk4, implicit-midpoint, variational …; --ground has a step of its own."),
    ] = None,
    step: Annotated[float | None, typer.Option(help="Step of fixed-step integrators [s]; with --ground 0.001.")] = None,
    record: Annotated[float, typer.Option(help="Distance of recorded states [s].")] = 0.01,
    out: Annotated[Path | None, typer.Option(help="Save the run: .npz .csv .parquet .h5 .mcap .rrd .usda")] = None,
    plot: Annotated[Path | None, typer.Option(help="Save a figure: .png .svg .pdf")] = None,
    as_json: Json = False,
) -> int:
    """Integrate the equations of motion, with an energy ledger that shows whether to trust the result.

    Example: `dalembert simulate panda --duration 2 --out swing.npz`
    """
    check_target(out, "--out", tuple(FORMATS))
    check_target(plot, "--plot", FIGURES)
    loaded = files.open(robot)
    _check_options(torque or hold, motion, controls, keyframe, q or v)
    move = None if motion is None else motions.load(motion, loaded)
    contact = _floor(ground, friction)
    start, speed = _start(loaded, q, v, keyframe, move, contact)
    if duration is None:
        duration = 1.0 if move is None else move.duration
    if contact is not None and step is None:
        step = STEP_WITH_CONTACT
    drive = {
        "torque": _driving(loaded, start, torque, hold, move, frequency),
        "controls": None if controls is None else numbers_of("--controls", controls, len(loaded.actuators)),
    }
    try:
        result = loaded.simulate(
            start, speed, duration, integrator=integrator, step=step, record=record, contact=contact, **drive
        )
    except Interrupted as error:
        _answer(error.result, out, plot, as_json)
        raise
    _answer(result, out, plot, as_json)
    return 0


def _answer(run: Run, out: Path | None, plot: Path | None, as_json: bool) -> None:
    """Save a run, or the part of it up to Ctrl-C, and print it."""
    _save(run, out, plot)
    if as_json:
        print_json({"t": run.t, "q": run.q, "v": run.v, "tau": run.tau, "log": run.log, "unfinished": run.unfinished})
        return
    _print(run, {"run": out, "figure": plot})


def _check_options(
    torque: str | bool | None, motion: Path | None, controls: str | None, keyframe: str | None, start: str | None
) -> None:
    """Refuse options that say the same thing twice. torque: --torque or --hold; start: --q or --v."""
    if motion is not None and torque:
        raise DalembertError("--motion gives the torques: leave out --torque and --hold")
    if controls is not None and (motion is not None or torque):
        raise DalembertError("--controls drive the actuators: leave out --motion, --torque and --hold")
    if keyframe is not None and (start or motion):
        raise DalembertError("--keyframe states where to start: leave out --q, --v and --motion")


def _floor(height: float | None, friction: float | None) -> Contact | None:
    if height is not None:
        return Contact(ground=height, friction=friction)
    if friction is not None:
        raise DalembertError("--friction is that of a floor: give its height with --ground")
    return None


def _driving(
    robot: Robot, start: np.ndarray, torque: str | None, hold: bool, move: motions.Motion | None, frequency: float
) -> Any:
    """The torques (nv,), or the law that follows a motion; None: nothing drives the robot."""
    if move is not None:
        return _computed_torque(robot, move, frequency)
    tau = numbers_of("--torque", torque, robot.nv) if torque else None
    if hold:
        return robot.gravity(start) + (0.0 if tau is None else tau)
    return tau


def _save(run: Run, out: Path | None, plot: Path | None) -> None:
    if out is not None:
        run.save(out)
    if plot is not None:
        with replacing(plot) as temporary:
            run.plot().savefig(temporary)


def _print(run: Run, written: dict[str, Path | None]) -> None:
    """Print what was computed, whether to trust it, and the files."""
    screen = console()
    steps = f"{counted(run.steps, 'step')} of {run.settings['integrator']}"
    screen.print(f"{run.robot}: {steps} over {run.t[-1]:.4g} s", markup=False)
    screen.print(str(run.audit()), markup=False)
    if run.contacts is not None:
        pushing = run.contacts.normal_force[-1]
        points, touching = counted(len(pushing), "point"), int(np.count_nonzero(pushing > 0.0))
        screen.print(f"  contact: {touching} of {points} in touch at the end, {pushing.sum():.4g} N in all")
    if np.max(np.abs(run.v), initial=0.0) < STILL:
        screen.print("  nothing moved: the robot is in equilibrium where it started; --q and --v start it elsewhere")
    for name, path in written.items():
        if path is not None:
            screen.print(f"{name} written to {path}", markup=False)


def _computed_torque(robot: Robot, move: motions.Motion, frequency: float) -> Callable[..., Any]:
    """The law that follows a motion, critically damped at a frequency [rad/s]."""

    def computed_torque(t: Any, q: Any, v: Any) -> Any:
        wanted = move.at(t)
        error = robot.difference(q, wanted.q)
        return robot.inverse_dynamics(q, v, wanted.a + 2.0 * frequency * (wanted.v - v) + frequency**2 * error)

    return computed_torque


def _start(
    robot: Robot,
    q: str | None,
    v: str | None,
    keyframe: str | None,
    move: motions.Motion | None,
    contact: Contact | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Where to start: as --q and --v say; else where the motion starts, or at a named state; else on the ground."""
    first = _named_state(robot, keyframe) if move is None else (move.q(0.0), move.v(0.0))
    start = numbers_of("--q", q, robot.nq) if q else first[0]
    if contact is not None and not q and keyframe is None and move is None:
        start = _on_the_ground(robot, start, contact)
    return start, numbers_of("--v", v, robot.nv) if v else first[1]


def _named_state(robot: Robot, keyframe: str | None) -> tuple[np.ndarray, np.ndarray]:
    """A named state; else that in which a mechanism was put together; of other robots where `Robot.home` is."""
    if keyframe is not None:
        if keyframe not in robot.keyframes:
            raise unknown("keyframe", keyframe, robot.keyframes, f"robot {robot.name!r}")
        return robot.keyframes[keyframe]
    if isinstance(robot, MechanismRobot):
        return robot.start
    return robot.home()


def _on_the_ground(robot: Robot, q: np.ndarray, contact: Contact) -> np.ndarray:
    """The configuration of a robot that floats, lifted or lowered until its lowest shape touches the floor."""
    floating = [joint for joint in robot.joints if joint.kind == "free"]
    if len(floating) != 1:
        return q
    still = np.zeros(robot.nv)
    lowest = float(np.min(robot.contact_dynamics(q, still, still, contact=contact).gap))
    height = floating[0].q.start + 2  # a free joint's q begins with its position in the world
    lifted = q.copy()
    lifted[height] -= lowest
    return lifted
