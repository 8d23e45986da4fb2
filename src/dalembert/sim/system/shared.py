"""Systems whose rates are one subroutine: the stages of a step of a large robot share its code."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.graph import Function, call, trace

from .system import System

WRITTEN_OUT = 12_000  # operations of a step up to which it is one piece of code, which runs faster but compiles longer


@dataclass(frozen=True, eq=False)
class SharedSystem(System):
    """A system that is traced once, whose rates are then called."""

    @cached_property
    def function(self) -> Function:
        """The rates of (t, q, e, u)."""
        system = System(**{f.name: getattr(self, f.name) for f in fields(System)})
        sizes = {"t": 1, "q": self.model.nq, "e": self.ne} | ({"u": self.nu} if self.nu else {})

        def compute(t: Any, q: Any, e: Any, *u: Any) -> dict[str, Any]:
            return {"rates": system.rates(t[0], q, e, u[0] if u else np.zeros(0))}

        return trace(compute, sizes, "rates")

    def rates(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ė (ne,) of a traced state."""
        return call(self.function, np.array([t], object), q, e, u)[0]


def shared(system: System, evaluations: int) -> System:
    """The system for a step that needs its rates so many times."""
    subroutine = SharedSystem(**{f.name: getattr(system, f.name) for f in fields(System)})
    operations = sum(subroutine.function.operations().values())
    return subroutine if evaluations * operations > WRITTEN_OUT else system
