"""Derivatives of dynamics, energy and kinematics; the Coriolis matrix and the Christoffel symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from .evaluation import Evaluation, Keywords
from .structure import ORIGIN, Wrench


class InverseDynamicsDerivatives(NamedTuple):
    """∂tau/∂q, ∂tau/∂v, ∂tau/∂a, each (…, nv, nv); of a product with a vector, each (…, nv)."""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


class ForwardDynamicsDerivatives(NamedTuple):
    """∂a/∂q, ∂a/∂v, ∂a/∂tau, each (…, nv, nv); of a product with a vector, each (…, nv)."""

    dq: np.ndarray
    dv: np.ndarray
    dtau: np.ndarray


class EnergyDerivatives(NamedTuple):
    """∂energy/∂q and ∂energy/∂v, each (…, nv)."""

    dq: np.ndarray
    dv: np.ndarray


class Derivatives(Evaluation):
    """Derivatives along velocities: column k of ∂/∂q is the rate along q ⊕ e_k t."""

    def inverse_dynamics_derivatives(
        self, q: Any, v: Any, a: Any, *, external: Sequence[Wrench] = (), **keywords: Unpack[Keywords]
    ) -> InverseDynamicsDerivatives:
        """Derivatives of `inverse_dynamics` in q (tangent coordinates), v and a; `out` is (…, 3, nv, nv).

        External wrenches keep their numbers along their axes while q changes, as in `inverse_dynamics`.
        """
        return self._packed("inverse_dynamics_derivatives", InverseDynamicsDerivatives, (q, v, a), keywords, external)

    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any, *, external: Sequence[Wrench] = (), **keywords: Unpack[Keywords]
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics` in q (tangent coordinates), v and tau; `out` is (…, 3, nv, nv).

        External wrenches keep their numbers along their axes while q changes, as in `forward_dynamics`.
        """
        return self._packed("forward_dynamics_derivatives", ForwardDynamicsDerivatives, (q, v, tau), keywords, external)

    def coriolis_matrix(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """C (…, nv, nv) of the Christoffel symbols: Ṁ − 2C is skew, and C v + g is the bias of bare joints."""
        return self._evaluate("coriolis_matrix", (q, v), keywords)

    def passivity_residual(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> Any:
        """max |N + Nᵀ| of N = Ṁ − 2C: zero but for rounding, since N is skew [kg·m²/s, kg·m/s, kg/s]."""
        return self._evaluate("passivity_residual", (q, v), keywords)

    def christoffel(self, q: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """Christoffel symbols c (…, nv, nv, nv) of the first kind: C_ij = Σ_k c_ijk v_k, symmetric in j and k.

        For arms of at most 12 degrees of freedom without ball and free joints.
        """
        return self._evaluate("christoffel", (q,), keywords)

    def gravity_derivatives(self, q: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """∂g/∂q (…, nv, nv) of `gravity`, springs included; symmetric where v = q̇."""
        return self._evaluate("gravity_derivatives", (q,), keywords)

    def energy_derivatives(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> EnergyDerivatives:
        """Gradients of `energy` in q (tangent coordinates) and in v (the momenta M v); `out` is (…, 2, nv)."""
        return self._packed("energy_derivatives", EnergyDerivatives, (q, v), keywords)

    def pose_derivative(self, q: Any, frame: str, **keywords: Unpack[Keywords]) -> np.ndarray:
        """∂X_WF/∂q (…, 4, 4, nv) of `pose`, in tangent coordinates."""
        return self._framed("pose_derivative", (q,), frame, ORIGIN, "world", keywords)

    def jacobian_derivative(
        self, q: Any, frame: str, *, point: Any = ORIGIN, axes: str = "world", **keywords: Unpack[Keywords]
    ) -> np.ndarray:
        """∂J/∂q (…, 6, nv, nv) of the entries of `jacobian`, in tangent coordinates; [:, j, k] is ∂J_j/∂q_k.

        In world axes ∂J/∂q · v is `jacobian_rate`; in axes that turn, that one takes the rate as seen from the world.
        """
        return self._framed("jacobian_derivative", (q,), frame, point, axes, keywords)
