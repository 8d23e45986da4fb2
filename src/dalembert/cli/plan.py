"""`dalembert plan`: a motion that brings the tool to a place at least cost, within the robot's limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dalembert.errors import DalembertError
from dalembert.logs import Trajectory, write_trajectory
from dalembert.model.tool import tool_frame
from dalembert.robot import Robot
from dalembert.tables import FORMATS

from .common import Json, RobotFiles, Source, check_target, console, numbers_of, print_json, table

if TYPE_CHECKING:
    from dalembert.optimal import Plan

REACHED = 0.01  # [m] from the goal: what counts as there
LISTED = 6  # joints named in a line


def run(
    robot: Source,
    goal: Annotated[str, typer.Option(help='Where the tool goes, "x,y,z" in the world [m].')],
    files: RobotFiles,
    frame: Annotated[
        str | None, typer.Option(help="Frame that goes there; default: the tool at the end of the longest chain.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help='Where it starts, "q1,q2,…"; default: neutral, within the ranges.')
    ] = None,
    duration: Annotated[float, typer.Option(help="Duration of the motion [s].")] = 1.0,
    nodes: Annotated[int, typer.Option(help="Steps of the plan.")] = 100,
    limits: Annotated[str, typer.Option(help='Limits that are kept: some of "torque,velocity,position", or "".')] = (
        "torque,velocity,position"
    ),
    out: Annotated[Path | None, typer.Option(help="Write the motion with its torques here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the plan here (.png, .pdf, .svg).")] = None,
    as_json: Json = False,
) -> int:
    """Plan the motion of least effort that brings the tool from rest to rest at a place, within the robot's limits.

    Joints that do not move the tool are held where they start.

    Exits with 1 if it did not converge, or ends more than 1 cm from the goal.

    Example: `dalembert plan ur5 --goal 0.4,0.3,0.5 --out plan.csv`
    """
    check_target(out, "--out", tuple(FORMATS))
    check_target(plot, "--plot", (".png", ".pdf", ".svg"))
    arm = files.open(robot)
    tool = tool_frame(arm.model, frame).name
    begin = arm.home().q if start is None else numbers_of("--start", start, arm.nq)
    place = numbers_of("--goal", goal, 3)
    held = idle_joints(arm, tool)
    mover = arm.edit().lock({name: begin[arm.joint(name).q] for name in held}).done() if held else arm
    moving = np.isin(arm.model.coordinate_names, mover.model.coordinate_names)
    chosen = [x.strip() for x in limits.split(",") if x.strip()]
    plan = reach(mover, tool, begin[moving], place, duration, nodes, chosen)
    if out is not None:
        write_trajectory(out, arm, _whole(plan, arm, begin, moving))
    if plot is not None:
        plan.plot().savefig(plot)
    missed = float(np.linalg.norm(mover.pose(plan.q[-1], tool)[:3, 3] - place))
    done = plan.converged and missed <= REACHED
    if as_json:
        print_json(_record(plan, tool, missed) | {"held": held})
        return 0 if done else 1
    screen = console()
    screen.print(plan.summary(), markup=False)
    advice = "" if missed <= REACHED else ": the goal is out of reach, or needs another --start or --duration"
    screen.print(f"the tool, frame '{tool}', ends {missed:.3g} m from the goal{advice}", markup=False)
    if held:
        listed = ", ".join(held[:LISTED]) + (f" and {len(held) - LISTED} more" if len(held) > LISTED else "")
        screen.print(f"held, as they do not move the tool: {listed}", markup=False, soft_wrap=True)
    heads = ["joint", "from", "to", "peak speed", "peak torque"]
    title = f"{arm.name}: {duration:g} s in {nodes} steps; rad and N·m (m and N for slides)"
    screen.print(table(title, heads, [list(row.values()) for row in rows(plan)], 4))
    for path in (out, plot):
        if path is not None:
            screen.print(f"written to {path}", markup=False)
    return 0 if done else 1


def _record(plan: Plan, tool: str, missed: float) -> dict[str, Any]:
    """The content of --json."""
    return {
        "robot": plan.problem.robot.name,
        "frame": tool,
        "missed_by": missed,
        "converged": plan.converged,
        "why": plan.why,
        "iterations": plan.iterations,
        "cost": plan.cost,
        "costs": plan.costs,
        "joints": rows(plan),
    }


def idle_joints(robot: Robot, frame: str) -> list[str]:
    """Joints that do not move a frame, and whose motion is no part of a plan for it; none of a robot with loops."""
    if robot.model.closures or robot.model.floating:
        return []
    J = robot.jacobian(robot.random(np.random.default_rng(0), 20), frame)
    moves = np.abs(J).max(axis=(0, 1), initial=0.0) > 0.0
    bodies = [body for body in robot.model.independent if body.joint.nv]
    return [body.joint.name for body in bodies if not moves[body.v].any()] if moves.any() else []


def _whole(plan: Plan, robot: Robot, start: np.ndarray, moving: np.ndarray) -> Trajectory:
    """The plan with the joints that are held, and the efforts that hold them."""
    part = plan.trajectory
    if moving.all():
        return part
    q = np.repeat(start[None], len(part.t), axis=0)
    q[:, moving] = part.q
    freedoms = np.isin(robot.model.freedom_names, plan.problem.robot.model.freedom_names)
    v, a = np.zeros((2, len(part.t), robot.nv))
    v[:, freedoms], a[:, freedoms] = part.v, part.a
    tau = robot.inverse_dynamics(q, v, a)
    tau[:, freedoms] = part.tau
    return Trajectory(part.t, q, v, a, tau)


def reach(
    robot: Robot, frame: str, start: np.ndarray, goal: np.ndarray, duration: float, nodes: int, limits: list[str]
) -> Plan:
    """The plan: least change of effort and speed on the way, the tool at the goal and at rest in the end."""
    if not 0.0 < duration < np.inf:
        raise DalembertError(f"--duration {duration!r}: expected a time above 0 [s]")
    if nodes < 1:
        raise DalembertError(f"--nodes {nodes!r}: expected a whole number ≥ 1")
    if robot.model.floating:
        raise DalembertError(f"robot {robot.name!r} has a free base, which nothing holds: --base fixed")
    scale = np.maximum(np.abs(robot.gravity(start)).max(), 1.0)

    def running(q: Any, v: Any, u: Any, goal: Any) -> dict[str, Any]:
        effort = u - robot.gravity(q) if len(u) == robot.nv else u
        return {"speed": (0.1, v), "effort": (1.0 / scale**2, effort)}

    def terminal(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        return {"goal": (1e4, robot.pose(q, frame)[:3, 3] - goal), "rest": (1e2, v)}

    problem = robot.optimal_control(running, terminal, step=duration / nodes, nodes=nodes, goal=3, limits=limits)
    return problem.solve(start, goal=goal)


def rows(plan: Plan) -> list[dict[str, Any]]:
    """The motion of each joint."""
    model = plan.problem.robot.model
    return [
        {
            "joint": body.joint.name,
            "from": float(plan.q[0, body.q.start]),
            "to": float(plan.q[-1, body.q.start]),
            "speed": float(np.max(np.abs(plan.v[:, body.v]))),
            "torque": float(np.max(np.abs(plan.tau[:, body.v]))),
        }
        for body in model.independent
        if body.joint.nv == 1
    ]
