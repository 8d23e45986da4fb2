"""Integrators: a record with step and properties of each, those of the package, and loops of fixed steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model
from dalembert.model.mujoco import MujocoOption
from dalembert.typing import Array, Scalar

from ..program import Program
from ..system.contact_step import contact_step
from ..system.drive import Command
from ..system.sampling import Sampling
from ..system.shared import shared
from ..system.system import System
from .explicit import rk4_in_world_axes, runge_kutta, semi_implicit, semi_implicit_damped
from .implicit import Residual, implicit_fast, implicit_velocity, midpoint, solved, variational
from .leapfrog import AXIS_ANGLE, LEAPFROG, Carried, axis_angle, single_step
from .tableaux import EULER, HEUN, MERSON, RK4, RK8, RK23, RK45, RODAS, Tableau

Step = Callable[..., tuple[np.ndarray, np.ndarray]]  # (system, t, h, q, e, u) → (q, e)


@dataclass(frozen=True, eq=False)
class Integrator:
    """A method that advances a `System` in time. It is one of:

    tableau: an explicit Runge-Kutta method; with weights of an error it chooses its own steps. step: a function
    (system, t, h, q, e, u) → (q, e) after a step of h [s], traced; `system.rates` gives ė, `system.layout` the parts
    of e, `dalembert.dynamics.algorithms.integrate` moves q. residual: a function (system, t, h, q, e, u, x) →
    `Attempt` of the unknowns x = [displacement, states of elements at the end], solved by Newton's method.

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


def _explicit(method: Tableau, system: Any, t: Scalar, h: Scalar, q: Any, e: Any, u: Any) -> tuple[Array, Array]:
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


ANY_STEP = float(np.inf)
SYMMETRIC: dict[str, Any] = {"stable": (ANY_STEP, ANY_STEP), "bounded_energy": True, "single_precision": False}
SYMMETRIC["holds_control"] = True

INTEGRATORS: dict[str, Integrator] = {
    integrator.name: integrator
    for integrator in (
        Integrator("semi-implicit", 1, step=semi_implicit, stable=(2.0, 2.0), impulsive=True),
        Integrator(
            "semi-implicit-damped",
            1,
            step=semi_implicit_damped,
            stable=(2.0, ANY_STEP),
            holds_control=True,
            impulsive=True,
        ),
        Integrator("implicit-fast", 1, step=implicit_fast, stable=(2.0, ANY_STEP), holds_control=True),
        Integrator("implicit-velocity", 1, step=implicit_velocity, stable=(2.0, ANY_STEP), holds_control=True),
        Integrator(
            "leapfrog",
            2,
            step=single_step,
            stable=(2.0, 0.0),
            bounded_energy=True,
            single_precision=False,
            carried=LEAPFROG,
            free_bodies=True,
        ),
        Integrator("axis-angle", 1, step=axis_angle, stable=(2.0, 2.0), carried=AXIS_ANGLE, free_bodies=True),
        Integrator("euler", 1, EULER, stable=(0.0, 2.0)),
        Integrator("heun", 2, HEUN, stable=(0.0, 2.0)),
        Integrator("rk4", 4, RK4, stable=(2.83, 2.79)),
        Integrator("merson", 4, MERSON, stable=(3.15, 3.55)),
        Integrator("rk23", 3, RK23, stable=(1.73, 2.51)),
        Integrator("rk45", 5, RK45, stable=(0.99, 3.31)),
        Integrator("rk8", 8, RK8, stable=(1.5, 5.0)),
        Integrator("rodas", 4, RODAS, stable=(ANY_STEP, ANY_STEP)),
        Integrator("implicit-midpoint", 2, residual=midpoint, **SYMMETRIC),
        Integrator("variational", 2, residual=variational, **SYMMETRIC),
    )
}

# of systems with rigid contact, which no other integrator takes
TIME_STEPPING = Integrator(
    "time-stepping", 2, step=contact_step, stable=(2.0, ANY_STEP), holds_control=True, impulsive=True
)


# those that take MuJoCo's steps, by their names there; its RK4 is "rk4" where no body is free
MUJOCO: dict[str, Integrator] = {
    "Euler": INTEGRATORS["semi-implicit-damped"],
    "implicit": INTEGRATORS["implicit-velocity"],
    "implicitfast": INTEGRATORS["implicit-fast"],
    "RK4": Integrator("mujoco-rk4", 4, step=rk4_in_world_axes, stable=(2.83, 2.79)),
}


