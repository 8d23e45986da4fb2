"""Copies of traced expressions: with other values in place of some nodes, or in another graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .lookup import lookup
from .product import ProductBlock, product
from .scalar import Graph, Scalar
from .schedule import depth_first

ARITHMETIC: dict[str, Callable[..., Scalar]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}


class Copy:
    """Nodes of one graph as nodes of `graph`, folded and shared again. places: node's id → its copy.

    alone: `graph` is new, and places are different inputs of it or conditions on these, so that nothing folds again.
    """

    def __init__(self, graph: Graph, places: Mapping[int, Scalar], alone: bool = False) -> None:
        self.graph, self.places, self.alone = graph, dict(places), alone
        self._products: dict[int, np.ndarray] = {}
        self._results: dict[int, list[Scalar]] = {}  # of compounds, by their nodes' ids

    def take(self, order: Iterable[Scalar]) -> Copy:
        """Copy nodes, arguments first."""
        for node in order:
            if node.id not in self.places and node.id not in self._results:
                self._take(node)
        return self

    def _take(self, node: Scalar) -> None:
        if node.op == "compound":
            self._results[node.id] = node.value.again(self.graph, [self.places[a.id] for a in node.args])
        elif node.op == "result":
            self.places[node.id] = self._results[node.args[0].id][node.value]
        elif node.op == "dot":
            block, i, j = node.value
            if id(block) not in self._products:
                self._products[id(block)] = self._product(block)
            self.places[node.id] = self._products[id(block)][i, j]
        elif node.op == "lookup":
            self.places[node.id] = lookup(self.places[node.args[0].id], *node.value)
        elif node.op == "const":
            self.places[node.id] = self.graph.constant(node.value)
        elif node.op == "input":
            if node.graph is not self.graph:
                raise DalembertError(f"{node!r} has no value in the place where it is used")
            self.places[node.id] = node
        else:
            arguments = [self.places[x.id] for x in node.args]
            if self.alone:
                self.places[node.id] = self.graph.copied(node.op, tuple(arguments))
                return
            again = ARITHMETIC.get(node.op)
            self.places[node.id] = again(*arguments) if again else arguments[0].__traced__(node.op, *arguments)

    def _product(self, block: ProductBlock) -> np.ndarray:
        renewed = np.vectorize(lambda x: self.places[x.id], otypes=[object])
        return product(self.graph, renewed(block.A), renewed(block.B))


def inlined(nodes: Sequence[Any], values: Mapping[Scalar, Any], graph: Graph) -> list[Any]:
    """Expressions of the keys of `values` as expressions of its values, which are numbers or nodes of `graph`."""
    places = {key.id: value if isinstance(value, Scalar) else graph.constant(value) for key, value in values.items()}
    copy = Copy(graph, places).take(depth_first([x for x in nodes if isinstance(x, Scalar)]))
    return [copy.places[x.id] if isinstance(x, Scalar) else x for x in nodes]


def substitute(outputs: Any, values: Mapping[Scalar, Any]) -> np.ndarray:
    """`outputs` with every key of `values` replaced by its value, all at once; folded and shared again.

    Keys are inputs: any other node may have been folded into its neighbours. Values are numbers or traced values of the
    same graph. Returns an object array of the shape of `outputs`.
    """
    array = np.asarray(outputs, object)
    out = np.array(array, object)
    nodes = [x for x in array.ravel() if isinstance(x, Scalar)]
    if nodes:
        copy = Copy(nodes[0].graph, {node.id: node.lift(value) for node, value in values.items()})
        copy.take(depth_first(nodes))
        for index, x in np.ndenumerate(array):
            if isinstance(x, Scalar):
                out[index] = copy.places[x.id]
    return out
