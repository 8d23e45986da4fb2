"""What a quantity is: its inputs, its shape and the algorithm behind it.

An algorithm sees one robot and one state. Options (frame, axes, loads) choose the code; numbers are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.algorithms import Load, body_loads
from dalembert.errors import unknown
from dalembert.model import Frame, Model

from .live import GROUPS


class LoadPlace(NamedTuple):
    """Where an external wrench acts: frame and axes ("frame", "world" or a frame) by name."""

    frame: str
    axes: str


METHOD = "newton-euler"  # unless another one is asked for
LOAD = ("torque", "force", "point")  # numbers of a wrench, three each


@dataclass(frozen=True)
class Options:
    """What chooses the code of a quantity beside the robot."""

    frame: str | None = None
    axes: str = "world"
    point: bool = False  # whether the point is an input or the frame's origin
    loads: tuple[LoadPlace, ...] = ()
    method: str = METHOD
    others: tuple[str, ...] = ()  # further frames, whose rows come below those of `frame`
    rows: tuple[int, ...] | None = None  # of all frames' rows, those that make the task; None: all
    joints: tuple[str, ...] = ()  # joints whose acceleration is known
    live: tuple[str, ...] = ()  # groups of the model's constants that are inputs, last


class Inputs(NamedTuple):
    """Sizes of what a quantity can take."""

    q: int
    v: int

    def size(self, name: str) -> int:
        sizes = {"q": self.q, "q0": self.q, "q1": self.q, "s": 1, "dt": 1, "point": 3, "task_damping": 1, "target": 12}
        return sizes.get(name, self.v)


@dataclass(frozen=True)
class Quantity:
    """A named result: `compute(model, options, *inputs)` gives an array of `shape(model, options)`."""

    inputs: tuple[str, ...]
    shape: Callable[[Model, Options], tuple[int, ...]]
    compute: Callable[..., Any]
    normalized: bool = True  # whether quaternions of its q must have unit length
    framed: bool = False  # whether it is of a frame
    loaded: bool = False  # whether external wrenches change it
    usual: Options = Options()  # what a call without keywords means
    refuses: Callable[[Model], str | None] = lambda model: None  # why a model cannot have it, in words
    methods: Mapping[str, Callable[..., Any]] = field(default_factory=dict)  # other ways to the same result

    def way(self, method: str) -> Callable[..., Any]:
        """The `compute` of a method by name."""
        ways = {METHOD: self.compute, **self.methods}
        if method not in ways:
            raise unknown("method", method, ways)
        return ways[method]

    def arguments(self, model: Model, options: Options) -> dict[str, int]:
        """Input name → size, in the order of the call."""
        sizes = Inputs(model.nq, model.nv)
        names = [*self.inputs, *(["point"] if options.point else [])]
        loads = [f"external[{k}].{field}" for k in range(len(options.loads)) for field in LOAD]
        live = {name: len(GROUPS[name].values(model)) for name in options.live}
        return {name: sizes.size(name) for name in names} | dict.fromkeys(loads, 3) | live

    def evaluate(self, model: Model, options: Options, *inputs: np.ndarray) -> Any:
        """The result for one state; live groups are the last inputs and take the place of the model's constants."""
        count = len(inputs) - len(options.live)
        for name, x in zip(options.live, inputs[count:], strict=True):
            model = GROUPS[name].put(model, x)
        return self.way(options.method)(model, options, *inputs[:count])


def loaded(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """An algorithm with external wrenches: three inputs each, torque, force, point."""

    def compute(model: Model, options: Options, q: np.ndarray, *rest: np.ndarray) -> Any:
        if not options.loads:
            return algorithm(model, q, *rest)
        count = len(rest) - len(LOAD) * len(options.loads)
        return algorithm(model, q, *rest[:count], external=external_loads(model, options, q, rest[count:]))

    return compute


def external_loads(
    model: Model, options: Options, q: np.ndarray, numbers: Iterable[np.ndarray]
) -> dict[int, np.ndarray]:
    """Body index → wrench of the external loads, from their numbers: torque, force, point of each."""
    given = iter(numbers)
    loads = []
    for place in options.loads:
        axes = place.axes if place.axes in ("frame", "world") else model.frame(place.axes)
        loads.append(Load(model.frame(place.frame), next(given), next(given), next(given), axes))  # type: ignore[arg-type]
    return body_loads(model, q, loads)


def framed(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """An algorithm on a point of a frame, along stated axes."""

    def compute(model: Model, options: Options, *inputs: np.ndarray) -> Any:
        *state, point = inputs if options.point else (*inputs, np.zeros(3))
        axes: str | Frame = options.axes if options.axes in ("world", "body") else model.frame(options.axes)
        return algorithm(model, *state, model.frame(options.frame or ""), point, axes)

    return compute


def open_tree(model: Model) -> str | None:
    """Why a model with loops cannot have a quantity that follows from forces on the tree alone."""
    if not model.closures:
        return None
    names = ", ".join(repr(closure.name) for closure in model.closures)
    return (
        f"robot {model.name!r} has loops, closed by {names}, which only simulate, rollout, loop_dynamics and "
        "loop_inverse_dynamics take into account; robot.without('loops') is the tree alone"
    )


def plain(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    return lambda model, options, *inputs: algorithm(model, *inputs)


def configuration(model: Model, options: Options) -> tuple[int, ...]:
    return (model.nq,)


def generalized(model: Model, options: Options) -> tuple[int, ...]:
    return (model.nv,)


def square(model: Model, options: Options) -> tuple[int, ...]:
    return (model.nv, model.nv)


def fixed(*shape: int) -> Callable[[Model, Options], tuple[int, ...]]:
    return lambda model, options: shape
