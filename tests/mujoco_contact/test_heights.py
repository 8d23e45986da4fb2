"""Shapes on height fields of MJCF files: the points of MuJoCo, hence its accelerations and motions.

Two things in MuJoCo are no function of the state. On curved surfaces its iteration finds the depth to rounding, but the
normal, about which the depth is flat, to its square root: MuJoCo then gets the exact points, which bisection finds, and
computes accelerations from them. And its search of a box or a mesh without a margin, which ends early, goes along
normals of edges, so that rounding says which of two corners is the next: such states are recognised by this, that ours
jump to MuJoCo's points when the pose moves by 1e-10.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from dalembert import Contact, DalembertError, load
from dalembert.mujoco import expansion
from dalembert.mujoco import heights as field_heights
from dalembert.mujoco.candidates import mujoco_candidates
from dynamics.collision.bisection import Solid, corners, cylinder, ellipsoid, exact
from mujoco_contact.meshes import HULLS, mesh
from mujoco_contact.twin import SOFT, Twin, mj, scene
from tolerances import ITERATED, assert_close

SAME = 1e-6  # of accelerations
SUNK = 1e-5  # of accelerations, deeper than a radius: MuJoCo knows points to 1e-9 m there
EQUAL = 1e-8  # of accelerations, where MuJoCo has the exact points
SHALLOW = 0.04  # [m]
CLEAR = 1e-4  # [m] of depths
AS_IT_IS = 1e-3  # of accelerations from its own points on curved surfaces; the largest that was seen is 4e-5
DEPTH = 1e-9  # [m] of its depths there
ALONG = 1e-5  # [m] of separations along its normals there
NUDGE = 1e-10  # of a pose: far below anything that has a meaning
JUMP = 1e-8  # [m] of depths
UNEXPLAINED = 0.03  # of the states: directions across upright edges of prisms, which are exactly level there in MuJoCo
MOTION = 1e-8  # after hundreds of steps: rounding that contacts amplify
ELLIPTIC, PYRAMIDAL, SLIGHT = ("elliptic", 3, 0.0), ("pyramidal", 6, 0.02), ("elliptic", 6, 1e-9)
SIZES = {
    "sphere": 'type="sphere" size=".1"',
    "capsule": 'type="capsule" size=".05 .08"',
    "cylinder": 'type="cylinder" size=".05 .06"',
    "ellipsoid": 'type="ellipsoid" size=".05 .07 .1"',
    "box": 'type="box" size=".05 .06 .07"',
    "ball": 'type="sphere" size=".3"',
} | {name: f'type="mesh" mesh="{name}"' for name in HULLS}
FREE = '<body name="body"><freejoint/><geom name="body" {}/></body>'
SWEEP = pytest.mark.long


def heights(z: np.ndarray, size: str = ".6 .5 .1 .1") -> str:
    """The asset."""
    numbers = " ".join(f"{x:.6f}" for x in z.ravel())
    return f'<hfield name="hills" nrow="{z.shape[0]}" ncol="{z.shape[1]}" size="{size}" elevation="{numbers}"/>'


def rough(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(size=(12, 15))


def flat() -> np.ndarray:
    """Level in its middle, half way up."""
    z = np.full((12, 15), 0.5)
    z[0, 0], z[-1, -1] = 0.0, 1.0
    return z


def world(name: str, option: tuple[str, int, float], z: np.ndarray, place: str = "", more: str = "") -> Twin:
    """A shape and a height field, in MuJoCo with all the accuracy that its iteration can give."""
    cone, condim, margin = option
    field = f'<geom name="hills" type="hfield" hfield="hills" friction=".7 .02 .01" {place}/>'
    body = FREE.format(f'{SIZES[name]} condim="{condim}" margin="{margin}" friction=".4 .01 .01" {more}')
    assets = heights(z) + (mesh(name) if name in HULLS else "")
    text = scene(f'cone="{cone}"', field + body)
    twin = Twin(text.replace("<worldbody>", f"<asset>{assets}</asset><worldbody>"))
    twin.m.opt.ccd_tolerance, twin.m.opt.ccd_iterations = 1e-16, 1000
    return twin


def place(twin: Twin, rng: np.random.Generator, upright: float | None = None, deep: bool = False) -> None:
    """Anywhere, touching; upright [m]: half of its height, for one that stands almost flat. deep: perhaps sunk in."""
    m, d = twin.m, twin.d
    while True:
        mj.mj_resetData(m, d)
        d.qpos[:3] = [*rng.uniform(-0.65, 0.65, size=2), rng.uniform(-0.12, 0.2)]
        if upright is None:
            d.qpos[3:] = rng.normal(size=4)
            mj.mj_normalizeQuat(m, d.qpos)
        else:
            d.qpos[2] = 0.05 + upright - rng.uniform(0.0, 0.003)
            for turn in ([0.0, 0.0, rng.uniform(-3.0, 3.0)], [*0.03 * rng.normal(size=2), 0.0]):
                mj.mj_integratePos(m, d.qpos, np.array([0.0, 0.0, 0.0, *turn]), 1.0)
        d.qvel[:] = rng.normal(size=6)
        mj.mj_forward(m, d)
        if d.ncon and (deep or min(c.dist for c in d.contact) > -SHALLOW):
            return


def error(twin: Twin, contacts: np.ndarray | None = None) -> float:
    ours, theirs = twin.accelerations(compiled=True, contact=contacts)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def rows(twin: Twin) -> np.ndarray:
    """(n, 7): MuJoCo's distances, positions and normals."""
    return np.array([[c.dist, *c.pos, *c.frame[:3]] for c in twin.d.contact])


