"""Work that is done only where it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.math import repeat, where
from dalembert.spatial import Pose


def computed_where(condition: Any, compute: Callable[[Pose], np.ndarray], X: Pose, size: int) -> np.ndarray:
    """compute(X), `size` numbers, where the condition holds, and ones elsewhere.

    Both sides of a `where` are always computed; this is a loop with at most one pass, which compiled code leaves out
    when none of the states that it computes together needs it. The pose is part of the loop's state, since what a step
    takes from outside is computed outside.
    """

    def step(pose: Any, numbers: Any, done: Any) -> dict[str, Any]:
        return {"pose": pose, "numbers": compute(Pose(pose[:9].reshape(3, 3), pose[9:])), "done": 1.0}

    start = {"pose": np.array([*X.R.ravel(), *X.p]), "numbers": np.ones(size), "done": where(condition, 0.0, 1.0)}
    return repeat(step, 1, start, settled="done")["numbers"]
