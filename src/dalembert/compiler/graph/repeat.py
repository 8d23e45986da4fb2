"""Repetition with a stopping test inside a function: iterations towards a solution, sums of unknown length.

    state = start
    at most `times` times, as long as state[settled] is 0:   state = step(state)

Each state of a batch stops independently of its neighbours and then no longer changes. Derivatives come in two
kinds. Those of the passes: exactly what was computed, forwards by carrying rates along, in reverse by computing the
state before each pass again, which takes K²/2 further passes for K. Those of a fixed point: where the result x solves
x = step(x, c), its slope solves dx = A dx + B dc (implicit function theorem), by an iteration that converges where the
repetition itself does; where the repetition started does not matter. Another step with the same fixed point, a
correction, may stand in for `step` there. Where the repetition did not settle there is no solution: its slopes are NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from .calls import seeded
from .capture import as_number, captured, placeholders
from .compound import Compound, Rates, results
from .copying import inlined
from .differentiate import forward_rates, vanishes, vjp

if TYPE_CHECKING:
    from .function import Function
    from .scalar import Graph, Scalar

SLOPE_PASSES = 1000  # for the slopes of a fixed point; where they are not enough the slopes are NaN

Step = Callable[[list["Scalar"]], Sequence[Any]]  # from one state to the next, numbers in a row


class StepBody:
    """A function of "state" and "captured" that gives the next "state", inside a compound.

    first: the place of its captured values among the arguments of the compound.
    """

    def __init__(self, function: Function, first: int) -> None:
        self.function, self.first, self.following = function, first, function.outputs[0].nodes

    @property
    def taken(self) -> slice:
        """Its captured values among the arguments of the compound."""
        return slice(self.first, self.first + self.function.inputs[1].size)

    def inputs(self) -> tuple[list[Scalar], list[Scalar]]:
        """Its inputs in its own graph: state, captured."""
        graph = self.following[0].graph
        state, outside = (list(graph.input(i.name, i.size)) for i in self.function.inputs)
        return state, outside

    def values(self, node: Scalar, state: Sequence[Scalar]) -> dict[Scalar, Any]:
        """Each input → its value in the graph of the compound's node, at `state`."""
        inside, outside = self.inputs()
        return dict(zip([*inside, *outside], [*state, *node.args[self.taken]], strict=True))


class Repeated(Compound):
    """Arguments: the state at the start, then the captured values. Results: the final state, the number of passes.

    step: function of "state" and "captured" that gives the next "state". settled: place of the stopping test in the
    state, or None. fixed_point: relative accuracy of slopes by the implicit function theorem, or None. correction: as
    `step`, with a "captured" of its own behind that of `step`: its slopes are those of the fixed point; None: `step`.
    """

    verb = "repeats a step"

    def __init__(
        self,
        step: Function,
        times: int,
        settled: int | None,
        fixed_point: float | None,
        correction: Function | None = None,
    ) -> None:
        self.step, self.times, self.settled, self.fixed_point = step, times, settled, fixed_point
        self.correction, self.has_slopes = correction, correction is not None
        self.width = len(step.outputs[0].nodes)  # numbers in the state
        self.size = self.width + 1
        self.body = StepBody(step, self.width)
        self.of_slopes = self.body if correction is None else StepBody(correction, self.body.taken.stop)

    def identity(self) -> tuple[Any, ...]:
        of_slopes = None if self.correction is None else self.correction.fingerprint()
        return self.step.fingerprint(), self.times, self.settled, self.fixed_point, of_slopes

    def operations(self) -> Counter[str]:
        """Operations of all passes where their number is fixed; of one pass where a test stops them."""
        once = Counter(self.step.operations())
        return once if self.settled is not None else Counter({op: self.times * n for op, n in once.items()})

    def evaluated(self, arguments: Sequence[Scalar]) -> Sequence[Scalar]:
        return arguments[: self.body.taken.stop]

    def again(self, graph: Graph, arguments: Sequence[Scalar]) -> list[Scalar]:
        start = arguments[: self.width]
        known = self.settled is not None and start[self.settled].op == "const" and start[self.settled].value != 0
        return [*start, graph.constant(0.0)] if known else results(graph, self, arguments)

    def forward(self, node: Scalar, rates: Sequence[Rates]) -> list[dict[int, Any]]:
        if self.fixed_point is None:
            return [*_Tangent(self, self.body, node, rates[: self.width], rates).of_passes(), {}]
        tangent = _Tangent(self, self.of_slopes, node, [{}] * self.width, rates)
        return [*tangent.of_fixed_point(self.fixed_point), {}]

    def reverse(self, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]) -> dict[int, Any]:
        of_state = {k: weight for k, weight in weights.items() if k < self.width}  # the number of passes has no slope
        if not of_state:
            return {}
        if self.fixed_point is None:
            return _RepeatAdjoint(self, self.body, node, of_state, active).of_passes()
        return _RepeatAdjoint(self, self.of_slopes, node, of_state, active).of_fixed_point(self.fixed_point)

    def solution(self, node: Scalar) -> tuple[list[Scalar], Scalar | None]:
        """The state of a node at its end, and the number in it that is 0 where it did not settle, if there is one."""
        state = results(node.graph, self, node.args)[:-1]
        return state, None if self.settled is None else state[self.settled]


