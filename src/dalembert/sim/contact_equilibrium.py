"""Rest in contact: a configuration near a given one, and the forces of motors and contacts that hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.contact import Contact, candidates
from dalembert.errors import DalembertError
from dalembert.linear import nonnegative_least_squares
from dalembert.model import motorized
from dalembert.quantities.analysis import Equilibrium
from dalembert.robot import Robot

from .around_contact import state
from .contact_dynamics import contact_dynamics
from .contact_inverse import ContactSlopes, check_soft, soft_inverse, soft_slopes
from .contact_rigid import SMALL, Touch, cone_edges, gaps, rigid_slopes, touch

REACH, LEVEL = 0.02, 5e-3  # [m]: how far off the nearest contact may be at the start, and others beyond it that close
CLOSING = 1e-4  # [m]: gap up to which two bodies count as touching each other
SUNK, SHIFT = 1e-4, 1e-6  # [m]: depth at which soft contacts begin to carry; rad or m: step of differences
FURTHEST = 0.1  # rad or m that a freedom moves in one step
LEAST, MOST = 1e-10, 1e8  # of the damping of steps, relative
EXACT = 1e-9  # [m]: gap of rigid contacts at rest
STIFF = 1e-6  # of the largest eigenvalue: what no displacement moves counts so much


class ContactEquilibrium(Equilibrium):
    """q (nq,), residual (nv,) and iterations of an equilibrium in contact, and the forces that hold it.

    tau (nv,): of the motors [N·m or N]; force (k, 3): of the contacts on their first body, in world axes [N].
    """

    tau: np.ndarray
    force: np.ndarray

    def __new__(
        cls, q: np.ndarray, residual: np.ndarray, iterations: int, tau: np.ndarray, force: np.ndarray
    ) -> ContactEquilibrium:
        self = super().__new__(cls, q, residual, iterations)
        self.tau, self.force = tau, force
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.tau, self.force)


def equilibrium(
    robot: Robot, q: Any, tau: Any, contact: Contact, *, motors: Any, tolerance: float, max_iterations: int
) -> ContactEquilibrium:
    """See `Robot.equilibrium`."""
    check_soft("equilibrium", robot.model, contact)
    (q,) = state("equilibrium", robot, q=robot.normalize(q))
    if tau is not None and motors is not None:
        raise DalembertError("equilibrium: tau and motors are both given: motors give the tau that it takes")
    free = motorized(robot.model, motors) if tau is None else np.zeros(robot.nv, bool)
    (push,) = state("equilibrium", robot, tau=np.zeros(robot.nv) if tau is None else tau)
    find = _rigid if contact.model == "rigid" else _soft
    found = find(robot, q, push, free, contact, tolerance, max_iterations)
    over = np.abs(found.tau) - robot.limits.effort
    worst = int(np.argmax(over)) if len(over) else 0
    if tau is None and len(over) and over[worst] > tolerance * max(1.0, float(np.abs(found.tau).max())):
        raise DalembertError(
            f"equilibrium: joint {robot.model.freedom_names[worst]!r} of robot {robot.name!r} would need "
            f"{found.tau[worst]:.4g} (N·m or N), its motor gives {robot.limits.effort[worst]:.4g}: start from another "
            "configuration"
        )
    return found


def _soft(
    robot: Robot, q: np.ndarray, push: np.ndarray, free: np.ndarray, contact: Contact, tolerance: float, most: int
) -> ContactEquilibrium:
    """Damped shortest steps on what the motors cannot balance, where contacts have a force in every state."""
    model, n, still = robot.model, robot.nv, np.zeros(robot.nv)
    inverse, held = soft_inverse(model, contact), ~free

    def needed(q: np.ndarray) -> np.ndarray:
        added = robot._added_forces(q, still)
        x = inverse(q, still, still)[:n] - push
        return np.asarray(x if added is None else x - added.force)

    q = _landed(robot, q, contact)
    r, iterations, damping = needed(q), 0, 1e-8
    scale = max(1.0, float(np.abs(robot.equilibrium_torque(q)).max(initial=0.0)), float(np.abs(push).max(initial=0.0)))
    while np.abs(r[held]).max(initial=0.0) > tolerance * scale and iterations < most and damping < MOST:
        iterations += 1
        s: ContactSlopes = soft_slopes(model, contact, q, still, still)
        added = robot._added_forces(q, still)
        K = (s.dq if added is None else s.dq - added.dq)[held]
        W = K @ K.T
        size = float(np.trace(W)) / max(len(W), 1) or 1.0
        d = -K.T @ np.linalg.lstsq(W + damping * size * np.eye(len(W)), r[held], rcond=None)[0]
        d *= min(1.0, FURTHEST / max(float(np.abs(d).max()), 1e-300))
        trial = robot.integrate(q, d)
        r_trial = needed(trial)
        if np.isfinite(r_trial).all() and np.linalg.norm(r_trial[held]) < np.linalg.norm(r[held]):
            q, r, damping = trial, r_trial, max(0.1 * damping, LEAST)
        else:
            damping *= 10.0
    _demand(robot, np.where(held, r, 0.0), tolerance * scale, iterations)
    tau = np.where(free, r, push)
    force = contact_dynamics(model, q, still, tau, contact).force
    return ContactEquilibrium(q, np.where(held, r, 0.0), iterations, tau, force)


def _landed(robot: Robot, q: np.ndarray, contact: Contact) -> np.ndarray:
    """Return q, or the nearest configuration in which the lowest soft contacts begin to carry if none does."""
    still = np.zeros(robot.nv)

    def gap_at(q: np.ndarray) -> np.ndarray:
        return np.asarray(contact_dynamics(robot.model, q, still, still, contact).gap)

    gap = gap_at(q)
    if not len(gap) or gap.min() < 0.0 or gap.min() > REACH:
        return q
    near = gap <= gap.min() + LEVEL
    ways = SHIFT * np.eye(robot.nv)
    slopes = (gap_at(robot.integrate(q, ways)) - gap_at(robot.integrate(q, -ways)))[:, near].T / (2.0 * SHIFT)
    return robot.integrate(q, -np.linalg.pinv(slopes, rcond=1e-6) @ (gap[near] + SUNK))


def _near(robot: Robot, q: np.ndarray, contact: Contact) -> np.ndarray:
    """Which rigid contacts close (k,): the lowest on the ground, and bodies that touch each other already."""
    gap = gaps(robot.model, contact, q)
    least = float(gap.min(initial=np.inf))
    if not least <= REACH:
        lowest = f", the nearest at {least:.3g} m" if len(gap) else ""
        raise DalembertError(
            f"equilibrium: no contact of robot {robot.name!r} is within {REACH} m{lowest}: start lower"
        )
    patches = candidates(robot.model, contact)
    on_ground = np.array([patch.ground is not None for patch in patches for _ in patch.names])
    return np.asarray(gap <= np.where(on_ground, max(least, 0.0) + LEVEL, CLOSING))


def _rigid(
    robot: Robot, q: np.ndarray, push: np.ndarray, free: np.ndarray, contact: Contact, tolerance: float, most: int
) -> ContactEquilibrium:
    """Steps of linearised balance and closed gaps, the shortest with the least forces inside the cones."""
    if free.all():  # motors hold every freedom: nothing has to carry
        held = _needed(robot, q, push)
        return ContactEquilibrium(q, 0.0 * held, 0, held, np.zeros((len(gaps(robot.model, contact, q)), 3)))
    near = _near(robot, q, contact)
    held, scale = ~free, max(1.0, float(np.abs(robot.equilibrium_torque(q)).max(initial=0.0)))
    here, iterations = touch(robot.model, contact, q, near), 0
    chosen = near[here.number]
    forces = np.zeros((len(here.gap), 3))
    while True:
        r = _needed(robot, q, push) - np.einsum("kin,ki->n", here.J, forces)
        open_ = float(np.abs(here.gap[chosen & (forces[:, 0] > 0.0)]).max(initial=0.0))
        deep = float((-here.gap).max(initial=0.0))
        if iterations and max(open_, deep) <= EXACT and np.abs(r[held]).max(initial=0.0) <= tolerance * scale:
            break
        if iterations >= most:
            _demand(
                robot, np.where(held, r, np.inf if max(open_, deep) > EXACT else 0.0), tolerance * scale, iterations
            )
        iterations += 1
        d, forces = _closer(robot, q, push, free, here, chosen, forces, scale)
        q = robot.integrate(q, d * min(1.0, FURTHEST / max(float(np.abs(d).max(initial=0.0)), 1e-300)))
        here = touch(robot.model, contact, q, near)
    world = np.zeros((here.total, 3))
    world[here.number] = np.einsum("kij,ki->kj", here.axes, forces)
    return ContactEquilibrium(q, np.where(held, r, 0.0), iterations, np.where(free, r, push), world)


def _needed(robot: Robot, q: np.ndarray, push: np.ndarray) -> np.ndarray:
    """The generalised force (nv,) that holds the robot still, beside a given one."""
    return np.asarray(robot.equilibrium_torque(q) - push)


def _closer(
    robot: Robot,
    q: np.ndarray,
    push: np.ndarray,
    free: np.ndarray,
    here: Touch,
    chosen: np.ndarray,
    forces: np.ndarray,
    scale: float,
) -> tuple[np.ndarray, np.ndarray]:
    """(displacement (nv,), forces (k, 3)): of all that balance and close the gaps by the slopes at q, the least.

    Displacements are eliminated: they cost the square of what forces leave over, measured by how it can be moved away.
    """
    still, held = np.zeros(robot.nv), ~free
    s = rigid_slopes(robot.model, here, q, still, still, forces.ravel(), np.zeros(len(here.gap)))
    added = robot._added_forces(q, still)
    K = robot.inverse_dynamics_derivatives(q, still, still).dq - s.push_q
    K = K if added is None else K - added.dq
    edges, owners = cone_edges(here, chosen, np.zeros((len(here.gap), 3)))
    columns = np.einsum("ekn,ek->ne", here.J[owners], edges)
    normals = here.J[chosen, 0]
    E = np.concatenate([K[held] / scale, normals])
    F = np.concatenate([-columns[held], np.zeros((len(normals), len(edges)))])  # in shares of the scale
    needed = _needed(robot, q, push)
    missing = np.concatenate([needed[held] / scale, here.gap[chosen]])
    values, vectors = np.linalg.eigh(E @ E.T)
    reach = np.maximum(values, STIFF * float(values.max(initial=0.0)))
    L = (vectors / np.sqrt(reach)).T
    least = SMALL * float(np.sqrt(1.0 / max(reach.max(initial=0.0), 1e-300)))
    rows = [L @ F, -least * columns[free], least * np.eye(len(edges))]
    target = [-L @ missing, -least * needed[free] / scale, np.zeros(len(edges))]
    strengths = nonnegative_least_squares(np.concatenate(rows), np.concatenate(target))
    d = -E.T @ (vectors @ ((vectors.T @ (missing + F @ strengths)) / reach))
    following = np.zeros_like(forces)
    np.add.at(following, owners, scale * strengths[:, None] * edges)
    return d, following


def _demand(robot: Robot, residual: np.ndarray, bound: float, iterations: int) -> None:
    """Raise unless what nothing balances is within the bound; the message names the worst freedom."""
    worst = int(np.argmax(np.abs(residual))) if len(residual) else 0
    if len(residual) and not abs(residual[worst]) <= bound:
        raise DalembertError(
            f"equilibrium: none found after {iterations} iterations: at {robot.model.freedom_names[worst]!r} of robot "
            f"{robot.name!r} a force of {residual[worst]:.4g} (N·m or N) is missing; bring the centre of mass over "
            "what carries, or start nearer"
        )
