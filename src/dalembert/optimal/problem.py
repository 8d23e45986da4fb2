"""An optimal control problem: a robot, what its motion costs, and what it must keep to."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert.compiler.execute import Program, real_array
from dalembert.compiler.execute.stages import lanes
from dalembert.compiler.execute.threads import limit
from dalembert.compiler.execute.threads import run as run_threads
from dalembert.contact import Contact
from dalembert.contact.candidates import candidates
from dalembert.errors import DalembertError, is_number, renamed, unknown, whole_number
from dalembert.linear.stages import StageLayout
from dalembert.model import motors_of
from dalembert.robot import Robot
from dalembert.sim.elements.contact import CompliantContact

from . import terms
from .arguments import Arguments
from .constants import START, Constants
from .contacts import Contacts
from .limits import control_names, limit_constraint, ranges
from .motion_models import MotionModel
from .plan import Plan
from .receding import Receding
from .settings import ProblemSettings
from .solver import Solver
from .stage import Node
from .terms import Constraint, UserFunction, Weighed
from .users import Users

if TYPE_CHECKING:
    from .functions import NodeFunctions, NonlinearProgram

LARGEST_BENT = 8  # freedoms: second derivatives of forward dynamics of larger robots take long to compile
LONGEST_STEP = 1e9  # [s]: squares of much longer ones overflow
FEW_NODES, LONGEST_REST = 40, 10_000  # nodes, and operations of one: half a vector saves time that compiling is worth
CURVATURES = ("auto", "gauss-newton", "exact")
RESERVED = {"q", "v", "u", "t", "force", "stance", "impact", *START}


class Problem:
    """Motions of `nodes` steps of `step` [s] that cost least; made by `robot.optimal_control`.

    Everything is traced and compiled once, when it is made or first solved. `solve` gives a plan, `receding` a law.
    ranges: limits by name ("torque", "velocity", "position"), each lower and upper. motors: the joints that count as
    motorised, and why.
    """

    def __init__(
        self, robot: Robot, running: Callable[..., Any], terminal: Callable[..., Any] | None,
        step: float | Callable[..., Any], nodes: int, chosen: ProblemSettings, parameters: Mapping[str, int],
    ) -> None:  # fmt: skip
        self.robot, motors = robot, chosen.motors
        self.motors = motors_of(robot.model, motors if chosen.actuation is None else ())
        self.nodes = whole_number("optimal_control: nodes", nodes)
        self.parameters = {name: _parameter(name, size) for name, size in parameters.items()}
        self.constants = Constants.of(robot.model, chosen.unknowns, chosen.free_start, self.parameters)
        self._step = UserFunction("step", step, (), self.parameters, "a number") if callable(step) else None
        self.step = np.nan if callable(step) else _positive("step", step, "a time [s]", LONGEST_STEP)
        touching, ground = Contacts.of(robot, chosen.contacts, chosen.contact_decay), _ground(robot, chosen.contact)
        free_steps = self._step is not None
        self.motion = MotionModel.of(robot, self.step, chosen, touching, self.constants.count, free_steps, ground)
        if touching is not None:
            self.parameters |= {"stance": len(touching.rows), "impact": 1}
        elif chosen.impact is not None:
            raise DalembertError("optimal_control: impact= is the cost of impacts: name what touches by contacts=(…)")
        self.arguments = Arguments(robot, self.nodes, self.parameters, self.constants.unknowns)
        self.layout: StageLayout = self.motion.layout
        self.exact = _exact(chosen.curvature, self.motion)
        small = self.motion.is_linear or (touching is None and robot.nv <= LARGEST_BENT)
        self.bends = chosen.curvature == "auto" and small
        self._take(running, terminal, chosen)
        self.ranges = ranges(self.motion, chosen.limits)
        self._limits = {name: limit_constraint(self.motion, name, *both) for name, both in self.ranges.items()}
        self.node, self.end = Node(self, is_end=False), Node(self, is_end=True)
        if not self.node.names and not self.end.names:
            raise DalembertError("optimal_control: running and terminal return no cost at all: expected at least one")
        self._idle: list[Solver] = []
        self._lock = threading.Lock()

    def _take(self, running: Any, terminal: Any, chosen: ProblemSettings) -> None:
        """Keep the user's functions, each with the arguments that it may ask for."""
        state = ("q", "v", *(START if self.constants.with_start else ()))
        with_u = (*state, "u") if self.motion.contacts is None else (*state, "u", "force")

        def optional(role: str, function: Any, arguments: Sequence[str]) -> UserFunction | None:
            return None if function is None else UserFunction(role, function, arguments, self.parameters)

        self._running = UserFunction("running", running, with_u, self.parameters)
        self._terminal = optional("terminal", terminal, state)
        self._constraints = optional("constraints", chosen.constraints, with_u)
        self._terminal_constraints = optional("terminal_constraints", chosen.terminal_constraints, state)
        self._impact = optional("impact", chosen.impact, (*state, "force"))
        given = (self._running, self._terminal, self._constraints, self._terminal_constraints, self._impact, self._step)
        self.users = Users(self, [function for function in given if function is not None])

    def __repr__(self) -> str:
        motors = f", motors {self.motors.joints}" if self.motors.joints else ""
        return f"<optimal control of {self.robot.name!r}: {self.nodes} nodes, costs {self.costs}{motors}>"

    @cached_property
    def costs(self) -> tuple[str, ...]:
        """Names of the costs, of the nodes and of the end."""
        return tuple(dict.fromkeys((*self.node.names, *self.end.names)))

    @property
    def control_names(self) -> list[str]:
        """A name for each number of u."""
        return control_names(self.motion)

    def step_at(self, values: Mapping[str, Any]) -> Any:
        """The step of the node with these parameters [s]."""
        return self.step if self._step is None else self._step.number(values)

    # ---- what the nodes trace

    def terms(self, values: Mapping[str, Any], is_end: bool) -> tuple[list[Weighed], list[Constraint]]:
        """Costs and constraints of a node, or of the end, at traced values."""
        impact = values["impact"][0] if self.motion.contacts is not None and not is_end else 0.0
        scale = 1.0 if is_end else self.step_at(values) * (1.0 - impact)
        costs = self._costs(self._terminal if is_end else self._running, values, scale)
        if not is_end:
            costs += self._costs(self._impact, values, impact)
        return costs, self.constraints_at(values, is_end)

    def constraints_at(self, values: Mapping[str, Any], is_end: bool) -> list[Constraint]:
        """Limits and constraints of a node, or of the end."""
        kept = [limit(values) for name, limit in self._limits.items() if not (is_end and name == "torque")]
        if not is_end:
            return kept + terms.constraints_of(self._constraints, values)
        return kept + self._kept_at_end(values) + terms.constraints_of(self._terminal_constraints, values)

    def _kept_at_end(self, values: Mapping[str, Any]) -> list[Constraint]:
        """The constraints of the nodes at the end, where there is no control: those that do not depend on it."""
        graph, contacts = values["v"][0].graph, self.motion.contacts
        absent = {"u": graph.input("no control", self.motion.controls)}
        if contacts is not None:
            absent["force"] = contacts.parts(graph.input("no force", contacts.size))
        inputs = np.concatenate([absent["u"], *absent.get("force", {}).values()])
        return [each.without(inputs) for each in terms.constraints_of(self._constraints, {**values, **absent})]

    def _costs(self, function: UserFunction | None, values: Mapping[str, Any], scale: Any) -> list[Weighed]:
        if function is None:
            return []
        named = terms.costs(function.role, function(values))
        return [Weighed(terms.smooth(term) if self.exact else term, scale) for term in named]

    @cached_property
    def programs(self) -> dict[str, Program]:
        """The compiled parts: of nodes and end a step, and with constraints the rates of slacks."""
        named = self._with_rest({"step": self.node.step(False), "end": self.end.step(False)})
        for name, node in (("rates", self.node), ("end rates", self.end)):
            if node.rows.rows:
                named[name] = node.rates()
        return named

    def _with_rest(self, programs: dict[str, Program]) -> dict[str, Program]:
        """Where few nodes leave half a vector empty, the same code for it on half a vector, if it is not long."""
        half, step = lanes() // 2, programs["step"]
        is_empty = half >= 4 and 0 < self.nodes % lanes() <= half and self.nodes <= FEW_NODES
        if not is_empty or self.node.operations["step"] > LONGEST_REST:
            return programs
        return programs | {"rest": step.on_lanes(half)}

    @cached_property
    def is_plain(self) -> bool:
        """Whether the motion is linear in the control, without gaps, and nothing is constrained."""
        return self.motion.is_linear and not self.node.rows.rows and not self.end.rows.rows

    @cached_property
    def last_programs(self) -> dict[str, Program]:
        """Nodes and end without slopes, for the last step of plain problems."""
        return {"step": self.node.outcome(), "end": self.end.outcome()}

    @cached_property
    def bent_programs(self) -> dict[str, Program]:
        """Nodes and end with second derivatives, compiled where convergence is slow."""
        return {"step": self.node.step(True), "end": self.end.step(True)}

    # ---- what people call

    @renamed(iterations="max_iterations")
    def solve(
        self,
        q: Any,
        v: Any = None,
        *,
        guess: Any = None,
        max_iterations: int = 200,
        tolerance: float = 1e-9,
        threads: int | None = None,
        progress: Callable[[Mapping[str, float]], None] | None = None,
        **parameters: Any,
    ) -> Plan:
        """The plan from the state q (nq,), v (nv,), at rest if v is None; a list of plans for q (B, nq).

        parameters: a value (size,) for all nodes, or one for each, (nodes + 1, size); of batches with (B,) in front.
        guess: a plan, or (q, v, u) with rows for the nodes, to start from; else the robot stays at rest, or moves on.
        tolerance: the model promises no further decrease than that part of the cost. threads: at most so many, for
        batches. progress: is called with the numbers of each iteration.
        """
        arguments = self.arguments
        start = real_array("solve: q", q, arguments.expected_q)
        if start.ndim == 2:
            return cast(Any, self._batch(start, v, guess, max_iterations, tolerance, threads, parameters))
        values, most = arguments.values(parameters), whole_number("optimal_control: max_iterations", max_iterations)
        position, velocity = arguments.state(start, v)
        accuracy = _positive("tolerance", tolerance)
        with self.lent_solver() as solver:
            solver.begin(position, velocity, values, guess)
            return solver.solve(most, accuracy, progress)

    def receding(
        self,
        iterations: int = 1,
        *,
        rate: float | None = None,
        answer: Callable[..., Any] | None = None,
        **parameters: Any,
    ) -> Receding:
        """A law: u = law(t, q, v, goal=…), the first control of a plan that starts at the measured state.

        iterations: of Newton's method in each call, from the plan of the last one, shifted. rate [Hz]: how often it
        is called as the torque of a simulation, and for `budget`; else once each step. parameters: values until others
        are given in a call, or functions of time t [s], such as the stance of a gait, asked at every call.
        answer: what it gives instead of torques, an array, for controllers that take it as an input: a traced
        function of any of q, v (measured), u, q_next, v_next (planned for the next node), force (of contacts now, by
        frame) and parameters (of the first node).
        Of `unknowns` the values are where the first solve starts from; what it chooses is kept until the next one.
        """
        if self.constants.with_start or self._step is not None:
            raise DalembertError(
                "receding: a law plans with a step and a start that are given, and this problem leaves them to the "
                "plan: make one for the law with step= a number, without free_start="
            )
        return Receding(self, whole_number("optimal_control: iterations", iterations), rate, answer, parameters)

    def functions(self, q: Any, v: Any = None, *, guess: Any = None, **parameters: Any) -> NonlinearProgram:
        """Cost, constraints and sparse derivatives for another solver, such as IPOPT; arguments as of `solve`."""
        from .functions import NonlinearProgram

        return NonlinearProgram(self, *self.arguments.state(q, v), self.arguments.values(parameters), guess)

    @cached_property
    def functions_of_nodes(self) -> tuple[NodeFunctions, NodeFunctions]:
        """Compiled functions of the nodes and of the end, shared by all `functions`."""
        from .functions import NodeFunctions

        return NodeFunctions(self, self.node), NodeFunctions(self, self.end)

    def _batch(
        self, q: np.ndarray, v: Any, guess: Any, max_iterations: int, tolerance: float, threads: int | None,
        parameters: Mapping[str, Any],
    ) -> list[Plan]:  # fmt: skip
        """Plans from many states: one problem after the other on each thread."""
        count = len(q)
        rows = parameters if v is None else {"v": v, **parameters}
        guesses = list(guess) if isinstance(guess, Sequence) and not isinstance(guess, tuple) else [guess] * count
        for name, x in {**rows, "guess": guesses}.items():
            if (np.ndim(x) > 1 or x is guesses) and len(x) != count:
                raise DalembertError(f"solve: {name} has {len(x)} rows, expected {count}, one for each row of q")
        each = [{n: x[k] if np.ndim(x) > 1 else x for n, x in rows.items()} for k in range(count)]
        plans: list[Any] = [None] * count
        options: dict[str, Any] = {"max_iterations": max_iterations, "tolerance": tolerance}
        places = iter(range(count))  # its next() is atomic: each problem goes to one thread

        def work() -> None:
            try:
                for k in places:
                    try:
                        plans[k] = self.solve(q[k], guess=guesses[k], **options, **each[k])
                    except DalembertError as error:
                        raise DalembertError(f"row {k}: {error}") from error
            finally:  # after an error or Ctrl-C the other threads find nothing left to do
                deque(places, maxlen=0)

        run_threads(work, min(limit(threads), max(1, count)))
        return plans

    def lent_solver(self) -> _Lent:
        """A solver for the time of a `with` block."""
        return _Lent(self)


