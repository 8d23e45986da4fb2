"""Several candidate points where shapes touch: a face that rests on a face is held at the corners of both."""

import numpy as np
import pytest

from dalembert.dynamics.collision import FAR, as_ground, pair_points
from dalembert.model.geometry import Box, Capsule, Cylinder, Plane, Sphere
from dalembert.spatial import Pose, so3
from dynamics.collision.compiled import compiled_distance, compiled_points, placements, pose
from dynamics.collision.shapes import SHAPES
from tolerances import COMPUTED, ITERATED, RECURSION, SOLVER_DEFAULT, assert_close

LINE_ENDS = 1e-3  # where a line of contact ends, on shapes that are a little tilted [m]
OTHER_FEATURE = 1e-4  # where the nearest pair is one of other edges than the candidates [m]

TABLE = Box([0.4, 0.3, 0.1])
CUBE = Box([0.2, 0.2, 0.2])


def at(x, y, z, roll=0.0, pitch=0.0, yaw=0.0):
    return Pose(so3.from_rpy(roll, pitch, yaw), np.array([x, y, z], float))


def touching(a, X, b, Y):
    """The points that are there, in the order of their angle about their middle."""
    points = np.array([w.position for w in pair_points(a, X, b, Y) if w.distance < 0.5 * FAR])
    middle = points.mean(axis=0)
    return points[np.argsort(np.arctan2(*(points - middle)[:, 1::-1].T))]


@pytest.mark.parametrize("gap", [-1e-3, -1e-9, 0.0, 1e-12, 1e-6, 1e-3])
def test_a_box_resting_on_a_box_is_held_at_four_corners(gap):
    points = touching(CUBE, at(0.02, 0.03, 0.15 + gap), TABLE, at(0, 0, 0))
    assert_close(points[:, :2], [[-0.08, -0.07], [0.12, -0.07], [0.12, 0.13], [-0.08, 0.13]], ITERATED)
    for w in pair_points(CUBE, at(0.02, 0.03, 0.15 + gap), TABLE, at(0, 0, 0)):
        assert w.distance == pytest.approx(gap, abs=COMPUTED)
        assert_close(w.normal, [0, 0, 1], ITERATED)


def test_a_box_that_sticks_out_is_held_at_the_corners_of_what_is_common():
    points = touching(CUBE, at(0.2, 0.15, 0.15), TABLE, at(0, 0, 0))
    assert_close(points[:, :2], [[0.1, 0.05], [0.2, 0.05], [0.2, 0.15], [0.1, 0.15]], ITERATED)


def test_crossed_planks_are_held_where_their_sides_cross():
    plank = Box([1.0, 0.1, 0.1])
    points = touching(plank, at(0, 0, 0.1, yaw=np.pi / 2), plank, at(0, 0, 0))
    assert_close(points[:, :2], [[-0.05, -0.05], [0.05, -0.05], [0.05, 0.05], [-0.05, 0.05]], SOLVER_DEFAULT)


@pytest.mark.parametrize("yaw", [0.0, 0.3, np.pi / 4, np.pi / 2, 1e-9])
def test_any_turn_about_the_normal_keeps_four_points(yaw):
    points = touching(Box([0.1, 0.1, 0.2]), at(0, 0, 0.15, yaw=yaw), TABLE, at(0, 0, 0))
    assert len(points) == 4
    assert_close(points[:, :2].mean(axis=0), [0.0, 0.0], ITERATED)
    assert_close(np.linalg.norm(points[:, :2], axis=1), np.full(4, 0.05 * 2**0.5), ITERATED)


def test_an_edge_two_points_a_corner_and_crossing_edges_one():
    edge = touching(CUBE, at(0, 0, 0.05 + 0.1 * 2**0.5, roll=np.pi / 4), TABLE, at(0, 0, 0))
    assert_close(edge[np.argsort(edge[:, 0])], [[-0.1, 0, 0.05], [0.1, 0, 0.05]], ITERATED)
    corner = touching(CUBE, at(0, 0, 0.05 + 0.1 * 3**0.5, np.pi / 4, np.arctan(0.5**0.5)), TABLE, at(0, 0, 0))
    assert_close(corner, [[0, 0, 0.05]], ITERATED)
    crossed = touching(CUBE, at(0, 0, 0.2 * 2**0.5, roll=np.pi / 4), CUBE, at(0, 0, 0, pitch=np.pi / 4))
    assert_close(crossed, [[0, 0, 0.1 * 2**0.5]], SOLVER_DEFAULT)


