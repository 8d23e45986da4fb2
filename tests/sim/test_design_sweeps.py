"""Placements of joints as live parameters of rollouts, beside robots that were rebuilt."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, Robot, load
from dalembert.quantities.live import GROUPS
from tolerances import ACCUMULATED

STANCE = np.tile([0.0, 0.8, -1.6], 4)


@pytest.fixture(scope="module")
def dog():
    return load("quadruped")


def designs(robot, count):
    """Joints of legs moved by centimetres and turned by a tenth of a radian."""
    rng, x = np.random.default_rng(0), np.zeros((count, len(robot.model.bodies), 6))
    legs = [body.index for body in robot.model.bodies if body.parent >= 0 and body.joint.nv == 1]
    x[:, legs, :3] = rng.uniform(-0.03, 0.03, (count, len(legs), 3))
    x[:, legs, 3:] = rng.uniform(-0.1, 0.1, (count, len(legs), 3))
    return x.reshape(count, -1)


def test_a_design_moves_as_the_robot_rebuilt(dog):
    """One of three that share a batch, on rigid ground, with feet where the design puts them."""
    q, v, x, contact = dog.neutral(), np.zeros(dog.nv), designs(dog, 3), Contact(ground=0.0)
    q[2], q[7:] = 0.36, STANCE
    options = {"step": 2e-3, "steps": 100, "every": 50, "contact": contact}
    swept = dog.rollout(q, v, parameters={"placement": x}, **options)
    rebuilt = Robot(GROUPS["placement"].put(dog.model, x[1])).rollout(q, v, **options)
    np.testing.assert_allclose(swept.q[1], rebuilt.q, atol=ACCUMULATED)
    np.testing.assert_allclose(swept.v[1], rebuilt.v, atol=10 * ACCUMULATED)
    assert np.abs(swept.q[0] - swept.q[1]).max() > 0.05


def test_the_displacement_of_an_elbow_is_a_longer_link():
    """Beside a model that was edited: set_placement of the same joint."""
    arm = load("2r")
    elbow = (
        arm.model.joint("joint2") if any(b.joint.name == "joint2" for b in arm.model.bodies) else arm.model.bodies[-1]
    )
    x = np.zeros((len(arm.model.bodies), 6))
    x[elbow.index, 0] = 0.1
    place = (elbow.placement.p + elbow.placement.R @ [0.1, 0.0, 0.0]).tolist()
    longer = arm.edit().set_placement(elbow.name, xyz=place).done()
    q, v = np.array([0.3, 0.4]), np.array([1.0, -0.5])
    swept = arm.rollout(q, v, steps=200, parameters={"placement": x.ravel()})
    np.testing.assert_allclose(swept.q, longer.rollout(q, v, steps=200).q, atol=ACCUMULATED)
    assert np.abs(swept.q - arm.rollout(q, v, steps=200).q).max() > 0.001
