"""Traced expressions with other values in the place of some of their nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .product import Block, product
from .scalar import Scalar
from .schedule import depth_first

ARITHMETIC: dict[str, Callable[..., Scalar]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}


def substitute(outputs: Any, values: Mapping[Scalar, Any]) -> np.ndarray:
    """`outputs` with every key of `values` replaced by its value, all at once; folded and shared anew.

    Keys are inputs: any other node may have been folded into its neighbours. Values are numbers or traced values of the
    same graph. Returns an object array of the shape of `outputs`.
    """
    array = np.asarray(outputs, object)
    made = {node.id: node.lift(value) for node, value in values.items()}
    products: dict[int, np.ndarray] = {}
    for node in depth_first([x for x in array.ravel() if isinstance(x, Scalar)]):
        if node.id not in made:
            made[node.id] = _again(node, made, products)
    out = np.empty(array.shape, object)
    for index, x in np.ndenumerate(array):
        out[index] = made[x.id] if isinstance(x, Scalar) else x
    return out


def _again(node: Scalar, made: Mapping[int, Scalar], products: dict[int, np.ndarray]) -> Scalar:
    """The operation of a node on what its arguments have become."""
    if node.op == "dot":
        block, i, j = node.value
        if id(block) not in products:
            products[id(block)] = _product(node, block, made)
        return products[id(block)][i, j]
    if not node.args:
        return node
    arguments = [made[x.id] for x in node.args]
    return ARITHMETIC[node.op](*arguments) if node.op in ARITHMETIC else node.__traced__(node.op, *arguments)


def _product(node: Scalar, block: Block, made: Mapping[int, Scalar]) -> np.ndarray:
    renewed = np.vectorize(lambda x: made[x.id], otypes=[object])
    return product(node.graph, renewed(block.A), renewed(block.B))
