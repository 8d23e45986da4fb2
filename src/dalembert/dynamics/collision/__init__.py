"""Signed distances between shapes, with witness points and normals, on plain scalars.

In the order of reading:

    witness, distance               nearest points of two shapes: the record, and which method serves which pair
    lines, ellipsoids               closed forms, and Newton's method for ellipsoids
    gjk, axes, penetration          convex shapes apart, overlapping with corners, and with one of them round
    cores, features, hulls          what these loop over: corners, edges, faces
    opaque                          shapes of classes from outside, known by their farthest points alone
    directions                      starts of searches, and work that is skipped in states that do not need it
    polish, curvature               answers made exact, and their slopes
    patches → passing               several points of two faces; shapes that meet or pass each other within a step
    prisms                          small hulls below the triangles of a height field
    ground, candidates              the ground, and the points of each shape that may touch it
    pairs, bounds, broad, groups    which shapes can touch, which pairs come near, many pairs in one loop
    rays, terrain_rays              where a ray meets a shape, and a plane or height field
"""

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
