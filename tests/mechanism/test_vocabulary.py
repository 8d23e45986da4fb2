"""Bodies, points, joints: what is put together moves as it should, in joint coordinates and as free bodies."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, Mechanism
from mechanism_linkages import KINDS, add_bar, four_bar, slider_crank, two_bodies
from tolerances import COARSE_RUN, COMPUTED, CONVERGED, DEFAULT_RUN, INTEGRATED, PRODUCT, TIGHT_RUN


@pytest.mark.parametrize("coordinates", ["tree", "free"])
def test_slider_crank_reaches_published_positions(coordinates: str) -> None:
    robot = slider_crank().sensor("position", "slider.origin", name="x").build(coordinates)
    run = robot.simulate(*robot.start, 1.0, record=0.2, rtol=1e-9)
    np.testing.assert_allclose(run.readings["x"][[1, 5], 0], [0.395679, 0.319729], atol=INTEGRATED)
    assert np.max(np.abs(run.energy.residual)) < DEFAULT_RUN


def test_reactions_are_the_same_in_both_coordinates() -> None:
    m = slider_crank()
    for joint in m.joints:
        m.sensor("force", joint).sensor("moment", joint)
    m.sensor("acceleration", "rod.b").sensor("velocity", "crank.b").sensor("angle", "pin").sensor("rate", "guide")
    runs = []
    for coordinates in ("tree", "free"):
        robot = m.build(coordinates)
        runs.append(robot.simulate(*robot.start, 0.3, record=0.1, rtol=1e-10, atol=1e-12).readings)
    for name, readings in runs[0].items():
        np.testing.assert_allclose(
            runs[1][name], readings, atol=2 * INTEGRATED * (1.0 + np.max(np.abs(readings))), err_msg=name
        )


def crank_slider_position(angle: float) -> float:
    return 0.15 * np.cos(angle) + np.sqrt(0.4**2 - (0.15 * np.sin(angle)) ** 2)


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.0, -2.5])
def test_a_crank_angle_is_held_when_it_is_put_together(angle: float) -> None:
    m = Mechanism("press")
    m.ground(A=(0.0, 0.0))
    add_bar(m, "crank", 0.15)
    add_bar(m, "rod", 0.4)
    m.body("slider", 1.0, 1e-3, xyz=(0.5, 0.0))
    m.joint("revolute", "ground.A", "crank.a", name="pivot", start=angle)
    m.joint("revolute", "crank.b", "rod.a")
    m.joint("revolute", "rod.b", "slider.origin")
    m.joint("prismatic", "ground.A", "slider.origin", name="guide", axis=(1, 0, 0))
    robot = m.build()
    q, _ = robot.start
    assert q[robot.joint("pivot").q] == angle
    assert robot.pose(q, "slider.origin")[0, 3] == pytest.approx(crank_slider_position(angle), abs=CONVERGED)


def test_mobility_of_planar_and_spatial_linkages() -> None:
    planar = four_bar().mobility()
    assert (planar.freedoms, planar.count, planar.redundant) == (1, -2, {"C": 3})
    cut = four_bar()
    cut.joint("point-on-plane", "ground.A", "coupler.com", name="table")
    assert cut.mobility().redundant == {"C": 3, "table": 1}
    arm = Mechanism("arm").body("link", 1.0, 0.1).joint("spherical", "ground.origin", "link.origin")
    assert (arm.mobility().freedoms, arm.mobility().count) == (3, 3)


def test_bennett_linkage_moves_against_the_count() -> None:
    """Bennett's loop of four hinges in space: a sin β = b sin α; count −2, moves with one freedom."""
    alpha, a, b = 0.6, 1.0, 1.4
    beta = np.arcsin(b * np.sin(alpha) / a)
    m = Mechanism("bennett")
    for name, (length, twist) in zip("PQR", ((a, alpha), (b, beta), (a, alpha)), strict=True):
        m.body(name, 1.0, [0.1, 0.1, 0.1], points={"far": ((length, 0, 0), (twist, 0, 0))})
    m.point("ground", "far", (b, 0, 0), (beta, 0, 0))
    m.joint("revolute", "ground.far", "P.origin", name="one", start=0.8)
    m.joint("revolute", "P.far", "Q.origin", name="two")
    m.joint("revolute", "Q.far", "R.origin", name="three")
    m.joint("revolute", "R.far", "ground.origin", name="four")
    result = m.mobility()
    assert (result.count, result.freedoms) == (-2, 1)
    assert sum(result.redundant.values()) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_moves_alike_as_tree_and_as_free_bodies(kind: str) -> None:
    m = two_bodies(kind)
    for body in ("arm", "hand"):
        m.sensor("acceleration", f"{body}.com")
    if kind != "fixed":
        m.sensor("force", "wrist").sensor("moment", "wrist")
    runs = []
    for coordinates in ("tree", "free"):
        robot = m.build(coordinates)
        runs.append(robot.simulate(*robot.start, 1e-3, integrator="semi-implicit", step=1e-3, record=1e-3).readings)
    for name, readings in runs[0].items():  # at the start both have the same forces, in space and with speed
        scale = 1.0 + np.max(np.abs(readings))
        np.testing.assert_allclose(runs[1][name][0], readings[0], atol=TIGHT_RUN * scale, err_msg=name)


