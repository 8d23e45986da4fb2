"""Candidate points of contact with the ground: they are the nearest points, in a list that never changes its length."""

import numpy as np
import pytest

from dalembert import DalembertError
from dalembert.compiler.backends.interpreter import run as evaluate
from dalembert.compiler.graph import jacobian, trace
from dalembert.dynamics.collision import HalfSpace, HeightField, Terrain, as_ground, ground_points
from dalembert.dynamics.collision.witness import FAR
from dalembert.math import cos, sin
from dalembert.model.geometry import Box, Capsule, Cylinder, Plane, Sphere
from dalembert.spatial import Pose, so3
from dynamics.collision.shapes import ROCK, SHAPES, directions, random_pose, reach
from tolerances import DIFFERENCE, ITERATED, PRODUCT, RECURSION, STEP, assert_close

GRID = 5e-4  # half the spacing of the grid that finds the nearest point by trial [m]

COUNTS = {"sphere": 1, "capsule": 2, "box": 8, "cylinder": 4, "ellipsoid": 1, "cone": 4, "wedge": 6, "rock": 4}


@pytest.mark.parametrize("name", SHAPES)
def test_lowest_candidate_is_the_lowest_point_of_the_shape(name):
    rng = np.random.default_rng(3)
    for _ in range(20):
        X, shape = random_pose(rng), SHAPES[name]
        n = directions(1, int(rng.integers(1000)))[0]
        points = ground_points(shape, X, HalfSpace(n, 0.3))
        assert len(points) == COUNTS[name]
        lowest = min(points, key=lambda w: w.distance)
        assert_close(lowest.distance, -reach(shape, X, -n) - 0.3, PRODUCT)
        for w in (point for point in points if point.distance < 0.5 * FAR):
            assert_close(w.a - w.b, w.distance * w.normal, PRODUCT)
            assert_close(w.normal, n, PRODUCT)
            assert n @ w.a - 0.3 == pytest.approx(w.distance, abs=PRODUCT)
            inside = X.inverse().point(w.a)  # no farther out than the shape reaches, in any direction
            assert all(d @ inside <= d @ shape.support(d) + PRODUCT for d in directions(50))


def test_support_is_the_farthest_point_of_hulls():
    d = directions(100)
    for one in d:
        assert_close(one @ ROCK.support(one), np.max(ROCK.vertices @ one), PRODUCT)


def test_standing_and_lying_cylinders_touch_at_a_triangle_and_along_a_line():
    can, ground = Cylinder(0.1, 0.4), as_ground(0.0)
    standing = [w for w in ground_points(can, Pose(np.eye(3), np.array([0, 0, 0.2])), ground) if w.distance < 1e-12]
    assert len(standing) == 3
    assert_close(np.mean([w.a for w in standing], axis=0), np.zeros(3), PRODUCT)  # a triangle about the axis
    X = Pose(so3.from_rpy(0.0, np.pi / 2, 0.3), np.array([0, 0, 0.1]))
    lying = [w.a for w in ground_points(can, X, ground) if w.distance < 1e-12]
    assert len(lying) == 2
    assert_close(np.linalg.norm(lying[0] - lying[1]), 0.4, PRODUCT)


def test_a_capsule_without_length_is_a_sphere():
    X = random_pose(np.random.default_rng(1))
    (one,), (other,) = (ground_points(s, X, as_ground(0.1)) for s in (Capsule(0.2, 0.0), Sphere(0.2)))
    assert_close(one.distance, other.distance, 0.0)


def hills(x, y):
    return 0.1 * sin(2.0 * x) * cos(1.5 * y) + 0.05 * x


