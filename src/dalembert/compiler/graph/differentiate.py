"""Derivatives of traced expressions, as more traced expressions: forward mode (`jvp`) and reverse mode (`vjp`).

Conventions where no derivative exists: abs has slope 0 at 0; sign, floor and lookups in tables have slope 0
everywhere; at a tie min and max follow their first operand in canonical order (a constant before a variable, so a
clamped value has slope 0 on the clamp; then the value that was made first). Conditions have no derivative. sqrt at 0
and atan2 at the origin give inf or NaN.
`where`, min and max take the derivative of the chosen side. In forward mode the other side does no harm; in
reverse mode its slope is multiplied by 0, so it must be finite: keep arguments inside the domain with a second,
inner `where`, as in where(x > 0, sqrt(where(x > 0, x, 1)), 0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .scalar import Scalar
from .schedule import depth_first

Partial = Callable[[Scalar], Any]


def _one_over_square(y: Scalar) -> Scalar:
    a, b = y.args
    return 1.0 / (a * a + b * b)


# ∂y/∂argument of y = op(*arguments), one entry per argument
PARTIALS: dict[str, tuple[Partial, ...]] = {
    "add": (lambda y: 1.0, lambda y: 1.0),
    "sub": (lambda y: 1.0, lambda y: -1.0),
    "mul": (lambda y: y.args[1], lambda y: y.args[0]),
    "div": (lambda y: 1.0 / y.args[1], lambda y: -(y * (1.0 / y.args[1]))),
    "neg": (lambda y: -1.0,),
    "sqrt": (lambda y: 0.5 / y,),
    "sin": (lambda y: y.args[0].cos(),),
    "cos": (lambda y: -y.args[0].sin(),),
    "atan2": (lambda y: y.args[1] * _one_over_square(y), lambda y: -(y.args[0] * _one_over_square(y))),
    "exp": (lambda y: y,),
    "log": (lambda y: 1.0 / y.args[0],),
    "tanh": (lambda y: 1.0 - y * y,),
    "abs": (lambda y: y.args[0].sign(),),
    "sign": (lambda y: 0.0,),
    "floor": (lambda y: 0.0,),
    "lookup": (lambda y: 0.0,),
}

# y = op(*arguments) as (condition, value if it holds, value if not)
CHOICES: dict[str, Callable[..., tuple[Scalar, Scalar, Scalar]]] = {
    "where": lambda condition, a, b: (condition, a, b),
    "min": lambda a, b: (a <= b, a, b),
    "max": lambda a, b: (b <= a, a, b),
}


def _constantly(x: Scalar) -> Partial:
    return lambda y: x


def _partials(node: Scalar) -> Sequence[Partial]:
    """∂node/∂argument, one entry per argument."""
    if node.op == "dot":  # Σ aₖ bₖ of arguments a…, b…: each goes with its partner
        half = len(node.args) // 2
        return [_constantly(x) for x in (*node.args[half:], *node.args[:half])]
    return PARTIALS.get(node.op, ())


def jvp(outputs: Any, seeds: Mapping[Scalar, Any]) -> np.ndarray:
    """Forward mode: the rate of change of `outputs` when every key of `seeds` changes at the rate of its value.

    Keys are inputs of the trace. Rates are numbers or traced values. Returns an object array of the shape of `outputs`;
    entries that cannot change are a plain 0.0.
    """
    array = np.asarray(outputs, object)
    _check_inputs(seeds)
    rates = forward_rates(array.ravel(), {node: {0: rate} for node, rate in seeds.items()})
    return _filled(array.shape, [rates[x.id].get(0, 0.0) if isinstance(x, Scalar) else 0.0 for x in array.ravel()])


def vjp(outputs: Any, cotangents: Any, inputs: Any) -> np.ndarray:
    """Reverse mode: Σ cotangentᵢ · ∂outputᵢ/∂input for every input, in one sweep whatever the number of inputs.

    `cotangents` has the shape of `outputs` (or broadcasts to it). Returns an object array of the shape of `inputs`.
    """
    array, wrt = np.asarray(outputs, object), _nodes(inputs)
    weights = np.broadcast_to(np.asarray(cotangents, object), array.shape)
    pulled = _reverse([(x, w) for x, w in zip(array.ravel(), weights.ravel(), strict=True)], wrt.ravel())
    return _filled(wrt.shape, [pulled.get(x.id, 0.0) for x in wrt.ravel()])


def _check_inputs(nodes: Iterable[Scalar]) -> None:
    """Only inputs: an expression of a computed value may be folded past it, and its derivative would be wrong."""
    for node in nodes:
        if node.op != "input":
            raise DalembertError(
                f"cannot differentiate along {node!r}, which was computed: make it an input of the traced function"
            )


def gradient(output: Any, inputs: Any) -> np.ndarray:
    """∂output/∂inputs of one traced value, in reverse mode: an object array of the shape of `inputs`."""
    return vjp(output, 1.0, inputs)


def jacobian(outputs: Any, inputs: Any) -> np.ndarray:
    """∂outputs/∂inputs: an object array of shape (*outputs.shape, *inputs.shape).

    Forward mode, all inputs at once, unless there are fewer outputs than inputs; then in reverse, output by output.
    """
    array, wrt = np.asarray(outputs, object), _nodes(inputs)
    if array.size < wrt.size:
        rows = [list(gradient(x, wrt).ravel()) for x in array.ravel()]
    else:
        seeds: dict[Scalar, dict[int, Any]] = {x: {} for x in wrt.ravel()}
        for k, x in enumerate(wrt.ravel()):
            seeds[x][k] = 1.0
        rates = forward_rates(array.ravel(), seeds)
        rows = [_dense(rates[x.id] if isinstance(x, Scalar) else {}, wrt.size) for x in array.ravel()]
    return _filled((*array.shape, *wrt.shape), [x for row in rows for x in row])


def forward_rates(outputs: Iterable[Any], seeds: Mapping[Scalar, Mapping[int, Any]]) -> dict[int, dict[int, Any]]:
    """Node id → {direction: rate}, for several directions at once; rates that vanish are left out."""
    rates = {node.id: dict(seed) for node, seed in seeds.items()}
    of_results: dict[int, list[dict[int, Any]]] = {}  # of compounds, by their nodes' ids
    for node in depth_first([x for x in outputs if isinstance(x, Scalar)]):
        if node.id in rates:
            continue
        rate: dict[int, Any] = {}
        if node.op == "compound":
            argument_rates = [rates[a.id] for a in node.args]
            of_results[node.id] = (
                node.value.forward(node, argument_rates) if any(argument_rates) else [{}] * node.value.size
            )
        elif node.op == "result":
            rate = of_results[node.args[0].id][node.value]
        elif node.op in CHOICES:
            condition, a, b = CHOICES[node.op](*node.args)
            for k in {**rates[a.id], **rates[b.id]}:
                rate[k] = condition.__traced__("where", condition, rates[a.id].get(k, 0.0), rates[b.id].get(k, 0.0))
        else:
            for argument, partial in zip(node.args, _partials(node), strict=False):
                slope = partial(node) if rates[argument.id] else 0.0
                for k, inner in rates[argument.id].items():
                    rate[k] = slope * inner + rate.get(k, 0.0)
        rates[node.id] = {k: x for k, x in rate.items() if not vanishes(x)}
    return rates


def _reverse(outputs: list[tuple[Any, Any]], inputs: np.ndarray) -> dict[int, Any]:
    """Node id → Σ weight · ∂output/∂node over pairs (output, weight), for every input that matters."""
    outputs = [(x, weight) for x, weight in outputs if isinstance(x, Scalar)]
    order = depth_first([x for x, _ in outputs])
    ends = {x.id for x in inputs}
    active = set(ends)
    for node in order:
        if not node.boolean and any(argument.id in active for argument in node.args):
            active.add(node.id)
    pulled: dict[int, Any] = {}
    of_results: dict[int, dict[int, Any]] = {}  # weights of the results of compounds, by their nodes' ids

    def give(node: Scalar, amount: Any) -> None:
        if node.id in active and not vanishes(amount):
            pulled[node.id] = amount + pulled[node.id] if node.id in pulled else amount

    for x, weight in outputs:
        give(x, weight)
    for node in reversed(order):
        if node.op == "compound" and node.id in of_results:
            active_arguments = [a.id in active for a in node.args]
            for k, amount in node.value.reverse(node, of_results.pop(node.id), active_arguments).items():
                give(node.args[k], amount)
        if node.id in ends or node.id not in pulled:
            continue
        weight = pulled.pop(node.id)
        if node.op == "result":
            of_results.setdefault(node.args[0].id, {})[node.value] = weight
            continue
        if node.op in CHOICES:
            condition, a, b = CHOICES[node.op](*node.args)
            give(a, condition.__traced__("where", condition, weight, 0.0))
            give(b, condition.__traced__("where", condition, 0.0, weight))
        else:
            for argument, partial in zip(node.args, _partials(node), strict=True):
                if argument.id in active:
                    give(argument, partial(node) * weight)
    return pulled


def vanishes(x: Any) -> bool:
    return (x.op == "const" and x.value == 0) if isinstance(x, Scalar) else x == 0


def _nodes(inputs: Any) -> np.ndarray:
    array = np.asarray(inputs, object)
    for x in array.ravel():
        if not isinstance(x, Scalar):
            raise DalembertError(f"differentiate: expected traced inputs, got {type(x).__name__} {x!r:.60}")
    _check_inputs(array.ravel())
    return array


def _dense(row: Mapping[int, Any], size: int) -> list[Any]:
    return [row.get(k, 0.0) for k in range(size)]


def _filled(shape: tuple[int, ...], items: list[Any]) -> np.ndarray:
    """The items as an object array; not np.array(items), which would look into them."""
    out = np.empty(len(items), object)
    out[:] = items
    return out.reshape(shape)
