"""Meshes with other shapes and with each other: the points of MuJoCo, hence its accelerations.

Two things in MuJoCo are no function of the state. Of more than four corners four are kept by comparing areas, some of
which are equal but for rounding. And of two shapes that are apart, but within their margin, the features that face each
other are those of a polytope that nears a round surface. In sweeps of some thousand states, each concerns one in a
hundred of the states of its kind.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from dalembert import load
from dalembert.dynamics.collision import hull
from dalembert.dynamics.collision.hulls import stated_hull
from dalembert.model.geometry import Mesh, Polyhedron
from dalembert.mujoco import constraints as soft_constraints
from mujoco_contact.meshes import HULLS, geom, mesh, touching, two
from mujoco_contact.twin import SOFT, Twin, mj
from tolerances import COMPUTED, assert_close

SAME = 1e-6  # of accelerations
SINGLE = 1e-5  # of accelerations in single precision
OPTIONS = (("elliptic", 3, 0.0), ("pyramidal", 6, 0.02))
FLAT_SIDE = 1e-8  # [m] of its corners: their points are rounded to single precision, its normal is not
LEFT_TO_ROUNDING = 0.02  # of the states of a sweep
FLAT = ("capsule", "box", "tetrahedron", "cuboid", "heptagon", "many corners", "cloud")


def errors(names: str, option: tuple[str, int, float], count: int) -> tuple[np.ndarray, set[int]]:
    """Errors of accelerations in random states, and numbers of points."""
    twin, rng = Twin(two(*names.split(", "), *option)), np.random.default_rng(2)
    twin.m.opt.ccd_tolerance, twin.m.opt.ccd_iterations = 1e-16, 1000
    found, counts = [], set()
    for _ in range(count):
        touching(twin, rng)
        ours, theirs = twin.accelerations(compiled=True)
        found.append(np.abs(ours - theirs).max() / np.abs(theirs).max())
        counts.add(twin.d.ncon)
    return np.array(found), counts


@pytest.mark.parametrize(
    ("names", "option"),
    [
        ("capsule, heptagon", OPTIONS[1]),
        ("box, cloud", OPTIONS[0]),
        ("heptagon, many corners", OPTIONS[1]),
        ("cloud, cloud", OPTIONS[0]),
    ],
)
def test_accelerations(names: str, option: tuple[str, int, float]) -> None:
    found, counts = errors(names, option, 40)
    assert found.max() < SAME
    assert len(counts) > 1


@pytest.mark.long
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize(
    "names",
    [f"{a}, {b}" for i, a in enumerate(FLAT) for b in FLAT[max(i, 2) :]],
)
def test_every_pair(names: str, option: tuple[str, int, float]) -> None:
    found, counts = errors(names, option, 150)
    assert np.mean(found > SAME) <= LEFT_TO_ROUNDING
    assert len(counts) > 1


@pytest.mark.parametrize("name", ["heptagon", "many corners"])
def test_a_side_on_a_side(name: str) -> None:
    """Four of many corners, of which MuJoCo keeps the same."""
    twin, rng = Twin(two("box", name, *OPTIONS[0])), np.random.default_rng(3)
    same, four = 0, 0
    for _ in range(40):
        mj.mj_resetData(twin.m, twin.d)
        upright = np.array([1.0, *0.005 * rng.normal(size=3)])
        mj.mju_normalize4(upright)
        turn = np.zeros(4)
        mj.mju_axisAngle2Quat(turn, np.array([0.0, 0.0, 1.0]), rng.uniform(-3.0, 3.0))
        mj.mju_mulQuat(twin.d.qpos[10:14], turn, upright)
        twin.d.qpos[7:10] = [*0.03 * rng.normal(size=2), 0.06 + 0.05 - 0.004]
        ours, theirs = twin.accelerations(compiled=True)
        four += twin.d.ncon == 4
        same += bool(np.abs(ours - theirs).max() < SAME * np.abs(theirs).max())
    assert four > 20
    assert same >= 38


def test_single_precision() -> None:
    """Rounding hides which corners of a side are level with each other, but not which side it is."""
    twin, rng, states = Twin(two("cloud", "cloud", *OPTIONS[0])), np.random.default_rng(1), []
    for _ in range(20):
        touching(twin, rng)
        states.append(twin.state)
    q, v = (np.array(x) for x in zip(*states, strict=True))
    double = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT).a
    q, v = q.astype(np.float32), v.astype(np.float32)
    single = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT).a
    assert_close(single, double, SINGLE * np.abs(double).max())


@pytest.mark.long
def test_several_meshes_among_other_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gathered: hulls of different sizes in one table; a batch."""
    monkeypatch.setattr(soft_constraints, "FEW", 0)
    names = ("tetrahedron", "heptagon", "cloud", "box", "capsule")
    assets = "".join(mesh(name) for name in names if name in HULLS)
    bodies = "".join(
        f'<body pos="{0.11 * k} 0 0"><freejoint/><geom {geom(name)}/></body>' for k, name in enumerate(names)
    )
    twin = Twin(f"<mujoco><asset>{assets}</asset><worldbody>{bodies}</worldbody></mujoco>")
    rng, states, expected = np.random.default_rng(7), [], []
    while len(states) < 12:
        twin.move(rng, 0.05)
        mj.mj_forward(twin.m, twin.d)
        if twin.d.ncon > 2:
            expected.append(twin.accelerations(compiled=True)[1])
            states.append(twin.state)
    q, v = (np.array(x) for x in zip(*states, strict=True))
    ours = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT).a
    assert_close(ours, expected, SAME * np.abs(expected).max())


