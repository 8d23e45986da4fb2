"""Derivatives of dynamics, energy and kinematics; the Coriolis matrix and the Christoffel symbols.

Derivatives are along velocities: column k of ∂/∂q is the rate along q ⊕ e_k t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.compiler.graph import jacobian as graph_jacobian
from dalembert.dynamics import algorithms
from dalembert.math import abs as absolute
from dalembert.math import maximum
from dalembert.model import Model
from dalembert.typing import Scalar

from .dynamics import energy, mass_matrix, open_tree
from .kinds import Axes, Configuration, External, FrameName, Point, Tangent
from .kinematics import jacobian, pose
from .quantity import Keywords, quantity
from .structure import ORIGIN, Wrench
from .tangent import differentiated, pulled, pushed, spread
from .wrenches import body_wrenches, numbers, with_numbers

if TYPE_CHECKING:
    from dalembert.robot import Robot

SMALL_ARM = 12  # degrees of freedom up to which Christoffel symbols are given: nv³ numbers


class InverseDynamicsDerivatives(NamedTuple):
    """∂tau/∂q, ∂tau/∂v, ∂tau/∂a, each (…, nv, nv); of a product with a vector, each (…, nv)."""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


class ForwardDynamicsDerivatives(NamedTuple):
    """∂a/∂q, ∂a/∂v, ∂a/∂tau, each (…, nv, nv); of a product with a vector, each (…, nv)."""

    dq: np.ndarray
    dv: np.ndarray
    dtau: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


class EnergyDerivatives(NamedTuple):
    """∂energy/∂q and ∂energy/∂v, each (…, nv)."""

    dq: np.ndarray
    dv: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


def _slopes(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂tau/∂q, ∂tau/∂v, ∂tau/∂a (nv, nv) of inverse dynamics: by recursion, where all joints have stages."""
    if all(body.joint.stages for body in model.bodies):
        return algorithms.inverse_dynamics_derivatives(model, q, v, a)

    @differentiated
    def slopes(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        tau = algorithms.rnea(model, q, v, a)
        return np.stack([spread(model, tau, q), graph_jacobian(tau, v), graph_jacobian(tau, a)])

    dq, dv, da = slopes(q, v, a)
    return dq, dv, da


def _load_slope(model: Model, q: np.ndarray, external: Sequence[Wrench]) -> np.ndarray:
    """∂/∂q (nv, nv) of the generalised force that balances the external wrenches."""
    weightless = replace(model.without("friction", "damping", "armature", "springs"), gravity=np.zeros(3))
    still = np.zeros(model.nv)

    @differentiated
    def slope(q: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
        wrenches = body_wrenches(model, q, with_numbers(external, vectors))
        return spread(model, algorithms.rnea(weightless, q, still, still, wrenches), q)

    return slope(q, *numbers(external))


@quantity("nv", "nv")
def inverse_dynamics_derivatives(
    robot: Robot, q: Configuration, v: Tangent, a: Tangent, *, external: External = (), **keywords: Unpack[Keywords]
) -> InverseDynamicsDerivatives:
    """Derivatives of `inverse_dynamics` in q (tangent coordinates), v and a; `out` is (…, 3, nv, nv).

    External wrenches keep their numbers along their axes while q changes, as in `inverse_dynamics`.
    """
    dq, dv, da = _slopes(robot.model, q, v, a)
    return InverseDynamicsDerivatives(dq + _load_slope(robot.model, q, external) if external else dq, dv, da)


@quantity("nv", "nv", refuses=open_tree)
def forward_dynamics_derivatives(
    robot: Robot, q: Configuration, v: Tangent, tau: Tangent, *, external: External = (), **keywords: Unpack[Keywords]
) -> ForwardDynamicsDerivatives:
    """Derivatives of `forward_dynamics` in q (tangent coordinates), v and tau; `out` is (…, 3, nv, nv).

    External wrenches keep their numbers along their axes while q changes, as in `forward_dynamics`.
    """
    wrenches, slope = (
        body_wrenches(robot.model, q, external),
        _load_slope(robot.model, q, external) if external else 0.0,
    )
    derivatives = algorithms.forward_dynamics_derivatives(robot.model, q, v, tau, wrenches, slope, _slopes)
    return ForwardDynamicsDerivatives(*derivatives)


@quantity("nv", "nv")
def coriolis_matrix(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> np.ndarray:
    """C (…, nv, nv) of the Christoffel symbols: Ṁ − 2C is skew, and C v + g is the bias of bare joints."""
    return algorithms.coriolis_matrix(robot.model, q, v)


@quantity(differentiates=True)
def passivity_residual(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> Scalar:
    """max |N + Nᵀ| of N = Ṁ − 2C: zero but for rounding, since N is skew [kg·m²/s, kg·m/s, kg/s]."""
    N = pushed(robot.model, mass_matrix(robot, q), q, v) - 2.0 * coriolis_matrix(robot, q, v)
    return reduce(maximum, [absolute(x) for x in (N + N.T)[np.triu_indices(robot.nv)]], 0.0)


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


@quantity("nv", "nv", "nv", refuses=_no_symbols, differentiates=True)
def christoffel(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """Christoffel symbols c (…, nv, nv, nv) of the first kind: C_ij = Σ_k c_ijk v_k, symmetric in j and k.

    For arms of at most 12 degrees of freedom without ball and free joints.
    """
    dM = spread(robot.model, mass_matrix(robot, q), q)
    return 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 0, 1))


@quantity("nv", "nv")
def gravity_derivatives(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """∂g/∂q (…, nv, nv) of `gravity`, springs included; symmetric where v = q̇."""
    return algorithms.gravity_derivatives(robot.model, q, _slopes)


@quantity("nv", differentiates=True)
def energy_derivatives(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> EnergyDerivatives:
    """Gradients of `energy` in q (tangent coordinates) and in v (the momenta M v); `out` is (…, 2, nv)."""
    return EnergyDerivatives(*pulled(robot.model, energy(robot, q, v), 1.0, q, v))


@quantity(4, 4, "nv", differentiates=True)
def pose_derivative(robot: Robot, q: Configuration, frame: FrameName, **keywords: Unpack[Keywords]) -> np.ndarray:
    """∂X_WF/∂q (…, 4, 4, nv) of `pose`, in tangent coordinates."""
    return spread(robot.model, pose(robot, q, frame), q)


@quantity(6, "nv", "nv", differentiates=True)
def jacobian_derivative(
    robot: Robot,
    q: Configuration,
    frame: FrameName,
    *,
    point: Point = ORIGIN,
    axes: Axes = "world",
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """∂J/∂q (…, 6, nv, nv) of the entries of `jacobian`, in tangent coordinates; [:, j, k] is ∂J_j/∂q_k.

    In world axes ∂J/∂q · v is `jacobian_rate`; in axes that turn, that one takes the rate as seen from the world.
    """
    return spread(robot.model, jacobian(robot, q, frame, point=point, axes=axes), q)
