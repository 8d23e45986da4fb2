"""Branches compute what they alone need: a function whose branches have taken it in.

A branch is a repetition of at most one pass. What its step takes from its scope without depending on the state is
traced outside of it, and would be computed whether the branch is taken or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from .capture import arguments, as_number
from .copying import Copy
from .function import Function, Input, Output
from .repeat import Repeated
from .scalar import Graph, Scalar
from .schedule import without_slopes

if TYPE_CHECKING:
    from collections.abc import Mapping

EVERYBODY = -1  # instead of the id of the only branch that needs a node
LEAVES = ("const", "input")


class _Sunk(NamedTuple):
    """Nodes in order that a branch takes in, and the values from outside that these and its step need."""

    nodes: list[Scalar]
    outside: list[Scalar]


def sunk(function: Function, made: list[Graph] | None = None) -> Function:
    """The same function, in which all that only one branch needs is part of that branch. made: takes new graphs."""
    if not any(is_branch(node) for node in function.schedule()):
        return function
    roots = function.roots()
    order = without_slopes(function.schedule(), roots)
    owners = _owners(order, roots)
    inside: dict[int, list[Scalar]] = {}
    for node in order:
        if owners[node.id] != EVERYBODY and node.op not in LEAVES:
            inside.setdefault(owners[node.id], []).append(node)
    if not inside:
        return function
    moved = {node.id for nodes in inside.values() for node in nodes}
    copy = _Branching(Graph(), {}, inside, [] if made is None else made)
    for each in function.inputs:
        inputs = zip(order[0].graph.input(each.name, each.size), copy.graph.input(each.name, each.size), strict=True)
        copy.places |= {old.id: new for old, new in inputs}
    copy.take(node for node in order if node.id not in moved)
    outputs = [Output(o.name, o.shape, tuple(copy.places[x.id] for x in o.nodes)) for o in function.outputs]
    guards = tuple(copy.places[x.id] for x in function.guards)
    return replace(function, outputs=tuple(outputs), guards=guards, copied=True)


def is_branch(node: Scalar) -> bool:
    """Whether a node is a repetition that makes one pass or none."""
    if node.op != "compound":
        return False
    compound = node.value
    return isinstance(compound, Repeated) and compound.settled is not None and compound.times == 1


def _owners(order: Sequence[Scalar], roots: Iterable[Scalar]) -> dict[int, int]:
    """Node → the outermost branch that alone needs it, by its id, or EVERYBODY. Products of matrices stay outside."""
    users: dict[int, int] = {root.id: EVERYBODY for root in roots}  # node → the only branch that needs it so far
    owners: dict[int, int] = {}
    for node in reversed(order):
        owner = owners[node.id] = EVERYBODY if node.op == "dot" else users.get(node.id, EVERYBODY)
        required = _needs(node)
        if owner == EVERYBODY and is_branch(node):
            required, optional = required[: node.value.width], required[node.value.width :]
            share(users, optional, node.id, EVERYBODY)
        share(users, required, owner, EVERYBODY)
    results = {node.id: owners[node.args[0].id] for node in order if node.op == "result"}  # where their compound is
    return owners | results


def share(users: dict[int, int], nodes: Iterable[Scalar], user: int, several: int) -> None:
    """Note that `user` needs nodes. users: node's id → its only user, or the number for `several`."""
    for node in nodes:
        if users.setdefault(node.id, user) != user:
            users[node.id] = several


def _needs(node: Scalar) -> Sequence[Scalar]:
    """The nodes that a node is computed from."""
    return node.value.evaluated(node.args) if node.op == "compound" else tuple(arguments(node))


class _Copy(Copy):
    """A copy without what only slopes would need."""

    def _take(self, node: Scalar) -> None:
        if node.op == "compound":
            self._results[node.id] = node.value.again(self.graph, [self.places[x.id] for x in _needs(node)])
        else:
            super()._take(node)


class _Branching(_Copy):
    """A copy of a function in which branches take in nodes. inside: branch's id → these, in order."""

    def __init__(
        self, graph: Graph, places: Mapping[int, Scalar], inside: Mapping[int, list[Scalar]], made: list[Graph]
    ) -> None:
        super().__init__(graph, places, alone=True)
        self.inside, self.made = inside, made
        made.append(graph)

    def _take(self, node: Scalar) -> None:
        if node.id not in self.inside:
            super()._take(node)
            return
        repeated, taken = node.value, self._taken(node)
        start = [self.places[x.id] for x in node.args[: repeated.width]]
        outside = [as_number(self.places[x.id], self.graph) for x in taken.outside]
        self.made.append(Graph())
        branch = Repeated(_step(repeated, node, taken, self.made[-1]), 1, repeated.settled, None)
        self._results[node.id] = branch.again(self.graph, [*start, *outside])

    def _taken(self, node: Scalar) -> _Sunk:
        nodes = self.inside[node.id]
        inner = {x.id for x in nodes}
        needed = [*(x for each in nodes for x in _needs(each)), *node.args[node.value.body.taken]]
        outside = {x.id: x for x in needed if x.id not in inner and x.op not in ("const", "compound")}
        return _Sunk(nodes, list(outside.values()))


def _step(repeated: Repeated, node: Scalar, taken: _Sunk, graph: Graph) -> Function:
    """The step of a branch with what it takes in, in a new graph."""
    state, captured = graph.input("state", repeated.width), graph.input("captured", len(taken.outside))
    places = {x.id: y != 0.0 if x.boolean else y for x, y in zip(taken.outside, captured, strict=True)}
    constants = [x for each in (*taken.nodes, node) for x in _needs(each) if x.op == "const"]
    values = _Copy(graph, places, alone=True).take([*constants, *taken.nodes]).places
    inside, outside = repeated.body.inputs()
    arguments_of_step = [*state, *(values[x.id] for x in node.args[repeated.body.taken])]
    places = {x.id: y for x, y in zip([*inside, *outside], arguments_of_step, strict=True)}
    body = without_slopes(repeated.step.schedule(), repeated.body.following)
    following = _Copy(graph, places).take(body).places
    result = Output("state", (repeated.width,), tuple(following[x.id] for x in repeated.body.following))
    inputs = Input("state", repeated.width), Input("captured", len(taken.outside))
    return Function(repeated.step.name, inputs, (result,), copied=True)
