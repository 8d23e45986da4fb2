"""Studies of motions: all rows in SIMD lanes of one compiled rollout."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError, unknown
from dalembert.model import tool_frame
from dalembert.quantities.live import GROUPS, SHAPES
from dalembert.robot import Robot
from dalembert.sim.elements import Element
from dalembert.sim.failure import FASTEST, sound
from dalembert.sim.rollout.live import ALONE, CONTACT_FRICTION, PAYLOAD, check_values, size_of
from dalembert.sim.rollout.rollout import rollout
from dalembert.sim.rollout.tallies import STATE, Tallies, Tally
from dalembert.sim.run.run import Run
from dalembert.sim.settings import Settings
from dalembert.sim.system.sampled import Sampled
from dalembert.study.distributions.model_errors import ModelErrors
from dalembert.study.distributions.space import MODEL, START, Space
from dalembert.study.distributions.states import States

from .rows import Chunked

DIVERGED = "diverged: the motion is no longer one of numbers"


@dataclass(frozen=True, eq=False)
class Motion(Chunked):
    """Motions that `motion` describes; called for chunks of rows, never for one."""

    torque: Any
    controls: Any
    step: float
    steps: int
    integrator: Any
    contact: Contact | None
    elements: tuple[Element, ...]
    friction: str | None
    parameters: dict[str, str]
    measures: tuple[Tally, ...]
    start: tuple[tuple[float, ...], tuple[float, ...]] | None
    _tallies: dict[Any, Tallies] = field(default_factory=dict, repr=False)

    kind: ClassVar[str] = "motion"
    how: ClassVar[str] = "all rows in one compiled rollout"

    def __reduce__(self) -> tuple[Any, ...]:  # compiled code stays here
        values = (self.torque, self.controls, self.step, self.steps, self.integrator, self.contact, self.elements)
        return Motion, (*values, self.friction, self.parameters, self.measures, self.start)

    def determinants(self) -> tuple[Any, ...]:
        """Everything that its results depend on (see `execute.identity`)."""
        return self.__reduce__()[1]

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the outputs."""
        return tuple(measure.name for measure in self.measures)

    @property
    def law_arguments(self) -> tuple[str, ...]:
        """Arguments of the law beside the state, but for names of live groups, which are the model's."""
        law = self.torque if self.torque is not None else self.controls
        own: set[str] = set()  # that a controller fills itself: its state, answers of others
        while hasattr(law, "law"):
            own |= {*getattr(law, "inputs", ()), "state"} if isinstance(law, Sampled) else set()
            law = law.law
        parameters = tuple(inspect.signature(law).parameters.values())[3:] if callable(law) else ()
        named = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
        return tuple(name for name in named if name not in (*GROUPS, CONTACT_FRICTION, *own))

    def check(self, robot: Robot, space: Space) -> None:
        """Refuse names that nothing has, and axes that nothing takes."""
        errors = space.axes.get(MODEL)
        varied = errors.groups if isinstance(errors, ModelErrors) else ()
        for live, axis in self.parameters.items():
            space.check_name(axis, f"study.motion: parameters[{live!r}]")
            if axis in (MODEL, START):
                raise DalembertError(
                    f"study.motion: parameters[{live!r}] is {axis!r}, which acts by itself: leave it out"
                )
            if live not in (*GROUPS, *ALONE, *self.law_arguments):
                known = (*GROUPS, *ALONE, *self.law_arguments)
                raise unknown("parameter", live, known, "study.motion")
            if live in varied:
                raise DalembertError(f"study.motion: {live} is given twice: by axis 'model' and by parameters")
        idle = [name for name in space.axes if name not in (*self.parameters.values(), MODEL, START)]
        if idle:
            raise DalembertError(
                f"study.motion: axis {idle[0]!r} is used by nothing: name what it sets, as in "
                f"parameters={{'payload': {idle[0]!r}}}, one of {', '.join((*ALONE, *GROUPS, *self.law_arguments))}"
            )

    def states(self, robot: Robot, space: Space, values: Mapping[str, np.ndarray], n: int) -> list[np.ndarray]:
        """q (n, nq), v (n, nv) at the beginning; q (nq,), v (nv,) where all rows begin alike."""
        if START in space.axes:
            axis = space.axes[START]
            assert isinstance(axis, States)
            return list(axis.states(robot, values[START]))
        first = robot.home() if self.start is None else self.start
        return [np.asarray(x, float) for x in first]

    def live(self, robot: Robot, space: Space, values: Mapping[str, np.ndarray], n: int) -> dict[str, np.ndarray]:
        """Live parameters and arguments of the law (n, k), as `rollout` takes them."""
        named: dict[str, np.ndarray] = {}
        if MODEL in space.axes:
            axis = space.axes[MODEL]
            assert isinstance(axis, ModelErrors)
            named |= axis.live(robot.model, values[MODEL])
        for live, axis_name in self.parameters.items():
            x = values[axis_name].reshape(n, -1)
            if x.dtype.kind not in "biuf":
                raise DalembertError(f"study.motion: axis {axis_name!r} is of texts, expected numbers for {live!r}")
            if live in GROUPS:
                x = _of_size(live, axis_name, x, size_of(robot.model, live))
            named[live] = np.ascontiguousarray(x, float)
        return named

    def chunk(
        self, robot: Robot, space: Space, values: Mapping[str, np.ndarray], n: int
    ) -> tuple[dict[str, np.ndarray], dict[int, str]]:
        """Outputs (n, …) of n rows, and why some of them failed: impossible values, or motions that diverged."""
        if n == 1:  # a motion alone has code of its own, and other bits
            twice = {name: np.concatenate([x, x]) for name, x in values.items()}
            outputs, failed = self.chunk(robot, space, twice, 2)
            return {name: x[:1] for name, x in outputs.items()}, {k: text for k, text in failed.items() if k == 0}
        q, v = self.states(robot, space, values, n)
        live = self.live(robot, space, values, n)
        result = rollout(robot.model, q, v, self.settings(live), threads=1, check=False)
        slow = np.abs(result.v).max(initial=0.0) <= FASTEST and np.isfinite(result.q.sum())  # nearly always
        diverged = np.empty(0, int) if slow else np.flatnonzero(~sound(result.q, result.v, robot.nv))
        failed = dict.fromkeys(map(int, diverged), DIVERGED) | self._impossible(robot, live, n)
        law = {name: x for name, x in live.items() if name in self.law_arguments}
        tallies = self.tallies(robot, {name: x.shape[-1] for name, x in law.items()})
        outputs = tallies.finished(self.steps * self.step, result.q, result.v, law, result.tallies, self.steps)
        return outputs, failed

    def _impossible(self, robot: Robot, live: Mapping[str, np.ndarray], n: int) -> dict[int, str]:
        """Rows whose live values no robot can have, and why."""
        own = {name: x for name, x in live.items() if name not in self.law_arguments}

        def wrong(values: Mapping[str, np.ndarray]) -> str:
            try:
                check_values(robot.model, values, "impossible")
            except DalembertError as error:
                return str(error).partition(", or check=False")[0]
            return ""

        reasons = {k: wrong({name: x[k] for name, x in own.items()}) for k in range(n if wrong(own) else 0)}
        return {k: text for k, text in reasons.items() if text}

    def settings(self, live: Mapping[str, np.ndarray]) -> Settings:
        """The settings of the rollout."""
        return Settings(
            torque=self.torque,
            controls=self.controls,
            step=self.step,
            steps=self.steps,
            integrator=self.integrator,
            contact=self.contact,
            elements=self.elements,
            friction=self.friction,
            parameters=live,
            tallies=self.measures,
        )

    def tallies(self, robot: Robot, law_sizes: Mapping[str, int]) -> Tallies:
        """Measures for one robot."""
        key = robot.model.fingerprint, tuple(law_sizes.items())
        if key not in self._tallies:
            count = robot.nv if self.controls is None else len(robot.actuators)
            sizes = dict(zip(STATE, (1, robot.nq, robot.nv, count), strict=True)) | dict(law_sizes)
            self._tallies[key] = Tallies(robot.model, self.measures, sizes)
        return self._tallies[key]

    def repeated(self, robot: Robot, space: Space, values: Mapping[str, np.ndarray]) -> Run:
        """The whole run of one row, values (1, …), with its ledger."""
        (q,), (v,) = self.states(robot, space, values, 1)
        live = {name: x[0] for name, x in self.live(robot, space, values, 1).items()}
        law_arguments = {name: x for name, x in live.items() if name in self.law_arguments}
        model, contact = robot.model, self.contact
        for name, x in live.items():
            if name in GROUPS:
                model = model.with_parameters(x) if name == "inertia" else GROUPS[name].put(model, x.copy())
            elif name == CONTACT_FRICTION and contact is not None:
                contact = replace(contact, friction=float(x[0]))
        own = Robot(model)
        if PAYLOAD in live and PAYLOAD not in law_arguments and live[PAYLOAD][0] > 0.0:
            own = own.edit().payload(float(live[PAYLOAD][0]), frame=tool_frame(model).name).done()
        law: dict[str, Any] = {"torque": self.torque, "controls": self.controls}
        for word, driving in law.items():
            if law_arguments and callable(driving):
                law[word] = partial(driving, **law_arguments)
        options: dict[str, Any] = {"elements": self.elements, "contact": contact}
        able = self.settings({}).method("repeat", model).impulsive and "friction" not in live
        options["friction"] = self.friction or ("dry" if able else "smooth")
        if contact is None:
            options["integrator"] = self.integrator or "semi-implicit"
        return own.simulate(q, v, self.steps * self.step, step=self.step, record=None, **law, **options)


