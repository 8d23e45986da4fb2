"""Joints that break and lock, springs that jump: momentum, energy, and when it happens."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Mechanism
from dalembert.mechanism import Change
from mechanism_linkages import chain
from tolerances import COMPUTED, INTEGRATED, ITERATED, TIGHT_RUN

OPTIONS = {"integrator": "rk4", "step": 1e-3, "record": 0.05}


def swinging() -> Mechanism:
    return chain(2)


@pytest.mark.parametrize("coordinates", ["tree", "free"])
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


def test_bad_changes_say_what_is_wrong() -> None:
    for make, message in (
        (lambda: Change("snap", "j0", at=1.0), "unknown change 'snap'"),
        (lambda: Change("break", "j0"), "say when"),
        (lambda: Change("set", "j0", at=1.0), "values are for 'set'"),
        (lambda: chain(1).simulate(1.0, changes=[Change("break", "j9", at=0.1)]), "unknown joint 'j9'"),
    ):
        with pytest.raises(DalembertError, match=message):
            make()
