"""`dalembert demo`: torques of a one-second move of a UR5, a check by a law, what it costs, and a report."""

from __future__ import annotations

import contextlib
import io
import sys
from importlib.util import find_spec
from pathlib import Path
from timeit import Timer
from typing import Annotated, Any

import numpy as np
import typer

from dalembert import Robot, Trajectory, load, write_trajectory
from dalembert.files import replacing
from dalembert.notebook import figure

from .common import Json, print_json

START = np.array([0.0, -np.pi / 2, np.pi / 2, 0.0, np.pi / 2, 0.0])  # rad
MOVE = 0.5  # rad, on each joint
DURATION = 1.0  # s


def quintic(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The move q(t) = q₀ + MOVE·(10s³ − 15s⁴ + 6s⁵), s = t / DURATION, with its rates.

    t (n,) [s]. Returns q, v, a, each (n, 6) [rad, rad/s, rad/s²]; at rest at both ends.
    """
    s = (t / DURATION)[:, None]
    q = START + MOVE * (10 * s**3 - 15 * s**4 + 6 * s**5)
    v = MOVE / DURATION * (30 * s**2 - 60 * s**3 + 30 * s**4) * np.ones(6)
    a = MOVE / DURATION**2 * (60 * s - 180 * s**2 + 120 * s**3) * np.ones(6)
    return q, v, a


def run(out: Path, states: int) -> tuple[int, dict[str, Any]]:
    """Print the table, write the plot below `out`, time one call and a batch: exit code and results by name."""
    robot = load("ur5")
    t = np.linspace(0.0, DURATION, 1001)
    q, v, a = quintic(t)
    tau = robot.inverse_dynamics(q, v, a)
    show_torques(robot, t, q, v, a, tau)
    residual = np.abs(robot.forward_dynamics(q, v, tau) - a).max()
    print(f"\nCheck: forward dynamics of these torques gives the accelerations back within {residual:.1e} rad/s².")
    cost = show_cost(robot, states)
    plot = save_plot(robot, t, tau, out)
    print(f"\nPlot:   {plot}" if plot else '\nNo plot: matplotlib is missing (pip install "dalembert[plot]").')
    page = save_report(robot, Trajectory(t[::5], q[::5], v[::5], a[::5], title="the move above"), out)
    print(f"Report: {page}" if page else 'No report: viser or jinja2 is missing (pip install "dalembert[report]").')
    facts = {
        "joints": [joint.name for joint in robot.joints],
        "peak": np.abs(tau).max(axis=0),
        "gravity": np.abs(robot.gravity(q)).max(axis=0),
        "residual": residual,
        **cost,
        "plot": plot,
        "report": page,
    }
    if not residual < 1e-8:
        print("The check failed: the residual should be below 1e-8 rad/s².", file=sys.stderr)
        return 1, facts
    return 0, facts


def show_torques(robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> None:
    """Rows of time, columns of joints; then each joint's peak, and the peak of what only holds the arm still."""
    peaks = f"peak velocity {np.abs(v).max():.4f} rad/s, peak acceleration {np.abs(a).max():.3f} rad/s²"
    print(f"UR5, quintic move of {MOVE} rad on each joint in {DURATION:g} s; {peaks}.\n\nJoint torques in N·m:\n")
    names = [joint.name.removesuffix("_joint") for joint in robot.joints]
    width = max(9, *map(len, names)) + 2

    def line(head: str, values: np.ndarray) -> None:
        rounded = values.round(4) + 0.0  # no minus zero
        print(f"{head:<10}" + "".join(f"{value:{width}.4f}" for value in rounded))

    print(f"{'time [s]':<10}" + "".join(f"{name:>{width}}" for name in names))
    for k in range(0, len(t), 100):
        line(f"{t[k]:.1f}", tau[k])
    line("peak |τ|", np.abs(tau).max(axis=0))
    line("peak |g|", np.abs(robot.gravity(q)).max(axis=0))


def show_cost(robot: Robot, states: int) -> dict[str, float]:
    """Times [s] of one call, and per state of a batch on one thread and on all."""
    rng = np.random.default_rng(0)
    q, v, a = robot.random(rng, states), rng.standard_normal((states, 6)), rng.standard_normal((states, 6))
    out = np.empty((states, 6))
    state = {"robot": robot, "q": q[0], "v": v[0], "a": a[0]}
    batch = {"robot": robot, "q": q, "v": v, "a": a, "out": out}
    one = best("robot.inverse_dynamics(q, v, a)", state, number=2000)
    single = best("robot.inverse_dynamics(q, v, a, out=out, threads=1)", batch)
    every = best("robot.inverse_dynamics(q, v, a, out=out)", batch)
    print("\nInverse dynamics, float64, best of 7:\n")
    print(f"  one call from Python            {1e6 * one:9.3f} µs")
    for label, seconds in (("one thread", single), ("all threads", every)):
        rate = states / seconds / 1e6
        size = f"{states:,}".replace(",", " ")
        title = f"batch of {size}, {label}"
        print(f"  {title:<31} {1e6 * seconds / states:9.4f} µs per state   ({rate:.0f} million states per second)")
    return {"call": one, "batch, one thread": single / states, "batch, all threads": every / states}


def best(code: str, names: dict[str, object], number: int = 1) -> float:
    """Shortest time of one call [s]; the first round, which may compile, does not count."""
    timer = Timer(code, globals=names)
    timer.timeit(number)
    return min(timer.repeat(7, number)) / number


def save_report(robot: Robot, motion: Trajectory, out: Path) -> Path | None:
    """The robot's report as one HTML page; None when what it needs is not installed."""
    if not all(find_spec(library) for library in ("jinja2", "matplotlib", "viser")):
        return None
    from dalembert.report import write_report

    out.mkdir(parents=True, exist_ok=True)
    moves = out / "ur5_move.csv"
    write_trajectory(moves, robot, motion)
    command = f"dalembert report ur5 --trajectory {moves} --out {out / 'ur5.html'}"
    return write_report(robot, out / "ur5.html", motion=motion, command=command)


def save_plot(robot: Robot, t: np.ndarray, tau: np.ndarray, out: Path) -> Path | None:
    """Torque of each joint over time as a PNG; None when matplotlib is not installed."""
    if not find_spec("matplotlib"):
        return None
    picture = figure(8.0, 5.0)
    axes = picture.subplots()
    for joint in robot.joints:
        axes.plot(t, tau[:, joint.v], label=joint.name)
    axes.set(xlabel="time [s]", ylabel="torque [N·m]", title="UR5: torques of a 0.5 rad quintic move in 1 s")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    out.mkdir(parents=True, exist_ok=True)
    path = out / "ur5_torques.png"
    with replacing(path) as temporary:
        picture.savefig(temporary, dpi=130)
    return path


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the plot and the report.")] = Path("demo"),
    states: Annotated[int, typer.Option(min=1, help="Size of the timed batch.")] = 100_000,
    as_json: Json = False,
) -> int:
    """Torques of a one-second move of a UR5, a plot, a report, and what it costs.

    Example: `dalembert demo --out /tmp/demo`
    """
    if not as_json:
        return run(out, states)[0]
    with contextlib.redirect_stdout(io.StringIO()):  # its messages
        code, facts = run(out, states)
    print_json(facts)
    return code
