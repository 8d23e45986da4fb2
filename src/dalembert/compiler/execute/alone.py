"""Users' functions known without the programs that ask them: by their trace alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.compiler.graph import Scalar, trace
from dalembert.compiler.graph.copying import inlined


class Alone:
    """A function that was traced alone. Each answer within a larger trace is compared with that trace.

    sizes: of its arguments; compute: its answer as one vector. agrees: whether all answers so far were those of the
    trace: then the trace determines what the function does there.
    """

    def __init__(self, name: str, sizes: Mapping[str, int], compute: Callable[..., np.ndarray]) -> None:
        self.agrees = True
        self._traced = trace(compute, dict(sizes), name)
        self.fingerprint = self._traced.fingerprint()

    def compare(self, answer: np.ndarray, given: list[Any]) -> None:
        """Take an answer to given arguments, both as one vector."""
        self.agrees = self.agrees and self._expects(answer, given)

    def _expects(self, answer: np.ndarray, given: list[Any]) -> bool:
        """Whether the trace has this answer: the same nodes of the arguments' graph."""
        graph = next((x.graph for x in given if isinstance(x, Scalar)), None)
        (output,) = self._traced.outputs
        if graph is None or len(answer) != len(output.nodes):
            return False
        if not output.nodes:
            return True
        own = output.nodes[0].graph
        arguments = [x for each in self._traced.inputs for x in own.input(each.name, each.size)]
        expected = inlined(output.nodes, dict(zip(arguments, given, strict=True)), graph)
        return all(graph.constant(0.0).lift(x) is y for x, y in zip(answer, expected, strict=True))
