"""Signed distances between shapes, with witness points and normals, on plain scalars."""

from .candidates import ground_points
from .distance import distance
from .ground import Ground, HalfSpace, HeightField, Terrain, as_ground
from .hulls import Hull, hull
from .patches import pair_points
from .witness import FAR, Witness

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