def test_distance_from_a_terrain_is_that_of_its_nearest_point():
    rng = np.random.default_rng(5)
    grid = np.linspace(-0.5, 0.5, 401)
    for _ in range(5):
        x, y = rng.normal(size=2)
        p = np.array([x, y, hills(x, y) + rng.uniform(-0.3, 0.3)])
        gx, gy = np.meshgrid(x + grid, y + grid)
        nearest = np.sqrt(np.min((gx - x) ** 2 + (gy - y) ** 2 + (hills(gx, gy) - p[2]) ** 2))
        distance, normal = Terrain(hills).tangent(p)
        assert nearest - GRID < abs(distance) < nearest + ITERATED  # points of a grid are a little farther away
        assert np.sign(distance) == np.sign(p[2] - hills(x, y))
        foot = p - distance * normal
        assert foot[2] == pytest.approx(hills(foot[0], foot[1]), abs=ITERATED)


def test_a_plane_as_a_terrain_and_as_a_height_field_is_that_plane():
    slope = np.array([-0.3, 0.2, 1.0])
    n = slope / np.linalg.norm(slope)
    xs, ys = np.linspace(-3, 3, 7), np.linspace(-4, 4, 5)
    field = HeightField(xs, ys, 0.3 * xs[:, None] - 0.2 * ys + 0.1)
    for ground in (Terrain(lambda x, y: 0.3 * x - 0.2 * y + 0.1), field):
        distance, normal = ground.tangent(np.array([0.4, 0.5, 0.7]))
        assert_close(distance, n @ [0.4, 0.5, 0.7] - 0.1 * n[2], PRODUCT)
        assert_close(normal, n, PRODUCT)


def test_traced_terrain_agrees_with_numbers_and_its_slopes_with_differences():
    ground, p = Terrain(hills), np.array([0.4, 0.2, 0.5])

    def compute(p):
        distance, normal = ground.tangent(p)
        return {"value": np.array([distance, *normal]), "slope": jacobian(np.array([distance, *normal]), p)}

    function = trace(compute, {"p": 3}, "tangent")
    values = evaluate(function, {"p": p})
    expected = np.array([ground.tangent(p)[0], *ground.tangent(p)[1]])
    assert_close(values["value"], expected, RECURSION)
    assert_close(values["slope"][0], expected[1:], RECURSION)  # a distance grows along the normal
    touching = p - expected[0] * expected[1:]
    values = evaluate(function, {"p": touching})
    for k in range(3):
        h = STEP * np.eye(3)[k]
        above, below = ground.tangent(touching + h), ground.tangent(touching - h)
        assert_close(values["slope"][1:, k], (above[1] - below[1]) / (2 * STEP), DIFFERENCE)


def test_grounds_that_are_none_are_refused():
    with pytest.raises(DalembertError, match="expected a height"):
        as_ground("floor")
    with pytest.raises(DalembertError, match="finite height"):
        as_ground(np.nan)
    with pytest.raises(DalembertError, match="one number"):
        as_ground(lambda x, y: [x, y]).tangent(np.zeros(3))
    with pytest.raises(DalembertError, match="values has shape"):
        HeightField([0, 1], [0, 1], np.zeros((3, 2)))
    with pytest.raises(DalembertError, match="Plane has no farthest point"):
        ground_points(Plane([0, 0, 1]), Pose.identity(), as_ground(0.0))


def test_box_corners_are_all_there():
    points = ground_points(Box([1.0, 2.0, 3.0]), Pose.identity(), as_ground(0.0))
    assert {tuple(w.a) for w in points} == {(x, y, z) for x in (-0.5, 0.5) for y in (-1.0, 1.0) for z in (-1.5, 1.5)}


def test_a_vertex_of_a_hull_is_one_candidate():
    """The corners of its lowest face: where it stands on a corner or an edge, fewer than four."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        X = random_pose(rng)
        near = [w for w in ground_points(ROCK, X, as_ground(0.0)) if w.distance < 0.5 * FAR]
        assert len({tuple(w.a) for w in near}) == len(near) <= 4


@pytest.mark.parametrize("hole", [np.nan, np.inf])
def test_height_fields_have_no_holes(hole: float) -> None:
    heights = np.zeros((3, 4))
    heights[1, 2] = hole
    with pytest.raises(DalembertError, match=r"1 of 12 heights are not finite, as z\[1, 2\]"):
        HeightField(np.arange(3.0), np.arange(4.0), heights)
