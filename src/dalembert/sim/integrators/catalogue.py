"""The integrators of the package, each with all that is known about it."""

from __future__ import annotations

import numpy as np

from .explicit import semi_implicit, semi_implicit_damped
from .implicit import implicit_fast, implicit_velocity, midpoint
from .record import Integrator
from .tableaux import EULER, HEUN, MERSON, RK4, RK8, RK23, RK45
from .variational import variational

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
        Integrator("euler", 1, EULER, stable=(0.0, 2.0)),
        Integrator("heun", 2, HEUN, stable=(0.0, 2.0)),
        Integrator("rk4", 4, RK4, stable=(2.83, 2.79)),
        Integrator("merson", 4, MERSON, stable=(3.15, 3.55)),
        Integrator("rk23", 3, RK23, stable=(1.73, 2.51)),
        Integrator("rk45", 5, RK45, stable=(0.99, 3.31)),
        Integrator("rk8", 8, RK8, stable=(1.5, 5.0)),
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
