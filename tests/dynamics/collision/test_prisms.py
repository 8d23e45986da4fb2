"""Prisms are hulls of six corners whose numbers may be traced: distances are those of the same hull."""

import numpy as np
import pytest

import dalembert
from dalembert.dynamics.collision import distance, hull
from dalembert.dynamics.collision.prisms import from_prism, prism
from dalembert.spatial import Pose
from dynamics.collision.shapes import SHAPES, random_pose
from tolerances import ITERATED, PRODUCT, assert_close

STILL = Pose.identity()
CORNERS = np.array([[0.1, 0.2, 0.3], [-0.4, 0.1, 0.1], [0.2, -0.5, 0.25]])
BODY = prism(CORNERS, -0.2)


def test_faces_and_edges_are_those_of_the_hull() -> None:
    solid = hull(BODY.vertices)
    normals, offsets = BODY.faces
    assert len(normals) == len(solid.faces[0]) == 5
    for n, offset in zip(normals, offsets, strict=True):
        assert_close(np.max(BODY.vertices @ n), offset, PRODUCT)
        assert_close(np.linalg.norm(n), 1.0, PRODUCT)
    for start, along, left, right in zip(*BODY.edges, strict=True):
        assert_close([along @ left, along @ right], [0.0, 0.0], PRODUCT)
        for n in (left, right):
            assert_close([n @ start, n @ (start + along)], [np.max(BODY.vertices @ n)] * 2, PRODUCT)
    assert len(BODY.edges.start) == len(solid.edges.start) == 9


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "plane"])
def test_distances_are_those_of_the_hull(name: str) -> None:
    rng, solid = np.random.default_rng(1), hull(BODY.vertices)
    for _ in range(20):
        X = random_pose(rng)
        ours, same = (distance(SHAPES[name], X, body, STILL) for body in (BODY, solid))
        assert_close([ours.distance, *ours.normal], [same.distance, *same.normal], 10 * ITERATED)


def test_a_traced_prism() -> None:
    """Compiled, with corners that differ from call to call, against points in, on and around it."""
    rng = np.random.default_rng(2)

    def compute(x, y):
        length, normal = from_prism(y, prism(x[:9].reshape(3, 3), x[9]))
        return np.array([length, *normal])

    compiled = dalembert.function(compute, dalembert.load("2r"), x=10, y=3)
    for _ in range(200):
        corners = CORNERS + 0.05 * rng.normal(size=(3, 3))
        p = rng.uniform(-0.6, 0.6, size=3)
        length, *normal = compiled(np.array([*corners.ravel(), -0.2]), p)
        at, same = Pose(np.eye(3), p), hull(prism(corners, -0.2).vertices)
        w = distance(dalembert.model.geometry.Sphere(1e-9), at, same, STILL)
        assert_close([length, *normal], [w.distance + 1e-9, *w.normal], ITERATED)
