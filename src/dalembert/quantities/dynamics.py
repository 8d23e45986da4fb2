"""Equations of motion and energy: inverse and forward dynamics, mass matrix, bias, gravity, energies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.model import Model
from dalembert.typing import Scalar

from . import lagrange
from .kinds import GENERALIZED, LAGRANGE, NEWTON_EULER, Configuration, External, Method, Tangent
from .quantity import Keywords, quantity
from .wrenches import body_wrenches

if TYPE_CHECKING:
    from dalembert.robot import Robot

LOST = 1e-14  # of a diagonal entry of the mass matrix: a smaller pivot is round-off


def open_tree(model: Model) -> str | None:
    """Why a model with loops cannot have a quantity that follows from forces on the tree alone."""
    if not model.closures:
        return None
    names = ", ".join(repr(closure.name) for closure in model.closures)
    return (
        f"robot {model.name!r} has loops, closed by {names}, which only simulate, rollout, loop_dynamics and "
        "loop_inverse_dynamics take into account; robot.without('loops') is the tree alone"
    )


@quantity("nv", elsewhere={"contact": "_inverse_dynamics_in_contact"})
def inverse_dynamics(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    a: Tangent,
    *,
    external: External = (),
    method: Method = NEWTON_EULER,
    contact: Any = None,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """tau (…, nv) = M a + C v + g + joint forces − Σ Jᵀ F: what the joints must give for the acceleration a.

    method: "newton-euler" (recursive, the fastest), "lagrange" (energies differentiated) or
    "generalized-newton-euler" (closed form, joint by joint); independent ways to the same numbers.

    contact: a `dalembert.Contact`, whose forces are subtracted. Compliant contact and model="mujoco" (with all its soft
    constraints, as mj_inverse) have one answer. Rigid contacts push with the least forces, inside their friction cones,
    that balance what the joints without motors cannot; what they cannot balance is left in tau at these joints.
    """
    if method == LAGRANGE:
        return lagrange.inverse_dynamics(robot.model, q, v, a, external)
    algorithm = algorithms.generalized_newton_euler if method == GENERALIZED else algorithms.rnea
    return algorithm(robot.model, q, v, a, body_wrenches(robot.model, q, external))


def _no_acceleration(model: Model, state: Mapping[str, np.ndarray]) -> str:
    """Words for a state in which forces have no finite effect."""
    too_large = f"the accelerations of robot {model.name!r} are too large for numbers of this precision"
    return singular_mass(model, np.asarray(state["q"], float)) or too_large


def singular_mass(model: Model, q: np.ndarray) -> str | None:
    """Words for a configuration whose mass matrix is singular: the first pivot, tips first, that is lost; else None."""
    M = algorithms.mass_matrix(model, q)
    diagonal = np.diag(M).copy()
    for k in reversed(range(model.nv)):
        if not M[k, k] > LOST * diagonal[k]:
            joint = next(body.joint.name for body in model.bodies if body.v.start <= k < body.v.stop)
            return (
                f"the mass matrix of robot {model.name!r} is singular: here joint {joint!r} moves no mass, so that "
                "forces on it have no finite effect; give the bodies behind it inertia, or the joint an armature"
            )
        M[:k, :k] -= np.outer(M[:k, k], M[k, :k]) / M[k, k]
    return None


@quantity("nv", refuses=open_tree, unbounded=_no_acceleration)
def forward_dynamics(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    tau: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """The acceleration a (…, nv) that the generalised forces tau and the external wrenches cause."""
    return algorithms.forward_dynamics(robot.model, q, v, tau, body_wrenches(robot.model, q, external))


@quantity("nv", "nv")
def mass_matrix(
    robot: Robot, q: Configuration, *, method: Method = NEWTON_EULER, **keywords: Unpack[Keywords]
) -> np.ndarray:
    """M (…, nv, nv), full and symmetric, rotor inertias (armature) included; method: see `inverse_dynamics`."""
    if method == LAGRANGE:
        return lagrange.mass_matrix(robot.model, q)
    if method == GENERALIZED:
        return algorithms.equations(robot.model, q, np.zeros(robot.nv))[0]
    return algorithms.mass_matrix(robot.model, q)


@quantity("nv", "nv", unbounded=_no_acceleration)
def inverse_mass_matrix(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """M⁻¹ (…, nv, nv), full and symmetric."""
    return algorithms.inverse_mass_matrix(robot.model, q)


@quantity("nv")
def bias(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    *,
    external: External = (),
    method: Method = NEWTON_EULER,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """C v + g (…, nv): inverse dynamics at zero acceleration, joint forces included; method: as there."""
    if method == LAGRANGE:
        return lagrange.bias(robot.model, q, v, external)
    wrenches = body_wrenches(robot.model, q, external)
    if method == GENERALIZED:
        return algorithms.generalized_newton_euler(robot.model, q, v, np.zeros(robot.nv), wrenches)
    return algorithms.bias(robot.model, q, v, wrenches)


@quantity("nv")
def gravity(
    robot: Robot, q: Configuration, *, method: Method = NEWTON_EULER, **keywords: Unpack[Keywords]
) -> np.ndarray:
    """g (…, nv): the generalised force that holds the robot still at q, against gravity and joint springs.

    method: see `inverse_dynamics`.
    """
    if method == LAGRANGE:
        return lagrange.gravity(robot.model, q)
    if method == GENERALIZED:
        return algorithms.equations(robot.model, q, np.zeros(robot.nv))[2]
    return algorithms.gravity(robot.model, q)


@quantity()
def kinetic_energy(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> Scalar:
    """½ vᵀ M v [J], rotors included; a number, or an array over the batch."""
    return algorithms.kinetic_energy(robot.model, q, v)


@quantity()
def potential_energy(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> Scalar:
    """Energy in gravity (zero at the world's origin) and joint springs [J]."""
    return algorithms.potential_energy(robot.model, q)


@quantity()
def energy(robot: Robot, q: Configuration, v: Tangent, **keywords: Unpack[Keywords]) -> Scalar:
    """Kinetic and potential energy together [J]."""
    return algorithms.energy(robot.model, q, v)


@quantity(3)
def center_of_mass(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """Centre of mass (…, 3) in the world [m]."""
    return algorithms.center_of_mass(robot.model, q)


@quantity(3, "nv")
def center_of_mass_jacobian(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """J (…, 3, nv) with velocity of the centre of mass = J v, in world axes [m/s]."""
    return algorithms.centroidal_momentum_matrix(robot.model, q)[3:] / algorithms.total_mass(robot.model)
