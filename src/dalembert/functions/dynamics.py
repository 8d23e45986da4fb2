"""Equations of motion and energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from .evaluation import Evaluation, Keywords
from .structure import Wrench


class Dynamics(Evaluation):
    """Inverse and forward dynamics, mass matrix, bias, gravity, energy, centre of mass."""

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        *,
        external: Sequence[Wrench] = (),
        method: str = "newton-euler",
        **keywords: Unpack[Keywords],
    ) -> np.ndarray:
        """tau (…, nv) = M a + C v + g + joint forces − Σ Jᵀ F: what the joints must give for the acceleration a.

        method: "newton-euler" (recursive, the fastest), "lagrange" (energies differentiated) or
        "generalized-newton-euler" (closed form, joint by joint); independent ways to the same numbers.
        """
        return self._evaluate("inverse_dynamics", (q, v, a), keywords, external, method=method)

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, *, external: Sequence[Wrench] = (), **keywords: Unpack[Keywords]
    ) -> np.ndarray:
        """The acceleration a (…, nv) that the generalised forces tau and the external wrenches cause."""
        return self._evaluate("forward_dynamics", (q, v, tau), keywords, external)

    def mass_matrix(self, q: Any, *, method: str = "newton-euler", **keywords: Unpack[Keywords]) -> np.ndarray:
        """M (…, nv, nv), full and symmetric, rotor inertias (armature) included; method: see `inverse_dynamics`."""
        return self._evaluate("mass_matrix", (q,), keywords, method=method)

    def inverse_mass_matrix(self, q: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """M⁻¹ (…, nv, nv), full and symmetric."""
        return self._evaluate("inverse_mass_matrix", (q,), keywords)

    def bias(
        self,
        q: Any,
        v: Any,
        *,
        external: Sequence[Wrench] = (),
        method: str = "newton-euler",
        **keywords: Unpack[Keywords],
    ) -> np.ndarray:
        """C v + g (…, nv): inverse dynamics at zero acceleration, joint forces included; method: as there."""
        return self._evaluate("bias", (q, v), keywords, external, method=method)

    def gravity(self, q: Any, *, method: str = "newton-euler", **keywords: Unpack[Keywords]) -> np.ndarray:
        """g (…, nv): the generalised force that holds the robot still at q, against gravity and joint springs.

        method: see `inverse_dynamics`.
        """
        return self._evaluate("gravity", (q,), keywords, method=method)

    def kinetic_energy(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> Any:
        """½ vᵀ M v [J], rotors included; a number, or an array over the batch."""
        return self._evaluate("kinetic_energy", (q, v), keywords)

    def potential_energy(self, q: Any, **keywords: Unpack[Keywords]) -> Any:
        """Energy in gravity (zero at the world's origin) and joint springs [J]."""
        return self._evaluate("potential_energy", (q,), keywords)

    def energy(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> Any:
        """Kinetic and potential energy together [J]."""
        return self._evaluate("energy", (q, v), keywords)

    def center_of_mass(self, q: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """Centre of mass (…, 3) in the world [m]."""
        return self._evaluate("center_of_mass", (q,), keywords)
