"""Functions called as a whole: where the same long computation is needed several times, its code is there once.

Only some backends can call (`interpreter`, `llvm`); others are given functions that are written out.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .function import Function
    from .scalar import Scalar


class Called:
    """One call: the function, and the nodes of its inputs, one after the other."""

    def __init__(self, function: Function, args: tuple[Scalar, ...]) -> None:
        self.function, self.args = function, args

    @cached_property
    def fingerprint(self) -> str:
        return self.function.fingerprint()


def call(function: Function, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of a function of traced vectors, as results of one call. Its guards are not looked at."""
    graph = next(x for x in np.concatenate(inputs) if hasattr(x, "__traced__")).graph
    args = tuple(x if hasattr(x, "__traced__") else graph.constant(x) for x in np.concatenate(inputs))
    called, found, k = Called(function, args), [], 0
    for output in function.outputs:
        nodes = np.empty(len(output.nodes), object)
        for i in range(len(nodes)):
            key = ("result", id(function), k, *[a.id for a in args])
            nodes[i] = graph.make(key, "result", args, (called, k))
            k += 1
        found.append(nodes.reshape(output.shape))
    return found
