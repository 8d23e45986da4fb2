"""The robot as one body: momentum about the centre of mass, and the inertia of the whole."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from .evaluation import Evaluation, Keywords


class Momentum(Evaluation):
    """Centroidal momentum, its matrix and its rate, composite inertia, total mass.

    "Centroidal": angular part about the robot's centre of mass, all in world axes. A base that carries mass is part of
    the robot, also where it is fixed to the world: the centre of mass is that of `center_of_mass`.
    """

    @property
    def total_mass(self) -> float:
        """Mass of all bodies together, the base included [kg]."""
        return float(sum(body.inertia.mass for body in self.model.bodies))

    def centroidal_momentum(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """[L; p] (…, 6): angular momentum about the centre of mass and linear momentum, world axes [N·m·s, N·s]."""
        return self._evaluate("centroidal_momentum", (q, v), keywords)

    def centroidal_momentum_matrix(self, q: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """A (…, 6, nv) with centroidal_momentum = A v; world axes."""
        return self._evaluate("centroidal_momentum_matrix", (q,), keywords)

    def centroidal_momentum_rate(self, q: Any, v: Any, a: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """Rate (…, 6) of the centroidal momentum, A a + Ȧ v, world axes [N·m, N].

        It is the wrench about the centre of mass of all that acts from outside: weight, ground and external wrenches.
        """
        return self._evaluate("centroidal_momentum_rate", (q, v, a), keywords)

    def composite_inertia(self, q: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """Spatial inertia (…, 6, 6) of the robot with locked joints, about its centre of mass, in world axes.

        [I 0; 0 m·1]: rotational inertia I [kg·m²] and mass m [kg].
        """
        return self._evaluate("composite_inertia", (q,), keywords)