def test_capsules_and_cylinders():
    rod, lying = Capsule(0.05, 0.3), np.pi / 2
    both = touching(rod, at(0.1, 0, 0.1, pitch=lying), rod, at(0, 0, 0, pitch=lying))
    assert_close(np.sort(both[:, 0]), [-0.05, 0.15], LINE_ENDS)
    assert len(touching(rod, at(0, 0, 0.1, pitch=lying), rod, at(0, 0, 0, roll=lying))) == 1
    over = touching(rod, at(0.2, 0, 0.1, pitch=lying), TABLE, at(0, 0, 0))
    assert_close(np.sort(over[:, 0]), [0.05, 0.2], LINE_ENDS)
    can = Cylinder(0.05, 0.3)
    assert len(touching(can, at(0, 0, 0.2), TABLE, at(0, 0, 0))) == 4
    assert len(touching(can, at(0, 0, 0.1, pitch=lying), TABLE, at(0, 0, 0))) == 2


def test_spheres_have_one_and_grounds_theirs():
    assert len(pair_points(Sphere(0.1), at(0, 0, 1), TABLE, at(0, 0, 0))) == 1
    assert len(pair_points(CUBE, at(0, 0, 1), as_ground(0.0), at(0, 0, 0))) == 8
    one, two = (
        pair_points(*pair)
        for pair in (
            (CUBE, at(0, 0, 1), Plane([0, 0, 1]), at(0, 0, 0)),
            (Plane([0, 0, 1]), at(0, 0, 0), CUBE, at(0, 0, 1)),
        )
    )
    assert [w.distance for w in one] == [w.distance for w in two]
    assert_close(two[0].normal, [0, 0, -1], 0.0)


@pytest.mark.parametrize(("a", "b"), [("box", "box"), ("capsule", "box"), ("wedge", "box"), ("capsule", "capsule")])
def test_deepest_candidate_has_the_distance(a, b):
    rng = np.random.default_rng(12)
    x, y = placements(rng, 400, 0.12), placements(rng, 400, 0.12)
    nearest = compiled_distance(a, b)(x, y)
    x[:, :3] -= (nearest[:, 0] - rng.uniform(-1e-3, 1e-3, 400))[:, None] * nearest[:, 7:]  # a millimetre deep or apart
    nearest, points = compiled_distance(a, b)(x, y), compiled_points(a, b)(x, y)
    assert np.all(np.isfinite(points))
    deepest = points[:, :, 0].min(axis=1)
    close = np.abs(nearest[:, 0]) < 1.1e-3
    assert close.mean() > 0.9
    assert np.quantile(np.abs(deepest - nearest[:, 0])[close], 0.98) < 100 * SOLVER_DEFAULT
    assert np.max(np.abs(deepest - nearest[:, 0])[close]) < OTHER_FEATURE
    real = points[..., 0] < 0.5 * FAR
    w = points[real]
    assert_close(w[:, 1:4] - w[:, 4:7], w[:, :1] * w[:, 7:], RECURSION)
    outside = (
        [
            np.max(np.abs(pose(j).inverse().point(p)) - 0.5 * SHAPES[b].size)
            for j, row, here in zip(y, points, real, strict=True)
            for p in row[here][:, 4:7]
        ]
        if b == "box"
        else [0.0]
    )
    assert max(outside) < 10 * SOLVER_DEFAULT  # they lie on the box


def test_candidates_of_plain_numbers_and_compiled_ones_agree():
    rng = np.random.default_rng(13)
    x, y = placements(rng, 5, 0.1), placements(rng, 5, 0.1)
    rows = compiled_points("box", "wedge")(x, y)
    for row, i, j in zip(rows, x, y, strict=True):
        points = pair_points(SHAPES["box"], pose(i), SHAPES["wedge"], pose(j))
        assert_close(row[:, 0], [w.distance for w in points], ITERATED)
