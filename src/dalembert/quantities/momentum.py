"""The robot as one body: momentum about the centre of mass, and the inertia of the whole.

"Centroidal": angular part about the robot's centre of mass, all in world axes. A base that carries mass is part of the
robot, also where it is fixed to the world: the centre of mass is that of `center_of_mass`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from dalembert.dynamics import algorithms

from .kinds import Configuration, Tangent
from .quantity import Keywords, quantity

if TYPE_CHECKING:
    from dalembert.robot import Robot


@quantity(6)
def centroidal_momentum(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> np.ndarray:
    """[L; p] (…, 6): angular momentum about the centre of mass and linear momentum, world axes [N·m·s, N·s]."""
    return algorithms.centroidal_momentum(robot.model, q, v)


@quantity(6, "nv")
def centroidal_momentum_matrix(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """A (…, 6, nv) with centroidal_momentum = A v; world axes."""
    return algorithms.centroidal_momentum_matrix(robot.model, q)


@quantity(6)
def centroidal_momentum_rate(
    robot: Robot, q: Configuration, v: Tangent, a: Tangent, **keywords: Unpack[Keywords]
) -> np.ndarray:
    """Rate (…, 6) of the centroidal momentum, A a + Ȧ v, world axes [N·m, N].

    It is the wrench about the centre of mass of all that acts from outside: weight, ground and external wrenches.
    """
    return algorithms.centroidal_momentum_rate(robot.model, q, v, a)


@quantity(6, 6)
def composite_inertia(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """Spatial inertia (…, 6, 6) of the robot with locked joints, about its centre of mass, in world axes.

    [I 0; 0 m·1]: rotational inertia I [kg·m²] and mass m [kg].
    """
    return algorithms.composite_inertia(robot.model, q)
