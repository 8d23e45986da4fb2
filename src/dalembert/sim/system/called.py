"""A system whose torque law is Python code: the law is called, everything else is compiled."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ..program import Program
from .drive import Command
from .system import Law, System


@dataclass(frozen=True, eq=False)
class CalledSystem(System):
    """A driven system whose numbers come from a function at every evaluation."""

    function: Law | None = None
    identity: str | None = None

    @cached_property
    def _compiled(self) -> System:
        """The same system with the torques as numbers."""
        same = {field.name: getattr(self, field.name) for field in fields(System)}
        return System(**same | {"law": None, "called": False})

    def _program(self, name: str, sizes: dict[str, int], size: int, compute: Any) -> Program:
        identity = None if self.identity is None else f"{self.identity} {self.holding}"
        sizes = sizes | {"q": self.model.nq, "e": self.ne, "u": self.nu}
        return Program(name, identity, sizes, {name: (size,)}, compute, lanes=1)

    @cached_property
    def _rates(self) -> Program:
        def compute(t: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
            return {"rates": self._compiled.rates(t[0], q, e, u)}

        return self._program("rates", {"t": 1}, self.ne, compute)

    def rates(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ė (ne,) of numbers."""
        return self._rates({"t": np.array([float(t)]), "q": q, "e": e, "u": self._command(t, q, e)})["rates"][0]

    @cached_property
    def _kicked(self) -> Program:
        def compute(t: Any, h: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
            return {"kicked": np.concatenate(self._compiled.kicked(t[0], h[0], q, e, u))}

        return self._program("kicked", {"t": 1, "h": 1}, self.model.nv + self.ne, compute)

    def kicked(self, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Displacement and e after a step of symplectic Euler, of numbers."""
        inputs = {"t": np.array([float(t)]), "h": np.array([float(h)]), "q": q, "e": e, "u": self._command(t, q, e)}
        after = self._kicked(inputs)["kicked"][0]
        return after[: self.model.nv], after[self.model.nv :]

    def _command(self, t: Any, q: np.ndarray, e: np.ndarray) -> np.ndarray:
        """The torques now, as numbers that drive the system."""
        assert self.function is not None
        return Command.held(self.function(t, q, self.layout.velocity(e))).flat()
