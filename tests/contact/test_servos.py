"""Servos of the model's actuators in steps with rigid contact: their gains may be far too stiff for explicit steps."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot, SimulationError
from dalembert.model.geometry import Sphere
from loose_bodies import G
from tolerances import INTEGRATED, REORDERED, SETTLED

STIFFNESS, DAMPING = 1e5, 3e3  # ω = √(k/I) is above 2000 rad/s, k d/I some 1e5 1/s: explicit steps of 2 ms diverge
MASS, LENGTH, TURNED, MOST = 0.5, 0.2, 0.05, 2.0
GRAVITY = 0.02  # of the angle: what the arm's weight adds to the torque
SAG = 0.01  # of the sag: what is left of its settling after 0.5 s
BOOKS = 1e-3  # of the energy exchanged: what first-order steps of 2 ms of so stiff a servo miss
CONTACT = Contact(friction=0.8)


@pytest.fixture(scope="module")
def cart() -> Robot:
    """A table on three balls with an upright arm on a servo."""
    builder = ModelBuilder("cart", gravity=(0.0, 0.0, -G))
    builder.add_body("cart", parent="world", joint="free", mass=5.0, inertia=np.eye(3) * 0.1)
    for x, y in ((0.2, 0.0), (-0.2, 0.2), (-0.2, -0.2)):
        builder.add_geometry(Sphere(0.1), body="cart", xyz=(x, y, 0), role="collision")
    builder.add_body(
        "arm", parent="cart", joint="revolute", joint_name="hinge", axis=(0, 1, 0), mass=MASS, com=(0, 0, LENGTH),
        inertia=np.eye(3) * 1e-3, xyz=(0, 0, 0.1),
    )  # fmt: skip
    builder.add_actuator(
        "servo", joint="hinge", gain=(STIFFNESS, 0, 0), bias=(0, -STIFFNESS, -DAMPING), force_limits=(-MOST, MOST)
    )
    return builder.build()


START = np.array([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(7)


def test_a_stiff_servo_goes_where_it_is_told(cart: Robot) -> None:
    run = cart.simulate(*START, 0.5, step=2e-3, controls=[TURNED], contact=CONTACT)
    sag = MASS * G * LENGTH * np.sin(TURNED) / STIFFNESS
    assert run.q[-1, 7] - TURNED == pytest.approx(sag, rel=SAG)
    assert np.abs(run.v[-1]).max() < INTEGRATED
    assert np.abs(run.q[-1, :3] - START[0][:3]).max() < SETTLED
    assert np.abs(run.energy.residual).max() < BOOKS * run.energy.scale
    assert any("servos act at the end of each step" in line for line in run.log)
    motion = cart.rollout(*START, step=2e-3, steps=250, controls=[TURNED], contact=CONTACT)
    np.testing.assert_allclose(motion.q, run.q[-1], atol=REORDERED)


def test_a_servo_at_its_limit_is_a_constant_force(cart: Robot) -> None:
    """Its gains do not count then: the arm accelerates as under that torque, until it has to be braked."""
    run = cart.simulate(*START, 0.02, step=2e-3, record=2e-3, controls=[1.0], contact=CONTACT)
    inertia = 1e-3 + MASS * LENGTH**2
    assert run.contacts.ratio.max() < 1.0 and np.abs(run.q[:, :3] - START[0][:3]).max() < INTEGRATED  # the cart stays
    np.testing.assert_allclose(run.q[:, 7], 0.5 * MOST / inertia * run.t**2, rtol=GRAVITY)


def test_a_law_too_stiff_for_the_step_is_named_with_the_cure(cart: Robot) -> None:
    def law(t, q, v):
        return np.concatenate([np.zeros(6), STIFFNESS * (TURNED - q[7:]) - DAMPING * v[6:]])

    with pytest.raises(SimulationError, match=r"too long for the torque law.*'hinge'.*take at most .*give controls"):
        cart.simulate(*START, 0.5, law, step=2e-3, contact=CONTACT)
    with pytest.raises(SimulationError, match="servos of actuators in the place of a stiff torque law"):
        cart.rollout(*START, law, step=2e-3, steps=250, contact=CONTACT)
    unchecked = cart.rollout(*START, law, step=2e-3, steps=250, contact=CONTACT, check=False)
    assert unchecked.contacts.diverged and unchecked.contacts.unsettled > 0
    servo = cart.rollout(*START, step=2e-3, steps=250, controls=[TURNED], contact=CONTACT, check=False)
    assert not servo.contacts.diverged
