"""Contact(model="mujoco") of boxes with boxes and capsules: accelerations and motions equal to MuJoCo's."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from dalembert.dynamics.collision import FAR
from dalembert.model.geometry import Box, Capsule, Sphere
from dalembert.mujoco import constraints as soft_constraints
from dalembert.mujoco.points import shape_points
from dalembert.spatial import Pose
from mujoco_contact.twin import SOFT, Twin, mj, scene
from tolerances import COMPUTED, ITERATED, assert_close

MOTION = 1e-9  # beside the largest number, after hundreds of steps: rounding that contacts amplify
OPTIONS = ('cone="elliptic" impratio="7"', 'cone="pyramidal"')
LAWS = tuple(zip((1, 3, 4, 6), (0.0, 0.0, 0.02, 0.05), (0.0, 0.03, 0.0, 0.01), strict=True))  # condim, margin, gap
BOXES = ((0.1, 0.1, 0.1), (0.1, 0.12, 0.14), (0.01, 0.3, 0.2), (0.02, 0.02, 0.5), (0.3, 0.2, 0.05))
CAPSULES = ((0.1, 0.12), (0.03, 0.4), (0.2, 0.05), (0.01, 0.1))
EXACT = [np.eye(4)[k] for k in range(4)] + [np.array([1.0, 1.0, 0, 0]), np.array([1.0, 0, 0, -1.0])]


def geom(size: tuple[float, ...]) -> str:
    kind = "box" if len(size) == 3 else "capsule"
    return f'type="{kind}" size="{" ".join(str(x) for x in size)}"'


def pair(one: tuple[float, ...], two: tuple[float, ...], option: str, law: tuple[int, float, float]) -> Twin:
    condim, margin, gap = law
    common = f'condim="{condim}" friction=".6 .02 .01"'
    bodies = f"<body><freejoint/><geom {geom(one)} {common} margin='{margin}' gap='{gap}'/></body>"
    bodies += f"<body><freejoint/><geom {geom(two)} {common}/></body>"
    return Twin(scene(option, bodies))


class Solid(NamedTuple):
    """A box with half sizes `core`, inflated by a radius: a capsule's is a line."""

    core: np.ndarray
    radius: float = 0.0

    @classmethod
    def of(cls, size: tuple[float, ...]) -> Solid:
        return cls(np.array(size)) if len(size) == 3 else cls(np.array([0.0, 0.0, size[1]]), size[0])

    @property
    def half(self) -> np.ndarray:
        return self.core + self.radius


def rotated(quaternion: np.ndarray, x: np.ndarray) -> np.ndarray:
    result = np.zeros(3)
    mj.mju_rotVecQuat(result, x, quaternion)
    return result


def times(one: Solid, two: Solid) -> np.ndarray:
    result = np.zeros(4)
    mj.mju_mulQuat(result, one, two)
    return result / np.linalg.norm(result)


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * axis / np.linalg.norm(axis))])


Place = tuple[np.ndarray, np.ndarray]  # of the second shape in the first: position and quaternion


def anywhere(rng: np.random.Generator, one: Solid, two: Solid) -> Place:
    q = rng.normal(size=4)
    return rng.uniform(-1.0, 1.0, 3) * (one.half + two.half.max()), q / np.linalg.norm(q)


def _on_face(rng: np.random.Generator, one: Solid, two: Solid, q: np.ndarray, shift: float) -> Place:
    """On a random face, so that its lowest point is a little inside."""
    k = rng.integers(3)
    axes = np.array([rotated(q, x) for x in np.eye(3)]).T
    p = shift * rng.uniform(-1.0, 1.0, 3) * (one.half + two.half)
    depth = rng.choice([1e-4, 1e-2]) * min(one.half.min(), two.half.min())
    height = one.half[k] + np.abs(axes[k]) @ two.core + two.radius - depth
    p[k] = rng.choice([-1.0, 1.0]) * height
    return p, q


def laid(rng: np.random.Generator, one: Solid, two: Solid) -> Place:
    """Face on face, at any angle, anywhere."""
    q = times(turn(np.eye(3)[rng.integers(3)], rng.uniform(0.0, 6.0)), EXACT[rng.integers(4)])
    return _on_face(rng, one, two, q, 0.7)


def nearly_laid(rng: np.random.Generator, one: Solid, two: Solid) -> Place:
    """Return the pose of `laid` with a small tilt."""
    p, q = laid(rng, one, two)
    return p, times(turn(rng.normal(size=3), 10.0 ** rng.uniform(-7.0, -2.0)), q)


def stacked(rng: np.random.Generator, one: Solid, two: Solid) -> Place:
    """Aligned to the last digit, one above the other or shifted; boxes also at right angles, but for rounding."""
    q = EXACT[rng.integers(4 if two.radius else len(EXACT))]
    return _on_face(rng, one, two, q / np.linalg.norm(q), rng.choice([0.0, 0.5]))


