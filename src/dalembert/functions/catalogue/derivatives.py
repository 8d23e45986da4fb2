"""Derivatives of the dynamics and of the kinematics, the Coriolis matrix and what it comes from."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from dalembert import algorithms
from dalembert.graph import jacobian
from dalembert.math import abs as absolute
from dalembert.math import maximum
from dalembert.model import Model

from ..quantity import Options, Quantity, external_loads, framed, open_tree, plain, square
from ..tangent import differentiated, pulled, pushed, spread

SMALL_ARM = 12  # degrees of freedom up to which Christoffel symbols are given: nv³ numbers


@differentiated
def _passivity_residual(model: Model, options: Options, q: np.ndarray, v: np.ndarray) -> Any:
    """max |N + Nᵀ| of N = Ṁ − 2C, with Ṁ the rate of the mass matrix along v."""
    N = pushed(model, algorithms.mass_matrix(model, q), q, v) - 2.0 * algorithms.coriolis_matrix(model, q, v)
    return reduce(maximum, [absolute(x) for x in (N + N.T)[np.triu_indices(model.nv)]], 0.0)


@differentiated
def _christoffel(model: Model, options: Options, q: np.ndarray) -> np.ndarray:
    """½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) (nv, nv, nv)."""
    dM = spread(model, algorithms.mass_matrix(model, q), q)
    return 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 0, 1))


def _no_symbols(model: Model) -> str | None:
    for body in model.bodies:
        if not body.joint.flat:
            return (
                f"joint {body.joint.name!r} is {body.joint.kind}, whose velocity is not the rate of coordinates; "
                "coriolis_matrix has no such limit"
            )
    if model.nv > SMALL_ARM:
        return (
            f"robot {model.name!r} has {model.nv} degrees of freedom, expected at most {SMALL_ARM} for nv³ numbers: "
            "use coriolis_matrix"
        )
    return None


@differentiated
def _energy_derivatives(model: Model, options: Options, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """∂energy/∂q along velocities, and ∂energy/∂v: the momenta (2, nv)."""
    return np.stack(pulled(model, algorithms.energy(model, q, v), 1.0, q, v))


@differentiated
def _pose_derivative(model: Model, options: Options, q: np.ndarray) -> np.ndarray:
    """∂X_WF/∂q (4, 4, nv) along velocities."""
    return spread(model, algorithms.frame_pose(model, q, model.frame(options.frame or "")).matrix(), q)


@differentiated
def _jacobian_derivative(model: Model, options: Options, q: np.ndarray, *point: np.ndarray) -> np.ndarray:
    """∂J/∂q (6, nv, nv) along velocities, entry by entry."""
    return spread(model, framed(algorithms.jacobian)(model, options, q, *point), q)


@differentiated
def _load_slope(model: Model, options: Options, q: np.ndarray, *numbers: np.ndarray) -> np.ndarray:
    """∂/∂q (nv, nv) along velocities of the generalised force that balances the external wrenches."""
    weightless = replace(model.without("friction", "damping", "armature", "springs"), gravity=np.zeros(3))
    rest = np.zeros(model.nv)
    return spread(model, algorithms.rnea(weightless, q, rest, rest, external_loads(model, options, q, numbers)), q)


def _slopes(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂tau/∂q, ∂tau/∂v, ∂tau/∂a (nv, nv) of inverse dynamics: by recursion, where all joints have stages."""
    if all(body.joint.stages for body in model.bodies):
        return algorithms.inverse_dynamics_derivatives(model, q, v, a)
    dq, dv, da = _differentiated_slopes(model, Options(), q, v, a)
    return dq, dv, da


@differentiated
def _differentiated_slopes(model: Model, options: Options, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    tau = algorithms.rnea(model, q, v, a)
    return np.stack([spread(model, tau, q), jacobian(tau, v), jacobian(tau, a)])


def _gravity(model: Model, options: Options, q: np.ndarray) -> np.ndarray:
    return algorithms.gravity_derivatives(model, q, _slopes)


def _inverse(model: Model, options: Options, *inputs: np.ndarray) -> Any:
    q, v, a, *numbers = inputs
    dq, dv, da = _slopes(model, q, v, a)
    return (dq + _load_slope(model, options, q, *numbers) if numbers else dq), dv, da


def forward_derivatives(model: Model, options: Options, *inputs: np.ndarray) -> Any:
    """∂a/∂q, ∂a/∂v, ∂a/∂tau (3, nv, nv) of q, v, tau and the numbers of external wrenches."""
    q, v, tau, *numbers = inputs
    if not numbers:
        return algorithms.forward_dynamics_derivatives(model, q, v, tau, inverse=_slopes)
    external, slope = external_loads(model, options, q, numbers), _load_slope(model, options, q, *numbers)
    return algorithms.forward_dynamics_derivatives(model, q, v, tau, external, slope, _slopes)


def _three_squares(model: Model, options: Options) -> tuple[int, ...]:
    return 3, model.nv, model.nv


DERIVATIVES: dict[str, Quantity] = {
    "coriolis_matrix": Quantity(("q", "v"), square, plain(algorithms.coriolis_matrix)),
    "passivity_residual": Quantity(("q", "v"), lambda model, options: (), _passivity_residual),
    "christoffel": Quantity(("q",), lambda model, options: (model.nv,) * 3, _christoffel, refuses=_no_symbols),
    "inverse_dynamics_derivatives": Quantity(("q", "v", "a"), _three_squares, _inverse, loaded=True),
    "forward_dynamics_derivatives": Quantity(
        ("q", "v", "tau"), _three_squares, forward_derivatives, loaded=True, refuses=open_tree
    ),
    "gravity_derivatives": Quantity(("q",), square, _gravity),
    "energy_derivatives": Quantity(("q", "v"), lambda model, options: (2, model.nv), _energy_derivatives),
    "pose_derivative": Quantity(("q",), lambda model, options: (4, 4, model.nv), _pose_derivative, framed=True),
    "jacobian_derivative": Quantity(
        ("q",), lambda model, options: (6, model.nv, model.nv), _jacobian_derivative, framed=True
    ),
}
