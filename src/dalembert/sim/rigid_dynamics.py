"""Accelerations and forces of rigid contacts in a single state: impulses over a time so short that they are forces.

J(q ⊕ h v) (v + h a) is on the laws of contact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact import Patch
from dalembert.contact.gathering import Gathering, Motions, Points, in_slots, points
from dalembert.contact.rows import contact_rows, tangent_frame
from dalembert.contact.solver import Carrier, JointContacts, Law, Rows, constraint_impulses, contact_problem
from dalembert.contact.solver.motions import Moved
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.forward_dynamics import MassSolver
from dalembert.dynamics.algorithms.passive import friction_level
from dalembert.dynamics.algorithms.tensors import gathered
from dalembert.linear import factor, gram, is_zero, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_or, maximum, scan, visit, where
from dalembert.math import map as mapped
from dalembert.model import Model

from .elements.contact import laws_of

AHEAD = 1e-5  # [s]: the velocities of rigid contacts are right this much later
CLOSED = 1e-5  # [m]: a gap up to which a rigid contact touches
EXACT = 1e-6  # [m/s²]: error of the accelerations of rigid contacts
FINER = 0.01  # of the velocity that this error makes: the tolerance of the solver
SHARED = 1e-10  # of the size of their rows: redundant sticking contacts share the force


class ContactDynamics(NamedTuple):
    """a (…, nv); force (…, k, 3) on the first body of each contact, in world axes [N]; gap (…, k) [m]."""

    a: Any
    force: Any
    gap: Any


def joint_friction(model: Model, v: np.ndarray) -> dict[int, Any]:
    """Dry friction by freedom, for those that have some, with that of joints that follow: its largest size there."""
    levels = gathered(model, [absolute(friction_level(body.joint, v[body.v])) for body in model.bodies])
    return {k: level for k, level in enumerate(levels) if not is_zero(level)}


def _friction_rows(
    carried: Carrier, friction: Mapping[int, Any], v: np.ndarray, kick: np.ndarray
) -> tuple[np.ndarray, list[Law]]:
    """Velocities of freedoms with friction after the time `AHEAD` without it, and their laws."""
    free = v[list(friction)] + sparse_product(carried.X.T, kick)
    return free, [Law(0.0, 0.0, AHEAD * level) for level in friction.values()]


def rigid_dynamics(
    model: Model,
    patches: tuple[Patch, ...],
    friction: Mapping[int, Any],
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
) -> ContactDynamics:
    """With a place for each candidate; friction: see `joint_friction`, which the model has none of."""
    h = AHEAD
    here, rows = (contact_rows(model, x, patches) for x in (q, algorithms.integrate(model, q, h * v)))
    mass = MassSolver(model, q).factor
    kick = mass.forward(h * (tau - algorithms.bias(model, q, v)))
    J = np.concatenate([rows.J, np.eye(model.nv)[list(friction)]])
    carrier, n = Carrier.bodies(algorithms.mass_matrix(model, q), mass, J), len(rows.J)
    c = sparse_product(rows.J, v) + sparse_product(carrier.X[:, :n].T, kick)
    for k, gap in enumerate(here.gap):
        c[3 * k] = c[3 * k] + where(gap > CLOSED, gap / h, 0.0)
    mu = [law.static_friction for law in laws_of(patches)]
    free, laws = _friction_rows(carrier.some(range(n, len(J))), friction, v, kick)
    solution = constraint_impulses(carrier, np.concatenate([c, free]), mu, laws, tolerance=FINER * h * EXACT)
    p = _least(rows.J, solution.p[:n], solution.slip, mu)
    a = mass.backward(mass.r * (kick + sparse_product(carrier.Y, np.concatenate([p, solution.p[n:]])))) / h
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


# ---- many candidates, of which few touch


def rigid_dynamics_in_slots(
    model: Model,
    patches: tuple[Patch, ...],
    friction: Mapping[int, Any],
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
) -> ContactDynamics:
    """With the candidates that are near in slots, over which it loops: the code does not grow with their number."""
    h, gathering, later = AHEAD, Gathering(model, patches), algorithms.integrate(model, q, AHEAD * v)
    X = algorithms.poses(model, later)
    here, ahead, motions = points(patches, algorithms.poses(model, q)), points(patches, X), Motions(model, X, later)
    near = gathering.near(here, gathering.speeds(ahead, motions, v), h)
    numbers, count = gathering.numbered(near, len(gathering))
    slots = in_slots(Points(here.gap, ahead.position, ahead.normal), numbers, count)
    M, mass = algorithms.mass_matrix(model, q), MassSolver(model, q).factor
    kick = mass.forward(h * (tau - algorithms.bias(model, q, v)))

    def column(number: Any, gap: Any, position: Any, normal: Any, _: Any) -> dict[str, Any]:
        axes = tangent_frame(normal)
        J = motions.rows(gathering.signs_of(number), axes, position, ())
        carrier = Carrier.bodies(M, mass, J)
        c = J @ v + carrier.X.T @ kick
        c[0] = c[0] + where(gap > CLOSED, gap / h, 0.0)
        mu = gathering.law(number).static_friction
        return {"axes": axes, "J": J, "X": carrier.X.T, "Y": carrier.Y.T, "c": c, "mu": mu}

    k, nv = len(gathering), model.nv
    columns = mapped(column, slots._asdict(), count)
    axes = columns.pop("axes")
    contacts = JointContacts(columns | {"reach": np.zeros((k, 0))}, count=count, pattern=gathering.pattern)
    of_rows, n = Carrier.bodies(M, mass, np.eye(nv)[list(friction)]), len(friction)
    problem = contact_problem(contacts, Rows(of_rows, *_friction_rows(of_rows, friction, v, kick), np.zeros(n)))
    solution = problem.impulses((np.zeros(3 * k + n), np.zeros(k)), FINER * h * EXACT, FINER * h * EXACT)
    (p,), of_friction = problem.split(solution.p)
    p = _least_in_slots(contacts, p, solution.slip)
    begin = Moved(kick + sparse_product(of_rows.Y, of_friction), np.zeros((0, 6)))
    a = mass.backward(mass.r * contacts.pushed(p, begin).joints) / h

    def entered(_: Any, number: Any, axes: Any, p: Any) -> dict[str, Any]:
        return {"rows": (axes.T @ p / h)[None], "to": np.array([number])}

    items = {"number": numbers, "axes": axes, "p": p}
    return ContactDynamics(a, visit(entered, items, np.zeros((k, 3)), count=count)["table"], here.gap)


def _least_in_slots(contacts: JointContacts, p: np.ndarray, slip: np.ndarray) -> np.ndarray:
    """Solve like `_least`; p (k, 3), slip (k,)."""
    nv, at = contacts.columns["J"].shape[2], contacts.tied()

    def stuck(entries: Any, push: Any, J: Any, p: Any, slip: Any) -> dict[str, Any]:
        slow = slip * slip * (p[1:] @ p[1:]) <= (AHEAD * EXACT) ** 2
        on = where(logical_and(p[0] > 0.0, slow), 1.0, 0.0)
        entries = entries + on * sum(row[at[0]] * row[at[1]] for row in J)
        return {"entries": entries, "push": push + on * (J.T @ p), "on": on}

    items = {"J": contacts.columns["J"], "p": p, "slip": slip}
    begin = {"entries": np.zeros(len(at[0])), "push": np.zeros(nv)}
    sums = scan(stuck, items, begin, count=contacts.count)
    A = np.zeros((nv, nv), object)
    A[at] = sums["entries"][-1]
    least = SHARED * (1.0 + reduce(maximum, list(np.diag(A))))
    x = factor(A + least * np.eye(nv)).solve(sums["push"][-1])

    def shared(outside: Any, J: Any, on: Any, mu: Any) -> dict[str, Any]:
        force = J @ x
        leaves = logical_or(force[0] < 0.0, force[1:] @ force[1:] > mu * mu * force[0] * force[0])
        return {"outside": outside + on * where(leaves, 1.0, 0.0), "force": force}

    each = scan(
        shared,
        {"J": contacts.columns["J"], "on": sums["on"], "mu": contacts.columns["mu"]},
        {"outside": 0.0},
        count=contacts.count,
    )
    inside = where(each["outside"][-1] < 0.5, 1.0, 0.0)
    return p + (inside * sums["on"])[:, None] * (each["force"] - p)