def integrator_for(
    where: str, integrator: str | Integrator | None, default: str, contact: Any, model: Model
) -> Integrator:
    """The integrator asked for, or the default; rigid contact has a step of its own, MuJoCo's that of the file."""
    if isinstance(contact, Contact) and contact.model == "mujoco":
        option = model.mujoco.option if model.mujoco else MujocoOption()
        of_file = MUJOCO.get(option.integrator, MUJOCO["Euler"])
        if of_file is MUJOCO["Euler"] and not option.implicit_damping:
            of_file = INTEGRATORS["semi-implicit"]
        method = of_file if integrator is None else chosen(integrator, INTEGRATORS, where)
        if method.residual is not None or method.free_bodies:
            raise DalembertError(
                f"{where}: integrator {method.name!r} does not take the constraints of Contact(model='mujoco'): leave "
                f"`integrator` out for {of_file.name!r}, that of the file, or use 'semi-implicit-damped', "
                "'implicit-velocity', 'implicit-fast' or 'rk4'"
            )
        return method
    if not (isinstance(contact, Contact) and contact.model == "rigid"):
        return chosen(default if integrator is None else integrator, INTEGRATORS, where)
    if integrator is None:
        return TIME_STEPPING
    name = integrator if isinstance(integrator, str) else integrator.name
    raise DalembertError(
        f"{where}: integrator is {name!r}, but rigid contact has a time step of its own: leave `integrator` out, "
        "or use Contact(model='compliant')"
    )


MANY = 4  # evaluations from which on they may share their code


def fixed_program(
    system: System,
    integrator: Integrator,
    identity: str | None,
    recorded: bool,
    rows: bool = False,
    like: Program | None = None,
) -> Program:
    """The loop of steps: carried q, e and their number; timing is (begin [s], step [s]); recorded (q, e) of each.

    like: the same with other records or rows.
    """
    model, step, evaluations = system.model, integrator.fixed_step, integrator.evaluations

    def compute(q: Array, e: Array, number: Any, timing: Any, u: Array) -> dict[str, Any]:
        t0, h = timing
        used = system if system.called or evaluations < MANY else shared(system, evaluations)
        q1, e1 = step(used, t0 + number[0] * h, h, q, e, u)
        return {"q_next": q1, "e_next": e1, "number_next": number + 1.0}

    return Program(
        f"fixed {integrator.name}",
        identity,
        {"q": model.nq, "e": system.ne, "number": 1, "timing": 2, "u": system.nu},
        {"q_next": (model.nq,), "e_next": (system.ne,), "number_next": (1,)},
        compute,
        carry={"q_next": "q", "e_next": "e", "number_next": "number"},
        sequence=("u",) if rows else (),
        record=("q_next", "e_next") if recorded else (),
        lanes=1,
        interpreted=system.called,
        like=like,
    )


def sampled_program(system: System, integrator: Integrator, sampling: Sampling) -> Program:
    """Like `fixed_program`, driven by controllers that run at rates: their memory and the command are carried too.

    number: of the step in the whole run; recorded (q, e, command) of each step.
    """
    model, step = system.model, integrator.fixed_step

    def compute(q: Array, e: Array, number: Any, timing: Any, memory: Array, command: Any) -> dict[str, Any]:
        t0, h = timing
        t = t0 + number[0] * h
        tau, after = sampling.advanced(number[0], t, q, system.layout.velocity(e), memory, {})
        u = Command.held(tau).flat()
        q1, e1 = step(system, t, h, q, e, u)
        following = {"q_next": q1, "e_next": e1, "number_next": number + 1.0}
        return following | {"memory_next": after, "command_next": u}

    sizes = {"q": model.nq, "e": system.ne, "number": 1, "timing": 2, "memory": sampling.size, "command": system.nu}
    carried = {name: size for name, size in sizes.items() if name != "timing"}
    return Program(
        f"sampled {integrator.name}",
        None,
        sizes,
        {f"{name}_next": (size,) for name, size in carried.items()},
        compute,
        carry={f"{name}_next": name for name in carried},
        record=("q_next", "e_next", "command_next"),
        lanes=1,
    )
