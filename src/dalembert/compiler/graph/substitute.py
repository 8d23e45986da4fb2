"""Traced expressions with other values instead of some of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .copying import Copy
from .scalar import Scalar
from .schedule import depth_first


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
