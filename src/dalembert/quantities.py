"""The catalogue: every quantity that can be compiled, with its inputs, its shape and the algorithm behind it.

An algorithm sees one robot and one state. Options (frame, axes, loads) choose the code; numbers are inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from . import algorithms
from .algorithms import Load, body_loads
from .model import Frame, Model


class LoadPlace(NamedTuple):
    """Where an external wrench acts: frame and axes ("frame", "world" or a frame) by name."""

    frame: str
    axes: str


@dataclass(frozen=True)
class Options:
    """What chooses the code of a quantity beside the robot."""

    frame: str | None = None
    axes: str = "world"
    point: bool = False  # whether the point is an input or the frame's origin
    loads: tuple[LoadPlace, ...] = ()


class Inputs(NamedTuple):
    """Sizes of what a quantity can take."""

    q: int
    v: int

    def size(self, name: str, options: Options) -> int:
        sizes = {
            "q": self.q,
            "q0": self.q,
            "q1": self.q,
            "s": 1,
            "dt": 1,
            "point": 3,
            "external": 9 * len(options.loads),
        }
        return sizes.get(name, self.v)


@dataclass(frozen=True)
class Quantity:
    """A named result: `compute(model, options, *inputs)` gives an array of `shape(model)`."""

    inputs: tuple[str, ...]
    shape: Callable[[Model], tuple[int, ...]]
    compute: Callable[..., Any]
    normalized: bool = field(default=True)  # whether quaternions of its q must have unit length

    def arguments(self, model: Model, options: Options) -> dict[str, int]:
        """Input name → size, in the order of the call."""
        names = [*self.inputs, *(["point"] if options.point else []), *(["external"] if options.loads else [])]
        sizes = Inputs(model.nq, model.nv)
        return {name: sizes.size(name, options) for name in names}


def _loaded(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """An algorithm with external wrenches: nine numbers each, torque, force, point."""

    def compute(model: Model, options: Options, q: np.ndarray, *rest: np.ndarray) -> Any:
        if not options.loads:
            return algorithm(model, q, *rest)
        *others, numbers = rest
        loads = []
        for place, x in zip(options.loads, numbers.reshape(-1, 9), strict=True):
            axes = place.axes if place.axes in ("frame", "world") else model.frame(place.axes)
            loads.append(Load(model.frame(place.frame), x[:3], x[3:6], x[6:], axes))  # type: ignore[arg-type]
        return algorithm(model, q, *others, external=body_loads(model, q, loads))

    return compute


def _framed(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """An algorithm on a point of a frame, along stated axes."""

    def compute(model: Model, options: Options, *inputs: np.ndarray) -> Any:
        *state, point = inputs if options.point else (*inputs, np.zeros(3))
        axes: str | Frame = options.axes if options.axes in ("world", "body") else model.frame(options.axes)
        return algorithm(model, *state, model.frame(options.frame or ""), point, axes)

    return compute


def _plain(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    return lambda model, options, *inputs: algorithm(model, *inputs)


def _poses(model: Model, options: Options, q: np.ndarray) -> np.ndarray:
    X = algorithms.poses(model, q)
    return np.array([(X[frame.body] @ frame.placement).matrix() for frame in model.frames])


def _pose(model: Model, options: Options, q: np.ndarray) -> np.ndarray:
    return algorithms.frame_pose(model, q, model.frame(options.frame or "")).matrix()


def _integrate(model: Model, options: Options, q: np.ndarray, v: np.ndarray, dt: np.ndarray) -> np.ndarray:
    return algorithms.integrate(model, q, v * dt[0])


def _interpolate(model: Model, options: Options, q0: np.ndarray, q1: np.ndarray, s: np.ndarray) -> np.ndarray:
    return algorithms.interpolate(model, q0, q1, s[0])


def _configuration(model: Model) -> tuple[int, ...]:
    return (model.nq,)


def _generalized(model: Model) -> tuple[int, ...]:
    return (model.nv,)


def _square(model: Model) -> tuple[int, ...]:
    return (model.nv, model.nv)


def _fixed(*shape: int) -> Callable[[Model], tuple[int, ...]]:
    return lambda model: shape


CATALOGUE: dict[str, Quantity] = {
    "inverse_dynamics": Quantity(("q", "v", "a"), _generalized, _loaded(algorithms.rnea)),
    "forward_dynamics": Quantity(("q", "v", "tau"), _generalized, _loaded(algorithms.aba)),
    "mass_matrix": Quantity(("q",), _square, _plain(algorithms.mass_matrix)),
    "inverse_mass_matrix": Quantity(("q",), _square, _plain(algorithms.inverse_mass_matrix)),
    "bias": Quantity(("q", "v"), _generalized, _loaded(algorithms.bias)),
    "gravity": Quantity(("q",), _generalized, _plain(algorithms.gravity)),
    "kinetic_energy": Quantity(("q", "v"), _fixed(), _plain(algorithms.kinetic_energy)),
    "potential_energy": Quantity(("q",), _fixed(), _plain(algorithms.potential_energy)),
    "energy": Quantity(("q", "v"), _fixed(), _plain(algorithms.energy)),
    "pose": Quantity(("q",), _fixed(4, 4), _pose),
    "poses": Quantity(("q",), lambda model: (len(model.frames), 4, 4), _poses),
    "velocity": Quantity(("q", "v"), _fixed(6), _framed(algorithms.velocity)),
    "acceleration": Quantity(("q", "v", "a"), _fixed(6), _framed(algorithms.acceleration)),
    "jacobian": Quantity(("q",), lambda model: (6, model.nv), _framed(algorithms.jacobian)),
    "jacobian_rate": Quantity(("q", "v"), lambda model: (6, model.nv), _framed(algorithms.jacobian_rate)),
    "center_of_mass": Quantity(("q",), _fixed(3), _plain(algorithms.center_of_mass)),
    "integrate": Quantity(("q", "v", "dt"), _configuration, _integrate),
    "difference": Quantity(("q0", "q1"), _generalized, _plain(algorithms.difference)),
    "interpolate": Quantity(("q0", "q1", "s"), _configuration, _interpolate),
    "normalize": Quantity(("q",), _configuration, _plain(algorithms.normalize), normalized=False),
}
FRAMED = frozenset({"pose", "velocity", "acceleration", "jacobian", "jacobian_rate"})
