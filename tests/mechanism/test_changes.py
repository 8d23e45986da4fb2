"""Joints that break and lock, springs that jump: momentum, energy, and when it happens."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Mechanism, SimulationError
from dalembert.math import where
from dalembert.mechanism import Change
from mechanism_linkages import add_bar, chain
from tolerances import COMPUTED, INTEGRATED, ITERATED, TIGHT_RUN

RECORD = 0.05  # [s]: between two records of a run
OPTIONS = {"integrator": "rk4", "step": 1e-3, "record": RECORD}


def swinging() -> Mechanism:
    return chain(2)


@pytest.mark.parametrize("coordinates", ["tree", pytest.param("free", marks=pytest.mark.long)])
def test_a_bar_that_breaks_off_flies_on(coordinates: str) -> None:
    result = swinging().simulate(0.6, changes=[Change("break", "j1", at=0.3)], coordinates=coordinates, **OPTIONS)
    assert [x.label for x in result.happened] == ["break j1"]
    assert abs(result.happened[0].kinetic) < ITERATED  # nothing stops, nothing is lost
    robot, run = result.robots[1], result.runs[1]
    velocity = robot.velocity(run.q[0], run.v[0], "b1.com")[3:]
    start = result.path("b1.com")[np.searchsorted(result.t, 0.3)]
    expected = start + np.outer(run.t, velocity) + np.outer(0.5 * run.t**2, [0.0, -9.81, 0.0])
    np.testing.assert_allclose(robot.pose(run.q, "b1.com")[:, :3, 3], expected, atol=ITERATED)


def test_a_joint_that_locks_keeps_the_angular_momentum_about_the_pivot() -> None:
    result = swinging().simulate(0.5, changes=[Change("lock", "j1", at=0.25)], **OPTIONS)
    before, after = result.runs

    def momentum(robot, q, v):
        h = robot.centroidal_momentum(q, v)
        return h[2] + np.cross(robot.center_of_mass(q), h[3:])[2]

    last = momentum(result.robots[0], before.q[-1], before.v[-1])
    first = momentum(result.robots[1], after.q[0], after.v[0])
    assert first == pytest.approx(last, rel=ITERATED)
    assert result.happened[0].kinetic > 1e-4  # plastic: energy is lost, and booked
    energies = [robot.energy(run.q, run.v) for robot, run in zip(result.robots, result.runs, strict=True)]
    assert energies[0][-1] - energies[1][0] == pytest.approx(result.happened[0].kinetic, rel=ITERATED)
    assert result.robots[1].nv == 1


def test_an_angle_triggers_once() -> None:
    pendulum = chain(1)
    result = pendulum.simulate(1.0, changes=[Change("break", "j0", angle=("j0", -1.2))], **OPTIONS)
    robot, run = result.robots[0], result.runs[0]
    assert run.q[-1, robot.joint("j0").q][0] == pytest.approx(-1.2, abs=TIGHT_RUN)
    assert len(result.runs) == 2 and result.t[-1] == pytest.approx(1.0)


def test_a_shear_pin_breaks_at_its_force() -> None:
    """A pendulum let go level: the force in its pivot grows as it falls."""
    m = chain(1).sensor("force", "j0", name="F")
    result = m.simulate(1.0, changes=[Change("break", "j0", force=("j0", 3.0))], **OPTIONS)
    assert np.linalg.norm(result.runs[0].readings["F"][-1]) == pytest.approx(3.0, rel=INTEGRATED)
    assert np.max(np.linalg.norm(result.runs[0].readings["F"][:-1], axis=1)) < 3.0


def pendulums(count: int, limit: float) -> tuple[Mechanism, list[Change]]:
    """Equal bars beside each other, let go level, each with a pivot that breaks at `limit` [N]."""
    m = Mechanism("pendulums", gravity=(0.0, -9.81, 0.0))
    m.ground(**{f"p{k}": (float(k), 0.0) for k in range(count)})
    for k in range(count):
        add_bar(m, f"b{k}", 0.2, xyz=(k + 0.1, 0.0))
        m.joint("revolute", f"ground.p{k}", f"b{k}.a", name=f"j{k}")
    return m, [Change("break", f"j{k}", force=(f"j{k}", limit)) for k in range(count)]


def v_hung() -> Mechanism:
    """1 kg on two rods to one point, each carrying 0.5 m g / cos 0.1."""
    m = Mechanism("v", gravity=(0.0, -9.81, 0.0))
    m.ground(A=(-np.sin(0.1), np.cos(0.1)), B=(np.sin(0.1), np.cos(0.1)))
    m.body("w", 1.0, [0.1] * 3, xyz=(0.0, 0.0))
    m.joint("distance", "ground.A", "w.origin", name="left")
    return m.joint("distance", "ground.B", "w.origin", name="right")


def sliding(rate: float = 1.0, **options) -> Mechanism:
    m = Mechanism("slide", gravity=(0.0, 0.0, 0.0)).body("m", 2.0, [0.1] * 3)
    return m.joint("prismatic", "ground.origin", "m.origin", name="s", axis=(1, 0, 0), rate=rate, **options)


@pytest.mark.parametrize("coordinates", ["tree", "free"])
@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.long)])
def test_all_joints_that_reach_their_force_at_one_instant_break(count: int, coordinates: str) -> None:
    m, changes = pendulums(count, 3.0)
    result = m.simulate(0.4, changes=changes, coordinates=coordinates, **OPTIONS)
    assert sorted(x.label for x in result.happened) == [f"break j{k}" for k in range(count)]
    assert len({x.t for x in result.happened}) == 1 and result.happened[0].t > 0.0
    assert len(result.runs) == 2 and not result.robots[-1].mechanism.joints


@pytest.mark.parametrize("coordinates", ["tree", "free"])
def test_all_angles_reached_at_one_instant_count(coordinates: str) -> None:
    m, _ = pendulums(2, 1.0)
    changes = [Change("lock", "j0", angle=("j0", -1.0)), Change("break", "j1", angle=("j1", -1.0))]
    result = m.simulate(0.4, changes=changes, coordinates=coordinates, **OPTIONS)
    assert [x.label for x in result.happened] == ["break j1", "lock j0"]
    assert result.happened[0].t == result.happened[1].t


def test_a_joint_that_is_overloaded_from_the_start_breaks_there() -> None:
    m = chain(1).ground(P=(0.0, 0.0))
    result = m.simulate(0.2, changes=[Change("break", "j0", force=("j0", 0.4))], **OPTIONS)
    assert [(x.label, x.t) for x in result.happened] == [("break j0", 0.0)]
    assert result.t[0] == 0.0 and result.t[-1] == 0.2 and len(result.runs) == 1


@pytest.mark.parametrize("coordinates", ["tree", "free"])
@pytest.mark.parametrize("at", [0.0, 0.1])
def test_a_joint_overloaded_when_its_neighbour_breaks_follows_at_once(at: float, coordinates: str) -> None:
    changes = [Change("break", "right", force=("right", 8.0)), Change("break", "left", at=at)]
    result = v_hung().simulate(0.2, changes=changes, coordinates=coordinates, **OPTIONS)
    assert [(x.label, x.t) for x in result.happened] == [("break left", at), ("break right", at)]
    held = v_hung().simulate(0.2, changes=[changes[0]], coordinates=coordinates, **OPTIONS)
    assert not held.happened and "8 N in joint 'right' was not reached" in held.log[0]


def test_an_angle_that_the_joint_has_at_the_start_or_when_another_change_happens_is_reached() -> None:
    change = Change("break", "j0", angle=("j0", 0.0))
    assert [x.t for x in chain(1).simulate(0.1, changes=[change], **OPTIONS).happened] == [0.0]
    m, _ = pendulums(2, 1.0)
    first = m.simulate(0.2, changes=[Change("break", "j0", at=0.1)], **OPTIONS)
    angle = float(first.runs[0].q[-1][1])
    both = [Change("break", "j0", at=0.1), Change("break", "j1", angle=("j1", angle))]
    assert [x.t for x in m.simulate(0.2, changes=both, **OPTIONS).happened] == [0.1, 0.1]


def test_an_angle_beyond_a_turn_is_counted_across_changes() -> None:
    m = Mechanism("wheel", gravity=(0.0, 0.0, 0.0)).body("w", 1.0, [0.1] * 3).body("other", 1.0, [0.1] * 3)
    m.joint("revolute", "ground.origin", "w.origin", name="axle", rate=20.0)
    m.joint("revolute", "ground.origin", "other.origin", name="idle")
    changes = [Change("lock", "idle", at=0.4), Change("break", "axle", angle=("axle", 10.0))]
    result = m.simulate(1.0, changes=changes, **OPTIONS)
    assert [x.t for x in result.happened] == pytest.approx([0.4, 0.5], abs=ITERATED)
    assert result.runs[1].q[0, result.robots[1].joint("axle").q][0] == pytest.approx(8.0)


def test_an_angle_on_the_far_side_of_the_turn_is_another_one() -> None:
    """The angle of a closure jumps from π to −π, which is no crossing of 0.5."""
    m = Mechanism("wheel", gravity=(0.0, 0.0, 0.0)).body("w", 1.0, [0.1] * 3)
    m.joint("revolute", "ground.origin", "w.origin", name="axle", start=1.0, rate=4.0)
    result = m.simulate(3.0, changes=[Change("break", "axle", angle=("axle", 0.5))], coordinates="free", **OPTIONS)
    assert [x.t for x in result.happened] == pytest.approx([(2.0 * np.pi - 0.5) / 4.0], abs=INTEGRATED)
    np.testing.assert_allclose(np.diff(result.t).min(), 0.0)


def test_the_only_joint_locks_and_lets_go() -> None:
    changes = [Change("lock", "s", at=0.1), Change("break", "s", at=0.3)]
    result = sliding().simulate(0.5, changes=changes, **OPTIONS)
    assert [x.label for x in result.happened] == ["lock s", "break s"]
    assert result.happened[0].kinetic == pytest.approx(1.0)
    assert result.t[-1] == 0.5 and [run.q.shape[1] for run in result.runs] == [1, 0, 7]
    np.testing.assert_allclose(result.path("m.origin")[-1], [0.1, 0.0, 0.0], atol=ITERATED)
    assert "good" in str(result.runs[1].audit()) and "nothing can move" in result.runs[1].log[0]


def test_changes_of_a_joint_that_is_gone_are_in_the_log() -> None:
    changes = [
        Change("break", "s", at=0.1),
        Change("break", "s", at=0.1),
        Change("lock", "s", at=0.2),
        Change("lock", "s", angle=("s", 5.0)),
        Change("set", "spring", at=9.0, values={"stiffness": 2.0}),
    ]
    result = sliding().spring("s", stiffness=1.0, name="spring").simulate(0.3, changes=changes, **OPTIONS)
    assert [x.label for x in result.happened] == ["break s"]
    for line in (
        "break s: did not happen at t = 0.1 s, since joint 's' is gone",
        "lock s: did not happen at t = 0.2 s, since joint 's' is gone",
        "lock s: cannot happen after t = 0.1 s, since joint 's' is gone",
        "set spring: did not happen, t = 9 s was not reached",
        "break s at t = 0.1 s: 'spring' still acts between its two points",
    ):
        assert line in result.log
    twice = [Change("lock", "s", at=0.1), Change("lock", "s", angle=("s", 0.15))]
    assert len(sliding().simulate(0.3, changes=twice, **OPTIONS).happened) == 1


def test_a_rotor_keeps_turning_through_the_change_of_another_joint() -> None:
    """Two slides in line lock: the momentum m v + rotor v of the first goes on with both masses and its rotor."""
    m = sliding(armature=3.0).body("rider", 1.0, [0.1] * 3)
    m.joint("prismatic", "m.origin", "rider.origin", name="on", axis=(1, 0, 0), rate=-1.0)
    result = m.simulate(0.2, changes=[Change("lock", "on", at=0.1)], **OPTIONS)
    robot, run = result.robots[1], result.runs[1]
    after = (2.0 + 3.0) / (2.0 + 3.0 + 1.0)
    assert run.v[0, robot.joint("s").v][0] == pytest.approx(after, rel=ITERATED)
    assert result.happened[0].kinetic == pytest.approx(0.5 * 5.0 - 0.5 * 6.0 * after**2, rel=ITERATED)


def test_a_run_that_cannot_go_on_keeps_what_was_before() -> None:
    m = sliding().motor("s", lambda t, x, v: where(t > 0.2, 1e30, 0.0), name="burst")
    with pytest.raises(SimulationError) as stopped:
        m.simulate(0.5, changes=[Change("set", "burst", at=0.1, values={"rest": 1.0})], **OPTIONS)
    assert [x.label for x in stopped.value.result.happened] == ["set burst"]
    assert stopped.value.result.t[-1] == pytest.approx(0.2, abs=RECORD)
    assert len(stopped.value.result.runs) == 2


def test_a_spring_that_jumps_books_its_energy() -> None:
    m = Mechanism("mass", gravity=(0, 0, 0)).body("m", 2.0, [0.1] * 3)
    m.joint("prismatic", "ground.origin", "m.origin", name="slide", start=0.1)
    m.spring("slide", stiffness=50.0, name="spring")
    result = m.simulate(0.4, changes=[Change("set", "spring", at=0.2, values={"stiffness": 200.0})], **OPTIONS)
    x = result.runs[0].q[-1, 0]
    assert result.happened[0].stored == pytest.approx(0.5 * (50.0 - 200.0) * x**2, rel=ITERATED)
    assert result.happened[0].kinetic == pytest.approx(0.0, abs=COMPUTED)


def test_functions_of_time_go_on_after_a_change() -> None:
    m = Mechanism("mass", gravity=(0, 0, 0)).body("m", 1.0, [0.1] * 3).body("other", 1.0, [0.1] * 3)
    m.joint("prismatic", "ground.origin", "m.origin", name="slide", start=0.0)
    m.joint("prismatic", "ground.origin", "other.origin", name="idle", start=0.0)
    m.motor("slide", lambda t, x, v: t, name="ramp")
    result = m.simulate(1.0, changes=[Change("lock", "idle", at=0.5)], **OPTIONS)
    run, robot = result.runs[-1], result.robots[-1]
    assert run.q[-1, robot.joint("slide").q][0] == pytest.approx(1.0 / 6.0, rel=ITERATED)


def geared() -> Mechanism:
    m = Mechanism("gears").body("w0", 1.0, [0.1] * 3).body("w1", 1.0, [0.1] * 3, xyz=(1.0, 0.0))
    m.ground(P=(1.0, 0.0)).joint("revolute", "ground.origin", "w0.origin", name="a")
    return m.joint("revolute", "ground.P", "w1.origin", name="b").gear("w0", "w1", teeth=(10, 20))


def sprung() -> Mechanism:
    return sliding().spring("s", stiffness=1.0, name="k")


def test_bad_changes_say_what_is_wrong() -> None:
    for make, message in (
        (lambda: Change("snap", "j0", at=1.0), "unknown change 'snap'"),
        (lambda: Change("break", "j0"), "say when"),
        (lambda: Change("set", "j0", at=1.0), "values are for 'set'"),
        (lambda: Change("break", "j0", at=-1.0), r"at is -1.0, expected a time ≥ 0"),
        (lambda: Change("break", "j0", at=float("nan")), "at is nan"),
        (lambda: Change("break", "j0", force=("j0", 0.0)), "a force above 0"),
        (lambda: Change("break", "j0", angle=0.3), "angle is 0.3, expected"),
        (lambda: chain(1).simulate(1.0, changes=Change("break", "j0", at=0.1)), "changes is one Change"),
        (lambda: chain(1).simulate(-1.0, changes=[Change("break", "j0", at=0.1)]), "duration is -1.0"),
        (
            lambda: chain(1).simulate(
                1.0, changes=[Change("lock", "j0", at=0.1), Change("break", "j0", force=("j0", 9.0))]
            ),
            "becomes fixed, and in joint coordinates",
        ),
        (lambda: geared().simulate(1.0, changes=[Change("break", "a", at=0.1)]), "tie this joint"),
        (
            lambda: sprung().simulate(1.0, changes=[Change("set", "k", at=0.1, values={"stiffness": -1.0})]),
            "stiffness is -1.0",
        ),
        (lambda: chain(1).simulate(1.0, changes=[Change("break", "j9", at=0.1)]), "unknown joint 'j9'"),
    ):
        with pytest.raises(DalembertError, match=message):
            make()