class _Tangent:
    """The rates of a repetition. moving: for each number of the state the directions in which some pass changes it."""

    def __init__(
        self, repeated: Repeated, body: StepBody, node: Scalar, start: Sequence[Rates], arguments: Sequence[Rates]
    ) -> None:
        self.repeated, self.body, self.node, self.start = repeated, body, node, start
        state, taken = body.inputs()
        moving = [set(row) for row in start]
        while True:
            rows = [*(dict.fromkeys(sorted(row)) for row in moving), *arguments[body.taken]]
            standing, seeds = seeded([*state, *taken], rows)
            rates = forward_rates(body.following, seeds)
            grown = [row | set(rates[x.id]) for row, x in zip(moving, body.following, strict=True)]
            if grown == moving:
                break
            moving = grown
        self.keys = [(k, direction) for k, row in enumerate(moving) for direction in sorted(row)]
        self.names = [seeds[state[k]][direction] for k, direction in self.keys]
        self.outside = {x: rate for x, rate in standing.items() if rate is not None}
        self.following = [rates[body.following[k].id].get(direction, 0.0) for k, direction in self.keys]

    def advanced(self, state: Sequence[Scalar], rates: Sequence[Scalar]) -> tuple[list[Any], list[Any]]:
        """State and rates after a pass."""
        values = self.body.values(self.node, state) | self.outside | dict(zip(self.names, rates, strict=True))
        nodes = inlined([*self.body.following, *self.following], values, self.node.graph)
        return nodes[: len(state)], nodes[len(state) :]

    def of_passes(self) -> list[dict[int, Any]]:
        """The same passes, with the rates carried along."""
        width = self.repeated.width

        def step(numbers: list[Scalar]) -> list[Any]:
            state, rates = self.advanced(numbers[:width], numbers[width:])
            return [*state, *rates]

        begin = [*self.node.args[:width], *(self.start[k].get(direction, 0.0) for k, direction in self.keys)]
        ends = _repeated(self.node.graph, step, self.repeated.times, begin, self.repeated.settled)
        return self._rows(ends[width:-1])

    def of_fixed_point(self, accuracy: float) -> list[dict[int, Any]]:
        """dx = A dx + B dc, from dx = 0."""
        state, settled = self.repeated.solution(self.node)
        start = [0.0] * len(self.keys)
        slopes = _solved(self.node.graph, lambda rates: self.advanced(state, rates)[1], start, accuracy, settled)
        return self._rows(slopes)

    def _rows(self, rates: Sequence[Any]) -> list[dict[int, Any]]:
        """The rates of each number of the state, by direction."""
        rows: list[dict[int, Any]] = [{} for _ in range(self.repeated.width)]
        for (k, direction), rate in zip(self.keys, rates, strict=True):
            rows[k][direction] = rate
        return rows


class _RepeatAdjoint:
    """The reverse of a repetition. places: the numbers of the state that carry weight before some pass."""

    def __init__(
        self, repeated: Repeated, body: StepBody, node: Scalar, weights: Mapping[int, Any], active: Sequence[bool]
    ) -> None:
        self.repeated, self.body, self.node, self.weights = repeated, body, node, weights
        state, outside = body.inputs()
        self.taken = [k for k, wanted in enumerate(active[body.taken]) if wanted]
        graph, places = state[0].graph, set(weights)
        while True:
            listed = sorted(places)
            self.names = graph.input(f"weights {graph.size}", len(listed))
            pulled = vjp([body.following[k] for k in listed], self.names, [*state, *(outside[k] for k in self.taken)])
            grown = places | {k for k, x in enumerate(pulled[: repeated.width]) if not vanishes(x)}
            if grown == places:
                break
            places = grown
        self.places = listed
        self.pulled = [pulled[k] for k in listed], list(pulled[repeated.width :])
        self.start_weights = [weights.get(k, 0.0) for k in listed]

    def pull(self, state: Sequence[Scalar], weights: Sequence[Scalar]) -> tuple[list[Any], list[Any]]:
        """The weights of the state before a pass from those after it, and their contributions to captured values."""
        values = self.body.values(self.node, state) | dict(zip(self.names, weights, strict=True))
        nodes = inlined([*self.pulled[0], *self.pulled[1]], values, self.node.graph)
        return nodes[: len(self.places)], nodes[len(self.places) :]

    def of_passes(self) -> dict[int, Any]:
        n, passes = len(self.places), results(self.node.graph, self.repeated, self.node.args)[-1]

        def step(numbers: list[Scalar]) -> list[Any]:
            left = numbers[0] - 1.0
            before, on_outside = self.pull(self._state(left), numbers[1 : n + 1])
            sums = [a + b for a, b in zip(numbers[n + 1 : -1], on_outside, strict=True)]
            return [left, *before, *sums, left <= 0.0]

        begin = [passes, *self.start_weights, *([0.0] * len(self.taken)), passes <= 0.0]
        ends = _repeated(self.node.graph, step, self.repeated.times, begin, len(begin) - 1)
        on_state = dict(zip(self.places, ends[1 : n + 1], strict=True))
        return on_state | self._outside(ends[n + 1 : n + 1 + len(self.taken)])

    def _state(self, passes: Scalar) -> list[Scalar]:
        """The state after `passes` passes, fewer than in the run."""
        repeated, body, node = self.repeated, self.body, self.node

        def step(numbers: list[Scalar]) -> list[Any]:
            state, count = numbers[:-2], numbers[-2] + 1.0
            return [*inlined(body.following, body.values(node, state), node.graph), count, count >= passes]

        begin = [*node.args[: repeated.width], 0.0, passes <= 0.0]
        return _repeated(node.graph, step, repeated.times, begin, len(begin) - 1)[: repeated.width]

    def of_fixed_point(self, accuracy: float) -> dict[int, Any]:
        """λ = w + Aᵀ λ, and Bᵀ λ for the captured values; the start has no influence."""
        state, settled = self.repeated.solution(self.node)

        def step(weights: list[Scalar]) -> list[Any]:
            return [a + b for a, b in zip(self.start_weights, self.pull(state, weights)[0], strict=True)]

        ends = _solved(self.node.graph, step, self.start_weights, accuracy, settled)
        return self._outside(self.pull(state, ends)[1])

    def _outside(self, amounts: Sequence[Any]) -> dict[int, Any]:
        return {self.body.first + k: x for k, x in zip(self.taken, amounts, strict=True)}


