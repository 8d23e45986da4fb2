"""Capsules in URDF, which has no word for them: a cylinder with a ball of its radius at each end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.model.geometry import Capsule, Cylinder, Geometry, Sphere

CENTRED = 1e-9  # how far a ball may be from the end of the cylinder, as a fraction of the capsule's size


def with_capsules(shapes: Sequence[Geometry]) -> tuple[Geometry, ...]:
    """The shapes of a link, with each cylinder whose two ends follow it as balls turned into one capsule.

    A capsule fills the same space and has one distance to other shapes where the three pieces have three. Pieces that
    have names of their own stay as they are, since the names would be lost.
    """
    joined: list[Geometry] = []
    position = 0
    while position < len(shapes):
        capsule = _capsule(shapes[position : position + 3])
        joined.append(capsule or shapes[position])
        position += 3 if capsule else 1
    return tuple(joined)


def _capsule(pieces: Sequence[Geometry]) -> Geometry | None:
    """The capsule that a cylinder and two balls make; None if they are anything else."""
    tube = pieces[0]
    if len(pieces) < 3 or not isinstance(tube.shape, Cylinder):
        return None
    radius, length = tube.shape.radius, tube.shape.length
    for ball in pieces[1:]:
        alike = (ball.role, ball.color, ball.surface) == (tube.role, tube.color, tube.surface)
        if not (isinstance(ball.shape, Sphere) and ball.shape.radius == radius and alike and not ball.name):
            return None
    end = 0.5 * length * tube.placement.R[:, 2]
    offsets = [ball.placement.p - tube.placement.p for ball in pieces[1:]]
    misplaced = min(max(np.abs(offsets[k] - end).max(), np.abs(offsets[1 - k] + end).max()) for k in (0, 1))
    if misplaced > CENTRED * (radius + length):
        return None
    return Geometry(Capsule(radius, length), tube.placement, tube.role, tube.color, tube.name, tube.surface)
