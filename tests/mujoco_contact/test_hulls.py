"""Meshes on planes: the points of MuJoCo, hence its accelerations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.dynamics.collision import hull
from dalembert.mujoco import constraints as soft_constraints
from dalembert.mujoco.polygons import CORNERS, lowest_corners
from mujoco_contact.meshes import HULLS, mesh
from mujoco_contact.twin import SOFT, Twin, mj
from tolerances import assert_close

SAME = 1e-6  # of accelerations
DEPTHS = (0.0005, 0.002, 0.01, 0.03)  # [m]: the last one is deeper than the centre of the smaller hulls
NUDGE = 1e-9  # of a pose: far below anything that has a meaning
OPTIONS = (("elliptic", 3, 0.0), ("pyramidal", 6, 0.02))


def asset(points: np.ndarray) -> str:
    return f'<mesh name="m" vertex="{" ".join(repr(float(x)) for x in points.ravel())}"/>'


def scene(points: np.ndarray, cone: str, condim: int, margin: float) -> str:
    return f"""<mujoco><option timestep=".002" cone="{cone}"/><asset>{asset(points)}</asset><worldbody>
    <geom type="plane" size="1 1 1" friction=".7 .02 .01" margin="{margin}" euler="4 -7 20" condim="{condim}"/>
    <body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


def place(twin: Twin, rng: np.random.Generator, k: int) -> None:
    """One of the sides down, to a tilt of any size, or turned anyhow; some vertices below the plane."""
    m, d = twin.m, twin.d
    mj.mj_resetData(m, d)
    normal = np.array(m.mesh_polynormal[rng.integers(m.mesh_polynum[0])], float)
    mj.mj_kinematics(m, d)
    up = d.geom_xmat[0].reshape(3, 3)[:, 2].copy()
    down = -up + (0.0, 0.02, 0.1, 1.0)[k % 4] * rng.normal(size=3) + 1e-3 * rng.normal(size=3)
    seen = d.geom_xmat[1].reshape(3, 3) @ normal
    turn, spin, whole = np.zeros(4), np.zeros(4), np.zeros(4)
    axis = np.cross(seen, down) + 1e-9 * rng.normal(size=3)
    angle = np.arctan2(np.linalg.norm(axis), seen @ down)
    mj.mju_axisAngle2Quat(turn, axis / np.linalg.norm(axis), angle)
    mj.mju_axisAngle2Quat(spin, up, rng.uniform(-3.0, 3.0))
    mj.mju_mulQuat(whole, spin, turn)
    d.qpos[3:] = whole
    mj.mj_kinematics(m, d)
    heights = (m.mesh_vert @ d.geom_xmat[1].reshape(3, 3).T + d.geom_xpos[1]) @ up
    d.qpos[:3] = 0.1 * rng.normal(size=3)
    d.qpos[:3] -= (up @ d.qpos[:3] + heights.min() + DEPTHS[rng.integers(len(DEPTHS))]) * up
    d.qvel[:] = rng.normal(size=m.nv)


def error(twin: Twin) -> float:
    ours, theirs = twin.accelerations(compiled=True)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", HULLS)
def test_on_a_slope(name: str, option: tuple[str, int, float]) -> None:
    rng = np.random.default_rng(5)
    twin = Twin(scene(HULLS[name], *option))
    counts: set[int] = set()
    for k in range(40):
        place(twin, rng, k)
        assert error(twin) < SAME
        counts.add(twin.d.ncon)
    assert max(counts) > 2


def test_a_mesh_of_a_file(tmp_path: Path) -> None:
    """Here it stays as its file has it; MuJoCo moves it to its centre and principal axes."""
    body = hull(HULLS["heptagon"] + [0.3, -0.2, 0.1])
    lines = [f"v {x} {y} {z}" for x, y, z in body.vertices] + [f"f {a} {b} {c}" for a, b, c in body.triangles + 1]
    (tmp_path / "m.obj").write_text("\n".join(lines))
    text = scene(HULLS["heptagon"], "elliptic", 4, 0.0)
    text = text.replace(asset(HULLS["heptagon"]), f'<mesh name="m" file="{tmp_path / "m.obj"}" scale="1 1.2 .8"/>')
    twin, rng = Twin(text), np.random.default_rng(6)
    for k in range(20):
        place(twin, rng, k)
        assert error(twin) < SAME


def test_several_meshes_are_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hulls of different sizes in one table, some deep, some away; a batch."""
    monkeypatch.setattr(soft_constraints, "FEW", 0)
    names = ("tetrahedron", "cuboid", "heptagon", "cloud")
    assets = "".join(mesh(name) for name in names)
    bodies = "".join(
        f'<body pos="{k} 0 .06"><freejoint/><geom type="mesh" mesh="{name}"/></body>' for k, name in enumerate(names)
    )
    floor = '<geom type="plane" size="1 1 1"/>'
    twin = Twin(f"<mujoco><asset>{assets}</asset><worldbody>{floor}{bodies}</worldbody></mujoco>")
    rng, states, expected = np.random.default_rng(7), [], []
    for _ in range(12):
        twin.move(rng, 0.05)
        expected.append(twin.accelerations(compiled=True)[1])
        states.append(twin.state)
    q, v = (np.array(x) for x in zip(*states, strict=True))
    ours = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT).a
    assert_close(ours, expected, SAME * np.abs(expected).max())


def test_a_side_of_four_corners_lies_flat() -> None:
    """Whichever corner is the first one, it is the same four."""
    twin = Twin(scene(HULLS["cuboid"], "elliptic", 3, 0.0).replace("4 -7 20", "0 0 0"))
    mj.mj_resetData(twin.m, twin.d)
    twin.d.qpos[2] = 0.049
    assert error(twin) < SAME
    assert twin.d.ncon == CORNERS


def test_a_side_of_many_corners_that_lies_flat_is_left_to_rounding() -> None:
    """All its corners are the deepest one; MuJoCo begins with another when the pose moves by what has no meaning."""
    twin = Twin(scene(HULLS["heptagon"], "elliptic", 3, 0.0).replace("4 -7 20", "0 0 0"))
    rng, seen = np.random.default_rng(8), set()
    for _ in range(30):
        mj.mj_resetData(twin.m, twin.d)
        twin.d.qpos[2] = 0.049
        mj.mj_integratePos(twin.m, twin.d.qpos, NUDGE * rng.normal(size=6), 1.0)
        mj.mj_forward(twin.m, twin.d)
        assert twin.d.ncon == CORNERS
        seen.add(tuple(sorted(tuple(np.round(c.pos, 4)) for c in twin.d.contact)))
    assert len(seen) > 1


def test_corners_of_one_side() -> None:
    """Corners of the lowest side of a cuboid, in turn, the deepest one first."""
    down = np.array([0.05, -0.02, -1.0])
    corners = lowest_corners(hull(HULLS["cuboid"]), down / np.linalg.norm(down))
    assert [corner.present for corner in corners] == [1.0] * CORNERS
    points = np.array([corner.point for corner in corners])
    expected = np.array([[0.1, -0.07, -0.05], [-0.1, -0.07, -0.05], [-0.1, 0.07, -0.05], [0.1, 0.07, -0.05]])
    np.testing.assert_array_equal(points, expected)
