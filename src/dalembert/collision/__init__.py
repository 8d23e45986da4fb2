"""Signed distances between shapes, with witness points and normals, on plain scalars."""

from .candidates import ground_points
from .ground import Ground, HalfSpace, HeightField, Terrain, as_ground
from .hulls import Hull, hull
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
    "ground_points",
    "hull",
]
