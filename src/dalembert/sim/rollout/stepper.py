"""One step at a time, for loops that are written in Python: a compiled step that is called like any other function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import signature
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.execute import Call, Recent, code
from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.schedule import depth_first
from dalembert.contact import candidates
from dalembert.contact.scene import known_growth
from dalembert.errors import DalembertError
from dalembert.math import where
from dalembert.model import Model
from dalembert.quantities.dynamics import singular_mass
from dalembert.quantities.guards import function_call
from dalembert.typing import Array

from ..elements.contact import with_contact
from ..elements.drive import Actuators
from ..elements.soft import softened
from ..integrators.catalogue import Integrator
from ..settings import Settings
from ..system.drive import Command
from ..system.planner import sampled
from ..system.planners import PlannedMemory
from ..system.sampled import Sampled
from ..system.sampling import Sampling
from ..system.system import System
from .live import DRIFT, LiveInputs, OpenLoops, prepared


class Stepper:
    """q, v = stepper(q, v, tau): the state after one step of `step` [s], tau (…, nv) held [N·m, N], 0 if left out.

    With controls, tau is the controls (…, nu) of the robot's actuators. Where elements or actuators have states of
    their own, q, v, z = stepper(q, v, tau, z), with z (…, n) from `start(q, v)` at first. With rigid contact z is also
    what its steps remember: the impulses from which the next solution starts, and how what sticks rolls. Without z each
    step of it stands alone. parameters: names of live groups, whose values are keywords of every call.

    One state or any batch, of NumPy or another library, as with the methods of `Robot`, with their keywords threads and
    check. A mass matrix that is singular, a Newton iteration of an implicit integrator that does not settle, as always
    in float32, and numbers that overflow are errors; with check=False the state is NaN or infinite.
    `call` is the function behind it, of all these arguments.
    """

    def __init__(
        self, model: Model, settings: Settings, controls: bool = False, parameters: Collection[str] = ()
    ) -> None:
        self.model, self.settings, self.controls, self.step = model, settings, controls, settings.length
        self.integrator = settings.method("stepper", model)
        self._live = LiveInputs("stepper", model, parameters, settings.contact)
        self._system, self.call = _compiled(model, settings, self.integrator, controls, self._live)
        self.nz = _states_to_hand_over(self._system)
        self._remembering: Callable[..., Any] | None = None
        self._start: Call | None = None
        words = f"({', '.join(self.call.sizes)})"
        self._fast = self.call.builtin("stepper", f"{words}\n--\n\n", self.call)
        self._nothing = np.zeros(self._system.input_count)
        self._open_loops = OpenLoops(self._system, {"q": model.nq, "v": model.nv})
        self._last: Any = None  # q after the last step, which closes loops
        if not (self._system.permanent_count or self._live.names):
            _call_directly(self, self.call.builtin("stepper", f"{words}\n--\n\n", self.__call__))

    def __call__(self, q: Any, v: Any, tau: Any = None, z: Any = None, **keywords: Any) -> tuple[Any, ...]:
        if tau is None:
            tau = self._nothing
        if not self._system.permanent_count:
            return self._stepped(q, v, tau, z, keywords)
        same = q is self._last or (type(q) is type(self._last) is np.ndarray and np.array_equal(q, self._last))
        if keywords.get("check", True) and not same:
            self._open_loops.warn("stepper", {"q": q, "v": v}, DRIFT, depth=3)
        after = self._stepped(q, v, tau, z, keywords)
        self._last = after[0]
        return after

    def _stepped(self, q: Any, v: Any, tau: Any, z: Any, keywords: dict[str, Any]) -> tuple[Any, ...]:
        values = self._live.taken(q, keywords) if self._live.names else ()
        if not self.nz:
            if z is not None:
                # a step whose contacts remember the one before
                if self._system.contact is None:
                    raise DalembertError("stepper: got z, but no element or actuator has states of its own")
                if self._remembering is None:
                    settings = self.model, self.settings, self.integrator, self.controls
                    call = _compiled(*settings, self._live, remembers=True)[1]
                    self._remembering = call.builtin("stepper", f"({', '.join(call.sizes)})\n--\n\n", call)
                return self._remembering(q, v, tau, z, *values, **keywords)
            return self._fast(q, v, tau, *values, **keywords)
        if z is None:
            raise DalembertError(
                f"stepper: elements or actuators have {self.nz} states of their own: write q, v, z = stepper(q, v, "
                "tau, z), from z = stepper.start(q, v)"
            )
        return self._fast(q, v, tau, z, *values, **keywords)

    def start(self, q: Any, v: Any) -> Any:
        """The states z (…, n) of elements, actuators and rigid contact at the beginning, at q (…, nq), v (…, nv).

        In the kind of array and the precision of q and v.
        """
        if not self._system.layout.nz:
            return np.zeros(0)
        if self._start is None:
            model = self._system.model

            def begin(q: Array, v: Array) -> Array:
                states = [element.start(model, q, v) for element in self._system.elements]
                return np.array([q[0].lift(number) for number in np.concatenate(states)], object)

            self._start = function_call(model, "stepper", {"q": model.nq, "v": model.nv}, begin)
        return self._start(q, v)

    def __repr__(self) -> str:
        return f"<Stepper of robot {self.model.name!r}: {self.integrator.name}, {self.step:g} s>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Stepper, (self.model, self.settings, self.controls, self._live.names)


def _call_directly(stepper: Any, builtin: Callable[..., Any]) -> None:
    """Make a builtin what `stepper(…)` calls, without a method of Python between: the stepper gets a class of its own.

    Python looks for `__call__` in the class alone, and a builtin found there takes no `self`.
    """
    kind = type(stepper)
    words = {"__module__": kind.__module__, "__signature__": signature(stepper.__call__)}
    stepper.__class__ = type(kind.__name__, (kind,), words | {"__call__": builtin})


def _states_to_hand_over(system: System) -> int:
    """How many states a step cannot do without: all, or none where rigid contact alone has some."""
    contact = system.contact
    return 0 if contact is not None and contact.size(system.model) == system.layout.nz else system.layout.nz


def _compiled(
    model: Model, settings: Settings, method: Integrator, controls: bool, live: LiveInputs, remembers: bool = False
) -> tuple[System, Call]:
    """The step as a call; remembers: also where rigid contact alone has states, they come in and go out."""
    settings.check_step("stepper")
    if not model.nv:
        raise DalembertError(f"stepper: robot {model.name!r} has no joint that moves")
    step, elements = settings.length, tuple(settings.elements)
    if controls:
        elements = (*elements, Actuators.of(model, "stepper"))
    model, elements = softened(model, elements, settings.contact, step)
    model, elements = prepared("stepper", model, elements, method, settings.friction, live.names)
    elements = with_contact("stepper", model, elements, settings.contact, step, method.stable)
    system = System(model, elements, None, driven=True, ledger=False, impulsive=True)
    shown = system.layout.nz if remembers else _states_to_hand_over(system)
    key = code(model, model.name, elements, method, step, shown, live.names)
    return system, _recent.get(key, lambda: _traced(system, method, step, shown, live))


_recent = Recent(16)


def _traced(system: System, method: Integrator, step: float, shown: int, live: LiveInputs) -> Call:
    """The step of a system; shown: how many of its states come in and go out."""
    model, take, forgotten = system.model, method.fixed_step, np.zeros(system.layout.nz - shown)

    def compute(q: Array, v: Array, tau: Array, *more: Array) -> dict[str, Array]:
        z, values = more[: len(more) - len(live.names)], more[len(more) - len(live.names) :]
        (t,), e = q[0].graph.input("t", 1), np.concatenate([v, *z, forgotten])
        q1, e1 = take(live.put(system, values), t, t.lift(step), q, e, Command.held(tau).flat())
        after = {"q": with_room(system, e, q1, e1), "v": e1[: model.nv]}
        after |= {"z": e1[model.nv : model.nv + shown]} if shown else {}
        if any(x is t for x in depth_first([x for part in after.values() for x in part if isinstance(x, Scalar)])):
            raise DalembertError("stepper: the elements depend on time, which a step does not know: use `simulate`")
        return after

    sizes = {"q": model.nq, "v": model.nv, "tau": system.input_count}
    if shown:
        sizes["z"] = shown
    sizes |= live.sizes

    def unbounded(state: Mapping[str, Array]) -> str:
        if (words := singular_mass(model, state["q"])) is not None:
            return words
        if (words := no_room(system, state["q"], state["v"], step)) is not None:
            return words
        return (
            f"the state of robot {model.name!r} after the step is not finite: try a smaller step, "
            "'implicit-velocity' for stiff damping, float64 for implicit integrators; check=False gives NaN"
        )

    return function_call(model, "stepper", sizes, compute, unbounded)


def with_room(system: System, e: Array, q1: Array, e1: Array) -> Array:
    """q after a step from e to e1, NaN where more contacts touched than there is room for."""
    if system.contact is None or not system.contact.scene_room:
        return q1
    full = system.contact_memory(e1).crowded > system.contact_memory(e).crowded
    return np.array([where(full, np.nan, q1[0]), *q1[1:]], object)


def no_room(system: System, q: Array, v: Array, step: float) -> str | None:
    """Why a step cannot be taken from a state, if more contacts touch than there is room for.

    A rollout of one step then grows the room, also of steppers that are made later.
    """
    from .rollout import rollout

    element = system.contact
    if element is None or not element.scene_room:
        return None
    rollout(system.model, q, v, Settings(step=step, steps=1, contact=element.contact), check=False)
    if known_growth(system.model, candidates(system.model, element.contact)) <= element.growth:
        return None
    return (
        f"more contacts touch than the {element.scene_room} for which the stepper has room: make it anew by "
        "robot.stepper(…), which then has room for twice as many, and its memory by stepper.start(q, v)"
    )


class ControlledStepper:
    """q, v, memory = stepper(q, v, memory): the state after one step under controllers that run at rates.

    memory (…, n) is what the controllers keep, the number of the step, and what rigid contact remembers; `start(q, v)`
    gives the first one, also for batches. t = memory[…, 0] · step [s] is the time. Keywords and parameters as of
    `Stepper`. Planners plan before a step is taken, in the same call, for all states that are at the same step.
    """

    def __init__(self, model: Model, settings: Settings, torque: Any, parameters: Collection[str] = ()) -> None:
        self._live = live = LiveInputs("stepper", model, parameters, settings.contact)
        method, step = settings.method("stepper", model), settings.length
        settings.check_step("stepper")
        model, elements = softened(model, tuple(settings.elements), settings.contact, step)
        model, elements = prepared("stepper", model, elements, method, settings.friction, live.names)
        torque = sampled(torque)
        controller = torque if isinstance(torque, Sampled) else Sampled(torque, step, state=())
        sampling = Sampling("stepper", model, controller, float(step))
        for element in elements:
            if element.size(model):
                raise DalembertError(
                    f"stepper: {element.label()} keeps a state of its own: use `rollout` or `simulate`"
                )
        elements = with_contact("stepper", model, elements, settings.contact, step, method.stable)
        system = System(model, elements, None, driven=True, ledger=False, impulsive=True)
        take, touched = method.fixed_step, 1 + sampling.size  # where the memory of contacts begins
        self.model, self.step, self._system = model, float(step), system
        self._planned = [PlannedMemory(*item) for item in sampling.planned.items()]
        held = sampling.planned_sizes

        def compute(q: Array, v: Array, memory: Array, *more: Array) -> dict[str, Any]:
            answers, values = more[: len(held)], more[len(held) :]
            number, kept, contacts = memory[0], memory[1:touched], memory[touched:]
            t = number * self.step
            tau, after = sampling.advanced(number, t, q, v, kept, dict(zip(held, answers, strict=True)))
            e = np.concatenate([v, contacts])
            q1, e1 = take(live.put(system, values), t, number.lift(self.step), q, e, Command.held(tau).flat())
            q1 = with_room(system, e, q1, e1)
            after = np.concatenate([[number + 1.0], after, e1[model.nv :]])
            return {"q": q1, "v": e1[: model.nv], "memory": after}

        def begin(q: Array, v: Array) -> Array:
            return np.array([q[0].lift(0.0), *sampling.start(q, v), *np.zeros(system.layout.nz)], object)

        sizes = {"q": model.nq, "v": model.nv}
        self._size = touched + system.layout.nz
        self._start = function_call(model, "stepper", sizes, begin)
        self.call = function_call(model, "stepper", {**sizes, "memory": self._size, **held, **live.sizes}, compute)
        words = ", ".join(("q", "v", "memory", *(f"held_{k}" for k in range(len(held))), *live.names))
        self._fast = self.call.builtin("stepper", f"({words})\n--\n\n", self.call)
        if not (self._planned or live.names):
            _call_directly(self, self._fast)

    def start(self, q: Any, v: Any) -> Any:
        """The memory before the first step."""
        OpenLoops(self._system, {"q": self.model.nq, "v": self.model.nv}).warn("stepper", {"q": q, "v": v}, depth=3)
        memory = self._start(q, v)
        if not self._planned:
            return memory
        batch = memory.shape[:-1]
        plans = [each.start(prod(batch)).reshape(*batch, -1) for each in self._planned]
        return np.concatenate([memory, *plans], -1)

    def __call__(self, q: Any, v: Any, memory: Any, **keywords: Any) -> tuple[Any, Any, Any]:
        values = self._live.taken(q, keywords)
        if not self._planned:
            return self._fast(q, v, memory, *values, **keywords)
        q, v, memory = np.asarray(q, float), np.asarray(v, float), np.array(memory, float)
        answers, begin = [], self._size
        for each in self._planned:
            plans = memory[..., begin : begin + each.size]
            answers.append(each.held(q, v, memory[..., 0], plans, self.step, keywords.get("threads")))
            begin += each.size
        q1, v1, sampled = self._fast(q, v, memory[..., : self._size], *answers, *values, **keywords)
        return q1, v1, np.concatenate([sampled, memory[..., self._size :]], -1)