@pytest.mark.parametrize("option", [ELLIPTIC, PYRAMIDAL])
@pytest.mark.parametrize("name", ["sphere", "capsule"])
def test_feet(name: str, option: tuple[str, int, float]) -> None:
    """On, above, in and beside the ground, across edges and corners of cells, and at the edges of the field."""
    rng = np.random.default_rng(1)
    twin, counts = world(name, option, rough(rng)), set()
    for _ in range(100):
        place(twin, rng, deep=True)
        sunk = min(c.dist for c in twin.d.contact) < -twin.m.geom_size[1, 0]
        assert error(twin) < (SUNK if sunk else SAME)
        counts.add(twin.d.ncon)
    assert min(counts) < 3 and max(counts) > 12


@pytest.mark.parametrize("option", [PYRAMIDAL, SLIGHT])
@pytest.mark.parametrize("name", ["box", "heptagon", *(pytest.param(x, marks=SWEEP) for x in HULLS)])
def test_boxes_and_meshes_with_a_margin(name: str, option: tuple[str, int, float]) -> None:
    """However small it is."""
    rng = np.random.default_rng(2)
    for z in (rough(rng), flat()):
        twin = world(name, option, z)
        for k in range(40):
            place(twin, rng, upright=None if k % 2 else 0.05)
            assert error(twin) < SAME


def prisms(twin: Twin) -> list[np.ndarray]:
    """The corners (6, 3) of all prisms of the field, in the world."""
    m = twin.m
    (n, k), (x, y, z, base) = (int(m.hfield_nrow[0]), int(m.hfield_ncol[0])), m.hfield_size[0]
    top = z * m.hfield_data.reshape(n, k).astype(float)
    point = np.array(
        [
            [[i, j, h] for i, h in zip(np.linspace(-x, x, k), row, strict=True)]
            for j, row in zip(np.linspace(-y, y, n), top, strict=True)
        ]
    )
    found = []
    for r in range(n - 1):
        for c in range(k - 1):
            for extra in (point[r + 1, c], point[r, c + 1]):
                triangle = np.array([point[r, c], point[r + 1, c + 1], extra])
                found.append(np.concatenate([triangle * [1, 1, 0] - [0, 0, base], triangle]))
    return found


def exact_rows(twin: Twin) -> np.ndarray:
    """Expected contacts of MuJoCo: those of the prisms whose depths are MuJoCo's."""
    m, d = twin.m, twin.d
    size, is_cylinder = m.geom_size[1], int(m.geom_type[1]) == int(mj.mjtGeom.mjGEOM_CYLINDER)
    body = Solid(
        cylinder(*size[:2]) if is_cylinder else ellipsoid(size), 0.0, d.geom_xmat[1].reshape(3, 3), d.geom_xpos[1]
    )
    columns, answers = prisms(twin), []
    for row in rows(twin):
        n = row[4:]
        tried = []
        for p in columns:
            if abs(n @ body.first(-n) - (p @ n).max() - row[0]) < ALONG:
                with suppress(AssertionError):  # another prism, whose normal is another one
                    tried.append(exact(body, Solid(corners(p), 0.0, np.eye(3), np.zeros(3)), n))
        w = min(tried, key=lambda w: np.abs(0.5 * (w.a + w.b) - row[1:4]).max())
        assert_close(w.distance, row[0], DEPTH)
        answers.append([w.distance, *0.5 * (w.a + w.b), *w.normal])
    return np.array(answers)


