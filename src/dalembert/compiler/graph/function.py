"""A traced function (named vector inputs, named array outputs) and the loop that repeats one."""

from __future__ import annotations

import marshal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from math import inf
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .collection import tracing, uncollected
from .scalar import NUMBERS, Graph, Scalar
from .schedule import as_made, fewest_alive

SHAPES = "; return a dict of arrays for results of several shapes"


@dataclass(frozen=True)
class Input:
    """A vector argument of a function: `size` numbers."""

    name: str
    size: int


@dataclass(frozen=True)
class Output:
    """An array result of a function: its shape and its nodes, row-major."""

    name: str
    shape: tuple[int, ...]
    nodes: tuple[Scalar, ...] = field(repr=False)


@dataclass(frozen=True)
class Function:
    """A straight-line function.

    guards: conditions that a valid evaluation fulfils (checked, never assumed). on_outputs: how many of them, the last
    ones, depend on the outputs; the others depend on the inputs alone. copied: it is a copy, in the order that was
    chosen for what was copied. rare: another function that is right too, and shorter, for machines that compute the
    states which take a rare branch apart.
    """

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    guards: tuple[Scalar, ...] = ()
    on_outputs: int = 0
    copied: bool = False
    rare: Function | None = None

    def roots(self) -> list[Scalar]:
        """The nodes of guards and outputs."""
        return [*self.guards, *(node for output in self.outputs for node in output.nodes)]

    def schedule(self) -> list[Scalar]:
        """Every node that the outputs and guards need, arguments first, in an order that keeps few values alive."""
        return self._order

    @cached_property
    def _order(self) -> list[Scalar]:
        return as_made(self.roots()) if self.copied else fewest_alive(self.roots())

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """Things that backends keep with the function, by keys of their own that begin with their name."""
        return {}

    def operations(self) -> dict[str, int]:
        """How many operations of each kind one evaluation takes (inputs and constants are free)."""
        counts: Counter[str] = Counter()
        for node in self.schedule():
            if node.op == "dot":
                counts += Counter(add=len(node.args) // 2, mul=len(node.args) // 2)
            elif node.op == "compound":
                counts += node.value.operations()
            elif node.op not in ("const", "input", "result"):
                counts[node.op] += 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def straight(self, backend: str) -> Function:
        """Itself, for a backend that can neither call other functions, nor repeat, nor look up numbers in tables."""
        for node in self.schedule():
            if node.op in ("compound", "lookup"):
                verb = "looks up numbers in tables" if node.op == "lookup" else node.value.verb
                raise DalembertError(f"function '{self.name}' {verb}, which {backend} cannot")
        return self

    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything the function computes."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        order = self.schedule()
        place = {node.id: k for k, node in enumerate(order)}
        words: list[Any] = []
        for node in order:
            args = node.args
            words += [node.op, len(args), *[place[a.id] for a in args]]
            if node.value is not None:
                words.append(_plain(node))
        for output in self.outputs:
            words += [repr((output.name, output.shape)), *[place[n.id] for n in output.nodes]]
        words += [
            repr([(str(i.name), int(i.size)) for i in self.inputs]),
            self.on_outputs,
            *[place[g.id] for g in self.guards],
        ]
        return sha256(marshal.dumps(words, 2)).hexdigest()  # version 2: the same bytes for equal words


@dataclass(frozen=True)
class Loop:
    """A function repeated n times over a state; n is an argument of the run.

    carry: pairs (output name, input name): after each pass the output becomes that input of the next pass; the
    given input is where the state starts. sequence: inputs that have one row per pass, (n, size). Other inputs stay
    as they are. Results: the carried outputs after the last pass (with n = 0, the inputs where they start), and, for
    each name in `record`, that output of every pass, (n, *shape); an output that is both comes back as its record.
    index: an input of one number, the row of the sequences that a pass takes, where that is not the pass's number; or
    pairs (sequence, such an input), where only some are indexed, or each by another input.
    backwards: sequences and records whose rows are taken and written from the last to the first; a name that is both
    goes backwards as both.
    settled: an output of one number; where it is not 0, further passes would change none of the carried outputs, so
    that a backend may stop. The records of passes that it leaves out are then undefined.
    """

    step: Function
    carry: tuple[tuple[str, str], ...]
    sequence: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    settled: str | None = None
    index: str | tuple[tuple[str, str], ...] | None = None
    backwards: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        where = f"loop over '{self.step.name}'"
        inputs = {i.name: i.size for i in self.step.inputs}
        outputs = {o.name: len(o.nodes) for o in self.step.outputs}
        for source, taken in self.carry:
            if source not in outputs or taken not in inputs or outputs[source] != inputs[taken]:
                raise DalembertError(
                    f"{where}: output '{source}' ({outputs.get(source, 'missing')} numbers) cannot become input "
                    f"'{taken}' ({inputs.get(taken, 'missing')} numbers): name an output and an input of one size"
                )
        numbers = [self.index] if isinstance(self.index, str) else self.rows_by.values()
        for name in (*self.sequence, *numbers):
            if name not in inputs:
                raise unknown("input", name, inputs, where)
        for name in self.rows_by:
            if name not in self.sequence:
                raise unknown("sequence", name, self.sequence, where)
        for name in self.backwards:
            if name not in (*self.sequence, *self.record):
                raise unknown("sequence or record", name, (*self.sequence, *self.record), where)
            if name in self.rows_by:
                raise DalembertError(f"{where}: the rows of '{name}' are taken by number and cannot go backwards, too")
        for name in (*self.record, *([self.settled] if self.settled else [])):
            if name not in outputs:
                raise unknown("output", name, outputs, where)
        for role, names in (
            ("fed (carried or in a sequence)", [*(taken for _, taken in self.carry), *self.sequence]),
            ("carried", [source for source, _ in self.carry]),
            ("recorded", list(self.record)),
        ):
            if twice := [name for name, times in Counter(names).items() if times > 1]:
                raise DalembertError(f"{where}: '{twice[0]}' is {role} twice")

    def operations(self) -> dict[str, int]:
        """How many operations of each kind one pass takes."""
        return self.step.operations()

    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything the loop computes."""
        which = (self.carry, self.sequence, self.record, self.settled, self.index, self.backwards)
        return sha256(repr((self.step.fingerprint(), *which)).encode()).hexdigest()

    @property
    def rows_by(self) -> dict[str, str]:
        """Sequence → the input that holds the row number of a pass, for indexed sequences."""
        if self.index is None:
            return {}
        return dict.fromkeys(self.sequence, self.index) if isinstance(self.index, str) else dict(self.index)

    def in_order(self, backend: str) -> Loop:
        """Itself, for a backend that takes the rows of sequences one after the other only."""
        for name, index in self.rows_by.items():
            raise DalembertError(
                f"loop over '{self.step.name}': {backend} takes no rows of '{name}' by number ('{index}'): run it on "
                "'llvm', 'interpreter', 'jax' or 'torch'; runs with a fixed step need no such rows"
            )
        return self

    def results(self) -> tuple[tuple[Output, bool], ...]:
        """The outputs of the step that come back, in its order, each with whether it is a record (n, *shape)."""
        carried = {source for source, _ in self.carry}
        kept = (o for o in self.step.outputs if o.name in carried or o.name in self.record)
        return tuple((o, o.name in self.record) for o in kept)


def _plain(node: Scalar) -> Any:
    """The value of a node as text that does not depend on where objects lie."""
    if node.op == "compound":
        return node.value.fingerprint
    if node.op == "lookup":
        table, column = node.value
        return table.digest, column
    return node.value[1:] if node.op == "dot" else node.value


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, int],
    name: str = "function",
    guards: Callable[..., Any] | None = None,
    finite: bool = False,
) -> Function:
    """Run `function(*inputs)` on traced vectors and keep the result as a graph.

    inputs: argument name → number of elements, in order. The function returns an array-like of traced scalars and
    numbers, or a dict of named ones. guards, called with the same arguments, returns a list of conditions; finite: one
    more guard is that every output is finite.
    """
    graph = Graph()
    arguments = [graph.input(n, size) for n, size in inputs.items()]
    with uncollected(), tracing():
        try:
            result = function(*arguments)
        except TypeError as error:
            if "ufunc" not in str(error):
                raise
            raise DalembertError(
                f"{name}: a NumPy function does not take traced values ({error}): use arithmetic, dalembert.math and "
                "methods of robots, such as inverse_mass_matrix instead of np.linalg"
            ) from None
        named = result if isinstance(result, Mapping) else {name: result}
        outputs = tuple(_output(graph, n, value) for n, value in named.items())
        on_outputs = tuple(_guards(name, _finite(outputs))) if finite else ()
        conditions = tuple(_guards(name, guards(*arguments))) if guards else ()
    sizes = tuple(Input(n, size) for n, size in inputs.items())
    traced = Function(name, sizes, outputs, (*conditions, *on_outputs), len(on_outputs))
    _check_scope(traced)
    return traced


def _check_scope(function: Function) -> None:
    """No value from the inside of a repeated step has been kept and used outside of it."""
    names = {each.name for each in function.inputs}
    for node in function.schedule():
        if node.op == "input" and node.value[0] not in names:
            raise DalembertError(
                f"{function.name}: a value from the inside of a repeated step is used outside of it: carry it in the "
                "state of the repetition and take it from the results"
            )


def _guards(name: str, conditions: Iterable[Any]) -> Iterator[Scalar]:
    """The conditions that depend on the inputs; the others are checked immediately."""
    for condition in conditions:
        if isinstance(condition, Scalar) and condition.op != "const":
            if not condition.boolean:
                raise DalembertError(f"{name}: a guard must be a condition such as x < 0, got the number {condition!r}")
            yield condition
        elif not condition:
            raise DalembertError(f"{name}: a guard is false for every input")


def _finite(outputs: Sequence[Output]) -> Iterator[Any]:
    """The condition that all outputs are finite: so is the sum of their magnitudes, added pairwise for short chains."""
    terms = [abs(node) for output in outputs for node in output.nodes]
    while len(terms) > 1:
        terms = [x + y for x, y in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) // 2 * 2 :]
    yield from (total < inf for total in terms)


def _output(graph: Graph, name: str, value: Any) -> Output:
    try:
        array = np.asarray(value, object)
    except ValueError as error:
        raise DalembertError(f"output '{name}': {error}{SHAPES}") from error
    nodes = []
    for x in array.ravel():
        if not isinstance(x, (Scalar, *NUMBERS)):
            raise DalembertError(f"output '{name}': expected numbers and traced values, got {type(x).__name__}{SHAPES}")
        node = x if isinstance(x, Scalar) else graph.constant(x)
        if node.graph is not graph:
            raise DalembertError(f"output '{name}' holds a traced value of another trace")
        nodes.append(node.__traced__("where", node, 1.0, 0.0) if node.boolean else node)
    return Output(name, array.shape, tuple(nodes))