def test_the_hull_is_that_of_mujoco() -> None:
    """Its sides are in MuJoCo's order; the solid is that of the mesh."""
    robot = load(two("box", "heptagon", *OPTIONS[0]))
    shapes = [g.shape for body in robot.model.bodies for part in body.parts for g in part.geometry]
    shape = next(x for x in shapes if isinstance(x, Polyhedron | Mesh))
    assert shape.hull is not None
    theirs, ours = stated_hull(shape.hull), hull(shape)
    assert len(theirs.polygons) == len(ours.polygons) == 9
    for normal, ring in theirs.polygons:
        corners = theirs.vertices[list(ring)]
        assert_close((corners - corners[0]) @ normal, np.zeros(len(ring)), FLAT_SIDE)
        assert ((theirs.vertices - corners[0]) @ normal).max() < FLAT_SIDE
    np.testing.assert_allclose(np.sort(theirs.vertices, axis=0), np.sort(ours.vertices, axis=0), atol=COMPUTED)


@pytest.mark.long
def test_an_arm_whose_links_are_meshes() -> None:
    """Its links, hulls of up to some hundred vertices, fold into each other, at up to eleven points at once."""
    package = find_spec("robosuite")
    if package is None or package.origin is None:
        pytest.skip("the arm comes with robosuite")
    path = Path(package.origin).parent / "models/assets/robots/panda/robot.xml"
    m = mj.MjModel.from_xml_path(str(path))
    m.opt.solver, m.opt.tolerance, m.opt.iterations = mj.mjtSolver.mjSOL_NEWTON, 0.0, 200
    m.opt.ls_iterations, m.opt.ls_tolerance, m.opt.ccd_tolerance, m.opt.ccd_iterations = 100, 1e-10, 1e-16, 1000
    d, robot, rng, counts, same = mj.MjData(m), load(path), np.random.default_rng(0), [], 0
    while len(counts) < 12:
        d.qpos[:], d.qvel[:] = rng.uniform(*m.jnt_range.T), rng.normal(size=m.nv)
        mj.mj_forward(m, d)
        if d.ncon:
            a = robot.contact_dynamics(d.qpos, d.qvel, np.zeros(m.nv), contact=SOFT).a
            same += bool(np.abs(a - d.qacc).max() < SAME * np.abs(d.qacc).max())
            counts.append(d.ncon)
    assert max(counts) > 4
    assert same == len(counts)