@pytest.mark.parametrize("option", [ELLIPTIC, PYRAMIDAL])
@pytest.mark.parametrize("states", [1, pytest.param(30, marks=SWEEP)])
@pytest.mark.parametrize("name", ["cylinder", "ellipsoid"])
def test_curved_shapes(name: str, states: int, option: tuple[str, int, float]) -> None:
    rng = np.random.default_rng(3)
    twin = world(name, option, rough(rng))
    for _ in range(states):
        place(twin, rng)
        assert error(twin) < AS_IT_IS
        assert error(twin, exact_rows(twin)) < EQUAL


def decided_by_rounding(twin: Twin, rng: np.random.Generator) -> bool:
    """Check that each of MuJoCo's depths is one of ours after a tiny move of the pose."""
    q = twin.state[0] + NUDGE * rng.normal(size=(200, 7))
    ours = twin.robot.contact_dynamics(q, np.zeros((200, 6)), np.zeros((200, 6)), contact=SOFT).gap
    return all(np.abs(ours - row[0]).min() < JUMP for row in rows(twin))


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize(
    ("name", "states"), [("box", 40), ("cloud", 40), *(pytest.param(x, 300, marks=SWEEP) for x in ("box", *HULLS))]
)
def test_boxes_and_meshes_without_a_margin(name: str, states: int) -> None:
    """MuJoCo's search ends early, at the same point but for what rounding decides."""
    rng = np.random.default_rng(4)
    same = unexplained = 0
    for z in (rough(rng), flat()):
        twin = world(name, ELLIPTIC, z)
        for k in range(states // 2):
            place(twin, rng, upright=None if k % 2 else 0.07)
            equal = error(twin) < SAME
            same += equal
            unexplained += not equal and not decided_by_rounding(twin, rng)
    assert same > 0.7 * states
    assert unexplained <= UNEXPLAINED * states


def test_a_box_that_stands_flat_on_level_ground() -> None:
    twin, rng = world("box", ELLIPTIC, flat()), np.random.default_rng(5)
    same = 0
    for k in range(60):
        mj.mj_resetData(twin.m, twin.d)
        twin.d.qpos[:3] = [*rng.uniform(-0.4, 0.4, size=2), 0.05 + 0.07 - 0.002]
        if k % 2:
            mj.mj_integratePos(twin.m, twin.d.qpos, np.array([0.0, 0.0, 0.0, 0.0, 0.0, rng.uniform(-3.0, 3.0)]), 1.0)
        same += error(twin) < SAME
        assert twin.d.ncon > 1
    assert same >= 40


@pytest.mark.parametrize(
    "where", ['pos=".1 -.2 .05" euler="20 -10 40"', 'pos="0 0 .1" euler="170 5 0"', 'euler="0 90 0"']
)
def test_a_field_may_be_tilted(where: str) -> None:
    rng = np.random.default_rng(6)
    twin = world("capsule", ("pyramidal", 3, 0.01), rough(rng), where)
    assert twin.robot.terrain is None
    assert any("height field that is not level; kept for" in str(finding) for finding in twin.robot.import_log)
    for _ in range(30):
        place(twin, rng)
        assert error(twin) < SAME


def test_a_field_on_a_body_that_does_not_move() -> None:
    text = scene("", FREE.format(SIZES["sphere"])).replace(
        "<worldbody>", f"<asset>{heights(flat())}</asset><worldbody>"
    )
    field = '<body name="{0}" pos=".1 .2 .3" euler="10 0 0">{1}<geom type="hfield" hfield="hills" mass="1"/></body>'
    twin, rng = Twin(text.replace("</worldbody>", field.format("table", "") + "</worldbody>")), np.random.default_rng(7)
    for _ in range(10):
        place(twin, rng)
        assert error(twin) < SAME
    swing = '<joint name="swing" axis="0 1 0"/>'
    moving = load(text.replace("</worldbody>", field.format("swing", swing) + "</worldbody>"))
    assert any("geom of type hfield; not kept" in str(finding) for finding in moving.import_log)


def test_gap_and_the_parameters_of_pairs() -> None:
    rng = np.random.default_rng(8)
    z = rough(rng)
    for name, option, more in (
        ("sphere", ("elliptic", 3, 0.03), 'gap=".02"'),
        ("box", ("elliptic", 3, 0.0), 'gap=".02"'),  # a gap counts as a margin
        ("capsule", ("pyramidal", 4, 0.01), 'priority="1" solref=".01 .8"'),
    ):
        twin = world(name, option, z, more=more)
        for _ in range(20):
            place(twin, rng)
            assert error(twin) < SAME
    body = FREE.format(f'{SIZES["sphere"]} contype="0" conaffinity="0"')
    text = scene("", '<geom name="hills" type="hfield" hfield="hills"/>' + body, "<contact>{}</contact>")
    text = text.replace("<worldbody>", f"<asset>{heights(z)}</asset><worldbody>")
    twin = Twin(text.format('<pair geom1="hills" geom2="body" condim="6" friction=".3 .4 .1 .02 .03" margin=".01"/>'))
    for _ in range(20):
        place(twin, rng)
        assert error(twin) < SAME
    _, theirs = twin.accelerations()
    for pairs in ([("body", "hills")], [("body", "ground")], "ground"):
        ours = twin.robot.contact_dynamics(*twin.state, np.zeros(6), contact=Contact(model="mujoco", pairs=pairs)).a
        assert_close(ours, theirs, SAME * np.abs(theirs).max())
    text = text.replace('contype="0" conaffinity="0"', "").format('<exclude body1="world" body2="body"/>')
    with pytest.raises(DalembertError, match="may touch anything"):
        load(text).stepper(1e-3, contact=SOFT)


def test_beyond_and_below_a_field_there_is_nothing() -> None:
    twin = world("sphere", ELLIPTIC, flat())
    for where in ([0.71, 0.0, 0.0], [0.0, -0.61, 0.0], [0.0, 0.0, -0.21]):
        twin.d.qpos[:3] = where
        ours, theirs = twin.accelerations(compiled=True)
        assert not twin.d.ncon
        assert_close(ours, theirs, ITERATED)


def test_fifty_points_at_most() -> None:
    rng = np.random.default_rng(9)
    twin, many = world("ball", ELLIPTIC, rough(rng)), 0
    assert len(mujoco_candidates(twin.robot.model, SOFT)[0].names) == 50
    for _ in range(20):
        place(twin, rng, deep=True)
        assert error(twin) < SUNK
        many += twin.d.ncon == 50
    assert many > 3


def test_points_forces_and_a_batch() -> None:
    rng = np.random.default_rng(10)
    twin, states, expected = world("capsule", PYRAMIDAL, rough(rng)), [], []
    for _ in range(9):
        place(twin, rng)
        interpreted, theirs = twin.accelerations()
        assert_close(interpreted, theirs, SAME * np.abs(theirs).max())
        q, v = twin.state
        states.append((q, v))
        expected.append(interpreted)
        one = twin.robot.contact_dynamics(q, v, np.zeros(6), contact=SOFT)
        push = np.zeros(6)
        for k, row in enumerate(rows(twin)):
            mj.mj_contactForce(twin.m, twin.d, k, push)
            assert_close(one.gap[k], row[0], ITERATED)
            assert_close(np.linalg.norm(one.force[k]), np.linalg.norm(push[:3]), SAME * np.abs(one.force).max())
    q, v = (np.array(x) for x in zip(*states, strict=True))
    ours = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT).a
    assert_close(ours, expected, ITERATED * np.abs(expected).max())