def edge_on_edge(rng: np.random.Generator, one: Solid, two: Solid) -> Place:
    """Near an edge of the first, turned about a diagonal."""
    k = rng.integers(3)
    diagonal = rng.choice([-1.0, 1.0], 3) * (1.0 - np.eye(3)[k])
    q = times(turn(np.eye(3)[k], 0.25 * np.pi), turn(diagonal, 0.5 * np.pi + 0.3 * rng.normal()))
    q = times(turn(rng.normal(size=3), 0.02), q)
    along = 0.5 * one.half[k] * rng.normal() * np.eye(3)[k]
    return diagonal * (one.half + 0.7 * rng.uniform(0.5, 1.0) * two.half) + along, q


def corner_on_face(rng: np.random.Generator, one: Solid, two: Solid) -> Place:
    q = times(turn(np.array([1.0, -1.0, 0.1 * rng.normal()]), 0.95532 + 0.2 * rng.normal()), EXACT[rng.integers(4)])
    return _on_face(rng, one, two, q, 0.4)


def deep(rng: np.random.Generator, one: Solid, two: Solid) -> Place:
    return 0.3 * rng.normal(size=3) * one.half, anywhere(rng, one, two)[1]


# No capsule lies exactly along a face: there the last digit of its pose says whether MuJoCo has one point or two.
POSES = {
    "boxes": (anywhere, laid, nearly_laid, stacked, edge_on_edge, corner_on_face, deep),
    "capsules": (anywhere, nearly_laid, stacked, edge_on_edge, corner_on_face, deep),
}
COUNTS = (1, pytest.param(10, marks=pytest.mark.long))


def compare(
    twin: Twin, one: Solid, two: Solid, pose: Callable[..., Place], rng: np.random.Generator, count: int
) -> None:
    """`count` states in which the two touch."""
    left = count
    while left:
        p, q = pose(rng, one, two)
        base = np.array([1.0, 0, 0, 0]) if pose is stacked else anywhere(rng, one, two)[1]
        put(twin, np.zeros(3) if pose is stacked else rng.normal(size=3), base, p, q)
        twin.d.qvel[:] = rng.normal(size=12)
        mj.mj_forward(twin.m, twin.d)
        if twin.d.nefc:
            left -= 1
            assert_close(*twin.accelerations(), ITERATED)


