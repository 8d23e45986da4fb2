"""Joints that follow others, gearboxes, loops, joints used against their direction."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.formats import Finding, read_sdf
from dalembert.model import Model
from dalembert.spatial import Pose
from formats.sdf.oracle import Mass, placed, rotation, translation
from formats.sdf.snippets import axis, joint, link, model, pose, random_mass, random_pose
from tolerances import RECURSION, assert_close

RNG = np.random.default_rng(21)
DISC = Mass(1.0, np.zeros(3), np.diag([0.01, 0.01, 0.02]))
BIG = Mass(3.0, np.zeros(3), np.diag([0.2, 0.2, 0.3]))
HOLD = joint("hold", "fixed", "world", "a")
Z = axis((0, 0, 1))


def read(text: str, **options: str) -> tuple[Model, tuple[Finding, ...]]:
    return read_sdf(model(text, "1.11"), **options)


def mimic(inside: str = "", leader: str = "j") -> str:
    return axis((0, 0, 1), f'<mimic joint="{leader}" axis="axis">{inside}</mimic>')


def test_mimic_law() -> None:
    law = "<multiplier>-2</multiplier><offset>0.1</offset><reference>0.3</reference>"
    text = link("a", BIG) + link("b", DISC) + link("c", DISC) + HOLD
    text += joint("k", "continuous", "a", "c", mimic(law)) + joint("j", "revolute", "a", "b", Z)
    made, log = read(text, strict=True)
    assert made.nv == 1
    assert_close(algorithms.mass_matrix(made, np.zeros(1)), [[0.02 + 4 * 0.02]], RECURSION)
    turn = algorithms.frame_pose(made, np.array([0.5]), made.frame("c")).matrix()
    assert_close(turn, rotation((0, 0, 1), -2 * (0.5 - 0.3) + 0.1), RECURSION)
    free, log = read(text, mimic="free")
    assert [free.nv, log[0].severity] == [2, "info"]


BAD_MIMICS = {
    "no such joint": (mimic(leader="x"), "which is not a joint of the robot"),
    "not one coordinate": (mimic(leader="hold"), "which is a fixed joint"),
    "never moves": (mimic("<multiplier>0</multiplier>"), "which never moves"),
    "second axis": (mimic().replace('axis="axis"', 'axis="axis2"'), "of the second axis"),
}


@pytest.mark.parametrize("case", BAD_MIMICS)
def test_mimics_that_cannot_hold_leave_the_joint_independent(case: str) -> None:
    inside, what = BAD_MIMICS[case]
    text = link("a", BIG) + link("b", DISC) + link("c", DISC) + HOLD + joint("j", "revolute", "a", "b", Z)
    made, log = read(text + joint("k", "revolute", "a", "c", inside))
    assert made.nv == 2
    assert [what in finding.what and finding.severity == "warning" for finding in log] == [True]


def test_rings_of_mimics_are_refused() -> None:
    text = link("a", BIG) + link("b", DISC) + link("c", DISC) + HOLD
    text += joint("j", "revolute", "a", "b", mimic(leader="k")) + joint("k", "revolute", "a", "c", mimic())
    with pytest.raises(DalembertError, match=r"<mimic>.*follows itself"):
        read(text)


def gearbox(ratio: float, flip: bool = False) -> str:
    other = (0, 0, -1) if flip else (0, 0, 1)
    inside = f"<gearbox_ratio>{ratio}</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
    return joint("gear", "gearbox", "b", "c", inside + Z + axis(other, tag="axis2"))


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("turned", [False, True], ids=["base to shaft", "shaft to base"])
def test_gearbox(flip: bool, turned: bool) -> None:
    """θ2 = -ratio θ1, of the child and the parent in the reference body; M = I1 + ratio² I2."""
    ends = ("c", "a") if turned else ("a", "c")
    text = link("a", BIG) + link("b", DISC) + link("c", BIG) + HOLD + gearbox(5.0, flip=flip)
    text += joint("j", "revolute", "a", "b", Z) + joint("k", "revolute", *ends, Z)
    made, log = read(text, strict=True)
    assert [made.nv, made.closures] == [1, ()]
    assert_close(algorithms.mass_matrix(made, np.zeros(1)), [[0.02 + 25 * 0.3]], RECURSION)
    sign = -1.0 if flip else 1.0  # the second angle counts about the gearbox's own second axis
    turn = algorithms.frame_pose(made, np.array([0.2]), made.frame("c")).matrix()
    assert_close(turn, rotation((0, 0, sign), -5.0 * 0.2), RECURSION)
    assert any("kept as a mimic" in finding.action for finding in log)


def test_a_gearbox_without_its_hinges_is_a_warning() -> None:
    text = link("a", BIG) + link("b", DISC) + link("c", BIG) + HOLD + gearbox(5.0)
    text += joint("j", "revolute", "a", "b", Z) + joint("k", "revolute", "b", "c", axis((1, 0, 0)))
    made, log = read(text)
    assert made.nv == 2
    assert [finding.severity for finding in log] == ["warning"]
    assert "it needs a ratio other than 0 and a hinge" in log[0].action


# ---- loops


def test_four_bar() -> None:
    """A parallelogram: crank and rocker turn by θ, the coupler keeps its direction."""
    text = link("crank", DISC) + link("coupler", DISC, [0, 0, 1, 0, 0, 0]) + link("rocker", DISC, [2, 0, 0, 0, 0, 0])
    y = axis((0, 1, 0))
    text += joint("j1", "revolute", "world", "crank", y) + joint("j2", "revolute", "crank", "coupler", y)
    text += joint("j3", "revolute", "world", "rocker", y)
    at = pose([2, 0, 1, 0, 0, 0], 'relative_to="__model__"')
    text += joint("loop", "revolute", "coupler", "rocker", y + at)
    made, log = read(text, strict=True)
    assert [made.nv, [closure.kind for closure in made.closures]] == [3, ["revolute"]]
    assert any("closes a loop" in finding.what and finding.severity == "info" for finding in log)
    order = [made.joint(name).q.start for name in ("j1", "j2", "j3")]
    for angle in (0.0, 0.4, -1.2):
        q = np.zeros(3)
        q[order] = angle, -angle, angle
        assert_close(residual(made, q), np.zeros(5), RECURSION)
        q[order[0]] += 0.1
        assert np.max(np.abs(residual(made, q))) > 0.05


def residual(made: Model, q: np.ndarray) -> np.ndarray:
    closure = made.closures[0]
    a, b = (algorithms.frame_pose(made, q, frame) for frame in (closure.a, closure.b))
    return closure.residual(a.inverse() @ b)


LOOPS = {
    "revolute": (Z, 5, lambda d: rotation((0, 0, 1), d)),
    "continuous": (Z, 5, lambda d: rotation((0, 0, 1), d)),
    "prismatic": (Z, 5, lambda d: translation(np.array([0, 0, d]))),
    "fixed": ("", 6, lambda d: np.eye(4)),
    "ball": ("", 3, lambda d: rotation((1, 2, 3), d)),
    "universal": (
        Z + axis((1, 0, 0), tag="axis2"),
        4,
        lambda d: rotation((0, 0, 1), d) @ rotation((1, 0, 0), 2 * d),
    ),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_loop_joints_hold_what_the_joint_holds(kind: str) -> None:
    """A link that floats by a chain of joints, closed to the world by each type of joint in turn."""
    inside, count, motion = LOOPS[kind]
    at, beside = random_pose(RNG), random_pose(RNG)
    chain = link("c", DISC) + joint("free", "ball", "world", "c") + link("b", DISC, at)
    text = chain + joint("tree", "ball", "c", "b") + joint("loop", kind, "world", "b", inside + pose(beside))
    made, _ = read(text, strict=True)
    closure = made.closures[0]
    assert closure.count == count
    J = placed(at) @ placed(beside)
    assert_close(residual(made, made_neutral(made)), np.zeros(count), RECURSION)
    for d in (0.3, -0.5):
        assert_close(closure.residual(Pose.from_matrix(motion(d))), np.zeros(count), RECURSION)
    a = algorithms.frame_pose(made, made_neutral(made), closure.a).matrix()
    assert_close(a, J, RECURSION)


def made_neutral(made: Model) -> np.ndarray:
    return np.asarray(algorithms.neutral(made), float)


def test_the_joint_without_forces_is_the_one_that_closes_the_loop() -> None:
    damped = axis((0, 0, 1), "<dynamics><damping>1</damping></dynamics>")
    text = link("a", BIG) + HOLD + link("b", DISC, [1, 0, 0, 0, 0, 0]) + link("c", DISC, [0, 1, 0, 0, 0, 0])
    text += joint("j", "revolute", "a", "b", Z) + joint("k", "revolute", "b", "c", Z)
    made, _ = read(text + joint("l", "revolute", "a", "c", damped), strict=True)
    assert [closure.name for closure in made.closures] == ["k"]
    both = text.replace('type="revolute"', 'type="revolute" ').replace(Z, damped)
    log = read(both + joint("l", "revolute", "a", "c", damped))[1]
    assert any("spring of joint 'l', which closes a loop" in f.what and f.severity == "warning" for f in log)
    limited = axis((0, 0, 1), "<limit><lower>-1</lower><upper>1</upper></limit>")
    log = read(text.replace(Z, damped) + joint("l", "revolute", "a", "c", limited))[1]
    assert any("limits, damping" in f.what and "'l'" in f.what and f.severity == "warning" for f in log)


def test_must_be_loop_joint() -> None:
    asked = "<physics><simbody><must_be_loop_joint>true</must_be_loop_joint></simbody></physics>"
    text = link("a", BIG) + HOLD + link("b", DISC, [1, 0, 0, 0, 0, 0]) + joint("l", "revolute", "a", "b", Z + asked)
    made, _ = read(text + joint("j", "prismatic", "a", "b", Z))
    assert [closure.name for closure in made.closures] == ["l"]


def test_a_fixed_joint_between_links_that_are_one_body_changes_nothing() -> None:
    text = link("a", BIG) + HOLD + link("b", DISC) + joint("j", "fixed", "a", "b") + joint("k", "fixed", "b", "a")
    made, log = read(text, strict=True)
    assert made.closures == ()
    assert any("already make its ends one body" in finding.action for finding in log)


def test_a_screw_is_never_cut() -> None:
    text = link("a", BIG) + HOLD + link("b", DISC, [1, 0, 0, 0, 0, 0]) + joint("j", "prismatic", "a", "b", Z)
    screw = Z + "<screw_thread_pitch>0.1</screw_thread_pitch>"
    made, _ = read(text + joint("s", "screw", "a", "b", screw))
    assert [closure.name for closure in made.closures] == ["j"]
    with pytest.raises(DalembertError, match="closes a loop, which a screw joint cannot; let another joint close it"):
        read(text.replace("prismatic", "screw").replace(Z, screw) + joint("s", "screw", "a", "b", screw))


# ---- joints against their direction


REVERSED = {
    "revolute": (axis((0.6, 0, 0.8)), lambda q: rotation((0.6, 0, 0.8), q[0])),
    "prismatic": (axis((0.6, 0, 0.8)), lambda q: translation(np.array([0.6, 0, 0.8]) * q[0])),
    "screw": (
        axis((0.6, 0, 0.8)) + "<screw_thread_pitch>0.2</screw_thread_pitch>",
        lambda q: rotation((0.6, 0, 0.8), q[0]) @ translation(np.array([0.6, 0, 0.8]) * q[0] * 0.1 / np.pi),
    ),
    "universal": (Z + axis((1, 0, 0), tag="axis2"), lambda q: rotation((0, 0, 1), q[1]) @ rotation((1, 0, 0), q[0])),
}


@pytest.mark.parametrize("kind", REVERSED)
def test_a_parent_that_only_its_child_reaches(kind: str) -> None:
    """world → a, and b → a: b hangs on a, by the same motion seen from the other side."""
    inside, motion = REVERSED[kind]
    rng = np.random.default_rng(2)
    A, B, J = (random_pose(rng) for _ in range(3))
    body = random_mass(rng)
    text = link("a", body, A) + link("b", body, B) + HOLD + joint("j", kind, "b", "a", inside + pose(J))
    made, log = read(text, strict=True)
    assert any("only way to its parent 'b'" in finding.what for finding in log)
    q = rng.normal(size=made.nv)
    at = placed(A) @ placed(J)
    expected = at @ np.linalg.inv(motion(q)) @ np.linalg.inv(at) @ placed(B)
    assert_close(algorithms.frame_pose(made, q, made.frame("b")).matrix(), expected, RECURSION)


def test_pieces_that_nothing_joins_float_each() -> None:
    made, log = read(link("a", BIG) + link("b", DISC, [1, 0, 0, 0, 0, 0]))
    assert made.nv == 12
    assert any("falls into 2 unconnected pieces" in finding.what for finding in log)