def motion(
    torque: Any = None,
    *,
    step: float = 1e-3,
    steps: int = 1000,
    measure: Mapping[str, Callable[..., Any]],
    reduce: str | Mapping[str, str] = "max",
    parameters: Mapping[str, str] | None = None,
    contact: Contact | None = None,
    integrator: Any = None,
    elements: Sequence[Element] = (),
    friction: str | None = None,
    controls: Any = None,
    start: Any = None,
) -> Motion:
    """A study's function whose rows run together, in SIMD lanes of one compiled rollout.

    torque, step [s], steps, contact, integrator, elements, friction, controls: as of `robot.rollout`; a law must be one
    that can be traced. parameters: left a live parameter of the model ("payload" [kg] at the tool, "contact_friction",
    "inertia", "friction", …) or an argument of the law, right an axis; one number per row fills a group of joints.
    measure: by name, functions of some of t, q, v, tau and of arguments of the law, by these names, that return a
    number or an array; traced too. reduce: "max", "min", "mean", "rms", "last" over the motion, one for all or by name.
    start: (q, v), default `robot.home()`, where the space has no axis `start`.
    """
    if not isinstance(measure, Mapping) or not measure:
        raise DalembertError("study.motion: measure is empty: name at least one, as in measure={'peak': lambda tau: …}")
    named = reduce if isinstance(reduce, Mapping) else dict.fromkeys(measure, reduce)
    for name in named:
        if name not in measure:
            raise unknown("measure", name, measure, "study.motion: reduce")
    tallies = tuple(Tally(name, function, named.get(name, "max")) for name, function in measure.items())
    given = dict(parameters or {})
    begin = None if start is None else tuple(tuple(np.asarray(x, float).tolist()) for x in start)
    if begin is not None and len(begin) != 2:
        raise DalembertError(f"study.motion: start has {len(begin)} parts, expected (q, v)")
    described = Motion(
        torque,
        controls,
        float(step),
        int(steps),
        integrator,
        contact,
        tuple(elements),
        friction,
        given,
        tallies,
        begin,
    )
    described.settings({}).check_rollout()
    return described


def _of_size(live: str, axis: str, x: np.ndarray, size: int) -> np.ndarray:
    """Numbers (n, size) of a group; one per row fills the groups of joints."""
    if x.shape[1] == size:
        return x
    if x.shape[1] == 1 and live not in ("inertia", "placement", "gravity", *SHAPES):
        return np.broadcast_to(x, (len(x), size))
    raise DalembertError(f"study.motion: axis {axis!r} has {x.shape[1]} numbers, but {live!r} takes {size}")
