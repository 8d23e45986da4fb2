"""Shapes that touch, and controllers at joints, in the words of a mechanism and of its file."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, Mechanism
from tolerances import COARSE_RUN, INTEGRATED, ITERATED, MILLISECOND_STEPS, SETTLED, TIGHT_RUN

SLID = 5e-3  # of a way that ends within a step
INTEGRATING = 0.01  # an integrator that has nearly settled
FIRST_RECORD = 0.05  # of a free fall whose acceleration changes on the way


def puck() -> Mechanism:
    """A ball of 2 kg on a floor that it slides over, pushed at 1 m/s; it cannot turn."""
    m = Mechanism("puck").body("puck", 2.0, [0.01] * 3).shape("puck.origin", "sphere", radius=0.1, name="skin")
    m.body("carriage", 0.5, [0.01] * 3, xyz=(0, 0, 0.1))
    m.joint("prismatic", "ground.origin", "carriage.origin", name="rail", axis=(1, 0, 0), start=0.0, rate=1.0)
    m.joint("prismatic", "carriage.origin", "puck.origin", name="lift", axis=(0, 0, 1), start=0.1)
    return m.contact("puck", friction=0.3)


def test_a_puck_slides_until_friction_has_stopped_it(tmp_path) -> None:
    m = puck()
    m.save(tmp_path / "puck.mech.toml")
    for robot in (m.build(), dalembert.load(tmp_path / "puck.mech.toml")):
        run = robot.simulate(*robot.start, 1.0, step=1e-3, record=0.1)
        deceleration = 0.3 * 2.0 * 9.81 / 2.5  # the weight of the puck presses, both are stopped
        assert run.q[-1, 0] == pytest.approx(0.5 / deceleration, rel=SLID)
        assert run.q[-1, 1] == pytest.approx(0.1, abs=COARSE_RUN) and abs(run.v[-1, 0]) < INTEGRATED
    free = puck().build("free")
    end = free.rollout(*free.start, step=1e-3, steps=200)
    assert free.pose(end.q, "puck.origin")[2, 3] == pytest.approx(0.1, abs=SETTLED)


def test_sensors_read_what_presses_and_what_is_left_between(tmp_path) -> None:
    """A ball comes to rest on a box that lies on the floor."""
    m = Mechanism("pile").body("box", 2.0, [0.01] * 3).shape("box.origin", "box", size=(0.2, 0.2, 0.2), name="skin")
    m.body("ball", 1.0, [0.01] * 3).shape("ball.origin", "sphere", radius=0.1)
    for body, height in (("box", 0.12), ("ball", 0.35)):
        m.joint("prismatic", "ground.origin", f"{body}.origin", name=f"{body} guide", start=height)
    m.contact("skin", friction=0.3).contact("ball", "box")
    m.sensor("gap", "ball", name="gap").sensor("contact-force", "box", name="on the box")
    m.sensor("contact-force", "ball", name="on the ball").sensor("contact-force", "ground", name="on the floor")
    m.sensor("position", "ball.origin", name="ball")
    m.save(tmp_path / "pile.mech.toml")
    for robot in (m.build(), dalembert.load(tmp_path / "pile.mech.toml")):
        run = robot.simulate(*robot.start, 0.5, step=1e-3, record=0.1)
        assert list(run.readings) == ["gap", "on the box", "on the ball", "on the floor", "ball"]
        assert run.readings["gap"][0] == pytest.approx(0.35 - 0.12 - 0.2, abs=ITERATED)
        assert run.readings["gap"][-1] == pytest.approx(0.0, abs=SETTLED)
        for name, newtons in (("on the box", 2.0 * 9.81), ("on the ball", 9.81), ("on the floor", -3.0 * 9.81)):
            np.testing.assert_allclose(run.readings[name][-1], (0.0, 0.0, newtons), atol=SETTLED * 9.81)
    with pytest.raises(DalembertError, match=r"sensor 'gap' reads contact, and this run has none"):
        robot.simulate(*robot.start, 0.1, contact=None)
    with pytest.raises(DalembertError, match=r"body 'a' may touch nothing: say what with contact"):
        Mechanism("m").body("a", 1.0, 0.1).sensor("gap", "a")


def test_contacts_that_mean_nothing_are_refused() -> None:
    m = Mechanism("m").body("a", 1.0, 0.1).body("b", 1.0, 0.1)
    with pytest.raises(DalembertError, match=r"contact of 'a' with 'ground': body 'a' has no shape: give it one"):
        m.contact("a")
    m.shape("a.origin", "sphere", radius=0.1)
    with pytest.raises(DalembertError, match="unknown body or shape 'c'"):
        m.contact("a", "c")
    with pytest.raises(DalembertError, match="those of the others are"):
        m.contact("a", friction=0.2).contact("shape1", friction=0.3)
    with pytest.raises(DalembertError, match=r"a box is stated by size, got radius"):
        m.shape("b.origin", "box", radius=1.0)
    with pytest.raises(DalembertError, match="unknown shape 'ball'"):
        m.shape("b.origin", "ball", radius=1.0)


def arm(**gains: float) -> Mechanism:
    m = Mechanism("arm", gravity=(0.0, -9.81, 0.0)).body("arm", 1.0, 0.02, com=(0.3, 0.0))
    m.joint("revolute", "ground.origin", "arm.origin", name="pivot", start=0.0)
    return m.controller("pivot", 0.5, **gains)


def test_an_integral_takes_away_what_gravity_leaves(tmp_path) -> None:
    weight = 0.3 * 9.81
    sagging = arm(kp=60.0, kd=1.0).build()
    q = sagging.equilibrium(sagging.start[0]).q[0]
    assert 60.0 * (0.5 - q) == pytest.approx(weight * np.cos(q), rel=ITERATED)
    stiffness = 60.0 - weight * np.sin(q)
    assert sagging.modes([q]).frequencies[0] == pytest.approx(np.sqrt(stiffness / 0.11), rel=TIGHT_RUN)
    exact = arm(kp=60.0, kd=8.0, ki=100.0)
    exact.save(tmp_path / "arm.mech.toml")
    for robot in (exact.build(), dalembert.load(tmp_path / "arm.mech.toml")):
        run = robot.simulate(*robot.start, 6.0, record=0.5)
        assert run.q[-1, 0] == pytest.approx(0.5, abs=MILLISECOND_STEPS)
        assert run.states[-1, 0] * 100.0 == pytest.approx(weight * np.cos(0.5), rel=INTEGRATING)


def test_a_limit_is_kept_and_the_integral_waits() -> None:
    robot = arm(kp=1e3, kd=20.0, ki=50.0, limit=2.0).build()  # too weak to lift it: it falls
    run = robot.simulate(*robot.start, 0.3, record=0.05)
    assert run.q[-1, 0] < -0.05 and np.max(np.abs(run.states)) < INTEGRATED
    a = robot.forward_dynamics(run.q[0], run.v[0], [2.0])
    assert run.q[1, 0] == pytest.approx(0.5 * a[0] * 0.05**2, rel=FIRST_RECORD)


@pytest.mark.parametrize(("kind", "of"), [("force", "s"), ("moment", "s"), ("acceleration", "w.origin")])
def test_sensors_that_contact_would_make_wrong_are_refused(kind, of) -> None:
    """A ball at rest on the ground read an acceleration of −9.81 m/s²."""
    m = Mechanism("ball").body("w", 1.0, [0.1] * 3).shape("w.origin", "sphere", radius=0.1)
    m.joint("prismatic", "ground.origin", "w.origin", name="s", start=0.1)
    m.contact("w", "ground").sensor(kind, of)
    with pytest.raises(
        DalembertError, match=f"sensor '{kind} of {of}' reads the {kind} of '{of}', which does not follow"
    ):
        m.simulate(0.1, step=1e-3)
    assert m.simulate(0.1, step=1e-3, contact=None).readings
