"""`Environment`: a robot, what it may do, what it observes, what is rewarded, and what differs between episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.contact.contact import FILE
from dalembert.errors import DalembertError, is_number, unknown, whole_number
from dalembert.robot import Robot

from .actions import JointTargets, Torques
from .calling import condition, number, numbers
from .draws import Draw, as_draw
from .events import checked
from .explain import Explanation, explained
from .feet import Feet
from .observing import Observing
from .physics import Physics
from .randomization import DELAY, Drawn, Randomization
from .sensors import bound
from .starts import Start
from .state import State
from .stepping import Parts, Stepping
from .terrains import Terrains

Function = Callable[[State], Any]


class Environment:
    """An environment for reinforcement learning, compiled whole: physics, observations, rewards, resets.

    robot, contact: what moves and what it touches. step [s], substeps: of the physics; a control step is substeps ·
    step long. action: `JointTargets` or `Torques`. sensors: by name, such as `height_scan(points)`. feet: names of
    bodies whose contact forces `s.feet` has. observe: functions of the state `s` by name, also in groups; reward: by
    name (weight per second, function); done: by name, functions that end the episode; command: distributions by name.
    reset: where episodes begin: q, (q, v), a keyframe's name, `states(…)`, or a function of random numbers; default the
    first keyframe, else neutral, lifted until its lowest shape touches the ground. randomize: parameters by name, drawn
    for each episode. events: pushes. terrain: `terrains(…)`. episode [s]: after which it is truncated; None: never.
    integrator: of the physics, as of `Robot.rollout`. Functions are traced: arithmetic, `dalembert.math`, the robot's
    methods.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        contact: Contact | None = None,
        step: float = 0.002,
        substeps: int = 10,
        action: JointTargets | Torques | None = None,
        sensors: Mapping[str, Any] | None = None,
        feet: Sequence[str] = (),
        observe: Mapping[str, Any],
        reward: Mapping[str, Any],
        done: Mapping[str, Function] | None = None,
        command: Mapping[str, Any] | None = None,
        reset: Any = None,
        randomize: Mapping[str, Any] | None = None,
        events: Sequence[Any] = (),
        terrain: Terrains | None = None,
        episode: float | None = 20.0,
        integrator: Any = None,
    ) -> None:
        if not isinstance(robot, Robot):
            raise DalembertError(f"Environment: robot is of type {type(robot).__name__}, expected a Robot")
        if contact is not None and not isinstance(contact, Contact):
            raise DalembertError(f"Environment: contact is {contact!r}, expected a dalembert.Contact")
        if action is None:
            action = JointTargets()
        if not isinstance(action, (JointTargets, Torques)):
            raise DalembertError(f"Environment: action is {action!r}, expected learn.JointTargets or learn.Torques")
        if not robot.nv:
            raise DalembertError(f"Environment: robot {robot.name!r} has no joint that moves")
        self._settings = {
            "contact": contact, "step": step, "substeps": substeps, "action": action, "sensors": sensors, "feet": feet,
            "observe": observe, "reward": reward, "done": done, "command": command, "reset": reset,
            "randomize": randomize, "events": events, "terrain": terrain, "episode": episode, "integrator": integrator,
        }  # fmt: skip
        self.robot, self.action, self.terrain = robot, action, terrain
        self.contact = _on_terrain(contact, terrain)
        self.step, self.substeps = _time("step", step), whole_number("Environment: substeps", substeps)
        self.period = self.step * self.substeps
        self.episode = None if episode is None else _time("episode", episode)
        self.steps = 0 if episode is None else max(1, round(self.episode / self.period))  # type: ignore[operator]
        self.start = Start(robot, self.contact, reset)
        self.drive = action.drive(robot, self.start.q)
        self.drive.check(robot.model, self.start.q, self.step)
        self.rewards, self.done = _rewards(reward), _functions("done", done or {})
        self.commands = {str(n): _command(str(n), x) for n, x in dict(command or {}).items()}
        self.drawn = Randomization(robot.model, self.contact, self.drive, randomize)
        self.observing = Observing(observe)
        self.sensors = bound("Environment", sensors, robot, self.contact)
        self.events = checked(robot.model, events)
        self._feet = feet
        self._bind()

    @cached_property
    def stepping(self) -> Stepping:
        """The traced step."""
        return self.grown(1)

    def grown(self, growth: int) -> Stepping:
        """The traced step with room for more contacts."""
        physics = Physics(
            self.robot,
            self.contact,
            self.step,
            self.substeps,
            self._settings["integrator"],
            self.drive,
            self.drawn,
            growth,
        )
        feet = Feet(physics.system, self._feet)
        parts = self.start, self.observing, self.sensors, feet, self.rewards, self.done, self.commands, self.events
        return Stepping(Parts(physics, *parts, self.terrain, self.period, self.steps))

    def _bind(self) -> None:
        """Evaluate all functions once at the start, on numbers: sizes, and errors before anything is compiled."""
        s = self.stepping.nominal()
        sizes = {
            (group, name): len(numbers(f"observe {name!r}", each.function, s))
            for group, entries in self.observing.groups.items()
            for name, each in entries.items()
        }
        self.observing.bind(sizes)
        for name, (_, function) in self.rewards.items():
            number(f"reward {name!r}", function, s)
        for name, function in self.done.items():
            condition(f"done {name!r}", function, s)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that the action drives, in its order."""
        return self.drive.names

    @property
    def gains(self) -> tuple[np.ndarray, np.ndarray] | None:
        """kp and kd (n,) of the servos; None: actions are torques."""
        return None if self.drive.kp is None else (self.drive.kp, self.drive.kd)

    def replace(self, **changes: Any) -> Environment:
        """The same environment with some arguments changed: env.replace(randomize=None, events=())."""
        for name in changes:
            if name not in (*self._settings, "robot"):
                raise unknown("argument", name, self._settings, "replace")
        robot = changes.pop("robot", self.robot)
        return Environment(robot, **(self._settings | changes))

    def vector(
        self,
        n: int,
        *,
        seed: int = 0,
        first: int = 0,
        autoreset: str = "next_step",
        arrays: str = "numpy",
        device: Any = None,
        threads: int | None = None,
        dtype: Any = None,
        unsound: str = "raise",
    ) -> Any:
        """n environments that step together: a `gymnasium.vector.VectorEnv`.

        Random numbers of environment k depend on seed and first + k alone. autoreset: "next_step": an environment that
        is done begins anew in the next step, whose action is ignored; "same_step": at once, the last observation is in
        info["final_obs"]; "disabled": by reset(options={"reset_mask": mask}). arrays: "numpy", "torch" or "jax", in
        which observations and rewards come. device: "cuda" with arrays="torch" steps on the card, in float64. threads:
        at most; default all processors. dtype: of observations, default float64 of NumPy, float32 of the others.
        unsound: an action or a state that is no number
        raises an error that names the environment and the step ("raise"), or ends its episode ("terminate").
        """
        from .vector import vector

        return vector(self, n, seed, first, autoreset, arrays, device, threads, dtype, unsound)

    def single(self, *, seed: int = 0, dtype: Any = None, unsound: str = "raise") -> Any:
        """One environment: a `gymnasium.Env`."""
        from .single import single

        return single(self, seed, dtype, unsound)

    def explain(self, obs: Any = None) -> Explanation:
        """Which number of an observation is what, with unit, scale, noise, delay and age; obs: beside its values."""
        return explained(self, obs)

    def randomization(self) -> list[Drawn]:
        """Random quantities, nominal values, distributions: parameters, the delay of actions, commands, pushes."""
        lines = self.drawn.table()
        fewest, most = self.drive.delay
        if most > fewest and DELAY not in self.drawn.parameters:
            each = f"whole control steps from {fewest} to {most}, at each reset"
            lines.append(Drawn(DELAY, np.array([float(fewest)]), each, 1))
        for name, draw in self.commands.items():
            lines.append(Drawn(f"command {name}", np.zeros(draw.law.size or 1), str(draw), draw.law.size or 1))
        for k, event in enumerate(self.events):
            text = f"{event.speed[0]:g} to {event.speed[1]:g} m/s every {event.every[0]:g} to {event.every[1]:g} s"
            lines.append(Drawn(f"push {k}", np.zeros(1), text, 1))
        return lines

    def __repr__(self) -> str:
        sizes = ", ".join(f"{group} {size}" for group, size in self.observing.sizes.items())
        return (
            f"<Environment of robot {self.robot.name!r}: {self.drive.size} actions, {sizes} at {1 / self.period:g} Hz>"
        )


def _on_terrain(contact: Contact | None, terrain: Any) -> Contact | None:
    """The contact with the field of the terrain as its ground."""
    if terrain is None:
        return contact
    if not isinstance(terrain, Terrains):
        raise DalembertError(f"Environment: terrain is {terrain!r}, expected learn.terrains(rough=0.1, …)")
    if contact is None:
        raise DalembertError("Environment: terrain needs contact=Contact(…)")
    if contact.terrain is not None or contact.ground not in (FILE, None, 0.0):
        raise DalembertError("Environment: terrain and the ground of contact are both given, expected one of them")
    return replace(contact, ground=FILE, terrain=terrain.field)


def _time(name: str, value: Any) -> float:
    if not is_number(value) or not 0.0 < value < np.inf:
        raise DalembertError(f"Environment: {name} is {value!r}, expected a time above 0 [s]")
    return float(value)


def _functions(word: str, table: Any) -> dict[str, Function]:
    if not isinstance(table, Mapping) or not all(callable(x) for x in table.values()):
        raise DalembertError(f"Environment: {word} is {table!r}, expected a dict of functions of the state s by name")
    return {str(name): function for name, function in table.items()}


def _rewards(table: Any) -> dict[str, tuple[float, Function]]:
    """Weights and functions by name."""
    if not isinstance(table, Mapping) or not table:
        raise DalembertError(f"Environment: reward is {table!r}, expected a dict such as {{'track': (1.0, function)}}")
    out = {}
    for name, item in table.items():
        pair = (1.0, item) if callable(item) else item
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and is_number(pair[0]) and callable(pair[1])):
            raise DalembertError(
                f"Environment: reward {name!r} is {item!r}, expected (weight, function of the state s)"
            )
        if not np.isfinite(pair[0]):
            raise DalembertError(f"Environment: reward {name!r} has the weight {pair[0]!r}, expected a finite number")
        out[str(name)] = (float(pair[0]), pair[1])
    return out


def _command(name: str, x: Any) -> Draw:
    draw = as_draw(f"Environment: command: {name}", x)
    if draw.kind != "set":
        raise DalembertError(f"Environment: command: {name}: {draw.kind} has nothing to refer to: use learn.uniform(…)")
    return draw
