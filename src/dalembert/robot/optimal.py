"""Optimal control: plans and receding-horizon laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dalembert.errors import renamed

from .settings import shared

if TYPE_CHECKING:
    from dalembert.optimal import Problem, ProblemSettings
    from dalembert.robot import Robot


def _settings() -> type:
    from dalembert.optimal import ProblemSettings

    return ProblemSettings


@renamed(controls="control_count")
@shared("optimal_control", _settings)
def optimal_control(
    robot: Robot,
    running: Callable[..., Any],
    terminal: Callable[..., Any] | None = None,
    *,
    step: float | Callable[..., Any],
    nodes: int,
    limits: Sequence[str] | Mapping[str, Any] = (),
    constraints: Callable[..., Any] | None = None,
    terminal_constraints: Callable[..., Any] | None = None,
    motors: Sequence[str] | None = None,
    actuation: Callable[[Any, Any, Any], Any] | None = None,
    control_count: int | None = None,
    integrator: str = "semi-implicit",
    curvature: str = "auto",
    contacts: Any = (),
    contact_decay: float = 50.0,
    impact: Callable[..., Any] | None = None,
    unknowns: Sequence[str] = (),
    free_start: bool = False,
    contact: Any = None,
    settings: ProblemSettings | None = None,
    **parameters: int,
) -> Problem:
    """Motions of `nodes` steps of `step` [s] that cost least: .solve(q, v, …) gives a plan, .receding() a law.

    running(q, v, u, …) and terminal(q, v, …) return a dict from names to (weight, residual), which cost ½ weight · r²,
    the running ones times `step`; or to one number, any other smooth cost. They are traced: arithmetic, dalembert.math
    and methods of robots; other values that they use are taken as they are now. parameters: their further arguments,
    by name with their sizes, as in goal=3; each `solve` gives their values.
    limits: some of "torque", "velocity", "position" as the robot's file states them, or {"torque": 20.0} in numbers,
    for both sides or as (lower, upper). constraints(q, v, u, …) and terminal_constraints(q, v, …) return a dict from
    names to expressions that stay ≥ 0, or `optimal.Equal(expression)`. All of these are kept, not only weighed; those
    on the state alone from the second node on.
    motors: joints with a motor, u their torques; by default all joints but a free base and those with an effort limit
    of 0. Or actuation(q, v, u) → tau (nv,) of `control_count` numbers u, such as thrusts. integrator: "semi-implicit",
    "midpoint" or "rk4". curvature: "gauss-newton" leaves out second derivatives of residuals; "exact" has
    them, for robots with a motor on every joint: better where residuals stay large, as with goals out of reach. "auto"
    takes in those of residuals and constraints on the state alone, where it can, when convergence is slow.
    contacts: names of frames that touch as points, or a dict from names to 3 (points) or 6 (surfaces). Which of them
    stand at which node is data: solve(…, stance=(nodes + 1, k) of 0 and 1). contact_decay [1/s]: how fast what
    velocity they have dies out. running(…, force, stance) then also gets the forces on the robot by frame, along
    world axes. impact=(nodes + 1, 1) of 0 and 1 marks nodes that take no time, at which contacts in stance stop the
    frames; impact(q, v, force, …) here is what those nodes cost.
    unknowns: names of parameters that the plan chooses, from the values that solve is given; step may be a function of
    them and other parameters, as in step=lambda T: T[0] / 50. free_start: the plan chooses the first state, too, from
    the one that solve is given; costs and constraints may ask for it as start_q and start_v, as for periodic gaits.
    contact: Contact(model="compliant", …) of the robot's shapes, whose phases the plan finds itself; the steps must
    follow its springs and its friction: choose both soft. settings: an `optimal.ProblemSettings` with values for
    keywords that are not given.
    """
    from dalembert.optimal import Problem, ProblemSettings

    chosen = ProblemSettings(
        limits=limits, constraints=constraints, terminal_constraints=terminal_constraints, motors=motors,
        actuation=actuation, control_count=control_count, integrator=integrator, curvature=curvature, contacts=contacts,
        contact_decay=contact_decay, impact=impact, unknowns=unknowns, free_start=free_start, contact=contact,
    )  # fmt: skip
    return Problem(robot, running, terminal, step, nodes, chosen, parameters)
