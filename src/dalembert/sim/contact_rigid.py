"""Rigid contact about a state: its rows with their slopes, forces of given accelerations, constrained linear models.

Contacts that carry force hold like joints: those that stick along all three axes, those that slide along the normal,
with the friction µ N against the slip.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Call, Recent, code
from dalembert.contact import Contact, ContactLaw, Patch, candidates
from dalembert.contact.rows import contact_rows
from dalembert.linear import nonnegative_least_squares
from dalembert.math import maximum, sqrt, where
from dalembert.model import Model, motorized
from dalembert.quantities.closed import LoopSlopes
from dalembert.quantities.guards import function_call
from dalembert.quantities.tangent import pushed
from dalembert.robot import Robot

from .contact_dynamics import contact_dynamics
from .elements.contact import laws_of
from .rigid_dynamics import CLOSED

SLIDES = 1e-6  # [m/s]: slip from which on a contact counts as sliding
OPENS = 1e-6  # [m/s, m/s²]: a normal velocity or acceleration above which a contact carries nothing
CARRIES = 1e-9  # of the largest normal force: less counts as none
EDGES = 8  # of the pyramid inside the friction cone
NOTHING = 1e-12  # [N]
REPEATED = 1e-12  # singular values below it, relative to the largest, belong to contacts that repeat each other
SMALL = 1e-3  # weight of forces beside what they must balance
ROUNDS = 3  # of the method of multipliers, each of which takes SMALL² of what was left


class Touch(NamedTuple):
    """Candidates of some patches at a state: J (k, 3, nv) along axes (k, 3, 3), normal and tangents; gap (k,).

    number (k,): places among all candidates, whose count is `total`.
    """

    patches: tuple[Patch, ...]
    laws: tuple[ContactLaw, ...]
    J: np.ndarray
    axes: np.ndarray
    gap: np.ndarray
    number: np.ndarray
    total: int


class Slopes(NamedTuple):
    """Slopes of rows at q, v, a and forces f (3 k,) along their axes.

    J (3 k, nv); turned: of J v in q; acc_q, acc_v: of the rows' accelerations; push_q, push_v (nv, nv), push_f
    (nv, 3 k): of the generalised force of the contacts.
    """

    J: np.ndarray
    turned: np.ndarray
    acc_q: np.ndarray
    acc_v: np.ndarray
    push_q: np.ndarray
    push_v: np.ndarray
    push_f: np.ndarray


def gaps(model: Model, contact: Contact, q: np.ndarray) -> np.ndarray:
    """(k,): of all candidates at q (nq,) [m]."""
    patches = candidates(model, contact)
    if not patches:
        return np.zeros(0)

    def build() -> Call:
        return function_call(model, "contact_gaps", {"q": model.nq}, lambda q: contact_rows(model, q, patches).gap)

    return np.asarray(_gaps.get(code("gaps", model, patches), build)(q))


def touch(model: Model, contact: Contact, q: np.ndarray, wanted: np.ndarray) -> Touch:
    """The patches of which some point is wanted (total,), at q (nq,)."""
    chosen: list[Patch] = []
    number: list[int] = []
    begin = 0
    for patch in candidates(model, contact):
        end = begin + len(patch.names)
        if wanted[begin:end].any():
            chosen.append(patch)
            number += range(begin, end)
        begin = end
    if not chosen:
        return Touch((), (), np.zeros((0, 3, model.nv)), np.zeros((0, 3, 3)), np.zeros(0), np.zeros(0, int), begin)
    rows = contact_rows(model, q, chosen)
    J, axes, gap = (np.asarray(x, float) for x in (rows.J, rows.axes, rows.gap))
    numbers = np.array(number)
    return Touch(tuple(chosen), laws_of(tuple(chosen)), J.reshape(len(gap), 3, -1), axes, gap, numbers, begin)


def row_accelerations(model: Model, patches: tuple[Patch, ...], q: Any, v: Any, a: Any) -> np.ndarray:
    """(k, 3): of each candidate along its axes [m/s²]."""

    def build() -> Call:
        def compute(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
            J = contact_rows(model, q, patches).J
            return J @ a + pushed(model, J @ v, q, v)

        sizes = {"q": model.nq, "v": model.nv, "a": model.nv}
        return function_call(model, "contact_accelerations", sizes, compute)

    return _accelerations.get(code("accelerations", model, patches), build)(q, v, a).reshape(-1, 3)


def rigid_slopes(model: Model, here: Touch, q: Any, v: Any, a: Any, forces: np.ndarray, slides: np.ndarray) -> Slopes:
    """The slopes of rows, way by way as one batch; forces (3 k,); slides (k,): 1 for points that slide, else 0."""
    n, k = model.nv, len(slides)
    call = _slopes.get(code("slopes", model, here.patches), lambda: _slope_call(model, here.patches, k))
    ways = np.eye(2 * n + 3 * k)
    columns = call(q, v, a, forces, slides, ways[:, :n], ways[:, n : 2 * n], ways[:, 2 * n :]).T
    (push_q, push_v, push_f), (turned, _, _), (acc_q, acc_v, _) = (
        np.split(part, [n, 2 * n], axis=1) for part in np.split(columns, [n, n + 3 * k])
    )
    return Slopes(here.J.reshape(3 * k, n), turned, acc_q, acc_v, push_q, push_v, push_f)


def _slope_call(model: Model, patches: tuple[Patch, ...], k: int) -> Call:
    mu, n = [law.friction for law in laws_of(patches)], model.nv

    def compute(q: Any, v: Any, a: Any, f: Any, slides: Any, dq: Any, dv: Any, df: Any) -> np.ndarray:
        J = contact_rows(model, q, patches).J
        u = J @ v
        acting: list[Any] = []
        for k, friction in enumerate(mu):
            x, y = u[3 * k + 1], u[3 * k + 2]
            along = friction * f[3 * k] / sqrt(maximum(x * x + y * y, SLIDES * SLIDES))
            acting += [f[3 * k], *(where(slides[k] > 0.5, -along * s, f[3 * k + i]) for i, s in ((1, x), (2, y)))]
        parts = [J.T @ np.array(acting), u, J @ a + pushed(model, u, q, v)]
        return pushed(model, np.concatenate(parts), q, dq, (v, dv), (f, df))

    sizes = {"q": model.nq, "v": n, "a": n, "f": 3 * k, "slides": k, "dq": n, "dv": n, "df": 3 * k}
    return function_call(model, "contact_slopes", sizes, compute)


_gaps, _slopes, _accelerations = Recent(64), Recent(64), Recent(64)


def constrained_slopes(robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, contact: Contact) -> LoopSlopes:
    """Slopes of the acceleration with the contacts that carry force as constraints; rows J of what they hold."""
    model, n = robot.model, robot.nv
    a, world, _ = contact_dynamics(model, q, v, tau, contact)
    size = np.linalg.norm(world, axis=1)
    carries = size > max(CARRIES * float(size.max(initial=0.0)), NOTHING)
    here = touch(model, contact, q, carries)
    if not here.patches:
        d, nothing = robot.forward_dynamics_derivatives(q, v, tau), np.zeros((0, n))
        return LoopSlopes(*d, nothing, nothing, np.zeros(0))
    on, u = carries[here.number], here.J @ v
    slides = on & (np.linalg.norm(u[:, 1:], axis=1) > SLIDES)
    forces = np.einsum("kij,kj->ki", here.axes, world[here.number]).ravel()
    s = rigid_slopes(model, here, q, v, a, forces, slides.astype(float))
    held = np.stack([on, on & ~slides, on & ~slides], axis=1).ravel()
    count = int(held.sum())
    inverse = robot.inverse_dynamics_derivatives(q, v, a)
    K = np.block([[inverse.da, -s.push_f[:, held]], [s.J[held], np.zeros((count, count))]])
    given = np.concatenate([s.push_q - inverse.dq, s.push_v - inverse.dv, np.eye(n)], axis=1)
    kept = np.concatenate([-s.acc_q[held], -s.acc_v[held], np.zeros((count, n))], axis=1)
    slopes = np.linalg.lstsq(K, np.concatenate([given, kept]), rcond=REPEATED)[0][:n]
    dq, dv, dtau = np.split(slopes, 3, axis=1)
    return LoopSlopes(dq, dv, dtau, s.J[held], s.turned[held], np.zeros(count))


class Balance(NamedTuple):
    """tau (nv,) that joints must give, and forces (k, 3) of the contacts in world axes."""

    tau: np.ndarray
    force: np.ndarray


def rigid_inverse(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, contact: Contact) -> Balance:
    """The joint forces of accelerations a at one state, with the least contact forces within their cones.

    They balance what the joints without motors cannot; a contact that opens, or does so in the next instant, gives
    none, and one that slides gives µ N against the slip.
    """
    model, mask = robot.model, motorized(robot.model)
    needed = robot.inverse_dynamics(q, v, a)
    here = touch(model, contact, q, gaps(model, contact, q) <= CLOSED)
    force = np.zeros((here.total, 3))
    if not here.patches:
        return Balance(needed, force)
    u, rising = here.J @ v, row_accelerations(model, here.patches, q, v, a)
    size = max(1.0, float(np.abs(a).max(initial=0.0)))
    closed = (here.gap <= CLOSED) & (np.abs(u[:, 0]) <= OPENS) & (rising[:, 0] <= OPENS * size)
    edges, owners = cone_edges(here, closed, u)
    if len(edges):
        columns = np.einsum("ekn,ek->ne", here.J[owners], edges)
        scale = max(1.0, float(np.abs(needed).max()))
        A = np.concatenate([columns[~mask], SMALL * columns[mask], SMALL * np.eye(len(edges))])
        wanted, strengths = needed[~mask] / scale, np.zeros(len(edges))
        for _ in range(ROUNDS):
            b = np.concatenate([wanted, SMALL * needed[mask] / scale, np.zeros(len(edges))])
            strengths = nonnegative_least_squares(A, b) * scale
            wanted = wanted + (needed[~mask] - columns[~mask] @ strengths) / scale
        needed = needed - columns @ strengths
        for strength, edge, k in zip(strengths, edges, owners, strict=True):
            force[here.number[k]] += strength * (here.axes[k].T @ edge)
    return Balance(needed, force)


def cone_edges(here: Touch, closed: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges (e, 3) of the pyramids inside the friction cones along the axes of contacts (e,), by place in `here`.

    u (k, 3): velocities; a contact that slides has one edge, against the slip.
    """
    edges, owners = [np.zeros((0, 3))], []
    turns = 2.0 * np.pi * np.arange(EDGES) / EDGES
    ring = np.stack([np.ones(EDGES), np.cos(turns), np.sin(turns)], axis=1)
    for k in np.flatnonzero(closed):
        law, slip = here.laws[k], float(np.linalg.norm(u[k, 1:]))
        mu = law.static_friction
        each = ring * [1.0, mu, mu] if mu else np.array([[1.0, 0.0, 0.0]])
        if slip > SLIDES:
            each = np.r_[1.0, -law.friction * u[k, 1:] / slip][None]
        edges.append(each)
        owners += [k] * len(each)
    return np.concatenate(edges), np.array(owners, int)