def test_what_there_is_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    twin = world("ball", ELLIPTIC, rough(rng))
    place(twin, rng, deep=True)
    monkeypatch.setattr(field_heights, "MOST_PRISMS", 5)
    assert np.isnan(twin.accelerations(compiled=True)[0]).all()
    with pytest.raises(DalembertError, match=r"near more than .* prisms of a height field"):
        twin.robot.simulate(*twin.state, 0.01, step=1e-3, contact=SOFT)
    twin = world("large cloud", ELLIPTIC, rough(rng))
    monkeypatch.undo()
    monkeypatch.setattr(expansion, "MOST", 0)
    results = []
    for _ in range(10):
        place(twin, rng)
        results.append(np.isnan(twin.accelerations(compiled=True)[0]).all())
    assert any(results)


LEG = """<body pos="{x} {y} 0"><joint name="{n}h" axis="0 1 0" damping=".3" armature=".01"/>
<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" contype="0" conaffinity="0"/><body pos="0 0 -.2">
<joint name="{n}k" axis="0 1 0" damping=".3" armature=".01"/><geom type="capsule" fromto="0 0 0 0 0 -.18" size=".015"/>
<geom type="{foot}" pos="0 0 -.2" size="{size}" friction=".8 .02 .01" condim="{d}" margin="{m}"/></body></body>"""
LEGS = (("a", 0.2, -0.1), ("b", 0.2, 0.1), ("c", -0.2, -0.1), ("d", -0.2, 0.1))


