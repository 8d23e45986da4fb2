"""Laws that are known without the step that asks them: by their trace alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.graph import Scalar, trace
from dalembert.graph.copying import inlined
from dalembert.model import Model

from ..system.system import Law


class LoneLaw:
    """A law that was traced alone on t, q, v. Each answer of the law within a step is compared with that trace.

    agrees: whether all answers so far were those of the trace: then it determines what the law does in the step.
    """

    def __init__(self, model: Model, law: Law) -> None:
        def compute(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.asarray(law(t[0], q, v), object)

        self.law, self.agrees = law, True
        self._alone = trace(compute, {"t": 1, "q": model.nq, "v": model.nv}, "law")
        self.fingerprint = self._alone.fingerprint()

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
        answer = self.law(t, q, v)
        self.agrees = self.agrees and self._expects(np.asarray(answer, object).ravel(), [t, *q, *v])
        return answer

    def _expects(self, answer: np.ndarray, given: list[Any]) -> bool:
        """Whether the trace has this answer for the given arguments: the same nodes of their graph."""
        graph = next((x.graph for x in given if isinstance(x, Scalar)), None)
        (output,) = self._alone.outputs
        if graph is None or len(answer) != len(output.nodes):
            return False
        own = output.nodes[0].graph
        arguments = [x for each in self._alone.inputs for x in own.input(each.name, each.size)]
        expected = inlined(output.nodes, dict(zip(arguments, given, strict=True)), graph)
        return all(graph.constant(0.0).lift(x) is y for x, y in zip(answer, expected, strict=True))
