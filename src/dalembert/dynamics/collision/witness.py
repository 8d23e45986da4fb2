"""The nearest points of two shapes: the record that distances and contacts share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.math import logical_and, where
from dalembert.spatial.vectors import dot

FAR = 1e6  # [m] gap of a candidate that does not exist at this moment, as the corner of a patch with fewer corners


class Witness(NamedTuple):
    """Two points that face each other on shapes A and B, all in the world: a − b = distance · normal.

    Moving A by x changes the distance by normal · x, to first order. Of shapes that move, points may be those that will
    face each other where they meet, and are still aside of each other: see `passing`.
    """

    distance: Any  # [m], negative where they overlap: how far A must be moved along the normal until they only touch
    a: np.ndarray  # (3,) on A [m]
    b: np.ndarray  # (3,) on B [m]
    normal: np.ndarray  # (3,) unit vector out of B, towards A

    @property
    def position(self) -> np.ndarray:
        """Halfway between the two points (3,) [m]: where a contact acts."""
        return 0.5 * (self.a + self.b)

    @property
    def aside(self) -> np.ndarray:
        """The part (3,) of a − b across the normal [m]."""
        apart = self.a - self.b
        return apart - dot(self.normal, apart) * self.normal

    def half_apart(self, across: bool) -> np.ndarray:
        """(3,) [m]: from halfway to the place of A where it is pushed, and minus that to the place of B.

        Shapes that are apart touch when they meet, each at its own point; those that overlap are pushed halfway.
        across: whether points that are aside of each other count as well.
        """
        there = logical_and(self.distance > 0.0, self.distance < 0.5 * FAR)
        along = where(there, 0.5 * self.distance, 0.0) * self.normal
        return along + 0.5 * self.aside if across else along

    def swapped(self) -> Witness:
        """The same, with A and B in each other's place."""
        return Witness(self.distance, self.b, self.a, -self.normal)


def witness(distance: Any, a: np.ndarray, normal: np.ndarray) -> Witness:
    """From the point on A."""
    return Witness(distance, a, a - distance * normal, normal)


def inflated(core: Witness, radius_a: Any, radius_b: Any) -> Witness:
    """The witness of the shapes, which reach farther than their cores by these radii [m]."""
    a, b = core.a - radius_a * core.normal, core.b + radius_b * core.normal
    return Witness(core.distance - radius_a - radius_b, a, b, core.normal)


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """One of two named tuples of the same kind: x where the condition holds, else y."""
    return type(x)(*(where(condition, p, q) for p, q in zip(x, y, strict=True)))


def nearer(x: Witness, y: Witness) -> Witness:
    """The one with the smaller distance."""
    return chosen(y.distance < x.distance, y, x)


def present(condition: Any, x: Witness) -> Witness:
    """x where the condition holds; elsewhere one that is far away."""
    return x._replace(distance=where(condition, x.distance, FAR))
