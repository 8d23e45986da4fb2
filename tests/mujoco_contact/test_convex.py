"""Pairs that MuJoCo sends through its general routine for convex shapes: the same points, hence the same accelerations.

Two things in MuJoCo are no function of the state. Where corners of a patch are pruned to four, ties between areas of a
regular polygon are left to rounding. Such states are recognised by this: with ties left to rounding here as well, ours
jump to MuJoCo's corners when the pose moves by 1e-10. And on curved surfaces its iteration finds the depth to rounding
but the normal, about which the depth is flat, to its square root. Where there is one point, MuJoCo therefore gets the
exact one, which bisection finds, and computes accelerations from it; how far its own is from that is tested as well.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.dynamics.algorithms import poses
from dalembert.mujoco import constraints as soft_constraints
from dalembert.mujoco import polygons
from dalembert.mujoco.candidates import mujoco_candidates
from dynamics.collision.bisection import Solid, box, corners, cylinder, ellipsoid, exact, segment
from mujoco_contact.twin import BODY, SHAPES, SOFT, Twin, mj, scene
from tolerances import assert_close

SAME = 1e-6  # of accelerations
NUDGE = 1e-10  # of a pose: far below anything that has a meaning
JUMP = 1e-7  # of MuJoCo's points after such a nudge
CLEAR = 1e-4  # [m]: a gap or depth below it has no direction that rounding leaves
EQUAL = 1e-8  # of accelerations, where MuJoCo has the exact point
INEXACT = 2e-4  # of MuJoCo's normals on curved surfaces; the largest that was seen is 7e-5
LYING = 3e-5  # of accelerations where a capsule's line goes through its deepest point, along such a normal
AS_IT_IS = 1e-3  # of accelerations from its own point; the largest that was seen is 5e-5
DEPTH = 1e-9  # [m] of its depths there; the largest that was seen is 6e-11
SIZE = 0.1  # [m] of the shapes
OPTIONS = (("elliptic", 3, ""), ("pyramidal", 6, 'margin=".02"'))
SIZES = SHAPES | {
    "disc": 'type="cylinder" size=".15 .02"',
    "rod": 'type="cylinder" size=".02 .15"',
    "plate": 'type="box" size=".2 .15 .02"',
    "rock": 'type="mesh" mesh="rock"',
}
ROCK = np.random.default_rng(3).normal(size=(30, 3)) * [0.1, 0.07, 0.05]
SWEEP = pytest.mark.long
FLAT = (
    "cylinder box",
    *(pytest.param(x, marks=SWEEP) for x in ("cylinder cylinder", "rod cylinder", "disc plate", "rod plate")),
    *(pytest.param(f"disc {x}", marks=SWEEP) for x in ("box", "disc")),
)
CURVED = (
    *((names, 10) for names in ("capsule cylinder", "ellipsoid box", "cylinder rock")),
    pytest.param("cylinder rock", 100, marks=SWEEP),
    *(pytest.param(f"capsule {x}", 50, marks=SWEEP) for x in ("cylinder", "rod", "disc")),
    *(
        pytest.param(f"ellipsoid {x}", 50, marks=SWEEP)
        for x in ("cylinder", "box", "ellipsoid", "capsule", "sphere", "rock")
    ),
)  # and the number of states


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def tight(text: str) -> Twin:
    """MuJoCo with all the accuracy that its iteration can give."""
    twin = Twin(text)
    twin.m.opt.ccd_tolerance, twin.m.opt.ccd_iterations = 1e-16, 1000
    return twin


def pair(names: str, option: tuple[str, int, str]) -> Twin:
    cone, condim, margin = option
    one, two = (SIZES[name] for name in names.split())
    first = f'condim="{condim}" friction=".7 .02 .01" {margin}'
    text = scene(f'cone="{cone}"', BODY.format(0.0, one, first) + BODY.format(0.1, two, 'friction=".4 .01 .01"'))
    mesh = f'<asset><mesh name="rock" vertex="{" ".join(map(repr, ROCK.ravel().tolist()))}"/></asset>'
    return tight(text.replace("<worldbody>", mesh + "<worldbody>") if "rock" in names else text)


def place(twin: Twin, rng: np.random.Generator, kind: str) -> None:
    """The first body anywhere, the second one touching it; seen from the first, it is turned in the way of `kind`."""
    m, d = twin.m, twin.d
    turns = {
        "anyhow": rng.normal(size=3),
        "nearly flat": np.array([*0.04 * rng.normal(size=2), rng.uniform(-3, 3)]),
        "nearly across": np.array([0.5 * np.pi, 0, 0]) + 0.03 * rng.normal(size=3),
        "flat": np.array([0, 0, rng.uniform(-3, 3)]),
    }
    while True:
        mj.mj_resetData(m, d)
        d.qpos[:7], d.qpos[7:] = [0, 0, 0, 1, 0, 0, 0], [*0.12 * rng.normal(size=3), 1, 0, 0, 0]
        mj.mj_integratePos(m, d.qpos, np.array([*np.zeros(9), *turns[kind]]), 1.0)
        if kind != "flat":  # both as they are, turned together
            turn, whole = np.zeros(4), rng.normal(size=4)
            mj.mju_normalize4(whole)
            moved = np.zeros(3)
            mj.mju_rotVecQuat(moved, d.qpos[7:10], whole)
            mj.mju_mulQuat(turn, whole, d.qpos[10:14])
            d.qpos[3:7], d.qpos[7:10], d.qpos[10:14] = whole, moved, turn
        d.qvel[:] = rng.normal(size=m.nv)
        mj.mj_forward(m, d)
        if d.ncon and min(abs(c.dist) for c in d.contact) > CLEAR:
            return


def rows(twin: Twin) -> np.ndarray:
    """(n, 7): MuJoCo's distances, positions and normals."""
    return np.array([[c.dist, *c.pos, *c.frame[:3]] for c in twin.d.contact])


