"""Motions that meet no inertia at any configuration: the mass matrix is singular, forward dynamics undefined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .model import Body, Model

ZERO = 1e-13  # relative to the diagonal: an inertia that counts as none
SAMPLES = 2  # configurations at which a motion must meet no inertia


class Unopposed(NamedTuple):
    """Joints that can move together without meeting inertia, and the mass [kg] that lies behind the first of them."""

    joints: tuple[str, ...]
    mass: float

    def __str__(self) -> str:
        names = ", ".join(f"'{name}'" for name in self.joints)
        several = len(self.joints) > 1
        what = "mass on its own axis only" if self.mass else "no mass"
        moves = "can move against each other" if several else "moves"
        cure = "give the links behind it inertia about its axis, or the joint an armature, or fix it"
        return (
            f"joint{'s' * several} {names} {moves} {'without inertia' if several else what}: "
            f"the mass matrix is singular and forward dynamics does not exist; {cure}"
        )


def unopposed(model: Model) -> list[Unopposed]:
    """Motions without inertia at any configuration, joint by joint first, then joints together."""
    if all(_opposed_by_itself(body) for body in model.bodies if body.joint.nv):
        return []
    rng = np.random.default_rng(0)
    M = sum(_mass_matrix(model, rng) for _ in range(SAMPLES))
    single: list[Unopposed] = []
    bare: set[int] = set()
    for body in model.independent:
        block = np.asarray(M)[body.v, body.v]
        if body.joint.nv and _has_null(block):
            single.append(Unopposed((body.joint.name,), _behind(model, body.index)))
            bare.update(range(body.v.start, body.v.stop))
    others = [k for k in range(model.nv) if k not in bare]
    return single + _together(model, np.asarray(M)[np.ix_(others, others)], others)


def _opposed_by_itself(body: Body) -> bool:
    """Whether the body's inertia alone opposes every motion of its joint.

    If that holds for all bodies, M is positive definite: of any velocity, the first body along a limb that its joint
    moves has kinetic energy.
    """
    S = np.array(body.joint.subspace(body.joint.random(np.random.default_rng(0), 1)[0]), float)
    return not _has_null(S.T @ body.inertia.matrix() @ S + np.diag(body.joint.armature))


def _together(model: Model, M: np.ndarray, places: list[int]) -> list[Unopposed]:
    """Joints whose rows of M depend on each other."""
    if not places:
        return []
    scale = 1.0 / np.sqrt(np.diag(M))
    values, vectors = np.linalg.eigh(scale[:, None] * M * scale)
    dependent = []
    for k in np.flatnonzero(values < ZERO * len(places)):
        moving = {places[i] for i in np.flatnonzero(np.abs(vectors[:, k]) > 1e-6)}
        bodies = [body for body in model.independent if moving & set(range(body.v.start, body.v.stop))]
        dependent.append(Unopposed(tuple(body.joint.name for body in bodies), _behind(model, bodies[0].index)))
    return dependent


def _has_null(block: np.ndarray) -> bool:
    diagonal = np.diag(block)
    if np.any(diagonal <= 0.0):
        return True
    scale = 1.0 / np.sqrt(diagonal)
    return bool(np.linalg.eigvalsh(scale[:, None] * block * scale)[0] < ZERO * len(block))


def _behind(model: Model, index: int) -> float:
    """The mass of a body and all that it carries [kg]."""
    carried = {index}
    for body in model.bodies[index + 1 :]:
        if body.parent in carried:
            carried.add(body.index)
    return float(sum(model.bodies[i].inertia.mass for i in carried))


def _mass_matrix(model: Model, rng: np.random.Generator) -> np.ndarray:
    """M (nv, nv) at a random configuration, from the Jacobian of every body."""
    q = np.concatenate([body.joint.random(rng, 1)[0] for body in model.independent])
    M = np.zeros((model.nv, model.nv))
    jacobians: list[np.ndarray] = []  # (6, nv) in the axes of each body, at its origin
    for body in model.bodies:
        S = np.array(body.joint.subspace(q[body.q]), float)
        J = np.zeros((6, model.nv))
        if body.parent >= 0:
            X_BP = (body.placement @ body.joint.pose(q[body.q])).inverse()
            J = X_BP.adjoint().astype(float) @ jacobians[body.parent]
        J[:, body.v] += S
        jacobians.append(J)
        M += J.T @ body.inertia.matrix() @ J
        M[body.v, body.v] += np.diag(np.asarray(body.joint.armature, float))
    return M
