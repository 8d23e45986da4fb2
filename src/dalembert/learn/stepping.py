"""One control step of one environment as traced code: physics, observations, reward, termination, reset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.graph import Function, trace
from dalembert.linear import Columns
from dalembert.math import abs as absolute
from dalembert.math import branch, floor, logical_and, logical_or, where
from dalembert.model import Model
from dalembert.sim.system.system import System
from dalembert.study.distributions import Distribution
from dalembert.study.distributions.stream import PRIME, Stream

from .calling import condition, number, numbers
from .draws import Draw
from .events import Push, Timer
from .feet import Feet
from .observing import Observing, whole
from .physics import Moved, Physics
from .randomization import DELAY
from .starts import Start
from .state import Command, Foot, State, base_of
from .terrains import Terrains

NEXT_STEP, SAME_STEP, DISABLED = AUTORESETS = ("next_step", "same_step", "disabled")
LASTING = PRIME - 1.0  # the episode whose stream belongs to the environment as a whole
HUGE = 1e300  # a state with larger numbers is none
FLAGS = ("terminated", "truncated", "diverged", "crowded", "began")


@dataclass(frozen=True, eq=False)
class Parts:
    """Everything that an environment consists of; period: of a control step [s], longest: steps of an episode, or 0."""

    physics: Physics
    start: Start
    observing: Observing
    sensors: Mapping[str, Callable[[State], Any]]
    feet: Feet
    rewards: Mapping[str, tuple[float, Callable[[State], Any]]]
    ends: Mapping[str, Callable[[State], Any]]
    commands: Mapping[str, Draw]
    events: tuple[Push, ...]
    terrain: Terrains | None
    period: float
    longest: int


class Stepping:
    """The traced step and reset of an environment."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.physics, self.drive = parts, parts.physics, parts.physics.drive
        self.randomization = self.physics.randomization
        self.command_sizes = {name: _length(each.law) for name, each in parts.commands.items()}
        self.timers = self._timers()

    def _timers(self) -> dict[str, Timer]:
        """Timers of events that recur within an episode."""
        period = self.parts.period
        spans = {f"push {k}": event.every for k, event in enumerate(self.parts.events)}
        spans |= {f"command {n}": each.every for n, each in self.parts.commands.items() if each.every}
        drawn = self.randomization.parameters.items()
        spans |= {f"parameter {n}": each.draw.every for n, each in drawn if each.draw.every}
        return {name: Timer(name, every, period) for name, every in spans.items()}

    @cached_property
    def most_late(self) -> int:
        """Control steps by which an action may act late."""
        most = self.drive.delay[1]
        if DELAY in self.randomization.parameters:
            most = int(np.ceil(self.randomization.parameters[DELAY].samples(64).max() + 0.5))
        return most

    @cached_property
    def layout(self) -> Columns:
        """The parts of the memory of an environment."""
        system, n, feet = self.physics.system, self.drive.size, len(self.parts.feet.names)
        sizes = {
            "q": system.model.nq, "e": system.ne, "seed": 2, "number": 1, "episode": 1, "stream": 2, "steps": 1,
            "action": n, "queue": self.most_late * n, "lag": 1, "own": self.randomization.size,
            "command": sum(self.command_sizes.values()), "air": 2 * feet, "touched": feet, "timers": len(self.timers),
            "terms": len(self.parts.rewards), "over": 1, "start": 3, "level": 2,
        }  # fmt: skip
        sizes |= self.parts.observing.buffers()
        return Columns(**{name: (size,) for name, size in sizes.items()})

    # ---- the state that users' functions see

    def state(
        self, system: System, moved: Moved | None, q: np.ndarray, e: np.ndarray, x: Mapping[str, Any], feet: Any
    ) -> State:
        """The state s; moved: how the step came there, None after a reset; x: parts of the memory."""
        v, still = system.layout.velocity(e), np.zeros(system.model.nv)
        if moved is None:
            return self.seen(system.model, q, v, still, still, x, feet)
        acceleration = (v - moved.before) * (1.0 / self.physics.step)
        return self.seen(system.model, q, v, moved.tau, acceleration, x, feet)

    def seen(
        self, model: Model, q: np.ndarray, v: np.ndarray, tau: Any, acceleration: Any, x: Mapping[str, Any], feet: Any
    ) -> State:
        """The state s of its numbers."""
        joints, x = self.drive.joints, {name: plain(part) for name, part in x.items()}
        q, v, tau, acceleration = map(plain, (q, v, tau, acceleration))
        numbers = {
            "t": x["steps"][0] * self.parts.period, "q": q, "v": v, "tau": tau, "acceleration": acceleration,
            "action": x["action"], "previous": x["previous"], "start": x["start"],
            "command": Command.of(x["command"], self.command_sizes),
            "joints": q[joints.q] - self.drive.home, "joint_rates": v[joints.v],
        }  # fmt: skip
        tables: dict[str, Callable[[State], Any]] = {
            "feet": lambda s: feet,
            "sensors": lambda s: {name: numbers_of(name, function, s) for name, function in self.parts.sensors.items()},
            "parameters": lambda s: self.randomization.split(x["own"]),
        }
        return State(model, numbers, tables)

    # ---- a reset

    def begun(self, seed: np.ndarray, count: Any, episode: Any, level: np.ndarray) -> tuple[dict[str, Any], Any]:
        """The memory of a new episode, and its observations by group."""
        x, s, stream = self.first(seed, count, episode, level)
        groups, kept = self.parts.observing.first(s, stream)
        return x | kept, groups

    def first(
        self, seed: np.ndarray, count: Any, episode: Any, level: np.ndarray
    ) -> tuple[dict[str, Any], State, Stream]:
        """The memory of a new episode apart from observations, its state and its stream."""
        stream, lasting = Stream.of(seed, count, episode), Stream.of(seed, count, LASTING)
        parts, n = self.parts, self.drive.size
        own = self.randomization.drawn(stream, lasting)
        system, values = self.physics.of_each(own)
        q, v = (np.array(x, object) for x in parts.start.drawn(stream))
        body = system.model.bodies[base_of(system.model)]
        if parts.terrain is not None:
            q[body.q.start : body.q.start + 3] = q[body.q.start : body.q.start + 3] + parts.terrain.origin(level)
        lag = values[DELAY][0] if DELAY in values else whole(*self.drive.delay, stream.uniforms("delay", 1)[0])
        command = [
            (lasting if c.when == "start" else stream).draw(f"command {k}", c.law) for k, c in parts.commands.items()
        ]
        base = q[body.q.start : body.q.start + 3] if body.joint.nv == 6 else np.zeros(3)
        x: dict[str, Any] = {
            "q": q, "e": self.physics.begun(system, q, v), "seed": seed, "number": count, "episode": episode,
            "stream": np.array([stream.a, stream.b], object), "steps": np.zeros(1), "action": np.zeros(n),
            "queue": np.zeros(self.most_late * n), "lag": lag, "own": own,
            "command": np.concatenate([np.zeros(0), *command]), "air": np.zeros(2 * len(parts.feet.names)),
            "touched": np.zeros(len(parts.feet.names)),
            "timers": np.array([each.after(stream, 0.0) for each in self.timers.values()], object),
            "terms": np.zeros(len(parts.rewards)), "over": 0.0, "start": base, "level": level,
        }  # fmt: skip
        none = np.zeros(3)
        feet = {name: Foot(none, 0.0, 0.0, 0.0, 0.0) for name in parts.feet.names}
        return x, self.state(system, None, q, x["e"], x | {"previous": np.zeros(n)}, feet), stream

    def nominal(self) -> State:
        """The state of the nominal start on floats, from which sizes follow."""
        return self.first(np.zeros(2), 0.0, 0.0, np.zeros(2))[1]

    def looked(self, x: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Observations by group of one environment that has just begun, from its memory on numbers."""
        n, names = self.drive.size, self.parts.feet.names
        system, _ = self.physics.of_each(x["own"])
        feet = {name: Foot(np.zeros(3), 0.0, 0.0, 0.0, 0.0) for name in names}
        s = self.state(system, None, x["q"], x["e"], {**x, "previous": np.zeros(n)}, feet)
        groups, _ = self.parts.observing.first(s, Stream(*x["stream"]))
        return {group: np.asarray(row, float) for group, row in groups.items()}

    # ---- a control step

    def stepped(self, x: Mapping[str, Any], action: np.ndarray) -> tuple[dict[str, Any], Any, dict[str, Any]]:
        """The memory after a control step, observations by group, and reward, flags and terms."""
        parts, drive = self.parts, self.drive
        stream, steps = Stream(*x["stream"]), x["steps"][0] + 1.0
        action = drive.bounded(action)
        x = dict(x) | self._happened(x, stream, x["steps"][0])
        acting, queue = self._late(action, x["queue"], x["lag"][0])
        moved = self.physics.moved(x["q"], x["e"], acting, x["own"])
        q, e, system = moved.q, moved.e, moved.system
        forces = parts.feet.forces(system, q, e, self.physics.step)
        feet, air, touched = self.feet_after(forces, x)
        after = x | {"q": q, "e": e, "steps": np.array([steps], object), "action": action, "queue": queue}
        after |= {"air": air, "touched": touched}
        s = self.state(system, moved, q, e, after | {"previous": x["action"]}, feet)
        terms = [weight * number(f"reward {n!r}", f, s) * parts.period for n, (weight, f) in parts.rewards.items()]
        ends = [condition(f"done {n!r}", f, s) for n, f in parts.ends.items()]
        groups, kept = parts.observing.next(s, stream, steps, x)
        size = sum((absolute(y) for y in (*q, *e)), 0.0)
        sound = size < HUGE
        ended = logical_or(sum(ends, 0.0 * size) > 0.5, size >= HUGE)
        ended = logical_or(ended, size != size)
        late = logical_and(steps >= float(parts.longest), where(ended, 0.0, 1.0) > 0.5) if parts.longest else None
        groups = {g: np.array([where(sound, y, 0.0) for y in row], object) for g, row in groups.items()}
        sums = np.array([t + where(sound, d, 0.0) for t, d in zip(x["terms"], terms, strict=True)], object)
        crowded = self.physics.crowded(x["e"], e)
        flags = [where(ended, 1.0, 0.0), 0.0 if late is None else where(late, 1.0, 0.0), where(sound, 0.0, 1.0)]
        flags += [0.0 if crowded is None else where(crowded, 1.0, 0.0), 0.0]
        results = {
            "reward": where(sound, sum(terms, 0.0 * size), 0.0), "terms": sums, "length": steps,
            "flags": np.array(flags, object), "ends": np.array([*ends], object),
        }  # fmt: skip
        over = flags[0] + flags[1] if late is not None else flags[0]
        return after | kept | {"terms": sums, "over": over}, groups, results

    def _happened(self, x: Mapping[str, Any], stream: Stream, now: Any) -> dict[str, Any]:
        """Changes at the beginning of a step, at random times: pushes, commands, parameters."""
        if not self.timers:
            return {}
        system = self.physics.system
        e, command, own, timers = x["e"], x["command"], x["own"], []
        for place, (name, timer) in zip(x["timers"], self.timers.items(), strict=True):
            now_due = now >= place
            timers.append(where(now_due, now + timer.after(stream, now + 1.0), place))
            kind, key = name.split(" ", 1)
            if kind == "push":
                model = system.model
                change = self.parts.events[int(key)].change(model, x["q"], stream, name, now)
                kicked = np.concatenate([change, np.zeros(len(e) - model.nv)])
                e = e + np.array([where(now_due, y, 0.0) for y in kicked], object)
            elif kind == "command":
                begin = sum(list(self.command_sizes.values())[: list(self.command_sizes).index(key)])
                fresh = stream.draw(name, self.parts.commands[key].law, now + 1.0)
                command = _replaced(command, begin, fresh, now_due)
            else:
                before = list(self.randomization.parameters)[: list(self.randomization.parameters).index(key)]
                begin = sum(self.randomization.parameters[each].size for each in before)
                own = _replaced(own, begin, self.randomization.parameters[key].drawn(stream, now + 1.0), now_due)
        return {"e": e, "command": command, "own": own, "timers": np.array(timers, object)}

    def _late(self, action: np.ndarray, queue: np.ndarray, lag: Any) -> tuple[np.ndarray, np.ndarray]:
        """The action that acts now, and the queue of older ones, newest first."""
        n, acting = self.drive.size, action
        if not self.most_late:
            return action, queue
        rows = queue.reshape(self.most_late, n)
        lag = floor(lag + 0.5)
        for k in range(self.most_late):
            acting = np.array([where(lag >= k + 0.5, r, a) for r, a in zip(rows[k], acting, strict=True)], object)
        return acting, np.concatenate([action, queue[:-n]])

    def feet_after(
        self, forces: Mapping[str, np.ndarray], x: Mapping[str, Any]
    ) -> tuple[dict[str, Foot], np.ndarray, np.ndarray]:
        """Feet after a step with these forces, their times in the air and on the ground, and whether they touch."""
        count, period = len(forces), self.parts.period
        air, ground = x["air"][:count], x["air"][count:]
        feet, airs, grounds, touched = {}, [], [], []
        for k, (name, force) in enumerate(forces.items()):
            pushes = force @ force > 0.0
            contact = where(pushes, 1.0, 0.0)
            landed = contact * (1.0 - x["touched"][k])
            aloft, stood = air[k] + period * (1.0 - contact), (ground[k] + period) * contact
            feet[name] = Foot(force, contact, aloft, stood, landed)
            airs.append(where(pushes, 0.0, aloft))
            grounds.append(stood)
            touched.append(contact)
        return feet, np.array([*airs, *grounds], object), np.array(touched, object)

    # ---- programs

    def again(self, x: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """A new episode of an environment; its level follows from how far it came."""
        number, episode = x["number"][0], x["episode"][0] + 1.0
        return self.begun(x["seed"], number, episode, self._level(x, number, episode))

    def _level(self, x: Mapping[str, Any], number: Any, episode: Any) -> np.ndarray:
        """(level, kind) of the terrain on which an episode takes place."""
        terrain = self.parts.terrain
        if terrain is None:
            return x["level"]
        stream, time = Stream.of(x["seed"], number, episode), x["steps"][0] * self.parts.period
        velocity = x["command"][:2] if self.command_sizes.get("velocity", 0) >= 2 else np.zeros(0)
        first = terrain.begun(number, stream)
        later = terrain.moved(x["level"], self._base(x["q"]) - x["start"], velocity, time, stream)
        return np.array([where(episode < 0.5, a, b) for a, b in zip(first, later, strict=True)], object)

    def _base(self, q: np.ndarray) -> np.ndarray:
        body = self.physics.system.model.bodies[base_of(self.physics.system.model)]
        return q[body.q.start : body.q.start + 3] if body.joint.nv == 6 else np.zeros(3)

    def shapes(self, mode: str | None) -> dict[str, tuple[int, ...]]:
        """Shapes of the results of the step, or with None of the reset."""
        groups = self.parts.observing.sizes
        shapes: dict[str, int] = {"x": self.layout.width} | {f"obs {g}": n for g, n in groups.items()}
        if mode is not None:
            shapes |= {"reward": 1, "flags": len(FLAGS), "terms": len(self.parts.rewards), "length": 1}
            shapes |= {"ends": len(self.parts.ends)}
        if mode == SAME_STEP:
            shapes |= {f"final {g}": n for g, n in groups.items()}
        return {name: (size,) for name, size in shapes.items() if size}

    def step(self, mode: str) -> Function:
        """The traced step with a way to go on after an episode."""
        shapes = self.shapes(mode)

        def compute(action: np.ndarray, x: np.ndarray) -> dict[str, Any]:
            parts = self.layout.named(x)
            if mode == NEXT_STEP:
                action = np.array([where(parts["over"][0] > 0.5, 0.0, a) for a in action], object)
            after, groups, results = self.stepped(parts, action)
            out = _named(results) | {"x": self.layout.row(**after)} | {f"obs {g}": y for g, y in groups.items()}
            if mode == SAME_STEP:
                done = after["over"] > 0.5
                fresh = branch(done, lambda: self._fresh(after), {n: out[n] for n in self._begun_names})
                out |= fresh | {f"final {g}": y for g, y in groups.items()}
            elif mode == NEXT_STEP:
                names = [*out]
                began = np.zeros(len(FLAGS))
                began[FLAGS.index("began")] = 1.0
                silent = {n: np.zeros(len(out[n])) for n in names if n not in self._begun_names} | {"flags": began}
                out = branch(parts["over"][0] > 0.5, lambda: self._fresh(parts) | silent, out)
            return {name: out[name] for name in shapes}

        return trace(compute, {"action": self.drive.size, "x": self.layout.width}, "environment")

    def reset(self) -> Function:
        """The traced reset of those environments whose mask is not 0."""

        def compute(x: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
            fresh = self._fresh(self.layout.named(x))
            kept = {"x": x} | {f"obs {g}": np.zeros(n) for g, n in self.parts.observing.sizes.items()}
            out = branch(mask[0] > 0.5, lambda: fresh, kept)
            return {name: out[name] for name in self.shapes(None)}

        return trace(compute, {"x": self.layout.width, "mask": 1}, "environment reset")

    @property
    def _begun_names(self) -> list[str]:
        return ["x", *(f"obs {g}" for g in self.parts.observing.groups)]

    def _fresh(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        x, groups = self.again(parts)
        return {"x": self.layout.row(**x)} | {f"obs {g}": y for g, y in groups.items()}


def _named(results: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.atleast_1d(np.asarray(x, object)) for name, x in results.items()}


def _replaced(values: np.ndarray, begin: int, fresh: np.ndarray, now: Any) -> np.ndarray:
    """Values with fresh ones from a place on where a condition holds."""
    out = np.array(values, object)
    for k, y in enumerate(fresh):
        out[begin + k] = where(now, y, out[begin + k])
    return out


def _length(law: Distribution) -> int:
    return 1 if law.size is None else law.size


def plain(x: Any) -> Any:
    """An array of Python's floats as one of NumPy's; traced ones as they are."""
    if isinstance(x, np.ndarray) and x.dtype == object and not any(hasattr(y, "__traced__") for y in x.ravel()):
        return x.astype(float)
    return x


def numbers_of(name: str, function: Callable[[State], Any], s: State) -> np.ndarray:
    """Reading of a sensor (n,)."""
    return numbers(f"sensor {name!r}", function, s)
