"""Configurations as points of a manifold: neutral and random ones, motion along velocities, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.model import random_parameters as drawn_parameters

from .kinds import Configuration, Number, Tangent
from .quantity import Keywords, quantity

if TYPE_CHECKING:
    from dalembert.robot import Robot


def neutral(robot: Robot) -> np.ndarray:
    """The configuration (nq,) with all joints at zero (quaternions: no rotation)."""
    return algorithms.neutral(robot.model)


def generator(where: str, rng: Any, seed: int | None = None) -> np.random.Generator:
    """A generator of random numbers as it came, or the one of a seed if there is none."""
    if rng is None and seed is not None:
        return np.random.default_rng(seed)
    if isinstance(rng, np.random.Generator):
        return rng
    by_seed = "" if seed is None else ", or seed=0"
    raise DalembertError(f"{where}: rng is {rng!r}, expected a generator, such as np.random.default_rng(0){by_seed}")


def random(robot: Robot, rng: np.random.Generator, n: int | None = None) -> np.ndarray:
    """A configuration (nq,), or n of them (n, nq), uniform within the joint limits."""
    rng = generator("random", rng)
    if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0):
        raise DalembertError(f"random: n is {n!r}, expected how many configurations, 0 or more")
    return algorithms.random(robot.model, rng, n)


def random_parameters(
    robot: Robot,
    rng: np.random.Generator,
    n: int | None = None,
    *,
    mass: float = 0.1,
    com: float = 0.0,
    shape: float = 0.0,
) -> np.ndarray:
    """Inertial parameters (10 nb,), or n sets of them (n, 10 nb), of possible bodies near this robot's.

    rng: a NumPy generator. mass: largest change of its logarithm; com: largest shift of the center of mass along each
    axis [m]; shape: largest stretch and shear. For `with_parameters`, and as live parameters "inertia" of quantities
    and rollouts.
    """
    rng = generator("random_parameters", rng)
    sets = drawn_parameters(robot.model, rng, 1 if n is None else n, mass, com, shape)
    return sets[0] if n is None else sets


@quantity("nq", unit_quaternions=False)
def normalize(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """q (…, nq) with its quaternions brought to unit length."""
    return algorithms.normalize(robot.model, q)


@quantity("nq")
def integrate(robot: Robot, q: Configuration, v: Tangent, dt: Number = 1.0, **keywords: Unpack[Keywords]) -> np.ndarray:
    """q ⊕ v·dt (…, nq): the configuration after the time dt [s] at the constant velocity v."""
    return algorithms.integrate(robot.model, q, v * dt)


@quantity("nv")
def difference(robot: Robot, q0: Configuration, q1: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """The velocity (…, nv) with q0 ⊕ v = q1 in unit time."""
    return algorithms.difference(robot.model, q0, q1)


@quantity("nq")
def interpolate(
    robot: Robot, q0: Configuration, q1: Configuration, s: Number, **keywords: Unpack[Keywords]
) -> np.ndarray:
    """The configuration (…, nq) on the shortest way from q0 (s = 0) to q1 (s = 1); s a number or a batch."""
    return algorithms.interpolate(robot.model, q0, q1, s)
