"""The compiled programs of a system and an integrator, kept for the next run of the same kind."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from dalembert.errors import unknown
from dalembert.execute import Recent, code, content
from dalembert.model import Model

from ..elements.base import Element
from ..integrators import adaptive, dense, fixed, implicit
from ..integrators.tableaux import TABLEAUX, Tableau
from ..integrators.variational import variational
from ..program import Program
from ..system.called import CalledSystem
from ..system.laws import Drive
from ..system.system import System

IMPLICIT = {"implicit-midpoint": implicit.midpoint, "variational": variational}
ADAPTIVE = tuple(name for name, method in TABLEAUX.items() if method.adaptive)
INTEGRATORS = (*fixed.STEPS, *IMPLICIT)
HELD = ("implicit-velocity", *IMPLICIT)  # with these a law that cannot be traced is asked once per step


class Programs:
    """What a run needs of a system, compiled when first used. identity: text that determines all of it, or None."""

    def __init__(self, system: System, integrator: str, identity: str | None) -> None:
        self.system, self.integrator = system, integrator
        self.identity = None if identity is None else f"{identity} {integrator}"
        self._steps: dict[tuple[bool, bool], Program] = {}

    @property
    def method(self) -> Tableau:
        """The tableau of an adaptive integrator."""
        return TABLEAUX[self.integrator]

    @cached_property
    def attempts(self) -> Program:
        """Adaptive steps."""
        return adaptive.program(self.system, self.method, self.identity)

    @cached_property
    def between(self) -> Program:
        """Dense output."""
        return dense.between(self.system, self.method, self.identity)

    def steps(self, recorded: bool, rows: bool) -> Program:
        """Fixed steps, with all states kept or the last one, driven by the same numbers or a row for every step."""
        if (recorded, rows) not in self._steps:
            made = fixed.program(self.system, self.integrator, self.identity, recorded, rows)
            self._steps[recorded, rows] = made
        return self._steps[recorded, rows]

    def newton(self, recorded: bool) -> Program:
        """Implicit steps, with the state after every iteration kept or the last one."""
        if (recorded, False) not in self._steps:
            made = implicit.program(self.system, IMPLICIT[self.integrator], self.identity, recorded)
            self._steps[recorded, False] = made
        return self._steps[recorded, False]

    @cached_property
    def rates(self) -> Program:
        """ė (ne,) of a state."""
        system = self.system

        def compute(t: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
            return {"rates": system.rates(t[0], q, e, u)}

        sizes = {"t": 1, "q": system.model.nq, "e": system.ne, "u": system.nu}
        return Program(
            "rates", self.identity, sizes, {"rates": (system.ne,)}, compute, lanes=1, interpreted=system.called
        )

    def watched(self, events: tuple[Any, ...]) -> Program:
        """Numbers that change sign at events: of elements, then those of the user. Made anew for every run."""
        system = self.system

        def compute(t: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
            own = [event.number(t[0], q, e[: system.model.nv]) for event in events]
            return {"gaps": [*system.gaps(t[0], q, e, u), *own]}

        sizes = {"t": 1, "q": system.model.nq, "e": system.ne, "u": system.nu}
        count = 3 * sum(type(element).gaps is not Element.gaps for element in system.elements) + len(events)
        return Program("watched", None if events else self.identity, sizes, {"gaps": (count,)}, compute)

    @cached_property
    def closing(self) -> Program:
        """Residuals and rows of the equations on the configuration."""
        system, count = self.system, self.system.closing_count

        def compute(q: Any, v: Any) -> dict[str, Any]:
            made = system.closing(q, v)
            return {"residual": made.residual, "J": made.J}

        sizes, shapes = (
            {"q": system.model.nq, "v": system.model.nv},
            {"residual": (count,), "J": (count, system.model.nv)},
        )
        return Program("closing", self.identity, sizes, shapes, compute, lanes=1)

    @cached_property
    def observed(self) -> Program:
        """Torques and energies of states."""
        system = self.system

        def compute(t: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
            return {
                "tau": system.torque(t[0], q, e[: system.model.nv], u),
                "energies": list(system.energies(t[0], q, e, u)),
                "multipliers": system.multipliers(t[0], q, e, u) if system.held else [],
            }

        sizes = {"t": 1, "q": system.model.nq, "e": system.ne, "u": system.nu}
        shapes = {"tau": (system.model.nv,), "energies": (3,)}
        if system.held:
            shapes["multipliers"] = (system.held_count,)
        return Program("observed", self.identity, sizes, shapes, compute)


def programs(model: Model, elements: tuple[Element, ...], drive: Drive, integrator: str) -> Programs:
    """The programs of a run; those of an earlier one like it if there was one."""
    if integrator not in INTEGRATORS:
        raise unknown("integrator", integrator, INTEGRATORS, "simulate")
    driven = drive.called or bool(drive.values.shape[1])
    identity = content(model, elements, driven)
    if drive.called and integrator not in HELD:
        called = CalledSystem(
            model, elements, None, driven=True, called=True, function=drive.function, identity=identity
        )
        return Programs(called, integrator, identity)
    law = None if drive.called or drive.sampled else drive.function

    def prepare() -> Programs:
        return Programs(System(model, elements, law, driven), integrator, identity if law is None else None)

    found: Programs = _recent.get(code(model, elements, law, driven, integrator), prepare)
    if found.identity is None:  # what is not compiled yet is traced from the functions and classes as they are now
        found.system = replace(found.system, elements=elements, law=law)
    return found


_recent = Recent(64)