@pytest.mark.parametrize(
    ("foot", "size", "margin"),
    [("sphere", ".025", 0.0), ("capsule", ".02 .015", 0.0), ("box", ".03 .02 .015", 1e-6)],
)
def test_a_quadruped_walks_over_rough_ground_the_same_way(foot: str, size: str, margin: float) -> None:
    rng, steps = np.random.default_rng(11), 200
    legs = "".join(
        LEG.format(n=n, x=x, y=y, foot=foot, size=size, d=6 if n == "a" else 3, m=margin) for n, x, y in LEGS
    )
    trunk = '<geom type="box" size=".22 .1 .05" mass="5"/>'
    servos = "".join(f'<position joint="{n}{j}" kp="60" kv="1" forcerange="-30 30"/>' for n, *_ in LEGS for j in "hk")
    ground = '<geom name="hills" type="hfield" hfield="hills"/>'
    text = scene('cone="elliptic"', f'{ground}<body pos="0 0 .45"><freejoint/>{trunk}{legs}</body>')
    text = text.replace("<worldbody>", f"<asset>{heights(rng.uniform(size=(40, 40)), '2 2 .08 .1')}</asset><worldbody>")
    twin = Twin(text.replace("</mujoco>", f"<actuator>{servos}</actuator></mujoco>"))
    angle = 4.0 * np.pi * 0.002 * np.arange(steps)[:, None] + np.pi * np.array([0, 1, 1, 0])
    controls = np.tile([0.6, -1.2], (steps, 4))
    controls[:, 0::2] += 0.25 * np.sin(angle)
    controls[:, 1::2] += 0.25 * np.cos(angle)
    twin.d.qpos[2], twin.d.qpos[7:] = 0.43, controls[0]
    twin.d.qvel[:6] = [0.3, 0.1, 0.0, 0.2, 0.3, 0.5]
    q, v = twin.state
    run = twin.robot.rollout(q, v, step=0.002, steps=steps, every=1, controls=controls, contact=SOFT)
    theirs, touched = [], 0
    for row in controls:
        twin.d.ctrl[:] = row
        mj.mj_step(twin.m, twin.d)
        theirs.append(twin.d.qpos.copy())
        touched += twin.d.ncon > 1
    assert touched > 80
    assert_close(run.q, theirs, MOTION)


def test_a_box_that_stands_along_the_grid_is_held() -> None:
    """Its first corners are in one plane with the origin in many prisms, from which MuJoCo's search cannot begin."""
    z = np.full((11, 11), 0.5)
    z[0, 0], z[-1, -1] = 0.0, 1.0
    twin = world("box", ELLIPTIC, z)
    for x, y in ((0.0, 0.0), (0.0, 0.1), (0.02, 0.05), (0.05, 0.05), (0.06, 0.05)):
        twin.d.qpos[:3] = x, y, 0.05 + 0.07 - 0.002
        twin.d.qpos[3:] = np.cos(0.25 * np.pi), 0.0, 0.0, np.sin(0.25 * np.pi)
        mj.mj_forward(twin.m, twin.d)
        gap = twin.robot.contact_dynamics(*twin.state, np.zeros(6), contact=SOFT).gap
        assert np.count_nonzero(gap < -CLEAR) == twin.d.ncon