def put(twin: Twin, at: np.ndarray, base: np.ndarray, p: np.ndarray, q: np.ndarray) -> None:
    """The first body anywhere, and the second one in it at p, turned by q."""
    mj.mj_resetData(twin.m, twin.d)
    twin.d.qpos[:7], twin.d.qpos[7:] = [*at, *base], [*(at + rotated(base, p)), *times(base, q)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("pose", POSES["boxes"])
def test_boxes(pose: Callable[..., Place], option: str, count: int, rng: np.random.Generator) -> None:
    for one, two in [*product(BOXES[:3], BOXES), (BOXES[3], BOXES[3])]:
        compare(pair(one, two, option, LAWS[rng.integers(4)]), Solid.of(one), Solid.of(two), pose, rng, count)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("pose", POSES["capsules"])
def test_capsules_on_boxes(pose: Callable[..., Place], option: str, count: int, rng: np.random.Generator) -> None:
    for one, two in product(BOXES, CAPSULES):
        compare(pair(one, two, option, LAWS[rng.integers(4)]), Solid.of(one), Solid.of(two), pose, rng, count)


@pytest.mark.parametrize(
    ("two", "p", "q", "contacts"),
    [
        (BOXES[0], (0.0, 0.0, 0.199), turn(np.eye(3)[2], 0.25 * np.pi), 8),  # two squares across: an octagon
        (BOXES[0], (0.0, 0.0, 0.199), EXACT[0], 4),
        (BOXES[0], (0.0, 0.0, 0.2), EXACT[0], 4),  # not inside at all
        (BOXES[0], (0.15, 0.15, 0.15), EXACT[0], 4),  # equally deep along all axes: the first
        (BOXES[0], (0.0, 0.0, 0.0), EXACT[0], 4),  # one in the other
        (BOXES[1], (0.0, 0.1, 0.0), EXACT[1], 4),
        ((0.05, 0.1), (0.0, 0.0, 0.15), EXACT[4], 2),  # a capsule along a face, within it
        ((0.05, 0.3), (0.0, 0.0, 0.149), EXACT[4], 2),  # and beyond its edges
        ((0.05, 0.1), (0.0, 0.0, 0.24), EXACT[0], 1),
        ((0.05, 0.1), (0.1, 0.1, 0.0), EXACT[0], 1),  # inside, along an edge
        ((0.05, 0.1), (0.0, 0.0, 0.0), EXACT[0], 1),  # in the middle
        ((0.05, 0.3), (0.0, 0.0, 0.0), EXACT[0], 2),  # right through
    ],
)
def test_ties(two: tuple[float, ...], p: tuple[float, ...], q: np.ndarray, contacts: int) -> None:
    """Ties are broken as in MuJoCo."""
    twin = pair(BOXES[0], two, OPTIONS[1], (4, 1e-3, 0.0))
    put(twin, np.zeros(3), EXACT[0], np.array(p), q)
    twin.d.qvel[:] = np.linspace(-1.0, 1.0, 12)
    ours, theirs = twin.accelerations()
    assert twin.d.ncon == contacts
    assert_close(ours, theirs, ITERATED)


def test_a_capsule_without_length_is_a_sphere(rng: np.random.Generator) -> None:
    """On any side of a box; MuJoCo itself has none."""
    box, X = Box(np.array([0.2, 0.3, 0.4])), Pose.identity()
    for _ in range(20):
        at = Pose(np.eye(3), rng.uniform(-1.0, 1.0, 3) * [0.2, 0.25, 0.3])
        one, none = shape_points(Capsule(0.1, 0.0), at, box, X, 0.0)
        (same,) = shape_points(Sphere(0.1), at, box, X, 0.0)
        assert none.distance == FAR
        assert_close(one.distance, same.distance, COMPUTED)
        assert_close([one.position, one.normal], [same.position, same.normal], COMPUTED)


FIXED = """<geom name="table" type="box" size=".5 .4 .1" pos="0 0 -.1" euler="0 0 10"/>
<body pos=".1 0 .11"><freejoint/><geom name="lid" type="box" size=".1 .2 .12" condim="4" euler="0 2 0"/>
 <geom name="rod" type="capsule" fromto=".2 -.2 -.05 .2 .1 -.06" size=".06"/></body>
<body pos="0 .1 .3"><freejoint/><geom name="brick" type="box" size=".1 .1 .1" euler="3 0 40"/></body>"""
PAIRS = '<contact><pair geom1="brick" geom2="lid" condim="6"/><pair geom1="lid" geom2="table"/></contact>'


@pytest.mark.parametrize(
    ("few", "after"), [(0, PAIRS), (100, PAIRS), *(pytest.param(few, "", marks=pytest.mark.long) for few in (0, 100))]
)
def test_compiled_batches(few: int, after: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several shapes on a body, a fixed one, and pairs listed the other way round; points one by one, and gathered."""
    monkeypatch.setattr(soft_constraints, "FEW", few)
    twin = Twin(scene(OPTIONS[1], FIXED, after))
    rows, theirs, contacts = [], [], 0
    for _ in range(12):
        twin.move(rng, 0.03)
        theirs.append(twin.accelerations()[1])
        contacts += twin.d.ncon
        rows.append(twin.state)
    q, v = (np.array(x) for x in zip(*rows, strict=True))
    together = twin.robot.contact_dynamics(q, v, np.zeros_like(v), contact=SOFT)
    assert contacts > 50
    assert_close(together.a, theirs, ITERATED)


@pytest.mark.parametrize(
    "fallen",
    [
        BOX := '<geom type="box" size=".1 .08 .05"/>',
        BOX.replace("/>", ' condim="4" friction=".5 .02 .01"/>')
        + '<geom type="box" size=".02 .02 .2" pos=".05 0 .1"/>',
        '<geom type="capsule" size=".04 .1" euler="0 80 0" condim="6" friction=".5 .02 .01"/>',
    ],
)
def test_motions(fallen: str) -> None:
    """A body falls onto a loose box, which lies on a fixed one: the same motion for some hundred steps."""
    bodies = f"""<geom type="box" size=".5 .5 .1" pos="0 0 -.1"/>
      <body pos="0 0 .099"><freejoint/><geom type="box" size=".2 .15 .1"/></body>
      <body pos=".03 .02 .3"><freejoint/>{fallen}</body>"""
    twin, steps = Twin(scene(OPTIONS[0], bodies)), 300
    twin.d.qpos[10:14] = turn(np.array([0.3, 0.2, 1.0]), 0.4)
    twin.d.qvel[6:] = [0.3, 0.1, 0.0, 0.5, -0.4, 1.0]
    q, v = twin.state
    run = twin.robot.rollout(q, v, step=0.002, steps=steps, every=1, contact=SOFT)
    rows = []
    for _ in range(steps):
        mj.mj_step(twin.m, twin.d)
        rows.append(twin.d.qpos.copy())
    assert twin.d.ncon > 3
    assert_close(run.q, np.array(rows), MOTION)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)
