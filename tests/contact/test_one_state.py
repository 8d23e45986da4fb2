"""Accelerations and forces of one state: dry friction of joints, and live parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert
from dalembert import Contact, DalembertError, ModelBuilder, Robot
from dalembert.shapes import Sphere
from golden.contact_scenes import LEG, STEP, quadruped
from tolerances import COMPUTED, ITERATED, PRODUCT

FRICTION, STIFFNESS, STILL = 2.0, 80.0, 1e-5  # [N·m], [N·m/rad] of the scene's springs, [m/s², rad/s²]
INERTIA, MASS, ARM, G = 0.1, 1.0, 0.3, 9.81


def pendulum(friction: float) -> Robot:
    """A link on a hinge above the ground, with friction; it has inertia about the hinge and a mass at its end."""
    builder = ModelBuilder("pendulum", gravity=(0.0, 0.0, -G))
    link: dict[str, Any] = {"joint": "revolute", "joint_name": "hinge", "axis": (0, 1, 0), "mass": MASS}
    inertia = (INERTIA - MASS * ARM**2 + 0.2) * np.eye(3)
    builder.add_body("link", parent="world", xyz=(0, 0, 1.0), com=(ARM, 0, 0), inertia=inertia, **link)
    builder.add_geometry(Sphere(0.05), body="link", xyz=(ARM, 0, 0), role="collision")
    return builder.build().edit().set_joint("hinge", friction=friction).done()


@pytest.mark.parametrize("model", ["rigid", "compliant"])
def test_friction_of_a_joint_holds_and_slides(model: str) -> None:
    """m g l cos q = 2.9 N·m: 4 N·m hold it, 1 N·m slow it, and at speed it acts against the motion."""
    contact = Contact(ground=0.0, model=model)
    q, total = np.array([[0.0], [0.0], [0.0]]), INERTIA + 0.2
    v = np.array([[0.0], [1.0], [-1.0]])
    gravity = MASS * G * ARM
    for friction in (1.0, 4.0):
        robot = pendulum(friction)
        found = robot.contact_dynamics(q, v, np.zeros((3, 1)), contact=contact).a[:, 0]
        still = max(gravity - friction, 0.0)
        expected = np.array([still, gravity - friction, gravity + friction]) / total
        np.testing.assert_allclose(found, expected, atol=1e3 * COMPUTED)  # velocities divided by 10 µs
        bare = pendulum(0.0).contact_dynamics(
            q, v, np.zeros((3, 1)), contact=contact, parameters={"friction": np.array([[friction]])}
        )
        np.testing.assert_allclose(bare.a[:, 0], expected, atol=1e3 * COMPUTED)


@pytest.mark.parametrize("feet", [True, False], ids=["feet", "in slots"])
def test_a_robot_at_rest_is_at_rest(feet: bool) -> None:
    """Where a rollout with dry friction has come to rest there are no accelerations; without friction there are."""
    scene = quadruped()
    edit = scene.robot.edit()
    for joint in scene.robot.joints[1:]:
        edit = edit.set_joint(joint.name, friction=FRICTION)
    robot = edit.done()
    names = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    contact = Contact(ground=0.0, friction=0.8, pairs=[(name, "ground") for name in names]) if feet else scene.contact
    still = np.zeros(robot.nv)
    end = robot.rollout(scene.q, still, step=STEP, steps=1000, contact=contact, elements=scene.springs)
    tau = np.concatenate([np.zeros(6), STIFFNESS * (np.array(LEG * 4) - end.q[7:])])
    assert np.abs(end.v).max() < ITERATED
    found = robot.contact_dynamics(end.q, still, tau, contact=contact)
    assert np.abs(found.a).max() < STILL
    weight = G * sum(body.inertia.mass for body in robot.model.bodies)
    assert found.force[:, 2].sum() == pytest.approx(weight, rel=ITERATED)
    slippery = robot.contact_dynamics(end.q, still, tau, contact=contact, parameters={"friction": np.zeros(18)})
    assert np.abs(slippery.a).max() > 1.0
    smaller = [[0.8], [0.01]]
    two = robot.contact_dynamics(end.q, still, tau, contact=contact, parameters={"contact_friction": smaller})
    np.testing.assert_allclose(two.a[0], found.a, atol=STILL)
    assert two.a.shape == (2, 18) and two.gap.shape == (2, *found.gap.shape)


def test_live_friction_is_that_of_the_contact() -> None:
    robot = dalembert.load("quadruped")
    q, v = robot.neutral(), np.full(robot.nv, 0.1)
    q[2] = -robot.contact_dynamics(q, v, np.zeros(robot.nv), contact=Contact(ground=0.0)).gap.min()
    for mu in (0.1, 0.5):
        stated = robot.contact_dynamics(q, v, np.zeros(robot.nv), contact=Contact(ground=0.0, friction=mu))
        live = robot.contact_dynamics(
            q, v, np.zeros(robot.nv), contact=Contact(ground=0.0), parameters={"contact_friction": [mu]}
        )
        np.testing.assert_allclose(live.force, stated.force, rtol=PRODUCT, atol=1e3 * ITERATED)


def test_what_it_refuses() -> None:
    robot = pendulum(1.0)
    state = [0.0], [0.0], [0.0]
    with pytest.raises(DalembertError, match="contact_dynamics: contact_friction is -1"):
        robot.contact_dynamics(*state, contact=Contact(ground=0.0), parameters={"contact_friction": -1.0})
    with pytest.raises(DalembertError, match="frction"):
        robot.contact_dynamics(*state, contact=Contact(ground=0.0), parameters={"frction": 1.0})
