"""Distances, points and normals of round shapes are exact, beside bisection: apart and overlapping, as contacts are."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid
from dalembert.spatial import Pose
from dynamics.collision.bisection import Solid, box, cone, corners, cylinder, ellipsoid, exact, segment
from dynamics.collision.compiled import compiled_distance, placements, pose
from dynamics.collision.shapes import SHAPES
from tolerances import CONVERGED, SINGLE, SOLVE, assert_close

LONG = pytest.mark.long
PAIRS = (
    ("cylinder", "capsule"),
    ("ellipsoid", "box"),
    *(pytest.param("cylinder", x, marks=LONG) for x in ("box", "cylinder", "wedge", "rock")),
    *(pytest.param("ellipsoid", x, marks=LONG) for x in ("capsule", "cylinder", "ellipsoid", "rock")),
    *(pytest.param("cone", x, marks=LONG) for x in ("box", "capsule", "cylinder", "ellipsoid")),
)
GAPS = 10.0 ** np.linspace(-4.0, -1.7, 12)  # [m], and as depths
POINTS = 1e-8  # [m] of points on sides that are nearly parallel


def solid(name: str, X: Pose) -> Solid:
    match shape := SHAPES[name]:
        case Capsule():
            return Solid(segment(0.5 * shape.length), shape.radius, X.R, X.p)
        case Cylinder():
            return Solid(cylinder(shape.radius, 0.5 * shape.length), 0.0, X.R, X.p)
        case Cone():
            return Solid(cone(shape.radius, 0.5 * shape.length), 0.0, X.R, X.p)
        case Ellipsoid():
            return Solid(ellipsoid(shape.radii), 0.0, X.R, X.p)
        case Box():
            return Solid(box(0.5 * shape.size), 0.0, X.R, X.p)
    return Solid(corners(shape.vertices), 0.0, X.R, X.p)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_beside_bisection(a: str, b: str) -> None:
    gaps = np.concatenate([GAPS, -GAPS])
    rng = np.random.default_rng(20)
    x, y = placements(rng, len(gaps), 0.1), placements(rng, len(gaps), 0.1)
    rows = compiled_distance(a, b)(x, y)
    x[:, :3] += (gaps - rows[:, 0])[:, None] * rows[:, 7:]  # moved along the normal until there is this gap
    for row, i, j in zip(compiled_distance(a, b)(x, y), x, y, strict=True):
        expected = exact(solid(a, pose(i)), solid(b, pose(j)), row[7:])
        assert_close(row[0], expected.distance, SOLVE * 1e-3)
        assert_close(row[7:], expected.normal, CONVERGED)
        assert_close(row[1:7], np.concatenate([expected.a, expected.b]), POINTS)


def test_single_precision() -> None:
    rng = np.random.default_rng(21)
    x, y = placements(rng, 200, 0.12), placements(rng, 200, 0.12)
    call = compiled_distance("cylinder", "capsule")
    single = call(x.astype(np.float32), y.astype(np.float32))
    error = np.abs(single - call(x, y))[:, 7:].max(axis=1)
    assert np.median(error) < SINGLE / 10
