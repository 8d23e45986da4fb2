"""Signed distances between shapes, with witness points and normals; the algorithms are in `dynamics.collision`.

distance(a, b) gives the `Witness` of two shapes; a `HeightField` or a `HalfSpace` is a ground.
"""

from .dynamics.collision import (
    FAR,
    Ground,
    HalfSpace,
    HeightField,
    Hull,
    Terrain,
    Witness,
    as_ground,
    distance,
    ground_points,
    hull,
    pair_points,
)

__all__ = [
    "FAR",
    "Ground",
    "HalfSpace",
    "HeightField",
    "Hull",
    "Terrain",
    "Witness",
    "as_ground",
    "distance",
    "ground_points",
    "hull",
    "pair_points",
]