def test_a_nut_turns_many_times_on_its_free_screw() -> None:
    m = Mechanism("nut", gravity=(0.0, 0.0, -9.81))
    m.body("nut", 0.5, [1e-3, 1e-3, 1e-3])
    m.joint("screw", "ground.origin", "nut.origin", name="thread", pitch=0.01)
    free = m.build("free")
    run = free.simulate(*free.start, 2.0, integrator="rk4", step=0.01, record=2.0)
    inertia, pitch = 1e-3, 0.01
    turned = 0.5 * (0.5 * 9.81 * pitch / (inertia + 0.5 * pitch**2)) * 2.0**2
    assert turned > 15 * np.pi
    assert free.pose(run.q[-1], "nut.origin")[2, 3] == pytest.approx(-pitch * turned, rel=COARSE_RUN)


def test_points_may_be_poses_planes_and_frames() -> None:
    m = Mechanism("points").body("b", 1.0, 0.1, points={"p": (1, 2), "f": ((0, 0, 1), (0, 0, np.pi / 2))})
    m.joint("fixed", "ground.origin", "b.f")
    robot = m.build()
    np.testing.assert_allclose(robot.pose(robot.start[0], "b.p")[:3, 3], [2.0, -1.0, -1.0], atol=COMPUTED)


BAD = {
    "one body": (lambda m: m.joint("revolute", "crank.a", "crank.b", name="J"), "points of one body, 'crank'"),
    "no such point": (lambda m: m.joint("revolute", "crank.c", "ground.A", name="J"), "unknown point 'crank.c'"),
    "no such kind": (lambda m: m.joint("hinge", "crank.a", "ground.A", name="J"), "unknown joint kind 'hinge'"),
    "no dot": (lambda m: m.joint("revolute", "crank", "ground.A", name="J"), "expected one such as 'crank.tip'"),
    "massless": (lambda m: m.body("x", 0.0), "body 'x': mass is 0 kg"),
    "impossible inertia": (lambda m: m.body("x", 1.0, [1.0, 0.1, 0.1]), "triangle inequality"),
    "axis of a sphere": (lambda m: m.joint("spherical", "crank.a", "ground.A", axis=(1, 0, 0)), "axis does not apply"),
    "no pitch": (lambda m: m.joint("screw", "crank.a", "ground.A"), "needs its pitch"),
    "zero axis": (lambda m: m.joint("revolute", "crank.a", "ground.A", axis=(0, 0, 0)), "expected a direction"),
    "open cam": (lambda m: m.cam("A", "D", lift=lambda a: a), "cam is not closed: its lift is 0 at 0"),
    "gear on itself": (lambda m: m.gear("crank", "crank", teeth=(1, 1)), "must be three bodies"),
    "start of a ball": (lambda m: m.joint("spherical", "crank.a", "ground.A", start=1.0), "joints of one coordinate"),
    "names twice": (lambda m: m.body("crank", 1.0), "already one of that name"),
    "unknown sensor": (lambda m: m.sensor("speed", "crank.a"), "unknown sensor 'speed'"),
    "two moments": (lambda m: m.body("x", 1.0, [1.0, 1.0]), "expected 3 principal moments"),
    "skew inertia": (lambda m: m.body("x", 1.0, [[1, 0, 0.1], [0, 1, 0], [0, 0, 1]]), "expected a symmetric matrix"),
    "skew cross": (lambda m: m.joint("universal", "crank.a", "ground.A", axis2=(1, 0, 1)), "not at right angles"),
    "swapped limits": (lambda m: m.joint("revolute", "crank.a", "ground.A", lower=1.0, upper=0.0), "swap them"),
    "stop of a rod": (lambda m: m.joint("distance", "crank.a", "ground.A", length=1.0, lower=0.0), "means nothing"),
    "spring in a body": (lambda m: m.spring("crank.a", "crank.b", stiffness=1.0), "points of one body, 'crank'"),
    "stiffness below 0": (lambda m: m.spring("crank.a", "ground.A", stiffness=-1.0), "stiffness is -1.0"),
    "rod in its bore": (
        lambda m: m.cylinder("crank.a", "ground.A", bore=0.1, rod=0.2, stroke=1.0), "expected less than the bore"),
    "stall alone": (lambda m: m.motor("A", 1.0, stall=2.0), "give stall and no_load together"),
    "effort of no number": (lambda m: m.actuator("crank.a", "ground.A", np.nan), "effort is nan"),
    "law of time alone": (lambda m: m.force("crank.a", lambda t: (0, 0, t)), "expected (t, q, v)"),
    "moon": (lambda m: m.force("crank.a", (0, 0, 1), axes="moon"), "expected 'world' or 'frame'"),
    "gap of the untouched": (lambda m: m.sensor("gap", "crank"), "may touch nothing"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_says_where_and_what_to_do(case: str) -> None:
    change, expected = BAD[case]
    with pytest.raises(DalembertError, match="mechanism 'four-bar'") as error:
        change(four_bar())
    assert expected in str(error.value)


def test_links_that_are_too_short_name_the_joint() -> None:
    with pytest.raises(DalembertError, match=r"joint 'C' cannot close: 0\.\d+ m .* are missing"):
        four_bar(crank=0.1, coupler=0.1, rocker=0.05, frame=0.5).build()


def test_axes_that_cannot_meet_name_the_joint() -> None:
    m = four_bar()
    m._bodies["rocker"].points.pop("b")
    m.point("rocker", "b", (0.125, 0.0), (0.4, 0.0, 0.0))
    with pytest.raises(DalembertError, match="joint 'C' cannot close"):
        m.build()


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_a_joint_that_turns_nothing_is_named(kind: str) -> None:
    axis = {"axis": (1, 0, 0)} if kind == "revolute" else {}
    m = Mechanism("rod").body("rod", 1.0, [0.0, 0.1, 0.1], points={"end": (0.5, 0, 0)})
    robot = m.joint(kind, "ground.origin", "rod.end", name="J", **axis).build()
    with pytest.raises(DalembertError, match=r"joint 'J' moves no mass.*: give the bodies behind it inertia"):
        robot.simulate(*robot.start, 0.01)


def test_a_loop_that_leaves_no_freedom_cannot_be_given_a_speed() -> None:
    m = Mechanism("triangle", gravity=(0, -9.81, 0)).ground(A=(0, 0), B=(1, 0))
    for name in "ab":
        m.body(name, 1.0, 0.1, points={"tip": (0.8, 0)})
    m.joint("revolute", "ground.A", "a.origin", name="A", rate=1.0).joint("revolute", "ground.B", "b.origin", name="B")
    m.joint("revolute", "a.tip", "b.tip", name="C")
    with pytest.raises(DalembertError, match=r"the speeds of 'A' open joint 'C'.*: leave one of them out"):
        m.build()


def test_speeds_that_contradict_each_other_are_named() -> None:
    m = four_bar(rate=2.0)
    m._joints["D"] = m._joints["D"].__class__(**(vars(m._joints["D"]) | {"rate": 30.0}))
    with pytest.raises(DalembertError, match="speeds of 'A', 'D' open joint"):
        m.build()


def test_a_file_reads_back_as_the_same_mechanism(tmp_path) -> None:
    m = slider_crank()
    m.spring("rod.com", "ground.A", stiffness=10.0, length=0.1).motor("pivot", 0.2, stall=1.0, no_load=30.0)
    m.damper("guide", damping=0.3).force("slider.com", (1.0, 0.0, 0.0)).sensor("power", "motor2", name="P")
    m.save(tmp_path / "crank.mech.toml")
    robot, again = m.build(), dalembert.load(tmp_path / "crank.mech.toml")
    assert again.model == robot.model
    a, b = (r.simulate(*r.start, 0.05, record=0.05) for r in (robot, again))
    np.testing.assert_allclose(a.q[-1], b.q[-1], atol=PRODUCT)
    np.testing.assert_allclose(a.readings["P"], b.readings["P"], atol=COMPUTED)


@pytest.mark.parametrize("name", dalembert.mechanism.BUNDLED)
def test_bundled_mechanisms_read_back(tmp_path, name: str) -> None:
    """The table of a cam has hundreds of rows, which were one line: longer than files may have."""
    m = dalembert.mechanism.mechanism(name)
    m.save(tmp_path / "again.mech.toml")
    robot, again = m.build(), dalembert.load(tmp_path / "again.mech.toml")
    for one, other in zip(robot.start, again.start, strict=True):
        np.testing.assert_allclose(other, one, atol=CONVERGED)
    np.testing.assert_allclose(again.parameters(), robot.parameters(), atol=COMPUTED)


FILE = """name = "swing"
[ground.points]
A = [0, 0, 1]
[[body]]
name = "rod"
mass = 1.0
inertia = [0.1, 0.1, 0.01]
[body.points]
top = [0, 0, 0.5]
[[joint]]
name = "pivot"
kind = "revolute"
a = "ground.A"
b = "rod.top"
axis = [0, 1, 0]
"""
WRONG = {
    'kind = "revolute"\n': ('kind = "hinge"\n', "swing.mech.toml:10", "unknown joint kind 'hinge'"),
    "mass = 1.0\n": ('mass = "1"\n', "swing.mech.toml:6", "expected a number"),
    'b = "rod.top"\n': ('b = "rod.tip"\n', "swing.mech.toml:10", "did you mean 'rod.top'"),
    "top = [0, 0, 0.5]\n": ("top = [0, 0, 0, 1]\n", "swing.mech.toml:9", "expected 3 finite numbers"),
    "axis = [0, 1, 0]\n": ("axes = [0, 1, 0]\n", "swing.mech.toml:15", "unknown key 'axes'"),
    'a = "ground.A"\n': ("", "swing.mech.toml:10", "a is missing"),
    "[ground.points]\n": ("[[bolt]]\nsize = 6\n[ground.points]\n", "swing.mech.toml:2", "unknown key 'bolt'"),
    "inertia = [0.1, 0.1, 0.01]\n": ("hold = 1\n", "swing.mech.toml:7", "unknown key 'hold'"),
    'name = "pivot"\n': ('name = "pivot"\nhold = "springs"\n', "swing.mech.toml: ", "joint 'pivot' is held by springs"),
}


@pytest.mark.parametrize("old", WRONG)
def test_errors_of_a_file_have_their_line(tmp_path, old: str) -> None:
    new, place, message = WRONG[old]
    path = tmp_path / "swing.mech.toml"
    path.write_text(FILE)
    assert dalembert.load(path).nv == 1
    path.write_text(FILE.replace(old, new))
    with pytest.raises(DalembertError, match=message) as error:
        dalembert.load(path)
    assert place in str(error.value)


def test_formats_without_springs_say_so(tmp_path) -> None:
    robot = slider_crank().spring("slider.com", "ground.A", stiffness=10.0, name="return").build()
    with pytest.raises(DalembertError, match=r"crank\.urdf cannot hold return of mechanism"):
        robot.save(tmp_path / "crank.urdf")
    robot.save(tmp_path / "crank.urdf", approximate=True)
    robot.save(tmp_path / "crank.mech.toml")
    assert dalembert.load(tmp_path / "crank.mech.toml").forces == ("return",)
    plain = slider_crank().build()
    assert plain.forces == () and plain.save(tmp_path / "plain.urdf") is not None


def test_the_command_begins_where_the_mechanism_was_put_together(tmp_path) -> None:
    from dalembert.cli import main

    slider_crank().save(tmp_path / "crank.mech.toml")
    out = tmp_path / "run.npz"
    main(["simulate", str(tmp_path / "crank.mech.toml"), "--duration", "0.05", "--out", str(out)])
    run = dalembert.load_run(out)
    np.testing.assert_allclose(run.v[0, 0], 20.0)


def test_every_bundled_name_is_one_thing() -> None:
    assert not {*dalembert.mechanism.BUNDLED} & {*dalembert.robots()}


def test_a_report_takes_as_many_motors_as_there_are_freedoms() -> None:
    """The joint that a motor drives, or that was given a rate, moves; all others follow."""
    robot = dalembert.load("andrews").driven()
    passive = [joint.name for joint in robot.joints if joint.effort_limit[0] == 0.0]
    assert sorted(passive) == ["delta", "epsilon", "gamma", "omega", "phi", "theta"]
    assert [joint.name for joint in slider_crank().build().driven().joints if joint.effort_limit[0] > 0.0] == ["pivot"]
