"""A system whose torque law is Python code: the law is called, everything else is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..program import Program
from .system import Law, System


@dataclass(frozen=True, eq=False)
class CalledSystem(System):
    """A driven system whose numbers come from a function at every evaluation."""

    function: Law | None = None
    identity: str | None = None

    @cached_property
    def _rates(self) -> Program:
        twin = System(self.model, self.elements, None, driven=True, ledger=self.ledger)

        def compute(t: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
            return {"rates": twin.rates(t[0], q, e, u)}

        sizes = {"t": 1, "q": self.model.nq, "e": self.ne, "u": self.nu}
        return Program("rates", self.identity, sizes, {"rates": (self.ne,)}, compute, lanes=1)

    def rates(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ė (ne,) of numbers."""
        assert self.function is not None
        tau = self.function(t, q, e[: self.model.nv])
        given = np.concatenate([tau, np.zeros(self.model.nv + 1)])
        return self._rates({"t": np.array([float(t)]), "q": q, "e": e, "u": given})["rates"][0]
