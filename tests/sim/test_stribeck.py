"""Stribeck friction of joints: the same law in dry and smooth runs, rollouts, files and fits."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, elements, identify, load
from simulated import log_of
from tolerances import INTEGRATED, PRINTED, REACHED

COULOMB, RISE, SPEED, MASS = 2.0, 3.0, 0.2, 1.5
FOUND = 0.05  # of friction from a log with noise of 0.02 N·m


def slide(**friction):
    builder = ModelBuilder("slide", gravity=(0.0, 0.0, 0.0))
    builder.add_body("box", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=MASS, **friction)
    return builder.build()


@pytest.fixture
def falling():
    return slide(friction=COULOMB, stribeck=RISE, stribeck_speed=SPEED)


def test_it_holds_up_to_its_level_at_rest(falling):
    """Between Coulomb's level and that at rest it holds to rounding; beyond, it breaks away and ends on Coulomb's."""
    held = falling.simulate([0.0], [0.0], 1.0, torque=[COULOMB + 0.9 * RISE])
    assert held.q[-1, 0] == 0.0
    force = COULOMB + 1.1 * RISE
    run = falling.simulate([0.0], [0.0], 2.0, torque=[force])
    late = run.t > 1.5
    slopes = np.gradient(run.v[:, 0], run.t)[late]
    np.testing.assert_allclose(slopes, (force - COULOMB) / MASS, rtol=PRINTED)
    assert run.audit().verdict == "good"


def test_dry_runs_are_those_of_the_element(falling):
    """The model's friction and `elements.Friction` of the same numbers, pulled to and fro through sticking."""

    def pull(t, q, v):
        return np.array([7.0 * np.sin(3.0 * t)])

    own = falling.simulate([0.0], [0.0], 3.0, torque=pull, record=0.01)
    beside = elements.Friction("x", COULOMB, COULOMB + RISE, stribeck_speed=SPEED)
    other = slide().simulate([0.0], [0.0], 3.0, torque=pull, elements=[beside], record=0.01)
    np.testing.assert_allclose(own.q, other.q, atol=INTEGRATED)
    assert np.ptp(own.q) > 0.1


def test_rollouts_and_smooth_runs_have_it(falling):
    """Sliding down from a speed: v̇ = −F(v)/m, in each of them."""
    v0, duration, step = 1.0, 0.15, 1e-4
    v = v0
    for _ in range(round(duration / step)):  # midpoint rule
        half = v - 0.5 * step * (COULOMB + RISE * np.exp(-((v / SPEED) ** 2))) / MASS
        v -= step * (COULOMB + RISE * np.exp(-((half / SPEED) ** 2))) / MASS
    dry = falling.simulate([0.0], [v0], duration)
    smooth = falling.simulate([0.0], [v0], duration, friction="smooth")
    stepped = falling.rollout([[0.0]], [[v0]], None, step, round(duration / step))
    for speed in (dry.v[-1, 0], smooth.v[-1, 0]):
        assert speed == pytest.approx(v, rel=PRINTED)
    assert float(np.ravel(stepped.v)[-1]) == pytest.approx(v, rel=10 * REACHED)


def test_soft_contacts_refuse_it(falling):
    with pytest.raises(DalembertError, match="no Stribeck friction, and joint 'x'"):
        falling.simulate([0.0], [0.0], 0.1, contact=Contact(model="mujoco"))


def test_a_fit_writes_it_into_the_file(tmp_path):
    """The verdict is that of the file: with Stribeck friction found and saved, it explains slow motions too."""
    robot = load("2r")
    truth = robot.edit()
    for joint in robot.joints:
        truth = truth.set_joint(joint.name, friction=0.4, damping=0.2, stribeck=0.8, stribeck_speed=0.1)
    motions = [identify.excitation(robot, duration=8.0, rate=100.0, starts=1, velocity=0.6, seed=s) for s in (1, 2)]
    log, other = (log_of(truth.done(), motion, noise=0.02, seed=1) for motion in motions)
    fit = identify.fit(robot, log, friction=("viscous", "coulomb", "stribeck"))
    fit.save(tmp_path / "arm.urdf")
    read = load(tmp_path / "arm.urdf")
    assert read.joint("elbow").stribeck[0] == pytest.approx(0.8, rel=FOUND)
    with_it, without = fit.validate(other, read), identify.fit(robot, log).validate(other)
    assert with_it.ok and with_it.rms[1] < 0.5 * without.rms[1]
