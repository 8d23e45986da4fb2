"""An integrator: one record with its step and its properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .explicit import runge_kutta
from .implicit import Residual, solved
from .tableaux import Tableau

Step = Callable[..., tuple[np.ndarray, np.ndarray]]  # (system, t, h, q, e, u) → (q, e)


@dataclass(frozen=True, eq=False)
class Carried:
    """A step that carries numbers of its own, its memory, from one step to the next.

    size: of a system → how many. start: (system, q (…, nq), v (…, nv)) → memory (…, size), of numbers. step: (system,
    t, h, q, e, u, memory) → (q, e, memory), traced. primed: (system, run, q, e, memory) → the memory with which steps
    begin, by `run(q, e, memory)`, which is one compiled step.
    """

    size: Callable[[Any], int]
    start: Callable[..., np.ndarray]
    step: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
    primed: Callable[..., np.ndarray]


@dataclass(frozen=True, eq=False)
class Integrator:
    """A method that advances a `System` in time. It is one of:

    tableau: an explicit Runge-Kutta method; with weights of an error it chooses its own steps. step: a function
    (system, t, h, q, e, u) → (q, e) after a step of h [s], traced; `system.rates` gives ė, `system.layout` the parts
    of e, `dalembert.dynamics.algorithms.integrate` moves q. residual: a function (system, t, h, q, e, u, x) → `Attempt`
    of the
    unknowns x = [displacement, states of elements at the end], solved by Newton's method.

    order: of its error; stable: |λ| h up to which it is stable for an oscillation, and for a decay; bounded_energy:
    whether the error of the energy stays bounded over long runs; single_precision: whether float32 has enough digits
    for it; holds_control: whether a torque function that must be called back is evaluated once per step, and then held,
    with a residual in the predicted middle of the step; impulsive: whether its step takes constraints that come and go
    as impulses at its end (`system.kicked`); carried: a faster step for rollouts, which keeps numbers of its own from
    one step to the next; free_bodies: whether it moves only mechanisms of free bodies.
    """

    name: str
    order: int
    tableau: Tableau | None = None
    step: Step | None = None
    residual: Residual | None = None
    stable: tuple[float, float] = (0.0, 0.0)
    bounded_energy: bool = False
    single_precision: bool = True
    holds_control: bool = False
    impulsive: bool = False
    carried: Carried | None = None
    free_bodies: bool = False

    def __post_init__(self) -> None:
        ways = [name for name in ("tableau", "step", "residual") if getattr(self, name) is not None]
        if len(ways) != 1:
            raise DalembertError(
                f"integrator {self.name!r}: it has {' and '.join(ways) or 'no step'}, expected one of tableau, step "
                "and residual"
            )

    @property
    def adaptive(self) -> bool:
        """Whether it can choose its own steps."""
        return self.tableau is not None and self.tableau.adaptive

    @property
    def evaluations(self) -> int:
        """How often a step evaluates the system, as far as its tableau tells."""
        return 1 if self.tableau is None else len(self.tableau.c)

    @property
    def fixed_step(self) -> Step:
        """(system, t, h, q, e, u) → (q, e): one step of size h, without a loop around it."""
        if self.tableau is not None:
            return partial(_explicit, self.tableau)
        if self.residual is not None:
            return partial(solved, method=self.residual)
        assert self.step is not None
        return self.step

    def __repr__(self) -> str:
        return f"<Integrator {self.name!r}, order {self.order}>"


@cache
def uncarried(integrator: Integrator) -> Integrator:
    """The integrator with its step that carries nothing, whose slopes in the state at the start are known."""
    return integrator if integrator.carried is None else replace(integrator, carried=None)


def _explicit(method: Tableau, system: Any, t: Any, h: Any, q: Any, e: Any, u: Any) -> tuple[np.ndarray, np.ndarray]:
    return runge_kutta(system, method, t, h, q, e, u)


def chosen(integrator: str | Integrator, known: Mapping[str, Integrator], where: str) -> Integrator:
    """The integrator of a name, or one that somebody wrote."""
    if isinstance(integrator, Integrator):
        return integrator
    if not isinstance(integrator, str):
        raise DalembertError(f"{where}: integrator is {integrator!r}, expected a name or a dalembert Integrator")
    if integrator not in known:
        raise unknown("integrator", integrator, known, where)
    return known[integrator]
