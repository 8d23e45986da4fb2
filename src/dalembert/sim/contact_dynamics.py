"""Accelerations and contact forces of a single state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert import algorithms
from dalembert.algorithms.coupled import MassSolver
from dalembert.contact import Contact, Patch, candidates
from dalembert.contact.rows import contact_rows
from dalembert.errors import DalembertError
from dalembert.execute import Call, Recent, code
from dalembert.functions.dynamics import open_tree
from dalembert.functions.guards import function_call
from dalembert.linear import Carrier, constraint_impulses, factor, gram, sparse_product
from dalembert.math import logical_and, logical_or, maximum, where
from dalembert.model import Model

from .elements.base import Situation
from .elements.contact import CompliantContact, laws_of
from .elements.mujoco import MujocoConstraints, mujoco_constraints

AHEAD = 1e-5  # [s]: the velocities of rigid contacts are right this much later
CLOSED = 1e-5  # [m]: a gap up to which a rigid contact touches
EXACT = 1e-6  # [m/s²]: error of the accelerations of rigid contacts
SHARED = 1e-10  # of the size of their rows: redundant sticking contacts share the force


class ContactDynamics(NamedTuple):
    """a (…, nv); force (…, k, 3) on the first body of each contact, in world axes [N]; gap (…, k) [m]."""

    a: Any
    force: Any
    gap: Any


def contact_dynamics(model: Model, q: Any, v: Any, tau: Any, contact: Any, **keywords: Any) -> ContactDynamics:
    """See `Robot.contact_dynamics`."""
    if not isinstance(contact, Contact):
        raise DalembertError(f"contact_dynamics: contact is {contact!r}, expected a dalembert.Contact")
    if contact.model == "mujoco":
        return _soft_dynamics(model, q, v, tau, contact, keywords)
    if contact.friction_model == "bristle":
        raise DalembertError(
            "contact_dynamics: bristles remember where they took hold, which one state does not tell: use `simulate`, "
            "`rollout` or `stepper`, or friction_model='regularised'"
        )
    if refused := open_tree(model):
        raise DalembertError(f"contact_dynamics: {refused}")
    call, count = _recent.get(code(model, contact, candidates(model, contact)), lambda: _compiled(model, contact))
    x, nv = call(q, v, tau, **keywords), model.nv
    force = x[..., nv : nv + 3 * count]
    return ContactDynamics(x[..., :nv], force.reshape((*force.shape[:-1], count, 3)), x[..., nv + 3 * count :])


def _soft_dynamics(
    model: Model, q: Any, v: Any, tau: Any, contact: Contact, keywords: dict[str, Any]
) -> ContactDynamics:
    """With all constraints of MuJoCo's model, those of joints and loops included."""
    element = mujoco_constraints(model, contact, None)
    tree, nv, count = model.without("friction", "loops"), model.nv, len(element.names)
    call = _recent.get(code(tree, element), lambda: _soft_call(tree, element))
    x = call(q, v, tau, **keywords)
    force = x[..., nv : nv + 3 * count]
    return ContactDynamics(x[..., :nv], force.reshape((*force.shape[:-1], count, 3)), x[..., nv + 3 * count :])


def _soft_call(model: Model, element: MujocoConstraints) -> Call:
    def compute(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        a, touching = element.touching(model, q, v, tau, {})
        return np.concatenate([a, touching.force.reshape(-1), touching.gap])

    return function_call(model, "contact_dynamics", {"q": model.nq, "v": model.nv, "tau": model.nv}, compute)


_recent = Recent(64)


def _compiled(model: Model, contact: Contact) -> tuple[Call, int]:
    patches = candidates(model, contact)
    law = _compliant if contact.model == "compliant" else _rigid

    def compute(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        a, force, gap = law(model, contact, patches, q, v, tau)
        return np.concatenate([a, force.reshape(-1), gap])

    sizes = {"q": model.nq, "v": model.nv, "tau": model.nv}
    count = sum(len(patch.names) for patch in patches)
    return function_call(model, "contact_dynamics", sizes, compute), count


def _compliant(
    model: Model, contact: Contact, patches: tuple[Patch, ...], q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> ContactDynamics:
    element = CompliantContact(contact, patches)
    s = Situation(model, 0.0, q, v, np.zeros(0), tau)
    rows, pushes = element.pushes(s)
    forces = np.array(tau, object)
    for index, force in element.act(s).tau.items():
        at = model.bodies[index].v
        forces[at] = forces[at] + force
    world = np.array([axes.T @ each.force for axes, each in zip(rows.axes, pushes, strict=True)])
    return ContactDynamics(algorithms.forward_dynamics(model, q, v, forces), world, rows.gap)


def _rigid(
    model: Model, contact: Contact, patches: tuple[Patch, ...], q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> ContactDynamics:
    """Impulses over a time so short that they are forces: J(q ⊕ h v) (v + h a) is on the laws of contact."""
    h = AHEAD
    here, rows = (contact_rows(model, x, patches) for x in (q, algorithms.integrate(model, q, h * v)))
    mass = MassSolver(model, q).factor
    kick = mass.forward(h * (tau - algorithms.bias(model, q, v)))
    carrier = Carrier.bodies(algorithms.mass_matrix(model, q), mass, rows.J)
    c = sparse_product(rows.J, v) + sparse_product(carrier.X.T, kick)
    for k, gap in enumerate(here.gap):
        c[3 * k] = c[3 * k] + where(gap > CLOSED, gap / h, 0.0)
    mu = [law.static_friction for law in laws_of(patches)]
    solution = constraint_impulses(carrier, c, mu, tolerance=h * EXACT)
    p = _least(rows.J, solution.p, solution.slip, mu)
    a = mass.backward(mass.r * (kick + sparse_product(carrier.Y, p))) / h
    world = np.array([axes.T @ each for axes, each in zip(rows.axes, p.reshape(-1, 3) / h, strict=True)])
    return ContactDynamics(a, world, here.gap)


def _least(J: np.ndarray, p: np.ndarray, slip: np.ndarray, mu: Sequence[float]) -> np.ndarray:
    """The impulses of contacts that stick with the same effect and the least squares, if they are within the cones."""
    tangents = [p[3 * k + 1 : 3 * k + 3] for k in range(len(slip))]
    slow = [slip[k] * slip[k] * (t @ t) <= (AHEAD * EXACT) ** 2 for k, t in enumerate(tangents)]
    sticks = [logical_and(p[3 * k] > 0.0, slow[k]) for k in range(len(slip))]
    on = np.array([where(x, 1.0, 0.0) for x in sticks for _ in range(3)])
    A = gram(J, on)
    least = SHARED * (1.0 + reduce(maximum, list(np.diag(A))))
    held = on * p
    shared = on * sparse_product(J, factor(A + least * np.eye(len(A))).solve(sparse_product(J.T, held)))
    outside: Any = 0.0  # how many leave their cones
    for k, stick in enumerate(sticks):
        n, t = shared[3 * k], shared[3 * k + 1 : 3 * k + 3]
        leaves = logical_or(n < 0.0, t @ t > mu[k] * mu[k] * n * n)
        outside = outside + where(logical_and(stick, leaves), 1.0, 0.0)
    return p + where(outside < 0.5, shared - held, 0.0)
