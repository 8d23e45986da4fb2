"""Rays against every shape: as mj_ray where MuJoCo has it, by closed forms, and by marching along the ray."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot, load
from dalembert.dynamics.collision import HeightField, distance
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Polyhedron, Shape, Sphere
from dalembert.spatial import Pose
from loose_bodies import standing
from mujoco_contact.twin import SHAPES, mj
from tolerances import COMPUTED, CONVERGED, ITERATED, ROUNDING, SINGLE, assert_close

RAYS = 400
ON = 1e-7  # [m]: between a hit and the surface, as distances have it
CORNERS = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.12, 0.12) for z in (-0.14, 0.14)])
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
TRIANGLES = np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])
HEIGHTS = np.random.default_rng(2).random((9, 5))
FIELD = HeightField(np.linspace(-1.0, 1.0, 9), np.array([-1.0, -0.3, 0.1, 0.5, 1.0]), HEIGHTS)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def rays(rng: np.random.Generator, count: int = RAYS, size: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Origins on all sides, some of them inside, and directions of any length, most of them towards the middle."""
    origins = rng.normal(size=(count, 3)) * size
    origins[: count // 8] *= 0.1
    return origins, rng.normal(size=(count, 3)) * 0.4 * size - 2.0 * origins


def holding(*shapes: Shape) -> Robot:
    """A free body with these shapes."""
    builder = ModelBuilder("target")
    builder.add_body("body", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    for shape in shapes:
        builder.add_geometry(shape, body="body", role="collision")
    return builder.build()


def test_shapes_as_mujoco_has_them(rng: np.random.Generator) -> None:
    bodies = "".join(
        f'<body pos="{0.4 * k} 0 {0.1 * k}"><freejoint/><geom {shape}/></body>'
        for k, shape in enumerate(SHAPES.values())
    )
    box = " ".join(str(x) for x in CORNERS.ravel())
    mesh = f'<asset><mesh name="m" vertex="{box}"/></asset>'
    bodies += '<body pos="-.5 0 0"><freejoint/><geom type="mesh" mesh="m"/></body>'
    text = f'<mujoco>{mesh}<worldbody><geom type="plane" size="0 0 1" pos="0 0 -.4"/>{bodies}</worldbody></mujoco>'
    robot, m = load(text), mj.MjModel.from_xml_string(text)
    d = mj.MjData(m)
    q = robot.normalize(robot.home().q + 0.2 * rng.normal(size=robot.nq))
    d.qpos[:] = q
    mj.mj_forward(m, d)
    origins, directions = rays(rng, size=0.7)
    directions[100:] = q.reshape(-1, 7)[rng.integers(m.nbody - 1, size=RAYS - 100), :3] - origins[100:]
    hits = robot.raycast(q, origins, directions)
    seen = set()
    for k, (origin, direction) in enumerate(zip(origins, directions, strict=True)):
        geom = np.zeros(1, np.int32)
        length = mj.mj_ray(m, d, origin, direction, None, 1, -1, geom)
        if origin[2] < -0.4 and (length < 0.0 or m.geom_type[geom[0]] == 0):
            continue
        expected = np.inf if length < 0.0 else length * np.linalg.norm(direction)
        assert hits.distance[k] == pytest.approx(expected, abs=ITERATED)
        seen.add(int(geom[0]) if length >= 0.0 else -1)
        assert hits.body[k] == (m.geom_bodyid[geom[0]] if length >= 0.0 else -1)
    assert len(seen) == m.ngeom + 1  # each of them, and nothing


EVERY = [
    Sphere(0.12),
    Capsule(0.1, 0.2),
    Box([0.2, 0.24, 0.28]),
    Cylinder(0.1, 0.24),
    Ellipsoid([0.1, 0.12, 0.14]),
    Cone(0.1, 0.2),
    Polyhedron(CORNERS, TRIANGLES),
]


@pytest.mark.parametrize("shape", EVERY, ids=[type(shape).__name__ for shape in EVERY])
def test_hits_lie_on_the_surface_and_nothing_lies_before_them(shape: Shape, rng: np.random.Generator) -> None:
    robot, (origins, directions) = holding(shape), rays(rng, 24)
    q = robot.normalize(np.concatenate([0.1 * rng.normal(size=3), rng.normal(size=4)]))
    origins += q[:3]
    hits = robot.raycast(q, origins, directions)
    units = directions / np.linalg.norm(directions, axis=1)[:, None]
    placed = robot.pose(q, "body")
    X, met = Pose(placed[:3, :3], placed[:3, 3]), hits.distance < np.inf
    assert met.sum() > 5 and not met.all()
    probe = Sphere(1e-12)

    def gap(place: np.ndarray) -> float:
        return float(distance(probe, Pose(np.eye(3), place), shape.convex(), X).distance)

    for k in range(len(origins)):
        inside = gap(origins[k]) < 0.0
        if not met[k]:
            assert not inside and min(gap(origins[k] + t * units[k]) for t in np.linspace(0.0, 1.5, 30)) > -ON
            continue
        assert abs(gap(hits.point[k])) < ON
        assert_close(hits.point[k], origins[k] + hits.distance[k] * units[k], COMPUTED)
        before = [gap(origins[k] + t * units[k]) for t in np.linspace(0.0, hits.distance[k], 8)[1:-1]]
        assert max(before) < ON if inside else min(before) > -ON
        assert (hits.normal[k] @ units[k] > 0.0) == inside
        assert np.linalg.norm(hits.normal[k]) == pytest.approx(1.0, abs=COMPUTED)
        assert gap(hits.point[k] + 1e-4 * hits.normal[k]) == pytest.approx(1e-4, abs=10 * ON)


def test_batches_broadcast_and_rays_alone_are_the_same(rng: np.random.Generator) -> None:
    robot, (origins, directions) = holding(Box([0.2] * 3), Sphere(0.15)), rays(rng, 30)
    q = np.tile(standing(0.1)[0], (4, 1))
    q[:, 0] = np.linspace(-0.2, 0.2, 4)
    hits = robot.raycast(q[:, None], origins, directions)
    assert hits.distance.shape == hits.body.shape == (4, 30)
    assert hits.point.shape == hits.normal.shape == (4, 30, 3)
    for i in range(4):
        alone = robot.raycast(q[i], origins[3], directions[3])
        assert isinstance(alone.body, np.integer) and alone.distance == pytest.approx(hits.distance[i, 3], abs=ROUNDING)
    picture = robot.raycast(q[0], np.zeros(3), directions.reshape(5, 6, 3))
    assert picture.distance.shape == (5, 6)


def test_a_level_ground_and_a_plane_of_the_file() -> None:
    robot, q = holding(Sphere(0.1)), standing(0.5)[0]
    down = robot.raycast(q, [[1.0, 0.0, 2.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.2]], [0.0, 0.0, -3.0], Contact(ground=0.1))
    assert_close(down.distance, [1.9, 1.4, 0.1], COMPUTED)
    assert [down.names[body] for body in down.body] == ["ground", "body", "ground"]
    assert_close(down.normal, [[0.0, 0.0, 1.0]] * 3, COMPUTED)
    higher = robot.raycast(q, [1.0, 0.0, 2.0], [0.0, 0.0, -1.0], Contact(ground=0.3))
    assert higher.distance == pytest.approx(1.7, abs=COMPUTED)
    up = robot.raycast(q, [1.0, 0.0, -1.0], [0.0, 0.0, 1.0], Contact(ground=0.0))
    assert up.distance == np.inf and up.body == -1 and np.isnan(up.point).all()


def test_height_fields(rng: np.random.Generator) -> None:
    """Against marching along the ray; uneven grids, rays beyond their edges, from below, straight down."""
    robot, q = holding(Sphere(0.01)), standing(50.0)[0]
    origins = np.column_stack([rng.uniform(-1.5, 1.5, (80, 2)), rng.uniform(-0.5, 2.0, 80)])
    directions = rng.normal(size=(80, 3)) - [0.0, 0.0, 0.7]
    directions[:5] = [0.0, 0.0, -1.0]
    hits = robot.raycast(q, origins, directions, Contact(terrain=FIELD))
    t = np.linspace(0.0, 12.0, 40_001)
    for k, (o, d) in enumerate(zip(origins, directions / np.linalg.norm(directions, axis=1)[:, None], strict=True)):
        above = o[2] + t * d[2] - FIELD(o[0] + t * d[0], o[1] + t * d[1])
        falls = np.flatnonzero((above[:-1] > 0.0) & (above[1:] <= 0.0))
        expected = t[falls[0]] if len(falls) else np.inf
        if len(falls) or hits.distance[k] < 12.0:
            assert hits.distance[k] == pytest.approx(expected, abs=2.0 * (t[1] - t[0]))
    met = hits.distance < np.inf
    on = hits.point[met]
    assert_close(on[:, 2], FIELD(on[:, 0], on[:, 1]), CONVERGED)
    assert np.all(np.einsum("ij,ij->i", hits.normal[met], directions[met]) < 0.0)


def test_rays_that_graze_or_run_along_a_face() -> None:
    robot, q = holding(Box([0.2] * 3)), standing(0.0)[0]
    beside = robot.raycast(q, [[-1.0, 0.0, 0.1 + 1e-9], [-1.0, 0.0, 0.1 - 1e-9], [-1.0, 0.1, 0.0]], [1.0, 0.0, 0.0])
    assert beside.distance[0] == np.inf
    assert_close(beside.distance[1:], [0.9, 0.9], COMPUTED)
    ball = holding(Sphere(0.1))
    tangent = ball.raycast(q, [[-1.0, 0.0, 0.1 * (1.0 + 1e-9)], [-1.0, 0.0, 0.1 * (1.0 - 1e-9)]], [1.0, 0.0, 0.0])
    assert tangent.distance[0] == np.inf
    assert tangent.distance[1] == pytest.approx(1.0, abs=10 * SINGLE)


def test_in_single_precision(rng: np.random.Generator) -> None:
    robot, (origins, directions) = holding(*EVERY), rays(rng, 40)
    q = standing(0.1)[0]
    double = robot.raycast(q, origins, directions).distance
    single = robot.raycast(*(x.astype(np.float32) for x in (q, origins, directions))).distance
    assert single.dtype == np.float32
    both = np.isfinite(double) & np.isfinite(single)
    assert (both == np.isfinite(double)).mean() > 0.9
    assert np.median(np.abs(single[both] - double[both])) < SINGLE


def test_what_it_refuses() -> None:
    robot, q = holding(Sphere(0.1)), standing(0.1)[0]
    for match, arguments, options in (
        (r"directions\[1\] is zero", (np.zeros((2, 3)), [[1.0, 0, 0], [0.0, 0, 0]]), {}),
        ("directions is zero", (np.zeros(3), np.zeros(3)), {}),
        (r"origins\[2\] is nan", ([0, 0, np.nan], [1.0, 0, 0]), {}),
        (r"directions\[0\] is inf", (np.zeros(3), [np.inf, 0, 0]), {}),
        (r"origins has shape \(2,\)", ([0, 0], [1.0, 0, 0]), {}),
        ("terrain is a function", (np.zeros(3), [1.0, 0, 0]), {"contact": Contact(terrain=lambda x, y: 0.1 * x)}),
        ("contact is 3", (np.zeros(3), [1.0, 0, 0]), {"contact": 3}),
    ):
        with pytest.raises(DalembertError, match=match):
            robot.raycast(q, *arguments, **options)
    with pytest.raises(DalembertError, match="no collision shapes"):
        load("2r").raycast(np.zeros(2), np.zeros(3), [1.0, 0, 0])