def our_rows(twin: Twin, q: np.ndarray) -> np.ndarray:
    """The same of ours, uncompiled."""
    (patch,) = mujoco_candidates(twin.robot.model, SOFT)
    points = [p.flipped() if patch.flipped else p for p in patch.points(poses(twin.robot.model, q))]
    near = [p for p in points if p.distance < patch.parameters.margin]
    return np.array([[p.distance, *p.position, *p.normal] for p in near], float)


def decided_by_rounding(twin: Twin, rng: np.random.Generator) -> bool:
    """Check that MuJoCo's points are ours after a tiny move of the pose, with ties left to rounding."""
    q, theirs = twin.state[0], rows(twin)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polygons, "LARGER", 1.0)
        for _ in range(30):
            ours = our_rows(twin, q + NUDGE * rng.normal(size=len(q)))
            if len(ours) == len(theirs) and all(np.abs(ours - row).max(axis=1).min() < JUMP for row in theirs):
                return True
    return False


def solid(twin: Twin, geom: int) -> Solid:
    """A shape where MuJoCo has it."""
    m, d = twin.m, twin.d
    kind, size = int(m.geom_type[geom]), m.geom_size[geom]
    place = d.geom_xmat[geom].reshape(3, 3), d.geom_xpos[geom]
    if kind == mj.mjtGeom.mjGEOM_MESH:
        return Solid(corners(m.mesh_vert.astype(float)), 0.0, *place)
    if kind in (mj.mjtGeom.mjGEOM_SPHERE, mj.mjtGeom.mjGEOM_CAPSULE):
        return Solid(segment(size[1]), size[0], *place)
    if kind == mj.mjtGeom.mjGEOM_CYLINDER:
        return Solid(cylinder(*size[:2]), 0.0, *place)
    return Solid((box if kind == mj.mjtGeom.mjGEOM_BOX else ellipsoid)(size), 0.0, *place)


def exact_row(twin: Twin) -> np.ndarray:
    """Distance, position and normal (7,) that the only contact should have; MuJoCo's is near it."""
    (contact,) = twin.d.contact
    one, two = (solid(twin, int(geom)) for geom in contact.geom)
    w = exact(two, one, np.array(contact.frame[:3]))
    (theirs,) = rows(twin)
    assert_close(theirs[0], w.distance, DEPTH)
    assert_close(theirs[4:], w.normal, INEXACT)
    return np.array([w.distance, *0.5 * (w.a + w.b), *w.normal])


def difference(twin: Twin) -> float:
    """Difference of accelerations, relative to the largest; for a single point, from those with the exact one."""
    only = exact_row(twin) if twin.d.ncon == 1 else None
    ours, theirs = twin.accelerations(compiled=True, contact=only)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("names", FLAT)