class _Lent:
    """A solver for the time of a `with` block: threads do not share its memory, and it is kept for the next one."""

    __slots__ = ("problem", "solver")

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __enter__(self) -> Solver:
        try:
            self.solver = self.problem._idle.pop()  # atomic, like append
        except IndexError:
            with self.problem._lock:
                self.solver = Solver(self.problem)
        return self.solver

    def __exit__(self, *error: Any) -> None:
        self.problem._idle.append(self.solver)


def _ground(robot: Robot, contact: Any) -> CompliantContact | None:
    """The forces of compliant contact, which need no phases."""
    if contact is None:
        return None
    if not isinstance(contact, Contact) or contact.model != "compliant":
        raise DalembertError(
            f"optimal_control: contact is {contact!r}, expected dalembert.Contact(model='compliant', …): rigid contact "
            "has no slopes, its phases are given by contacts="
        )
    return CompliantContact(contact, candidates(robot.model, contact))


def _exact(curvature: str, motion: MotionModel) -> bool:
    if curvature not in CURVATURES:
        raise unknown("curvature", curvature, CURVATURES, "optimal_control")
    if curvature == "exact" and not motion.is_linear:
        raise DalembertError(
            'optimal_control: curvature="exact" needs a motor on every joint, joints without quaternions and the '
            'semi-implicit integrator: use "auto"'
        )
    return curvature == "exact"


def _positive(name: str, value: Any, what: str = "a number", most: float = np.inf) -> float:
    number = float(value) if is_number(value) else np.nan
    if not (0.0 < number <= most and number < np.inf):
        below = "" if most == np.inf else f", up to {most:g}"
        raise DalembertError(f"optimal_control: {name} is {value!r}, expected {what} above 0{below}")
    return number


def _parameter(name: str, size: Any) -> int:
    if name in RESERVED:
        raise DalembertError(f"optimal_control: a parameter cannot be called {name!r}: choose another name")
    return whole_number(f"optimal_control: {name}", size)
