"""Laws that are known without the step that asks them: by their trace alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.compiler.execute.alone import Alone
from dalembert.math.arrays import asked
from dalembert.model import Model

from ..system.system import Law


class LoneLaw:
    """A law that was traced alone on t, q, v; `alone` compares each answer of the law within a step with that trace."""

    def __init__(self, model: Model, law: Law) -> None:
        def compute(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.asarray(asked(law, t[0], q, v), object)

        self.law, self.alone = law, Alone("law", {"t": 1, "q": model.nq, "v": model.nv}, compute)

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
        answer = self.law(t, q, v)
        self.alone.compare(np.asarray(answer, object).ravel(), [t, *q, *v])
        return answer
