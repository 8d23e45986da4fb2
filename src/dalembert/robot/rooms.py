"""Methods that open rooms above: audit and sizing, closed loops, equations, optimal control, studies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.errors import DalembertError, renamed
from dalembert.quantities import find
from dalembert.quantities.kinds import NEWTON_EULER
from dalembert.quantities.structure import Wrench

from .settings import shared

if TYPE_CHECKING:
    from dalembert.audit import Audit, Expectations, Rule, Suppression
    from dalembert.audit.logs import MeasuredMotion
    from dalembert.equations import Equation
    from dalembert.formats import Finding
    from dalembert.optimal import Problem, ProblemSettings
    from dalembert.robot import Robot
    from dalembert.sim.run.run import Run
    from dalembert.sizing import Catalogue, Sizing
    from dalembert.study import Job
    from dalembert.study.distributions import Space
    from dalembert.typing import ArrayLike


def audit(
    robot: Robot,
    *,
    payload: float = 0.0,
    frame: str | None = None,
    rules: Iterable[str | Rule] | None = None,
    accept: Sequence[Suppression] = (),
    expect: Expectations | str | os.PathLike[str] | None = None,
    motion: MeasuredMotion | None = None,
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

    options: dict[str, Any] = {"payload": payload, "frame": frame, "margin": margin, "contacts": contacts}
    return size(robot, motions, stiffness=stiffness, catalogue=catalogue, **options)


class LoopState(NamedTuple):
    """q (nq,) and v (nv,) with all loops closed."""

    q: np.ndarray
    v: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


def close_loops(robot: Robot, q: ArrayLike, v: ArrayLike | None = None, *, hold: str | Sequence[str] = ()) -> LoopState:
    """The configuration nearest to q (nq,) that closes all loops, and the velocity nearest to v that keeps them closed.

    hold: joints that stay as they are in q and v, while the others follow: close_loops(q, hold="crank").

    Nearest as `difference` measures it, of the configurations that Newton's method finds from q and from beside it.
    None found is an error that names the loop.
    """
    from dalembert.sim.integrators import INTEGRATORS
    from dalembert.sim.run.compiled import programs
    from dalembert.sim.run.engines import State
    from dalembert.sim.run.initial import closed_start
    from dalembert.sim.system.laws import Inputs, drive

    q = np.asarray(q, float)
    v = np.zeros(robot.model.nv) if v is None else np.asarray(v, float)
    if q.shape != (robot.model.nq,) or v.shape != (robot.model.nv,):
        raise DalembertError(
            f"close_loops: q has shape {q.shape} and v {v.shape}, expected ({robot.model.nq},) and "
            f"({robot.model.nv},) for robot {robot.model.name!r}"
        )
    compiled = programs(robot.model, (), drive(Inputs.torques(robot.model), None, 1.0), INTEGRATORS["rk45"])
    mobile = np.ones(robot.model.nv)
    for name in [hold] if isinstance(hold, str) else hold:
        mobile[robot.model.joint(name).v] = 0.0
    state, _ = closed_start(compiled, State(0.0, q, v), mobile)
    return LoopState(state.q, state.e[: robot.model.nv])


def equations(
    robot: Robot,
    name: str | Callable[..., Any] = "inverse_dynamics",
    *,
    symbols: bool | str | Iterable[str] = (),
    simplify: bool = True,
    rename: Mapping[str, str] | None = None,
    frame: str | None = None,
    axes: str | None = None,
    method: str = NEWTON_EULER,
    external: Sequence[Wrench] = (),
) -> Equation:
    """A quantity as an equation: print it, show it in a notebook, take `.sympy` or `.latex()`.

    symbols: constants of the model that become symbols (m_1, l_1, l_c1, I_1, g …) instead of numbers, by groups
    "inertia", "placement", "gravity", "friction", "damping", "armature", "stiffness", or True for all; zeros stay
    zeros. rename: symbol → another name, {"q_1": "theta_1"}; two of one value may share a name. simplify: collect
    sines and cosines of sums of angles, and common factors; False gives the expression as traced. method: the
    derivation, where a quantity has several ("lagrange"). external: wrenches whose forces F, torques n and points p
    become symbols. Needs `pip install 'dalembert[equations]'`.
    """
    from dalembert.equations import checked_groups, derive  # SymPy is loaded when it is asked for

    quantity = find(name, f"robot {robot.name!r}")
    variant = quantity.variant(robot.model, frame=frame, axes=axes, method=method, external=external)
    quantity.admit(robot.model)
    return derive(quantity, robot, variant, checked_groups(symbols), simplify, dict(rename or {}))


def _problem_settings() -> type:
    from dalembert.optimal import ProblemSettings

    return ProblemSettings


@renamed(controls="control_count")
@shared("optimal_control", _problem_settings)
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


def study(
    robot: Robot,
    space: Space,
    run: Any,
    *,
    samples: int | None = None,
    method: str = "random",
    seed: int = 0,
    outputs: Sequence[str] | None = None,
    limit: float | None = None,
) -> Job:
    """A study: `run` for many rows of a space. Nothing is computed before `.run(folder)`.

    run: a function (robot, row) → dict of numbers or arrays, called for each row, where row["payload"] is the value of
    that axis; or `study.motion(…)`, all rows as one compiled rollout. samples: of the random axes; grids multiply them.
    method: "random", "sobol", "lhs" (a Latin hypercube), "saltelli" (for Sobol's indices). seed: numbers of row i
    depend on it and on i alone. outputs: names of what is kept; default all that the first row gives. limit [s]: for
    each row of a function; what takes longer is a failed row.
    """
    from dalembert.study.job import study

    return study(robot, space, run, samples=samples, method=method, seed=seed, outputs=outputs, limit=limit)
