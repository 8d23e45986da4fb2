"""Masses of bodies: what a joint leaves at rest put where it costs nothing, and composites of all bodies behind one."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model
from dalembert.spatial import so3

from .mass import Mass

ROUND_OFF = 1e-14  # speed of a point, per unit speed of the joint, that counts as rest


def regrouped(model: Model) -> list[Mass]:
    """Masses of the bodies, moved towards the base wherever the motion cannot tell.   Gautier, Khalil 1990.

    Mass that the joint leaves at rest relative to the parent (mass on the axis of a hinge, for instance) may as well
    belong to the parent: equations of motion, mass matrix and kinetic energy stay the same, and zeros take the place of
    up to three (hinge) or six (slider) of the ten numbers of the child. Sums over all bodies (momentum, centre of mass)
    stay too. The masses are no longer those of real bodies, so this is not for single bodies, as in reactions.

    Points [r; 1] move with the velocity Ξ [r; 1], where Ξ (4, 4) is the twist of the joint. Mass rests if its second
    moments Λ = [P h; hᵀ m] have Ξ Λ = 0: they lie within the null space of Ξ, and Π Λ Π is the part of Λ that does.
    """
    masses = [Mass.of(body.inertia) for body in model.bodies]
    for body in reversed(model.bodies[1:]):
        q = body.joint.neutral()
        at_rest = _within(_fixed_points(body.joint.span()), masses[body.index])
        masses[body.index] = masses[body.index].minus(at_rest)
        X_PB = body.placement @ body.joint.pose(q)
        masses[body.parent] = masses[body.parent].plus(at_rest.seen_from(X_PB))
    return masses


def _fixed_points(S: np.ndarray) -> np.ndarray:
    """Projector Π (4, 4) on the points [r; 1] that stay where they are under every twist S v."""
    motion = np.concatenate([np.column_stack([so3.skew(twist[:3]), twist[3:]]) for twist in S.T])
    _, size, directions = np.linalg.svd(motion)
    N = directions[np.sum(size > ROUND_OFF) :]
    return N.T @ N


def _within(Pi: np.ndarray, mass: Mass) -> Mass:
    """The part Π Λ Π of the second moments Λ."""
    moments = np.empty((4, 4), np.result_type(mass.P, mass.h, np.asarray(mass.m)))
    moments[:3, :3], moments[:3, 3], moments[3, :3], moments[3, 3] = mass.P, mass.h, mass.h, mass.m
    inside = Pi @ moments @ Pi
    return Mass(inside[3, 3], inside[:3, 3], inside[:3, :3])


def composites(model: Model, q: np.ndarray) -> list[Mass]:
    """Masses of the composite bodies, each in the frame of its first body, at q (nq,).

    They are regrouped: a composite lacks what its joint leaves at rest, except the whole robot, the first of them.
    """
    composite = regrouped(model)
    for body in reversed(model.bodies[1:]):  # tips to root; joint and placement one after the other turn with less work
        behind = composite[body.index].seen_from(body.joint.pose(q[body.q])).seen_from(body.placement)
        composite[body.parent] = composite[body.parent].plus(behind)
    return composite
