"""Gradients of a rollout: all steps once more with their states kept, then their slopes from the last to the first.

Memory: the states of all steps. The slopes of a step are those of its traced code, in coordinates: the gradient in q
has four numbers for a quaternion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Program, empty, is_single
from dalembert.compiler.execute.device import Array as DeviceArray
from dalembert.compiler.execute.device import part
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.typing import Array

from ..settings import Settings
from .motions import DUMP, NUMBERS, T0, ZERO, Motions, batch_of
from .plan import RolloutPlan, planned
from .result import contacts_at, crowded


class Adjoint:
    """(inputs of the motions, weights of the recorded q, of the recorded e) → the gradient in each input.

    The gradient of the sum of all recorded numbers, each times its weight; as `execute.foreign.ForeignCall` asks.
    """

    name = "rollout gradient"

    def __init__(self, motions: Motions) -> None:
        self.motions, self.owner = motions, motions.owner
        weights = {f"{name} weight": prod(s) for name, s in zip(("q", "e"), motions.shapes, strict=True)}
        self.sizes, self.names = motions.sizes | weights, [*motions.lengths, *weights]
        self.shapes: list[tuple[int, ...]] = [(size,) for size in motions.lengths.values()]
        self.operators: dict[str, Any] = {}
        stepping = motions.stepping
        self.shared = [name for name in stepping.arguments if name not in ("q", "e") and not self._by_row(name)]
        states = [motions.steps * motions.lengths[name] for name in ("q", "e")]
        self.scratch = (*states, *(motions.lengths[name] for name in ("q", "e", *self.shared)))

    def _by_row(self, name: str) -> bool:
        return name == "u" and self.motions.stepping.varying

    @property
    def each(self) -> bool:
        """Whether every step is recorded."""
        return self.motions.every == 1

    def chunks(self) -> list[tuple[int, int]]:
        """(first step, number of steps) of each launch of the steps backwards, the last one first."""
        m = self.motions
        return [(0, m.steps)] if self.each else [(k * m.every, m.every) for k in reversed(range(m.count))]

    def __call__(self, *arrays: Any, out: Any = None, threads: int | None = None, check: bool = True) -> Any:
        """NumPy arrays, on the processor."""
        m, stepping = self.motions, self.motions.stepping
        dtype = np.float32 if all(map(is_single, arrays)) else np.float64
        batch_shape = batch_of(list(self.sizes), arrays)
        batch = batch_shape or (1,)
        if not prod(batch):
            return tuple(np.empty((*batch_shape, *shape), dtype) for shape in self.shapes)
        inputs = dict(zip(self.names, arrays, strict=True)) | {"timing": np.array([0.0, m.step])}
        ways = {f"{name}_start": np.empty((*batch, m.steps, m.lengths[name]), dtype) for name in ("q", "e")}
        ends = {f"{n}_next": np.empty((*batch, stepping.sizes[n]), dtype) for n in ("q", "e", "number")}
        stepping.onwards(states=True).run(inputs | {"number": np.zeros(1)}, ends | ways, batch, m.steps, threads)

        slopes: dict[str, Array] = {f"{name} slope": np.zeros(m.lengths[name]) for name in ("q", "e", *self.shared)}
        rows = np.zeros((*batch, m.steps, stepping.row), dtype)
        loop = stepping.backwards(self.each)
        for begin, steps in self.chunks():
            now = inputs | slopes | {"number": np.array([begin + steps - 1.0])}
            now |= {"last": now["number"]}
            now |= {name: _backwards(ways[f"{name}_start"], begin, steps) for name in ("q", "e")}
            if stepping.varying:
                u = inputs["u"].reshape(*inputs["u"].shape[:-1], m.steps, stepping.row)
                now["u"] = _backwards(u, begin, steps)
            for name, (_, size) in zip(("q", "e"), m.shapes, strict=True):
                weight = inputs[f"{name} weight"].reshape(*inputs[f"{name} weight"].shape[:-1], m.count, size)
                now[f"{name} seed"] = _backwards(weight, begin // m.every, steps // m.every)
            results = {f"{name} next": np.empty((*batch, x.shape[-1]), dtype) for name, x in slopes.items()}
            results["number_next"] = ends["number_next"]
            if stepping.varying:
                results["u slope next"] = np.empty((*batch, steps, stepping.row), dtype)
            loop.run(now, results, batch, steps, threads)
            slopes = {name: results[f"{name} next"] for name in slopes}
            if stepping.varying:
                rows[..., begin : begin + steps, :] = results["u slope next"][..., ::-1, :]
        gradients = slopes | {"u slope": rows.reshape(*batch, -1)} if stepping.varying else slopes
        return tuple(gradients[f"{name} slope"].reshape(*batch_shape, size) for name, size in m.lengths.items())

    def pullback(self) -> Any:
        """There is none."""
        raise DalembertError(
            "rollout: gradients of gradients do not go through a rollout: differentiate once, or write the loop over "
            "robot.forward_dynamics and robot.integrate, which can be differentiated any number of times"
        )

    def device_kernel(self, check: bool) -> DeviceAdjoint:
        """The same on a graphics processor."""
        return self.operators.setdefault("cuda", DeviceAdjoint(self))


def _backwards(x: Array, begin: int, rows: int) -> Array:
    """Rows begin … begin + rows − 1 of x (…, n, size), the last one first and flat."""
    part = x[..., begin : begin + rows, :][..., ::-1, :]
    return part.reshape(*part.shape[:-2], -1)


class DeviceAdjoint:
    """The gradient on a graphics processor: one launch onwards, then one for every record (one for all, if `each`)."""

    def __init__(self, adjoint: Adjoint) -> None:
        self.adjoint = adjoint

    def launch(self, element: str, count: int, arrays: Sequence[DeviceArray], stream: int | None = None) -> None:
        """arrays: those of the inputs, of the gradients, and of what lies between."""
        adjoint, m, stepping = self.adjoint, self.adjoint.motions, self.adjoint.motions.stepping
        constant = m.numbers.placed(element)
        inputs, gradients = len(adjoint.names), len(m.lengths)
        named_inputs = dict(zip(adjoint.names, arrays[:inputs], strict=True)) | {"timing": constant(T0)}
        gradient_arrays = dict(zip(m.lengths, arrays[inputs : inputs + gradients], strict=True))
        q_way, e_way, *others = arrays[inputs + gradients :]
        spare = dict(zip(("q", "e", *adjoint.shared), others, strict=True))
        ways, sizes = {"q": q_way, "e": e_way}, stepping.sizes
        nu = stepping.row

        def run(loop: Program, named: dict[str, DeviceArray], results: list[DeviceArray], steps: int) -> None:
            loop.on("cuda").launch(element, count, [*(named[n] for n in loop.sizes), *results], stream, steps)

        first = named_inputs | {"number": constant(NUMBERS)}
        if stepping.varying:
            first["u"] = part(named_inputs["u"], element, 0, nu)
        kept = [part(ways[name], element, 0, sizes[name]) for name in ("q", "e")]
        run(stepping.onwards(states=True), first, [spare["q"], spare["e"], constant(DUMP), *kept], m.steps)

        nothing = constant(ZERO)._replace(item=0)
        slopes = {f"{name} slope": nothing for name in spare}
        loop, chunks = stepping.backwards(adjoint.each), adjoint.chunks()
        for k, (begin, steps) in enumerate(chunks):
            end = begin + steps - 1  # the step that comes first
            number = constant(NUMBERS + m.count + end // m.every)
            now = named_inputs | slopes | {"number": number, "last": number}
            now |= {name: part(ways[name], element, end * sizes[name], -sizes[name]) for name in ("q", "e")}
            for name in ("q", "e"):
                weight, row = named_inputs[f"{name} weight"], begin // m.every
                now[f"{name} seed"] = (
                    part(weight, element, end * sizes[name], -sizes[name])
                    if adjoint.each
                    else part(weight, element, row * sizes[name])
                )
            if stepping.varying:
                now["u"] = part(named_inputs["u"], element, end * nu, -nu)
            # the last launch writes the gradients themselves; those before take turns, as none writes what it reads
            target = gradient_arrays if (len(chunks) - 1 - k) % 2 == 0 else spare
            results = [
                part(gradient_arrays["u"], element, end * nu, -nu) if adjoint._by_row(name) else target[name]
                for name in stepping.arguments
            ]
            run(loop, now, [*results, constant(DUMP)], steps)
            slopes = {f"{name} slope": target[name] for name in spare}


class RolloutRates(NamedTuple):
    """The records q (…, count, nq), v (…, count, nv) of motions, and their rates of change, of the same shapes."""

    q: Array
    v: Array
    q_rate: Array
    v_rate: Array


def rollout_rates(
    model: Model, q: Any, v: Any, settings: Settings, rates: Mapping[str, Any], threads: int | None = None
) -> RolloutRates:
    """Motions, and how they change when what is named in `rates` changes at those rates.

    rates: by name, "q", "v", "torque" or "controls", and parameters of the settings; shapes as of the values. What is
    not named does not change.
    """
    growth, nv = 1, model.nv
    while True:
        plan = planned(model, q, v, settings, check=False, carries=False, growth=growth)
        motions = plan.motions
        arguments = {name: np.asarray(x, float) for name, x in zip(motions.lengths, plan.arguments, strict=True)}
        pushed = _pushed(plan, arguments, rates)
        records = _records(motions, arguments, pushed, threads)
        if not crowded(contacts_at(motions.stepping, records[1][..., -1, :])):
            return RolloutRates(records[0], records[1][..., :nv], records[2], records[3][..., :nv])
        growth = plan.more_room


def _pushed(plan: RolloutPlan, arguments: Mapping[str, Array], rates: Mapping[str, Any]) -> dict[str, Array]:
    """The rates of all arguments, zero where none is named."""
    words = {"v": "e", plan.word: "u"}
    pushed = {name: np.zeros(x.shape[-1]) for name, x in arguments.items()}
    for name, rate in rates.items():
        inner = words.get(name, name)
        if inner not in pushed:
            raise DalembertError(f"rollout_rates: {name!r} does not go into this rollout: expected {', '.join(pushed)}")
        x = np.asarray(rate, float)
        if inner == "u" and plan.motions.stepping.varying:
            x = x.reshape(*x.shape[:-2], -1)
        filled = np.zeros((*x.shape[:-1], arguments[inner].shape[-1]))
        filled[..., : x.shape[-1]] = x
        pushed[inner] = filled
    return pushed


def _records(
    motions: Motions, arguments: Mapping[str, Array], pushed: Mapping[str, Array], threads: int | None
) -> list[Array]:
    """q, e and their rates after every `every` steps, each (…, count, n)."""
    stepping, names = motions.stepping, list(motions.sizes)
    rate_names = [f"rate of {name}" for name in names]
    batch = batch_of([*names, *rate_names], [*arguments.values(), *pushed.values()])
    shape = batch or (1,)
    loop, nu = stepping.with_rates(), stepping.row
    state = (
        dict(arguments) | {f"{name} rate": x for name, x in pushed.items()} | {"timing": np.array([0.0, motions.step])}
    )
    outputs = ("q_next", "e_next", "q rate next", "e rate next")
    records = [empty((*shape, motions.count, stepping.sizes[name]), np.float64) for name in ("q", "e", "q", "e")]
    number = np.empty((*shape, 1))
    for k in range(motions.count):
        inputs = state | {"number": np.array([float(k * motions.every)])}
        if stepping.varying:
            rows = slice(k * motions.every * nu, (k + 1) * motions.every * nu)
            inputs |= {name: state[name][..., rows] for name in ("u", "u rate")}
        here = [x[..., k : k + 1, :] for x in records]
        loop.run(inputs, dict(zip(outputs, here, strict=True)) | {"number_next": number}, shape, motions.every, threads)
        state |= dict(zip(("q", "e", "q rate", "e rate"), (x[..., k, :] for x in records), strict=True))
    return [x.reshape(*batch, *x.shape[-2:]) for x in records]
