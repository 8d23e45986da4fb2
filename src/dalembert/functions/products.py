"""Derivatives of the dynamics times vectors, and second derivatives contracted with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from .derivatives import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from .evaluation import Evaluation, Keywords
from .structure import Wrench


class Products(Evaluation):
    """Products with the derivatives of the dynamics, none of which makes a matrix; q in tangent coordinates.

    External wrenches keep their numbers along their axes while q changes, as in the dynamics themselves.
    """

    def inverse_dynamics_jvp(
        self,
        q: Any,
        v: Any,
        a: Any,
        dq: Any,
        dv: Any,
        da: Any,
        *,
        external: Sequence[Wrench] = (),
        **keywords: Unpack[Keywords],
    ) -> np.ndarray:
        """dtau (…, nv): the rate of `inverse_dynamics` along q ⊕ dq t, v + dv t, a + da t."""
        return self._evaluate("inverse_dynamics_jvp", (q, v, a, dq, dv, da), keywords, external)

    def inverse_dynamics_vjp(
        self, q: Any, v: Any, a: Any, w: Any, *, external: Sequence[Wrench] = (), **keywords: Unpack[Keywords]
    ) -> InverseDynamicsDerivatives:
        """wᵀ ∂tau/∂q, wᵀ ∂tau/∂v, wᵀ ∂tau/∂a, each (…, nv): the gradient of w·tau; `out` is (…, 3, nv)."""
        return self._packed("inverse_dynamics_vjp", InverseDynamicsDerivatives, (q, v, a, w), keywords, external)

    def forward_dynamics_jvp(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dq: Any,
        dv: Any,
        dtau: Any,
        *,
        external: Sequence[Wrench] = (),
        **keywords: Unpack[Keywords],
    ) -> np.ndarray:
        """da (…, nv): the rate of `forward_dynamics` along q ⊕ dq t, v + dv t, tau + dtau t."""
        return self._evaluate("forward_dynamics_jvp", (q, v, tau, dq, dv, dtau), keywords, external)

    def forward_dynamics_vjp(
        self, q: Any, v: Any, tau: Any, w: Any, *, external: Sequence[Wrench] = (), **keywords: Unpack[Keywords]
    ) -> ForwardDynamicsDerivatives:
        """wᵀ ∂a/∂q, wᵀ ∂a/∂v, wᵀ ∂a/∂tau, each (…, nv): the gradient of w·a; `out` is (…, 3, nv)."""
        return self._packed("forward_dynamics_vjp", ForwardDynamicsDerivatives, (q, v, tau, w), keywords, external)

    def inverse_dynamics_second(
        self, q: Any, v: Any, a: Any, w: Any, *, external: Sequence[Wrench] = (), **keywords: Unpack[Keywords]
    ) -> np.ndarray:
        """Hessian (…, 3 nv, 3 nv) of δ ↦ w·inverse_dynamics(q ⊕ δq, v + δv, a + δa) at 0; order q, v, a."""
        return self._evaluate("inverse_dynamics_second", (q, v, a, w), keywords, external)

    def forward_dynamics_second(
        self, q: Any, v: Any, tau: Any, w: Any, *, external: Sequence[Wrench] = (), **keywords: Unpack[Keywords]
    ) -> np.ndarray:
        """Hessian (…, 3 nv, 3 nv) of δ ↦ w·forward_dynamics(q ⊕ δq, v + δv, tau + δtau) at 0; order q, v, tau."""
        return self._evaluate("forward_dynamics_second", (q, v, tau, w), keywords, external)
