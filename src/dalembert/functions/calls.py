"""(quantity, model) → compiled call, with guards on the quaternions of its configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.execute import FLOATS, Call, content, state_place, states
from dalembert.graph import Function, trace
from dalembert.math import abs as absolute
from dalembert.model import Model

from .catalogue import CATALOGUE
from .live import DIVIDING, check_live, conditions
from .quantity import Options, Quantity

UNIT_TOLERANCE = 1e-6  # by how much the length of a quaternion may miss 1


def catalogued(name: str, model: Model) -> Quantity:
    """A quantity of the catalogue, if the model can have it."""
    quantity = CATALOGUE[name]
    if reason := quantity.refuses(model):
        raise DalembertError(f"{name}: {reason}")
    return quantity


def quantity_call(model: Model, name: str, options: Options) -> Call:
    """The compiled form of a quantity of the catalogue for one model."""
    quantity = catalogued(name, model)
    sizes = quantity.arguments(model, options)

    def compute(*inputs: np.ndarray) -> Any:
        return quantity.evaluate(model, options, *inputs)

    live = options.live if name in DIVIDING else ()

    def build() -> Function:
        unit = (_unit_quaternions if quantity.normalized else _some_quaternions)(model, sizes)

        def guards(*inputs: np.ndarray) -> list[Any]:
            given = dict(zip(sizes, inputs, strict=True))
            return unit(*inputs) + [holds for _, holds in conditions(model, {group: given[group] for group in live})]

        return trace(compute, sizes, name, guards)

    def explain(named: dict[str, np.ndarray]) -> None:
        check_quaternions(model, name, named, unit=quantity.normalized)
        check_live(model, name, {group: named[group] for group in live})

    identity = content(model, name, options)
    shapes = {name: quantity.shape(model, options)}
    return Call(name, f"robot {model.name!r}", identity, sizes, shapes, build, explain)


def function_call(model: Model, name: str, sizes: dict[str, int], compute: Callable[..., Any]) -> Call:
    """The compiled form of a user's own function."""
    traced = trace(compute, sizes, name, _unit_quaternions(model, sizes))

    def explain(named: dict[str, np.ndarray]) -> None:
        check_quaternions(model, name, named)

    shapes = {o.name: o.shape for o in traced.outputs}
    return Call(name, f"robot {model.name!r}", None, sizes, shapes, lambda: traced, explain)


def _unit_quaternions(model: Model, sizes: dict[str, int]) -> Callable[..., list[Any]]:
    """The guards of a function whose configurations must have unit quaternions."""

    def guards(*inputs: np.ndarray) -> list[Any]:
        found = quaternions(model, dict(zip(sizes, inputs, strict=True)))
        return [absolute(quaternion @ quaternion - 1.0) <= 2.0 * UNIT_TOLERANCE for _, quaternion in found]

    return guards


def _some_quaternions(model: Model, sizes: dict[str, int]) -> Callable[..., list[Any]]:
    """The guards of a function that brings quaternions to unit length: they must have one."""

    def guards(*inputs: np.ndarray) -> list[Any]:
        found = quaternions(model, dict(zip(sizes, inputs, strict=True)))
        return [quaternion @ quaternion > 0.0 for _, quaternion in found]

    return guards


def quaternions(model: Model, named: dict[str, np.ndarray]) -> list[tuple[str, np.ndarray]]:
    """(joint name, quaternion (…, 4)) of every configuration among the inputs."""
    return [
        (joint, q[..., places])
        for argument, q in named.items()
        if argument in ("q", "q0", "q1")
        for joint, places in model.quaternions
    ]


def check_quaternions(model: Model, name: str, named: dict[str, np.ndarray], unit: bool = True) -> None:
    """Raise the error for the first quaternion that is not of unit length; unit=False: that has no length."""
    for argument, a in named.items():
        for begin, rows in states(a, FLOATS[0]):
            for joint, quaternion in quaternions(model, {argument: rows}):
                lengths = np.linalg.norm(quaternion, axis=-1)
                bad = np.flatnonzero(np.abs(lengths - 1.0) > 0.9 * UNIT_TOLERANCE if unit else lengths**2 == 0.0)
                if len(bad):
                    cure = f"1 to within {UNIT_TOLERANCE:g} (order w, x, y, z): use robot.normalize({argument})"
                    raise DalembertError(
                        f"{name}: the quaternion of joint {joint!r}{state_place(begin + bad[0], a)} has length "
                        f"{lengths[bad[0]]:.9g}, expected {cure if unit else 'more: it is no rotation'}"
                    )
