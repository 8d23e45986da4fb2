"""Whole-body control: one quadratic program per tick, compiled with everything that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import is_traced, real_array
from dalembert.errors import DalembertError, unknown
from dalembert.model import motorized
from dalembert.quantities.guards import function_call
from dalembert.robot import Robot
from dalembert.sim.system.unsolved import note

from ..laws.law import Law
from .assembly import ProgramSettings, Support, TorqueProgram, assembled
from .limits import Limit, check_limits
from .solution import SOLVERS, Solved, solve_levels, solve_with
from .tasks import Force, Situation, Task, check_goal

NAME = "whole_body"  # in logs of runs
MISSED = 1e-6  # of a row, relative to its length: what counts as kept


class Tick(NamedTuple):
    """The result of one tick of the controller.

    tau (nv,) [N·m, N], 0 at passive freedoms; a (nv,) that follows; forces: of the supports by frame, (3,) [N] or (6,)
    [N·m; N] along world axes; solved: whether all rows are kept; why: where not, the rows that cannot be kept and by
    how much tau misses them; iterations of the solver.
    """

    tau: np.ndarray
    a: np.ndarray
    forces: dict[str, np.ndarray]
    solved: bool
    why: str
    iterations: int


class WholeBody(Law):
    """tau = law(t, q, v): torques that come nearest to what the tasks ask for, within all limits; see `whole_body`.

    `solve` gives everything about one tick; a call with batches of states gives the torques of all of them.
    """

    def __init__(self, robot: Robot, settings: ProgramSettings) -> None:
        self.robot, self.settings = robot, settings
        self.mask = motorized(robot.model)
        self._trials: tuple[str, ...] = ()

    # ---- traced

    def _program(self, t: Any, q: np.ndarray, v: np.ndarray, command: np.ndarray, active: np.ndarray) -> TorqueProgram:
        program = assembled(self.robot, self.settings, Situation(self.robot, t, q, v, command), active)
        self._trials = program.names
        return program

    def _full(self, tau: np.ndarray) -> np.ndarray:
        """Torques of the motors among all freedoms (nv,)."""
        whole = np.zeros(self.robot.nv, np.asarray(tau).dtype)
        whole[self.mask] = tau
        return whole

    @staticmethod
    def _solved(program: TorqueProgram) -> Solved:
        solved = solve_levels(program)
        note(NAME, solved.solved)
        return solved

    def _ticked(self, t: Any, q: Any, v: Any, command: Any, active: Any) -> np.ndarray:
        program = self._program(t, q, v, command, active)
        solved = self._solved(program)
        a = program.a.constant + program.a.slope @ solved.tau
        forces = program.forces.constant + program.forces.slope @ solved.tau
        return np.concatenate([self._full(solved.tau), a, forces, [solved.solved, solved.miss, solved.iterations]])

    def __call__(self, t: Any, q: Any, v: Any, command: Any = None, active: Any = None) -> np.ndarray:
        """tau (nv,) [N·m, N]; command (n,): what goals take; active (k,): 1 for each support that carries, else 0."""
        command = np.zeros(self.settings.command) if command is None else command
        active = np.ones(len(self.settings.supports)) if active is None else active
        if any(np.asarray(x).dtype == object for x in (t, q, v, command, active)):
            return self._full(self._solved(self._program(t, np.asarray(q), np.asarray(v), command, active)).tau)
        x = self.tick(t, q, v, command, active)
        note(NAME, x[..., -3])
        return x[..., : self.robot.nv]

    # ---- compiled

    @cached_property
    def _inputs(self) -> dict[str, int]:
        sizes = {"t": 1, "q": self.robot.nq, "v": self.robot.nv, "command": self.settings.command}
        return sizes | {"active": len(self.settings.supports)}

    def _compile(self, name: str, compute: Any) -> Any:
        """A function of (t, q, v[, command][, active]), without the empty ones."""
        used = {key: size for key, size in self._inputs.items() if size}

        def traced(*inputs: np.ndarray) -> Any:
            named = {key: np.zeros(0) for key in self._inputs} | dict(zip(used, inputs, strict=True))
            return compute(named["t"][0], named["q"], named["v"], named["command"], named["active"])

        call = function_call(self.robot.model, name, used, traced)
        fast = call.builtin(name, f"({', '.join(used)})\n--\n\n", call)
        places = [list(self._inputs).index(key) for key in used]
        if len(used) == len(self._inputs):
            return fast
        return lambda *inputs, **keywords: fast(*(inputs[k] for k in places), **keywords)

    @cached_property
    def _tick(self) -> Any:
        return self._compile("whole_body", self._ticked)

    @cached_property
    def _rows(self) -> Any:
        """The program itself, as numbers: [H, g] of each level, C, low, high."""

        def compute(t: Any, q: Any, v: Any, command: Any, active: Any) -> Any:
            program = self._program(t, q, v, command, active)
            parts = [x.ravel() for level in program.levels for x in (level.H, level.g)]
            parts += [program.C.ravel(), program.low, program.high, program.a.slope.ravel(), program.a.constant]
            parts += [program.forces.slope.ravel(), program.forces.constant]
            self._hard = program.hard
            return np.concatenate([np.asarray(x, object) for x in parts])

        return self._compile("whole_body_rows", compute)

    def tick(self, t: Any, q: Any, v: Any, command: Any, active: Any, **keywords: Any) -> np.ndarray:
        """[tau, a, forces, solved, miss, iterations] in one array (…, 2 nv + forces + 3), of one state or a batch.

        Traced arguments give traced numbers.
        """
        if is_traced(t, q, v, command, active):
            return self._ticked(t, np.asarray(q), np.asarray(v), np.asarray(command), np.asarray(active))
        return self._tick(np.reshape(np.asarray(t, float), (*np.shape(t), 1)), q, v, command, active, **keywords)

    # ---- for people

    def solve(
        self, t: float, q: Any, v: Any, command: Any = None, active: Any = None, *, solver: str = "compiled"
    ) -> Tick:
        """One tick. solver: "compiled", or "daqp", "piqp", "proxqp" where these libraries are installed."""
        command, active = self._checked(command, active)
        if solver not in SOLVERS:
            raise unknown("solver", solver, SOLVERS, "whole_body")
        if solver != "compiled":
            return self._by_library(solver, t, q, v, command, active)
        x = self.tick(t, q, v, command, active)
        n, split = self.robot.nv, len(x) - 3
        solved, _, iterations = x[split:]
        why = "" if solved > 0.5 else self._missed(t, q, v, command, active, x[:n][self.mask])
        return Tick(x[:n], x[n : 2 * n], self._named(x[2 * n : split]), bool(solved > 0.5), why, int(iterations))

    def _checked(self, command: Any, active: Any) -> tuple[np.ndarray, np.ndarray]:
        size, count = self.settings.command, len(self.settings.supports)
        numbers = (
            np.zeros(size) if command is None else real_array("whole_body: command", command, f"expected ({size},)")
        )
        carrying = (
            np.ones(count) if active is None else real_array("whole_body: active", active, f"expected ({count},)")
        )
        if numbers.shape != (size,) or carrying.shape != (count,):
            raise DalembertError(
                f"whole_body: command has shape {numbers.shape} and active {carrying.shape}, expected ({size},) and "
                f"({count},)"
            )
        return numbers.astype(float), carrying.astype(float)

    def _named(self, forces: np.ndarray) -> dict[str, np.ndarray]:
        by_frame, begin = {}, 0
        for support in self.settings.supports:
            by_frame[support.frame] = forces[begin : begin + support.count]
            begin += support.count
        return by_frame

    def _numbers(self, t: float, q: Any, v: Any, command: np.ndarray, active: np.ndarray) -> dict[str, Any]:
        """The program at a state, as numbers by name."""
        flat = self._rows(np.array([float(t)]), q, v, command, active)
        n, m = int(self.mask.sum()), len(self._trials)
        nf, nv = sum(support.count for support in self.settings.supports), self.robot.nv
        levels = len(self.settings.orders)
        shapes = [(n, n), (n,)] * levels + [(m, n), (m,), (m,), (nv, n), (nv,), (nf, n), (nf,)]
        parts, begin = [], 0
        for shape in shapes:
            size = int(np.prod(shape))
            parts.append(flat[begin : begin + size].reshape(shape))
            begin += size
        rest = dict(zip(("C", "low", "high", "A", "a", "L", "f"), parts[2 * levels :], strict=True))
        return rest | {"levels": [(parts[2 * k], parts[2 * k + 1]) for k in range(levels)]}

    def _missed(self, t: float, q: Any, v: Any, command: np.ndarray, active: np.ndarray, tau: np.ndarray) -> str:
        """Which rows torques miss, and by how much, the worst first."""
        program = self._numbers(t, q, v, command, active)
        reached = program["C"] @ tau
        lengths = np.maximum(np.linalg.norm(program["C"], axis=1), 1e-12)
        beyond = np.maximum(np.maximum(reached - program["high"], program["low"] - reached), 0.0)
        order = np.argsort(-beyond / lengths)
        worst = [k for k in order if beyond[k] > MISSED * lengths[k]]
        if not worst:
            return "the solver ended before it met its tolerance"
        said = [f"{self._trials[k]} by {beyond[k]:.3g}" for k in worst[:6]]
        more = f" and {len(worst) - 6} more" if len(worst) > 6 else ""
        return "no torques keep all rows; the least violation that works misses " + ", ".join(said) + more

    def _by_library(self, solver: str, t: float, q: Any, v: Any, command: np.ndarray, active: np.ndarray) -> Tick:
        program = self._numbers(t, q, v, command, active)
        if len(program["levels"]) > 1 or any(limit.priority is not None for limit in self.settings.limits):
            raise DalembertError(f"whole_body: solver={solver!r} takes one priority: use weights, or solver='compiled'")
        H, g = program["levels"][0]
        tau = solve_with(solver, H, g, program["C"], program["low"], program["high"])
        if tau is None:
            return self.solve(t, q, v, command, active)._replace(solved=False)
        forces = program["f"] + program["L"] @ tau
        return Tick(self._full(tau), program["a"] + program["A"] @ tau, self._named(forces), True, "", 0)

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows that are kept."""
        if not self._trials:
            _ = self._rows
        return self._trials