def _solved(graph: Graph, step: Step, start: Sequence[Any], accuracy: float, solved: Scalar | None) -> list[Any]:
    """The fixed point of a linear iteration about a solution, NaN where it is not reached within SLOPE_PASSES.

    solved: 0 where there is no solution, and all is NaN at once.

    It is reached where a pass changes it by no more than `accuracy`, or some 100 roundings, of its largest number.
    """

    def largest(x: Sequence[Any]) -> Any:
        return reduce(lambda a, b: a.__traced__("max", a, b), [abs(graph.constant(0.0) + y) for y in x])

    def test(numbers: list[Scalar]) -> list[Any]:
        following = step(numbers[:-1])
        size, change = largest(following), largest([a - b for a, b in zip(following, numbers[:-1], strict=True)])
        close = (change <= accuracy * size) | (size + 2.0**-7 * change == size)
        return [*following, close & (size < inf)]

    if not start:
        return []
    begin = 0.0 if solved is None else solved == 0.0
    *ends, settled, _ = _repeated(graph, test, SLOPE_PASSES, [*start, begin], len(start))
    reached = settled != 0.0 if solved is None else (settled != 0.0) & (solved != 0.0)
    return [settled.__traced__("where", reached, x, nan) for x in ends]


def _repeated(
    graph: Graph,
    step: Step,
    times: int,
    start: Sequence[Any],
    settled: int | None,
    fixed_point: float | None = None,
    correction: Step | None = None,
) -> list[Scalar]:
    """The numbers of the state after the last pass, and the number of passes."""
    begin = [as_number(x, graph) for x in start]
    inside = placeholders(graph, len(begin))
    if not begin or not times:
        return [*begin, graph.constant(0.0 if begin else times)]

    def traced(name: str, body: Step) -> tuple[Function, list[Scalar]]:
        following = [as_number(x, graph) for x in body(list(inside))]
        return captured(name, [("state", inside)], [("state", following)], graph)

    function, outside = traced("step", step)
    corrected, more = (None, []) if correction is None else traced("correction", correction)
    return Repeated(function, times, settled, fixed_point, corrected).again(graph, [*begin, *outside, *more])


def repeat(
    graph: Graph,
    step: Callable[..., Any],
    times: int,
    start: Mapping[str, Any],
    settled: str | None = None,
    fixed_point: float | None = None,
    correction: Callable[..., Any] | None = None,
) -> dict[str, Any]:
    """Like `dalembert.math.repeat`, which checks the arguments, traced into `graph`."""
    arrays = {name: np.asarray(x, object) for name, x in start.items()}
    ends = np.cumsum([x.size for x in arrays.values()]).tolist()
    places = {name: slice(end - x.size, end) for (name, x), end in zip(arrays.items(), ends, strict=True)}

    def shaped(numbers: Sequence[Any]) -> dict[str, Any]:
        named = {}
        for name, x in arrays.items():
            part = np.empty(x.size, object)
            part[:] = list(numbers[places[name]])
            named[name] = part.reshape(x.shape)[()]
        return named

    def flat(named_step: Callable[..., Any]) -> Step:
        def advanced(numbers: list[Scalar]) -> list[Any]:
            following = named_step(*shaped(numbers).values())
            return [x for name in arrays for x in np.asarray(following[name], object).ravel()]

        return advanced

    begin = [x for array in arrays.values() for x in array.ravel()]
    test = None if settled is None else places[settled].start
    corrected = None if correction is None else flat(correction)
    *numbers, passes = _repeated(graph, flat(step), times, begin, test, fixed_point, corrected)
    return shaped(numbers) | {"passes": passes}
