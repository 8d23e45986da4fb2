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
        return self._rates({"t": np.array([float(t)]), "q": q, "e": e, "u": self._asked(t, q, e)})["rates"][0]

    @cached_property
    def _kicked(self) -> Program:
        twin, n = System(self.model, self.elements, None, driven=True, ledger=self.ledger), self.model.nv

        def compute(t: Any, h: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
            return {"kicked": np.concatenate(twin.kicked(t[0], h[0], q, e, u))}

        sizes = {"t": 1, "h": 1, "q": self.model.nq, "e": self.ne, "u": self.nu}
        return Program("kicked", self.identity, sizes, {"kicked": (n + self.measured,)}, compute, lanes=1)

    def kicked(self, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Displacement and [v, z] after a step of symplectic Euler, of numbers."""
        given = {"t": np.array([float(t)]), "h": np.array([float(h)]), "q": q, "e": e, "u": self._asked(t, q, e)}
        after = self._kicked(given)["kicked"][0]
        return after[: self.model.nv], after[self.model.nv :]

    def _asked(self, t: Any, q: np.ndarray, e: np.ndarray) -> np.ndarray:
        """The torques now, as numbers that drive the system."""
        assert self.function is not None
        return np.concatenate([self.function(t, q, e[: self.model.nv]), np.zeros(self.model.nv + 1)])
