"""Guards on the quaternions of configurations, and functions of one's own compiled with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.compiler.execute import FLOATS, Call, content, state_place, states
from dalembert.compiler.execute.proof import prove, proven
from dalembert.compiler.graph import Function, trace
from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.model import Model

CONFIGURATIONS = ("q", "q0", "q1")  # names by which functions of one's own call them
UNIT_TOLERANCE = 1e-6  # by how much the length of a quaternion may miss 1


def function_call(
    model: Model,
    name: str,
    sizes: dict[str, int],
    compute: Callable[..., Any],
    unbounded: Callable[[Mapping[str, np.ndarray]], str] | None = None,
) -> Call:
    """The compiled form of a function of one's own.

    Its machine code and shapes come from the disk cache without a trace where `compute` and all that it holds are the
    package's own. unbounded: words for a state, by the names of `sizes`, whose result is not finite; None: such results
    are returned.
    """
    configurations = [argument for argument in sizes if argument in CONFIGURATIONS]
    guards = quaternion_guards(model, sizes, configurations)
    known = content(model, compute, tuple(sizes.items()))
    statement = None if known is None else f"{known} {name} {unbounded is not None}"
    facts = None if statement is None else proven(statement)
    traced: list[Function] = []

    def build() -> Function:
        return traced.pop() if traced else trace(compute, sizes, name, guards, finite=unbounded is not None)

    if facts is None:
        traced.append(build())
        facts = {"shapes": [(output.name, output.shape) for output in traced[0].outputs]}
        if statement is not None:
            prove(statement, **facts)

    def explain(named: dict[str, np.ndarray]) -> None:
        check_quaternions(model, name, {argument: named[argument] for argument in configurations})
        if unbounded is not None:
            place, state = first_unbounded(call, named)
            raise DalembertError(f"{name}{place}: {unbounded(state)}")

    shapes = {output: tuple(shape) for output, shape in facts["shapes"]}
    call = Call(name, f"robot {model.name!r}", statement, sizes, shapes, build, explain)
    return call


def quaternion_guards(
    model: Model, sizes: Mapping[str, int], configurations: Collection[str], unit: bool = True
) -> Callable[..., list[Any]]:
    """The guards of a function whose configurations must have unit quaternions; unit=False: none that is zero."""

    def guards(*inputs: np.ndarray) -> list[Any]:
        named = dict(zip(sizes, inputs, strict=True))
        squares = [x @ x for _, x in quaternions(model, {name: named[name] for name in configurations})]
        return [absolute(s - 1.0) <= 2.0 * UNIT_TOLERANCE if unit else s > 0.0 for s in squares]

    return guards


def quaternions(model: Model, configurations: Mapping[str, np.ndarray]) -> list[tuple[str, np.ndarray]]:
    """(joint name, quaternion (…, 4)) of every configuration (…, nq)."""
    return [(joint, q[..., places]) for q in configurations.values() for joint, places in model.quaternions]


def check_quaternions(model: Model, name: str, configurations: Mapping[str, np.ndarray], unit: bool = True) -> None:
    """Raise the error for the first quaternion that is not of unit length; unit=False: that has no length."""
    for argument, a in configurations.items():
        for begin, rows in states(a, FLOATS[0]):
            for joint, quaternion in quaternions(model, {argument: rows}):
                lengths = np.linalg.norm(quaternion, axis=-1)
                bad = np.flatnonzero(np.abs(lengths - 1.0) > 0.9 * UNIT_TOLERANCE if unit else lengths**2 == 0.0)
                if len(bad):
                    cure = f"1 to within {UNIT_TOLERANCE:g} (order w, x, y, z): use robot.normalize({argument})"
                    raise DalembertError(
                        f"{name}: the quaternion of joint {joint!r}{state_place(begin + bad[0], a)} has length "
                        f"{lengths[bad[0]]:.9g}, expected {cure if unit else 'more: it is not a rotation'}"
                    )


def first_unbounded(call: Call, named: Mapping[str, np.ndarray]) -> tuple[str, dict[str, np.ndarray]]:
    """(words for its place, inputs) of the first state of a batch whose result is not finite."""
    batch = np.broadcast_shapes(*(a.shape[:-1] for a in named.values()))
    states = {name: np.broadcast_to(a, (*batch, a.shape[-1])).reshape(-1, a.shape[-1]) for name, a in named.items()}
    results = call(*states.values(), check=False)
    arrays = results if isinstance(results, tuple) else (results,)
    bad = int(np.argmin(np.all([np.isfinite(x).reshape(len(x), -1).all(axis=1) for x in arrays], axis=0)))
    place = tuple(int(k) for k in np.unravel_index(bad, batch)) if batch else ()
    words = f" of state {place if len(place) > 1 else place[0]}" if place else ""
    return words, {name: a[bad] for name, a in states.items()}


def overflow(model: Model, state: Mapping[str, np.ndarray], arguments: Sequence[str]) -> str:
    """Words for a result beyond the numbers of its precision: the largest number among some arguments causes it."""
    name = max(arguments, key=lambda argument: float(np.max(np.abs(state[argument]), initial=0.0)))
    k = int(np.argmax(np.abs(state[name]))) if state[name].size else 0
    value = state[name][k] if state[name].size else 0.0
    return (
        f"{name}[{k}] is {value:g}, which makes a result of robot {model.name!r} larger than numbers of this precision "
        "can be; pass check=False to let inf and NaN through"
    )
