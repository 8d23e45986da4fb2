"""The integrators of the package, each with all that is known about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.model.mujoco import MujocoOption

from ..system.contact_step import contact_step
from .axis_angle import AXIS_ANGLE, axis_angle
from .explicit import semi_implicit, semi_implicit_damped
from .implicit import implicit_fast, implicit_velocity, midpoint
from .leapfrog import LEAPFROG, single_step
from .record import Integrator, chosen
from .rosenbrock import RODAS
from .tableaux import EULER, HEUN, MERSON, RK4, RK8, RK23, RK45
from .variational import variational
from .world_axes import rk4_in_world_axes

ANY_STEP = float(np.inf)

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
        Integrator(
            "implicit-midpoint",
            2,
            residual=midpoint,
            stable=(ANY_STEP, ANY_STEP),
            bounded_energy=True,
            single_precision=False,
            holds_control=True,
        ),
        Integrator(
            "variational",
            2,
            residual=variational,
            stable=(ANY_STEP, ANY_STEP),
            bounded_energy=True,
            single_precision=False,
            holds_control=True,
        ),
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
        return _for_mujoco(where, integrator, model)
    if not (isinstance(contact, Contact) and contact.model == "rigid"):
        return chosen(default if integrator is None else integrator, INTEGRATORS, where)
    if integrator is None:
        return TIME_STEPPING
    name = integrator if isinstance(integrator, str) else integrator.name
    raise DalembertError(
        f"{where}: integrator is {name!r}, but rigid contact has a time step of its own: leave `integrator` out, "
        "or use Contact(model='compliant')"
    )


def _for_mujoco(where: str, integrator: str | Integrator | None, model: Model) -> Integrator:
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
