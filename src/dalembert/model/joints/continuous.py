"""One angle about an axis, without limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .revolute import Revolute


@dataclass(frozen=True, eq=False, kw_only=True)
class Continuous(Revolute):
    """q = [θ] about the axis [rad], any number of turns (never wrapped), v = θ̇."""

    kind = "continuous"

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.any(np.isfinite(self.lower)) or np.any(np.isfinite(self.upper)):
            raise self._error("a continuous joint has no limits: use joint='revolute', or drop lower and upper")
