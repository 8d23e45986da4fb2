"""Distances beside MuJoCo's mj_geomDistance and coal's, for random shapes and poses."""

import numpy as np
import pytest

from dalembert.spatial import so3
from dynamics.collision.compiled import compiled_distance, placements, pose
from dynamics.collision.shapes import SHAPES
from tolerances import INTEGRATED, SOLVER_DEFAULT

EXACT = [
    ("sphere", "sphere"),
    ("sphere", "capsule"),
    ("sphere", "box"),
    ("capsule", "capsule"),
    ("capsule", "box"),
    ("box", "box"),
]
HULLS = [("wedge", "box"), ("wedge", "capsule"), ("rock", "sphere")]
COUNT = 150


def mjcf(a, b):
    """A file with two free bodies of these shapes."""
    meshes, bodies = "", ""
    for k, name in enumerate((a, b)):
        shape = SHAPES[name]
        kind = type(shape).__name__.lower()
        size = {
            "sphere": lambda s: f"{s.radius}",
            "capsule": lambda s: f"{s.radius} {s.length / 2}",
            "cylinder": lambda s: f"{s.radius} {s.length / 2}",
            "box": lambda s: " ".join(str(x / 2) for x in s.size),
            "ellipsoid": lambda s: " ".join(map(str, s.radii)),
        }[kind](shape)
        bodies += f'<body><freejoint/><geom name="g{k}" type="{kind}" size="{size}"/></body>'
    return f"<mujoco><asset>{meshes}</asset><worldbody>{bodies}</worldbody></mujoco>"


@pytest.mark.parametrize(
    ("a", "b"),
    [*EXACT, ("cylinder", "box"), ("ellipsoid", "sphere"), ("ellipsoid", "ellipsoid"), ("cylinder", "capsule")],
)
def test_distance_is_that_of_mujoco(a, b):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(mjcf(a, b))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(1)
    x, y = placements(rng, COUNT, 0.25), placements(rng, COUNT, 0.25)
    rows = compiled_distance(a, b)(x, y)
    errors = []
    for i, j, row in zip(x, y, rows, strict=True):
        data.qpos[:] = np.concatenate([i, j])
        mujoco.mj_kinematics(model, data)
        theirs = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None)
        if row[0] > 0.0:
            errors.append(abs(row[0] - theirs))
    assert len(errors) > COUNT / 3
    assert max(errors) < 2 * INTEGRATED  # MuJoCo's iteration stops at 1e-6


@pytest.mark.parametrize(("a", "b"), [*EXACT, *HULLS])
def test_signed_distance_is_that_of_coal(a, b):
    coal = pytest.importorskip("coal")
    request = coal.DistanceRequest()
    request.enable_signed_distance, request.gjk_tolerance, request.epa_tolerance = True, 1e-9, 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    one, two = (coal_shape(coal, SHAPES[name]) for name in (a, b))
    rng = np.random.default_rng(2)
    x, y = placements(rng, COUNT, 0.12), placements(rng, COUNT, 0.12)
    rows = compiled_distance(a, b)(x, y)
    assert (rows[:, 0] < 0.0).mean() > 0.2 and (rows[:, 0] > 0.0).mean() > 0.05
    for i, j, row in zip(x, y, rows, strict=True):
        X, Y = (coal.Transform3s(so3.from_quaternion(p[3:]), p[:3]) for p in (i, j))
        theirs = coal.distance(one, X, two, Y, request, coal.DistanceResult())
        assert row[0] == pytest.approx(theirs, abs=10 * SOLVER_DEFAULT), (pose(i), pose(j))


def coal_shape(coal, shape):
    match type(shape).__name__:
        case "Sphere":
            return coal.Sphere(shape.radius)
        case "Capsule":
            return coal.Capsule(shape.radius, shape.length)
        case "Box":
            return coal.Box(*shape.size)
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in shape.vertices:
        points.append(vertex)
    for corners in shape.triangles:
        triangles.append(coal.Triangle(*map(int, corners)))
    return coal.Convex(points, triangles)
