"""The compiled programs of a system and an integrator, kept for the next run of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.execute import Recent, code, content
from dalembert.dynamics import algorithms
from dalembert.model import Model
from dalembert.typing import Array

from ..elements.base import Element
from ..integrators.adaptive import adaptive_program, between
from ..integrators.catalogue import TIME_STEPPING, Integrator, fixed_program
from ..integrators.implicit import newton_program
from ..integrators.tableaux import Tableau
from ..program import Program
from ..system.called import CalledSystem
from ..system.guards import force_scale, guards
from ..system.laws import Drive
from ..system.system import Law, System


class Programs:
    """The programs of a run, compiled when first used. identity: text that determines the system, or None."""

    def __init__(self, system: System, integrator: Integrator, identity: str | None) -> None:
        self.system, self.integrator = system, integrator
        self.identity = None if identity is None else f"{identity} {system.holding} {system.impulsive}"
        self._plain_identity = identity
        self._steps: dict[tuple[bool, bool], Program] = {}
        self._like: Program | None = None  # one of them, of the system as it is now
        self._watched = Recent(8)
        self._switching = bool(system.layout.nm) and system.holding

    @property
    def _step_identity(self) -> str | None:
        """Text that determines the steps, or None: all else is the same with every integrator."""
        method = content(self.integrator)
        return None if self.identity is None or method is None else f"{self.identity} {method}"

    @cached_property
    def open(self) -> Programs:
        """The programs for the time when no constraint that comes and goes holds: smaller and faster steps."""
        return Programs(replace(self.system, holding=False), self.integrator, self._plain_identity)

    def renew(self, elements: tuple[Element, ...], law: Law | None) -> None:
        """Trace what is not compiled yet from the functions and classes as they are now."""
        self.system, self._like = replace(self.system, elements=elements, law=law), None
        if "open" in vars(self):
            self.open.renew(elements, law)

    def at(self, e: Array) -> Programs:
        """The programs for the modes of e: those that hold rows only where one is held."""
        if not self._switching:
            return self
        return self if self.held(e).any() else self.open

    def held(self, e: Array) -> Array:
        """Whether each row that comes and goes is held (nm,); rigid contact keeps those of its own."""
        if not self.system.layout.nm:
            return np.zeros(0, bool)
        owners = self.system.row_owners[self.system.permanent_count :]
        modes = self.system.layout.modes(e).tolist()
        return np.array([bool(o.constraint.admissible.active(m)) for o, m in zip(owners, modes, strict=True)], bool)

    @property
    def method(self) -> Tableau:
        """The tableau of an adaptive integrator."""
        assert self.integrator.tableau is not None
        return self.integrator.tableau

    @cached_property
    def attempts(self) -> Program:
        """Adaptive steps."""
        return adaptive_program(self.system, self.method, self._step_identity)

    @cached_property
    def between(self) -> Program:
        """Dense output."""
        return between(self.system, self.method, self._step_identity)

    def steps(self, recorded: bool, rows: bool = False) -> Program:
        """Fixed steps, or Newton's iterations of implicit ones, with all states kept or the last one.

        rows: driven by a row of numbers for every step, not by the same ones.
        """
        if (recorded, rows) not in self._steps:
            system, method, known, like = self.system, self.integrator, self._step_identity, self._like
            if method.residual is None:
                self._like = fixed_program(system, method, known, recorded, rows, like)
            else:
                self._like = newton_program(system, method.name, method.residual, known, recorded, like)
            self._steps[recorded, rows] = self._like
        return self._steps[recorded, rows]

    def _of_state(self, name: str, shapes: Mapping[str, tuple[int, ...]], compute: Any, **options: Any) -> Program:
        """A program of t, q, e, u."""
        system, identity = self.system, options.pop("identity", self.identity)
        sizes = {"t": 1, "q": system.model.nq, "e": system.ne, "u": system.nu}
        return Program(name, identity, sizes, shapes, compute, **options)

    @cached_property
    def rates(self) -> Program:
        """ė (ne,) of a state."""
        system = self.system

        def compute(t: Any, q: Array, e: Array, u: Array) -> dict[str, Any]:
            return {"rates": system.rates(t[0], q, e, u)}

        return self._of_state("rates", {"rates": (system.ne,)}, compute, lanes=1, interpreted=system.called)

    def watched(self, events: tuple[Any, ...]) -> Program:
        """Numbers that change sign at events: guards of the system, then those of the user, traced for every run."""
        system = self.system

        def compute(t: Any, q: Array, e: Array, u: Array) -> dict[str, Any]:
            numbers = [event.number(t[0], q, system.layout.velocity(e)) for event in events]
            return {"values": [*guards(system, t[0], q, e, u), *numbers]}

        count = system.layout.nm + sum(gap_counts(system)) + len(events)
        identity = None if events else self.identity
        program = self._of_state("event functions", {"values": (count,)}, compute, identity=identity)
        return self._watched.get(program.identity, lambda: program)  # ready to run, if there was one like it

    @cached_property
    def constrained(self) -> Program:
        """Mass matrix, acceleration without held rows, and all rows, for deciding which of them hold."""
        system, n, count = self.system, self.system.model.nv, self.system.row_count

        def compute(t: Any, q: Array, e: Array, u: Array) -> dict[str, Any]:
            applied, v = system.applied(t[0], q, e, u), system.layout.velocity(e)
            M = algorithms.mass_matrix(system.model, q)
            a = algorithms.forward_dynamics(system.model, q, v, applied.forces, applied.wrenches)
            rows = system.constraint_rows(t[0], q, v, system.layout.states(e))
            return {"M": M, "a": a, "force_scale": force_scale(system, q, v, applied), **rows._asdict()}

        shapes: dict[str, tuple[int, ...]] = {"M": (n, n), "a": (n,), "force_scale": (), "J": (count, n)}
        shapes |= dict.fromkeys(("coordinate", "bias", "surface"), (count,))
        return self._of_state("constrained", shapes, compute, lanes=1)

    @cached_property
    def closing(self) -> Program:
        """Coordinates, rows and speeds at the time 0 of the constraints that always hold."""
        system, count = self.system, self.system.permanent_count
        z = np.zeros(system.layout.nz)

        def compute(q: Array, v: Array) -> dict[str, Any]:
            rows = system.constraint_rows(0.0, q, v, z)
            return {"residual": rows.coordinate[:count], "J": rows.J[:count], "surface": rows.surface[:count]}

        sizes = {"q": system.model.nq, "v": system.model.nv}
        shapes = {"residual": (count,), "J": (count, system.model.nv), "surface": (count,)}
        return Program("closing", self.identity, sizes, shapes, compute, lanes=1)

    @cached_property
    def observed(self) -> Program:
        """Torques and energies of states."""
        system = self.system

        def compute(t: Any, q: Array, e: Array, u: Array) -> dict[str, Any]:
            return {
                "tau": system.torque(t[0], q, e, u),
                "energies": list(system.energies(t[0], q, e, u)),
                "multipliers": system.multipliers(t[0], q, e, u) if system.solved_count else [],
            }

        shapes = {"tau": (system.model.nv,), "energies": (3,)}
        if system.solved_count:
            shapes["multipliers"] = (system.solved_count,)
        return self._of_state("observed", shapes, compute)


def gap_counts(system: System) -> tuple[int, ...]:
    """Number of gaps of each element."""
    model, layout = system.model, system.layout
    q, v, tau = algorithms.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    seen = system.situations(0.0, q, v, np.zeros(layout.nz), tau)
    return tuple(len(element.gaps(s)) for element, s in zip(system.elements, seen, strict=True))


def programs(model: Model, elements: tuple[Element, ...], drive: Drive, integrator: Integrator) -> Programs:
    """The programs of a run; those of an earlier one like it if there was one."""
    driven = drive.called or bool(drive.values.shape[1])
    if drive.called and not integrator.holds_control:
        identity = content(model, elements, driven)
        called = CalledSystem(
            model, elements, None, driven=True, called=True, function=drive.function, identity=identity
        )
        return Programs(called, integrator, identity)
    law = None if drive.called or drive.sampled else drive.function

    def prepare() -> Programs:
        identity = content(model, elements, driven) if law is None else None
        system = System(model, elements, law, driven, impulsive=integrator is TIME_STEPPING)
        return Programs(system, integrator, identity)

    recent: Programs = _recent.get(code(model, elements, law, driven, integrator), prepare)
    if recent.identity is None:
        recent.renew(elements, law)
    return recent


_recent = Recent(64)
