"""`dalembert control`: try a law on a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dalembert import control
from dalembert.errors import DalembertError, unknown
from dalembert.files import replacing
from dalembert.robot import Robot
from dalembert.sim.system.sampled import Sampled

from .common import Json, RobotFiles, Source, check_target, console, numbers_of, print_json
from .simulate import FIGURES

LAWS: dict[str, Any] = {
    "gravity-pd": control.gravity_pd,
    "computed-torque": control.computed_torque,
    "feedforward": control.feedforward,
    "passivity": control.passivity,
    "lqr": None,
}


def run(
    robot: Source,
    files: RobotFiles,
    law: Annotated[str, typer.Option(help=f"One of {', '.join(LAWS)}.")] = "computed-torque",
    goal: Annotated[
        str | None, typer.Option(help="Configuration to go to, comma separated; default: the middle of the ranges.")
    ] = None,
    start: Annotated[str | None, typer.Option(help="Start, comma separated; default: 0.1 rad or m from there.")] = None,
    frequency: Annotated[float, typer.Option(help="Natural frequency of the loop [rad/s].")] = 20.0,
    damping: Annotated[float, typer.Option(help="Damping ratio; 1 is critical.")] = 1.0,
    resonance: Annotated[
        float | None, typer.Option(help="Resonance of the joints' structure [Hz], which bounds --frequency.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Rate of the controller [Hz].")] = 1000.0,
    delay: Annotated[float, typer.Option(help="Delay of its answers [s].")] = 0.0,
    duration: Annotated[float, typer.Option(help="Duration [s].")] = 2.0,
    error: Annotated[float, typer.Option(help="Relative error of masses that the law does not know of.")] = 0.15,
    plot: Annotated[Path | None, typer.Option(help="Save a figure of the run: .png .svg .pdf")] = None,
    as_json: Json = False,
) -> int:
    """Run a law on a robot and audit it: margins, damping, saturation, model error, time; exit code 1 on an error.

    Example: `dalembert control ur5 --law computed-torque --frequency 15 --plot run.png`
    """
    check_target(plot, "--plot", FIGURES)
    if not 0.0 < rate < np.inf:
        raise DalembertError(f"--rate is {rate}, expected above 0 [Hz]")
    arm = files.open(robot)
    q = _middle(arm) if goal is None else numbers_of("--goal", goal, arm.nq)
    chosen = _law(arm, law, q, frequency, damping, resonance)
    begin = None if start is None else numbers_of("--start", start, arm.nq)
    period = 1.0 / rate
    audit = control.audit(chosen, q, begin, period=period, delay=delay, duration=duration, error=error)
    if plot is not None:
        place = arm.integrate(q, 0.1 * np.ones(arm.nv)) if begin is None else begin
        sampled = Sampled(control.within_limits(arm, chosen), period, round(delay / period) * period)
        path = arm.simulate(place, np.zeros(arm.nv), duration, sampled, "semi-implicit", period, friction="smooth")
        with replacing(plot) as temporary:
            path.plot(("q", "v", "tau")).savefig(temporary)
    if as_json:
        numbers = {name: getattr(audit, name) for name in NUMBERS}
        numbers["poles"] = [[float(p.real), float(p.imag)] for p in audit.poles]
        findings = [{"severity": f.severity, "topic": f.topic, "what": f.what} for f in audit.findings]
        print_json({"robot": audit.robot, "law": audit.law, "ok": audit.ok, **numbers, "findings": findings})
        return int(not audit.ok)
    out = console()
    out.print(str(audit), markup=False)
    for note in getattr(chosen, "notes", ()):
        out.print(f"  note: {note}", markup=False)
    if plot is not None:
        out.print(f"figure written to {plot}", markup=False)
    return int(not audit.ok)


NUMBERS = (
    "damping",
    "gain_margin",
    "gain_reduction",
    "disk_margin",
    "delay_margin",
    "saturation",
    "robust",
    "tick",
    "period",
)


def _middle(robot: Robot) -> np.ndarray:
    """The neutral configuration, with joints that have a range in its middle."""
    q, limits = robot.neutral(), robot.limits
    bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    q[bounded] = 0.5 * (limits.lower[bounded] + limits.upper[bounded])
    return q


def _law(robot: Robot, name: str, q: np.ndarray, frequency: float, damping: float, resonance: float | None) -> Any:
    if name not in LAWS:
        raise unknown("law", name, LAWS, "control")
    if name == "lqr":
        return control.lqr(robot, q)
    return LAWS[name](robot, q, frequency, damping, resonance=resonance)
