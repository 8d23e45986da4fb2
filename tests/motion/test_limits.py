"""Limits of acceleration, deceleration and jerk that a robot states: motions keep to them, `check` reads them."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, identify, motion
from dalembert.model import ModelBuilder
from tolerances import COMPUTED, INTEGRATED, ITERATED, OPTIMAL

START, END = np.zeros(2), np.array([1.0, 0.5])


def arm(**limits: object) -> dalembert.Robot:
    """Two slides without gravity: a motion is what its limits make it."""
    builder = ModelBuilder("slides")
    builder.add_body("base", parent="world")
    for name, axis, on in (("x", (1, 0, 0), "base"), ("y", (0, 1, 0), "x_link")):
        builder.add_body(
            f"{name}_link", parent=on, joint="prismatic", joint_name=name, axis=axis, mass=1.0, inertia=np.eye(3),
            lower=-9.0, upper=9.0, velocity_limit=2.0, **limits
        )  # fmt: skip
    return dalembert.Robot(builder.model())


def test_a_robot_has_them_as_arrays():
    limits = arm(acceleration_limit=3.0, jerk_limit=40.0).limits
    np.testing.assert_array_equal(limits.acceleration, [3.0, 3.0])
    np.testing.assert_array_equal(limits.deceleration, [3.0, 3.0])  # none stated: as acceleration
    np.testing.assert_array_equal(limits.jerk, [40.0, 40.0])
    one_way = arm(acceleration_limit=3.0, deceleration_limit=2.0)
    np.testing.assert_array_equal(one_way.limits.steepest, [2.0, 2.0])
    assert one_way.joint("x").deceleration_limit == [2.0]


def test_a_follower_bounds_its_leader():
    builder = ModelBuilder("pair")
    builder.add_body("base", parent="world")
    builder.add_body("a", parent="base", joint="prismatic", joint_name="lead", mass=1.0, acceleration_limit=5.0)
    options = {"acceleration_limit": 2.0, "deceleration_limit": 30.0, "jerk_limit": 8.0}
    builder.add_body(
        "b", parent="base", joint="prismatic", joint_name="tail", mass=1.0, mimic=("lead", -4.0), **options
    )
    limits = dalembert.Robot(builder.model()).limits
    assert (limits.acceleration[0], limits.deceleration[0], limits.jerk[0]) == (0.5, 5.0, 2.0)


@pytest.mark.parametrize("name", ["trapezoid", "s_curve", "time_optimal", "online"])
def test_motions_take_them(name):
    robot = arm(acceleration_limit=3.0, deceleration_limit=2.5, jerk_limit=np.inf if name == "trapezoid" else 40.0)
    moves = {
        "trapezoid": lambda **limits: motion.trapezoid(START, END, robot=robot, **limits),
        "s_curve": lambda **limits: motion.s_curve(START, END, robot=robot, **limits),
        "time_optimal": lambda **limits: motion.time_optimal([START, END], motion.Limits(robot=robot, **limits)),
        "online": lambda **limits: motion.online(START, [0, 0], [0, 0], END, robot=robot, **limits),
    }
    if name == "online":
        pytest.importorskip("ruckig")
    move = moves[name]()
    assert move.check(robot)
    jerk = {} if name == "trapezoid" else {"jerk": 40.0}
    assert move.duration == pytest.approx(moves[name](acceleration=2.5, **jerk).duration, rel=OPTIMAL)
    assert moves[name](acceleration=30.0, **jerk).duration < 0.9 * move.duration


def test_without_a_limit_it_is_asked_for():
    with pytest.raises(DalembertError, match="what acceleration is allowed"):
        motion.trapezoid(START, END, robot=arm())
    with pytest.raises(DalembertError, match="what jerk is allowed"):
        motion.s_curve(START, END, robot=arm(acceleration_limit=3.0))


def test_check_reads_each_of_them():
    move = motion.trapezoid(START, END, velocity=2.0, acceleration=3.0)
    assert move.check(arm(acceleration_limit=3.0))
    (violation,) = move.check(arm(acceleration_limit=2.9)).violations
    assert (violation.what, violation.joint, violation.unit) == ("acceleration", "x", "m/s²")
    assert violation.value == pytest.approx(3.0, rel=COMPUTED)
    smooth = motion.s_curve(START, END, velocity=2.0, acceleration=3.0, jerk=50.0)
    assert smooth.check(arm(jerk_limit=50.0))
    assert [each.what for each in smooth.check(arm(jerk_limit=49.0)).violations] == ["jerk"]
    assert "jerk of x is inf" in str(move.check(arm(jerk_limit=50.0)))  # its acceleration jumps


def slowing_at(braking: float) -> motion.PolynomialMotion:
    """One slide: speeds up at 2 m/s² for 1 s, and slows down to rest at `braking` [m/s²]."""
    length = 2.0 / braking
    pieces = [[[0.0], [0.0], [1.0]], [[1.0], [2.0 * length], [-0.5 * braking * length**2]]]
    curves = motion.Polynomials(np.array([0.0, 1.0, 1.0 + length]), np.array(pieces))
    return motion.PolynomialMotion(curves)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_limits_of_one_way_bound_that_way_alone(sign):
    move = slowing_at(5.0)
    move = motion.PolynomialMotion(motion.Polynomials(move.curves.times, sign * move.curves.coefficients))
    assert move.check(acceleration=2.0, deceleration=5.0)
    assert not move.check(acceleration=2.0)
    (down,) = move.check(acceleration=2.0, deceleration=4.5).violations
    assert (down.what, down.value) == ("deceleration", pytest.approx(-5.0 * sign, rel=ITERATED))
    (up,) = move.check(acceleration=1.9, deceleration=5.0).violations
    assert (up.what, up.limit) == ("acceleration", pytest.approx(1.9 * sign))
    assert any("sampled" in note for note in move.check(acceleration=2.0, deceleration=5.0).notes)


def test_excitations_keep_to_them():
    robot = dalembert.load("ur5").edit().set_joint("elbow_joint", acceleration_limit=1.5, jerk_limit=9.0).done()
    excitation = identify.excitation(robot, duration=6.0, harmonics=2, starts=1, seed=0)
    k = robot.joint("elbow_joint").v.start
    assert np.abs(excitation.a[:, k]).max() < 1.5 * (1.0 + INTEGRATED)
    assert any("jerk" in note for note in excitation.log)


def test_edits_keep_both_ways_alike_until_they_are_told_apart():
    robot = arm(acceleration_limit=3.0)
    assert robot.edit().set_joint("x", acceleration_limit=4.0).done().limits.deceleration[0] == 4.0
    robot = arm(acceleration_limit=3.0, deceleration_limit=2.0)
    assert robot.edit().set_joint("x", acceleration_limit=4.0).done().limits.deceleration[0] == 2.0


def test_scaling_keeps_motions_similar():
    """Lengths × 4, times × 2: accelerations of slides stay, jerks halve."""
    limits = arm(acceleration_limit=3.0, deceleration_limit=2.0, jerk_limit=40.0).edit().scale(4.0).done().limits
    assert (limits.velocity[0], limits.acceleration[0], limits.deceleration[0], limits.jerk[0]) == (4.0, 3.0, 2.0, 20.0)


@pytest.mark.parametrize("ending", [".urdf", ".dh.toml"])
@pytest.mark.parametrize("down", [None, 2.0, np.inf])
def test_files_carry_them(tmp_path, ending, down):
    robot = arm(acceleration_limit=3.0, deceleration_limit=down, jerk_limit=40.0)
    log = robot.save(tmp_path / f"slides{ending}")
    back = dalembert.load(tmp_path / f"slides{ending}").limits
    lost = ending == ".dh.toml" and down == np.inf
    assert any("as acceleration" in f.action for f in log) == lost
    np.testing.assert_allclose(back.acceleration, robot.limits.acceleration)
    np.testing.assert_allclose(back.deceleration, [3.0, 3.0] if lost else robot.limits.deceleration)
    np.testing.assert_allclose(back.jerk, robot.limits.jerk)
    if ending == ".urdf":
        assert 'version="1.2"' in (tmp_path / "slides.urdf").read_text()
        arm().save(tmp_path / "plain.urdf")
        assert "version" not in (tmp_path / "plain.urdf").read_text().partition("<robot")[2]


@pytest.mark.parametrize("kind", ["planar", "free"])
@pytest.mark.parametrize("down", [None, 2.0, np.inf])
def test_joints_of_several_freedoms_carry_them_through_urdf(tmp_path, kind, down):
    builder = ModelBuilder("tray")
    builder.add_body("base", parent="world")
    options = {"acceleration_limit": 3.0, "deceleration_limit": down, "jerk_limit": 40.0}
    builder.add_body("tray", parent="base", joint=kind, joint_name="j", mass=1.0, inertia=np.eye(3), **options)
    robot = dalembert.Robot(builder.model())
    robot.save(tmp_path / "tray.urdf")
    assert dalembert.compare(robot, dalembert.load(tmp_path / "tray.urdf")).same


@pytest.mark.parametrize("ending", [".sdf", ".xml"])
def test_formats_without_a_word_for_them_say_so(tmp_path, ending):
    log = arm(acceleration_limit=3.0).save(tmp_path / f"slides{ending}")
    assert any("no limits of acceleration and jerk" in finding.what for finding in log)