def test_flat_ends_and_sides(names: str, option: tuple[str, int, str], rng: np.random.Generator) -> None:
    twin = pair(names, option)
    errors, counts, unexplained = [], set(), 0
    for k in range(24):
        place(twin, rng, ("anyhow", "nearly flat", "nearly across", "nearly flat")[k % 4])
        error = difference(twin)
        counts.add(twin.d.ncon)
        if error > SAME and twin.d.ncon == 4:
            unexplained += not decided_by_rounding(twin, rng)
        else:
            errors.append(error)
            assert error < (EQUAL if twin.d.ncon == 1 else SAME)
    assert len(errors) > 12 and len(counts) > 1
    assert unexplained <= 2  # a tie that rounding breaks to the other side less than once in so many nudges


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize(("names", "states"), CURVED)
def test_curved_shapes(names: str, states: int, option: tuple[str, int, str], rng: np.random.Generator) -> None:
    """Pairs with one point."""
    twin = pair(names, option)
    count = 0
    for _ in range(states):
        place(twin, rng, "anyhow")
        if twin.d.ncon == 1:
            assert difference(twin) < EQUAL
            ours, theirs = twin.accelerations(compiled=True)
            assert_close(ours, theirs, AS_IT_IS)
            count += 1
    assert count > states // 2


@pytest.mark.parametrize("option", (*OPTIONS, ("elliptic", 4, 'margin=".02" gap=".01"')))
@pytest.mark.parametrize(
    ("names", "states"),
    [("capsule disc", 20), *(pytest.param(f"capsule {x}", 200, marks=SWEEP) for x in ("disc", "cylinder", "rod"))],
)
def test_a_capsule_lies_across_a_flat_end(
    names: str, states: int, option: tuple[str, int, str], rng: np.random.Generator
) -> None:
    """In two points of a line through its deepest point, which need not be the line nearest to the end."""
    twin = pair(names, option)
    count = 0
    for k in range(states):
        place(twin, rng, ("nearly across", "anyhow")[k % 2])
        if twin.d.ncon == 2:
            assert difference(twin) < LYING
            count += 1
    assert count > states // 40


def test_a_capsule_lies_on_a_flat_end_in_two_points() -> None:
    twin = pair("capsule disc", OPTIONS[0])
    for tilt in (0.0, 0.02, -0.01):
        mj.mj_resetData(twin.m, twin.d)
        angle = 0.5 * (0.5 * np.pi + tilt)
        twin.d.qpos[3:7] = [np.cos(angle), 0.0, np.sin(angle), 0.0]
        twin.d.qpos[7:10] = [0.02, 0.0, 0.115]
        mj.mj_forward(twin.m, twin.d)
        assert twin.d.ncon == 2
        assert difference(twin) < SAME


def test_four_corners_of_a_whole_end_are_left_to_rounding(rng: np.random.Generator) -> None:
    """A cylinder stands on a wide box: MuJoCo takes other corners when the pose moves by what has no meaning."""
    twin = tight(
        scene("", BODY.format(0.0, 'type="box" size=".3 .3 .14"', "") + BODY.format(0.1, SHAPES["cylinder"], ""))
    )
    seen = set()
    for _ in range(20):
        mj.mj_resetData(twin.m, twin.d)
        twin.d.qpos[7:] = [0.0, 0.01, 0.255, np.cos(0.1), 0.0, 0.0, np.sin(0.1)]
        mj.mj_integratePos(twin.m, twin.d.qpos, NUDGE * rng.normal(size=12), 1.0)
        mj.mj_forward(twin.m, twin.d)
        seen.add(tuple(sorted(tuple(np.round(c.pos / SIZE, 3)) for c in twin.d.contact)))
    assert len(seen) > 1


def test_compiled_and_gathered(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    for few in (soft_constraints.FEW, 0):
        monkeypatch.setattr(soft_constraints, "FEW", few)
        for names in ("cylinder box", "rod cylinder"):
            twin = pair(names, OPTIONS[0])
            states, expected = [], []
            for kind in ("anyhow", "nearly flat", "nearly across", "nearly flat"):
                place(twin, rng, kind)
                states.append(twin.state)
                expected.append(twin.accelerations()[0])
            q, v = (np.array(x) for x in zip(*states, strict=True))
            compiled = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT)
            assert_close(compiled.a, expected, SAME)
