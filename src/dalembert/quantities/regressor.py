"""Regressors of the inertial parameters, for identification and adaptive control.

Parameters π (10 nb,), body after body in the order of `robot.bodies`: m, m·cx, m·cy, m·cz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz
about the origin of the body's frame, in its axes. Friction, damping, springs and rotors (armature) are no part of them:
results are those of the bare robot, `robot.without("friction", "damping", "armature", "springs")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from dalembert.dynamics import algorithms

from .kinds import Configuration, Tangent
from .quantity import Keywords, quantity

if TYPE_CHECKING:
    from dalembert.robot import Robot


def parameters(robot: Robot) -> np.ndarray:
    """π (10 nb,): the inertial parameters of all bodies [kg, kg·m, kg·m²].

    Body after body in the order of `robot.bodies`: m, m·cx, m·cy, m·cz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the origin
    of the body's frame, in its axes. What is linear in them is of the bare robot: without friction, damping, springs
    and rotors (armature).
    """
    return robot.model.parameters()


@quantity("nv", "10 nb")
def regressor(robot: Robot, q: Configuration, v: Tangent, a: Tangent, **keywords: Unpack[Keywords]) -> np.ndarray:
    """Y (…, nv, 10 nb) with inverse_dynamics of the bare robot = Y @ parameters()."""
    return algorithms.torque_regressor(robot.model, q, v, a)


@quantity("nv", "10 nb")
def momentum_regressor(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> np.ndarray:
    """Y (…, nv, 10 nb) with M v = Y @ parameters(): generalised momentum of the bare robot."""
    return algorithms.momentum_regressor(robot.model, q, v)


@quantity("10 nb")
def energy_regressor(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> np.ndarray:
    """y (…, 10 nb) with kinetic and potential energy of the bare robot = y @ parameters()."""
    return algorithms.energy_regressor(robot.model, q, v)
