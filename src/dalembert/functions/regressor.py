"""What is linear in the inertial parameters, for identification and adaptive control."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from .evaluation import Evaluation, Keywords


class Regressors(Evaluation):
    """Regressors of torque, generalised momentum and energy.

    Parameters π (10 nb,), body after body in the order of `robot.bodies`: m, m·cx, m·cy, m·cz, Ixx, Iyy, Izz, Ixy, Ixz,
    Iyz about the origin of the body's frame, in its axes. Friction, damping, springs and rotors (armature) are no
    part of them: results are those of the bare robot, `robot.without("friction", "damping", "armature", "springs")`.
    """

    def parameters(self) -> np.ndarray:
        """π (10 nb,): the inertial parameters of all bodies [kg, kg·m, kg·m²]."""
        return self.model.parameters()

    def regressor(self, q: Any, v: Any, a: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """Y (…, nv, 10 nb) with inverse_dynamics of the bare robot = Y @ parameters()."""
        return self._evaluate("regressor", (q, v, a), keywords)

    def momentum_regressor(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """Y (…, nv, 10 nb) with M v = Y @ parameters(): generalised momentum of the bare robot."""
        return self._evaluate("momentum_regressor", (q, v), keywords)

    def energy_regressor(self, q: Any, v: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """y (…, 10 nb) with kinetic and potential energy of the bare robot = y @ parameters()."""
        return self._evaluate("energy_regressor", (q, v), keywords)
