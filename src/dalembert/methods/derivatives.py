"""Derivatives of the dynamics, and the Coriolis matrix."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np

from dalembert.evaluation import Evaluation, Keywords


class InverseDynamicsDerivatives(NamedTuple):
    """∂tau/∂q, ∂tau/∂v, ∂tau/∂a, each (…, nv, nv)."""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


class ForwardDynamicsDerivatives(NamedTuple):
    """∂a/∂q, ∂a/∂v, ∂a/∂tau, each (…, nv, nv)."""

    dq: np.ndarray
    dv: np.ndarray
    dtau: np.ndarray


class Derivatives(Evaluation):
    """Derivatives along velocities: column k of ∂/∂q is the rate along q ⊕ e_k t."""

    def inverse_dynamics_derivatives(
        self, q: Any, v: Any, a: Any, **keywords: Unpack[Keywords]
    ) -> InverseDynamicsDerivatives:
        """Derivatives of `inverse_dynamics` in q (tangent coordinates), v and a; `out` is (…, 3, nv, nv)."""
        return self._packed("inverse_dynamics_derivatives", InverseDynamicsDerivatives, (q, v, a), keywords)

    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any, **keywords: Unpack[Keywords]
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics` in q (tangent coordinates), v and tau; `out` is (…, 3, nv, nv)."""
        return self._packed("forward_dynamics_derivatives", ForwardDynamicsDerivatives, (q, v, tau), keywords)

    def coriolis_matrix(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """C (…, nv, nv) of the Christoffel symbols: Ṁ − 2C is skew, and C v + g is the bias of bare joints."""
        return self._evaluate("coriolis_matrix", (q, v), keywords)