def whole_body(
    robot: Robot,
    tasks: Sequence[Task],
    supports: Sequence[Support] = (),
    *,
    limits: Sequence[Limit] = (),
    torque_weight: float = 1e-4,
    force_weight: float = 1e-5,
    horizon: float | None = 0.1,
    command: int = 0,
) -> WholeBody:
    """Torques that come nearest to what tasks ask for, while supports push and motors and joints stay within limits.

    tasks: `control.Frame`, `Posture`, `CenterOfMass`, `Momentum`, `Force`, or your own; weights decide among those of
    one priority, lower priorities come first, strictly. supports: `control.Support`s, frames that rest on something and
    may push within their friction cones; which of them carry is data of each tick (`active`). torque_weight,
    force_weight: of squared torques and forces, which make the solution unique. horizon [s]: accelerations are bounded
    so that, held that long, no joint leaves its range or its speed; None: not bounded. limits: `CollisionAvoidance`,
    `Region`, `JointLimit`, or your own, kept over the same horizon. command: how many numbers a tick
    is given, which goals (t, command) → … take.

    The equations of motion and the supports hold exactly; the limits of the motors are never exceeded. Where no
    torques keep all other rows, those that miss them least are taken, and `solve(…).why` names the rows.
    """
    model = robot.model
    if model.closures:
        raise DalembertError(f"whole_body: robot {robot.name!r} has closed loops, expected a tree")
    if not motorized(model).any():
        raise DalembertError(f"whole_body: robot {robot.name!r} has no motor")
    for task in tasks:
        if not isinstance(task, Task):
            raise DalembertError(f"whole_body: tasks: expected Tasks, got {type(task).__name__}")
        task.checked(robot)
        if task.gain is not None or task.lm_damping:
            raise DalembertError(
                f"whole_body: {task.name}: gain and lm_damping belong to inverse kinematics: use frequency and damping"
            )
    check_limits("whole_body", robot, limits, None)
    if limits and horizon is None:
        raise DalembertError("whole_body: limits bound accelerations over a horizon: give horizon=… [s]")
    frames = [support.frame for support in supports]
    for support in supports:
        support.checked(robot)
    if len(set(frames)) < len(frames):
        raise DalembertError(f"whole_body: {max(frames, key=frames.count)!r} is a support twice")
    for task in tasks:
        if isinstance(task, Force):
            if task.frame not in frames:
                raise unknown("support", task.frame, frames, f"whole_body: {task.name}")
            check_goal(task, task.goal, supports[frames.index(task.frame)].count)
    for name, value in (("torque_weight", torque_weight), ("force_weight", force_weight)):
        if not 0.0 <= value < np.inf or (name == "torque_weight" and value == 0.0):
            raise DalembertError(f"whole_body: {name} is {value!r}, expected above 0")
    if horizon is not None and not 0.0 < horizon < np.inf:
        raise DalembertError(f"whole_body: horizon is {horizon!r}, expected above 0 [s], or None")
    settings = ProgramSettings(
        tuple(tasks), tuple(limits), tuple(supports), torque_weight, force_weight, horizon, int(command)
    )
    return WholeBody(robot, settings)
