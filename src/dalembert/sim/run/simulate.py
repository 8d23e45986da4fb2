"""One run from beginning to end: legs of the torque law, engines, recording, and what to say when it stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.compiler.execute import Interrupted
from dalembert.compiler.interop import is_foreign, on_host
from dalembert.dynamics.algorithms import integrate, normalize
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.progress import Progress
from dalembert.typing import Array

from ..elements.base import Element
from ..elements.contact import with_contact
from ..elements.fields import surroundings
from ..elements.friction import with_friction
from ..elements.soft import first_step, softened
from ..failure import Crowded, SimulationError
from ..integrators.catalogue import integrator_for
from ..settings import Settings, each_of
from ..system.called_controllers import CalledControllers
from ..system.drive import Command, Leg
from ..system.laws import Checked, Drive, chosen_inputs, drive
from ..system.planner import Planner
from ..system.sampled import Sampled
from ..system.sampling import Sampling, shared_sampling
from ..system.unsolved import counts, remarks
from .advice import why_and_what
from .chatter import Chatter
from .compiled import Programs, programs
from .engines import AdaptiveSteps, Chunk, Engine, FixedSteps, State, Trouble, engine, steps_between, steps_of
from .initial import checked_state, closed_start, first_state
from .instants import Instants
from .observed_contacts import contacts_of
from .record import Recorder
from .remarks import about_ground, beyond_limits, carried, held_at_the_end
from .run import EnergyLedger, Event, Run
from .sensors import derived
from .watch import GuardCrossing, UndefinedEvent

PACE = 256  # steps after which the pace is checked
SHORTEST, SHORTEST_CALLED = 1e-10, 1e-7  # average step relative to the duration; where steps call Python
DIVIDED = 1e-2  # of a fixed step: events that divide it more finely on average do not end


def simulate(model: Model, q: Any, v: Any, settings: Settings) -> Run:
    """See `Robot.simulate`. A run with more contacts than there is room for begins again with twice the room."""
    growth = 1
    while True:
        try:
            return _simulated(model, q, v, settings, growth)
        except Crowded as crowded:
            growth = crowded.growth
            if crowded.called:
                raise


def _simulated(model: Model, q: Any, v: Any, settings: Settings, growth: int) -> Run:
    """The run, with so many times the usual room for contacts."""
    if not model.nv:
        raise DalembertError(f"simulate: robot {model.name!r} has no joint that moves")
    q, v = on_host("simulate", q, v)
    q, v = checked_state("simulate", model, q, v)
    inputs, driving, actuators, undriven = chosen_inputs("simulate", model, settings.torque, settings.controls)
    if isinstance(driving, tuple):
        driving = tuple(on_host("simulate", *driving))
    elif is_foreign(driving):
        (driving,) = on_host("simulate", driving)
    settings.check_run()
    elements = each_of("elements", settings.elements, Element, "force elements")
    events = each_of("events", settings.events, Event, "Events")
    method = integrator_for("simulate", settings.integrator, "rk45", settings.contact, model)
    settings = replace(settings, step=first_step(model, settings.contact, method, settings.step))
    model, elements = softened(model, elements, settings.contact, settings.step)
    model, elements, said = with_friction("simulate", model, elements, settings.friction or "dry")
    for element in elements:
        model = element.prepared(model)
    acting = (*elements, *surroundings(model), *actuators)
    elements = with_contact(
        "simulate", model, acting, settings.contact, settings.fixed_step(method), method.stable, True, growth
    )
    torques = drive(inputs, driving, settings.time)
    if torques.called and method.tableau is not None and method.tableau.linear:
        raise DalembertError(
            f"simulate: integrator {method.name!r} needs the slopes of the torque law: {'; '.join(torques.log)}. Write "
            "the law with dalembert.math so that it can be traced, or use 'implicit-midpoint' with a step"
        )
    compiled = programs(model, elements, torques, method)
    if torques.called and not method.holds_control and isinstance(torques.function, Checked):
        torques.function.check_repeatable(q, v)
    # refuse constraints that give way
    for constraint, _ in compiled.system.constraints:
        if constraint.compliance:
            raise DalembertError(
                f"simulate: constraint {constraint.name!r} has a compliance, which only time-stepping takes: use a "
                "spring element"
            )
    step, stepped = settings.even_step(method)
    run = _Simulation(compiled, torques, settings, step, events)
    run.law = driving
    start = State(0.0, normalize(model, q), first_state(compiled.system, q, v))
    start, moved = closed_start(compiled, start)
    falls = settings.contact is not None or not carried(compiled.system)
    run.about_ground = about_ground(model, settings.contact, start.q, v, step) if falls else []
    run.log += [*undriven, *said, *stepped, *moved, *run.about_ground]
    if compiled.system.contact is not None and (count := len(compiled.system.servos)):
        run.log.append(f"actuators: the stiffness and damping of {count} servos act at the end of each step")
    return run.run(start)


class _Simulation:
    """A run in progress."""

    def __init__(
        self, compiled: Programs, torques: Drive, settings: Settings, step: float | None, events: tuple[Event, ...]
    ) -> None:
        self.compiled, self.drive, self.record = compiled, torques, settings.record
        self.settings: dict[str, Any] = {
            "integrator": compiled.integrator.name,
            "order": compiled.integrator.order,
            "step": step,
            "rtol": settings.rtol,
            "atol": settings.atol,
            "duration": settings.time,
        }
        self.layout = compiled.system.layout
        self.held = torques.called and compiled.integrator.holds_control
        self.centred = self.held and compiled.integrator.residual is not None  # symmetric methods, of order 2
        self.earlier: State | None = None  # where the step before began, since the last event
        elements = compiled.system.elements
        functions = any(callable(x) for element in elements for x in vars(element).values())
        sudden = bool(events) or torques.timed or bool(self.layout.nm) or functions
        # steps must not pass over what is short
        most = (self.record or settings.time / 100.0) if sudden else np.inf
        self.engine: Engine = engine(compiled, step, settings.rtol, settings.atol, most)
        called = self._called if torques.called and not self.held else None
        self.instants = Instants(compiled, self.engine, events, called)
        self.log, self.steps = list(torques.log), 0
        self.law: Any = None  # what drives it, as it was given
        self.counts = counts()  # of programs in laws, before the run
        self.about_ground: list[str] = []  # remarks on the ground at the start
        self.sampling: Sampling | None = None  # the controllers, where they run inside the compiled step
        if self.held:
            where = "in its predicted middle, " if self.centred else ""
            lowered = "" if self.centred or compiled.integrator.order == 1 else ", which makes it of order 1"
            self.log.append(f"torque: evaluated once per step, {where}then held ({compiled.integrator.name}{lowered})")
            self.settings["order"] = compiled.integrator.order if self.centred else 1
        if torques.sampled is not None:
            self._compile_controllers(torques.sampled)
        self.progress = Progress("simulating", settings.time, "s", settings.progress)
        self.state = State(0.0, np.zeros(0), np.zeros(0))
        self.mark = 0, 0.0  # steps and time [s] at which the pace was checked
        self.chatter: Chatter | None = None
        if isinstance(self.engine, AdaptiveSteps):
            self.chatter = Chatter(compiled, called, settings.atol + settings.rtol, settings.time)

    def _compile_controllers(self, torque: Sampled) -> None:
        """Run controllers inside the compiled step, where it can be; the log says why not."""
        step, duration, model = self.settings["step"], self.settings["duration"], self.compiled.system.model
        why = None
        if any(isinstance(each.law, Planner) for each in torque.chain()):
            why = "it plans between steps; `rollout` and `stepper` compile all but the plans"
        elif not torque.declared:
            why = "it may keep a state that it does not state; pass state=… to have it compiled"
        elif not isinstance(self.engine, FixedSteps) or self.instants.watching:
            what = (
                "events, stops or dry friction"
                if isinstance(self.engine, FixedSteps)
                else "this integrator's own steps"
            )
            why = f"{what} divide the steps"
        elif abs(duration / step - round(duration / step)) > 1e-6 or not self._in_one_block(step):
            why = "the duration is not a multiple of the step and of the record interval"
        else:
            try:
                self.sampling = shared_sampling("simulate", model, torque, step, count=self.compiled.system.input_count)
            except SimulationError:
                raise
            except Exception as error:  # whatever the user's code raises when it meets a traced number
                why = " ".join(str(error).split()) or type(error).__name__
        if why is None:
            self.log.append("torque: the controllers run inside the compiled step")
        else:
            self.log.append(f"torque: called from Python at every sample, since {why}")

    def run(self, state: State) -> Run:
        """From the state at the beginning to the end, or as far as it goes."""
        duration, start, self.state = self.settings["duration"], state, state
        if self.sampling is not None:
            memory = np.asarray(self.sampling.start(state.q, self.layout.velocity(state.e)), float)
            self.engine = controlled = FixedSteps(self.compiled, self.settings["step"], self.sampling, memory)
        first = None if self.drive.called or self.drive.sampled else self.drive.values[0]
        recorder = Recorder(self.compiled, state, duration, self.record, first)
        try:
            if self.sampling is not None:
                recorder.driven(controlled.first_command(state))
            for leg in self._legs():
                if self.drive.sampled and self.sampling is None:
                    recorder.driven(leg.command)
                if not self.held:
                    self.state = self.instants.enter(self.state, leg.command)
                while self.state.t < leg.end and not self.instants.ended:
                    self.state = self._block(self.state, leg, recorder)
                if self.instants.ended:
                    break
        except Trouble as trouble:
            if trouble.chunk is not None:
                recorder.take(trouble.chunk, recorder.last_u)
            result = self._result(recorder, f"stopped at t = {recorder.end:.6g} s of {duration:g} s: {trouble.why}")
            remarks = [*self.about_ground, *(result.contacts.log if result.contacts else ())]
            why = why_and_what(self.compiled, trouble, start, self.settings, recorder.last_u, remarks)
            error = SimulationError(why)
            error.run = result
            raise error from None
        except SimulationError as error:
            if isinstance(error, Crowded) and not error.called:
                raise  # the run begins again
            if isinstance(error, UndefinedEvent) and error.chunk is not None:
                recorder.take(error.chunk, recorder.last_u)
            error.run = self._result(recorder, f"stopped at t = {recorder.end:.6g} s of {duration:g} s")
            raise
        except KeyboardInterrupt:
            why = f"interrupted at t = {recorder.end:.6g} s of {duration:g} s"
            raise Interrupted(f"simulate: {why}", self.steps, self._result(recorder, why)) from None
        finally:
            self.progress.close()
        return self._result(recorder)

    def _legs(self) -> Iterator[Leg]:
        """The legs of the way; those that nothing interrupts go together where the engine can take them so."""
        duration, step = self.settings["duration"], self.settings["step"]
        if self.sampling is not None:
            yield Leg.single(self.drive.values[0], duration)
            return
        if self.drive.sampled:
            assert isinstance(self.drive.function, Checked)
            law, model = self.drive.function, self.compiled.system.model
            controllers = CalledControllers(model, self.drive.sampled, law.inputs.count, law.sample)
            yield from controllers.legs(
                duration, lambda: (self.state.t, self.state.q, self.layout.velocity(self.state.e))
            )
            return
        all_legs = Leg(self.drive.values, np.append(self.drive.times[1:], duration))
        together = all_legs.several and not self.instants.watching and not self.drive.called
        if together and isinstance(self.engine, AdaptiveSteps) and not self.engine.lands:
            yield all_legs
            return
        if together and isinstance(self.engine, FixedSteps):
            lengths, counts = np.diff(all_legs.ends, prepend=0.0), steps_of(all_legs, 0.0, step)
            whole = int(counts.sum()) == steps_between(0.0, duration, step) and self._in_one_block(step)
            if whole and np.abs(lengths - counts * step).max() < 1e-9 * step and counts.min() > 0:
                yield all_legs
                return
        for command, end in zip(all_legs.commands, all_legs.ends, strict=True):
            yield Leg.single(command, float(end))

    def _in_one_block(self, step: float) -> bool:
        """Whether all records are equally far apart."""
        every = self.settings["duration"] / (self.record or step)
        return abs(every - round(every)) < 1e-9 * every

    def _block(self, state: State, leg: Leg, recorder: Recorder) -> State:
        """Advance over one block of a leg, or to the first event on it."""
        stop, nodes = recorder.block(state.t, leg.end, self.engine)
        if self.held:
            count = (nodes or 1) * steps_between(0.0, (stop - state.t) / (nodes or 1), self.settings["step"])
            stop, nodes = state.t + (stop - state.t) / count if count > 1 else stop, None
            leg = Leg.single(self._command(self._middle(state, stop) if self.centred else state), stop)
            recorder.driven(leg.command)
            state = self.instants.enter(state, leg.command)
        for chunk in self.engine.advance(state, stop, leg, nodes, self.instants.watching):
            self._check_room(chunk)
            crossing = self.instants.first(chunk, leg.command)
            if crossing is not None:
                return self._event(chunk, crossing, leg.command, recorder)
            recorder.take(chunk, leg.command)
            state = chunk.end
            self.steps += chunk.steps
            self._check_pace(chunk, leg.command)
            self.progress.show(state.t)
        return state

    def _check_room(self, chunk: Chunk) -> None:
        """Raise if more contacts touched in a step than there is room for."""
        contact = self.compiled.system.contact
        if contact is None or not contact.scene_room:
            return
        full = self.compiled.system.contact_memory(chunk.e).crowded > 0.0
        if full.any():
            error = Crowded(
                f"simulate: more contacts touch at t = {chunk.t[int(np.argmax(full))]:.6g} s than the "
                f"{contact.scene_room} for which there is room, and the torque, a function that is called from Python, "
                "may remember what was: start it anew and call simulate again, which then has room for twice as many"
            )
            error.growth = contact.grown(self.compiled.system.model)
            error.called = (self.drive.called or self.drive.sampled is not None) and self.sampling is None
            raise error

    def _event(self, chunk: Chunk, crossing: GuardCrossing, u: Array, recorder: Recorder) -> State:
        """The state after an event; what lies before it is recorded."""
        before = crossing.state
        chunk = chunk.cut(crossing.step + 1)
        recorder.take(chunk, u, until=before.t)
        recorder.node(before, u)
        self.steps += crossing.step + 1
        self._check_pace(chunk, u)
        state = self.instants.happen(crossing, u)
        self.earlier = None
        if self.instants.ended:
            self.log.append(f"ended by event {self.instants.ended!r} at t = {state.t:.9g} s")
            if self.record is not None:
                recorder.final(before, u)
        return state

    def _check_pace(self, chunk: Chunk, u: Array) -> None:
        """Raise if the steps became so short that the run would take hours: it explodes slowly, or a law chatters."""
        if self.chatter is not None:
            self.chatter.check(chunk, u)
        (steps, t), state = self.mark, chunk.end
        if self.steps - steps < PACE:
            return
        shortest = (SHORTEST_CALLED if self.compiled.system.called else SHORTEST) * self.settings["duration"]
        if self.settings["step"] is not None:
            shortest = min(shortest, DIVIDED * self.settings["step"])
        if state.t - t < shortest * (self.steps - steps):
            why = f"{self.steps - steps} steps led only {state.t - t:.1e} s further"
            if self.drive.function:
                why += "; a torque law with too high gains, or evaluated too seldom, does that"
            raise Trouble(state, why)
        self.mark = self.steps, state.t

    def _middle(self, state: State, stop: float) -> State:
        """The middle of a step, predicted from the change of velocity in the one before: off by the step squared."""
        half, v, earlier = 0.5 * (stop - state.t), self.layout.velocity(state.e), self.earlier
        change = 0.0 * v
        if earlier is not None:
            change = half * (v - self.layout.velocity(earlier.e)) / (state.t - earlier.t)
        self.earlier = state
        q = integrate(self.compiled.system.model, state.q, half * (v + 0.5 * change))
        return State(state.t + half, q, self.layout.replaced(state.e, v + change))

    def _command(self, state: State) -> Array:
        assert self.drive.function is not None
        return Command.held(self.drive.function(state.t, state.q, self.layout.velocity(state.e))).flat()

    def _called(self, t: Array, q: Array, e: Array) -> Array:
        """The commands of a function that is called back, at states (k, …)."""
        return np.array([self._command(State(*row)) for row in zip(t, q, e, strict=True)])

    def _result(self, recorder: Recorder, unfinished: str = "") -> Run:
        system, (t, q, e, u) = self.compiled.system, recorder.arrays()
        if self.drive.called and not self.held:
            u = self._called(t, q, e)
        observed = self.compiled.observed({"t": t[:, None], "q": q, "e": e, "u": u}, (len(t),))
        accounts: dict[str, dict[str, Array]] = {"work": {}, "heat": {}}
        for entry, amount in zip(system.entries, self.layout.accounts(e).T, strict=True):
            accounts[entry.kind][entry.name] = amount
        kinetic, potential, elastic = observed["energies"].T
        ledger = EnergyLedger(kinetic, potential, elastic, accounts["work"], accounts["heat"])
        v, tau = self.layout.velocity(e), observed["tau"]
        contacts = contacts_of(self.compiled, t, q, e, u, self.settings["step"])
        log = [*self.log, *self.instants.remarks, *([] if contacts is None else contacts.log)]
        log += remarks(system.model, self.law, self.counts, t, q, v)
        log += held_at_the_end(system, e) if self.drive.function else []
        log += [*beyond_limits(system.model, system.elements, t, q, v, tau), *([unfinished] if unfinished else [])]
        return Run(
            system.model.name,
            system.model.coordinate_names,
            system.model.freedom_names,
            t,
            q,
            v,
            tau,
            self.layout.beside_velocity(e),
            ledger,
            observed.get("multipliers", np.zeros((len(t), 0))),
            tuple(self.instants.log),
            tuple(log),
            self.steps,
            dict(self.settings),
            system.model.coordinate_units,
            system.model.freedom_units,
            contacts=contacts,
            unfinished=unfinished,
            **derived(self.compiled, t, q, e, u, self.settings["step"]),
        )
