"""The capture point against the support polygon: closed forms, and the geometry of another function."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, Event, ModelBuilder, control, load
from dalembert.contact.support import support_margin, support_polygon
from dalembert.control.balance import _margin
from dalembert.shapes import Sphere
from tolerances import COMPUTED, ITERATED, MILLISECOND_STEPS


def test_a_foot_at_the_capture_point_brings_the_pendulum_to_rest():
    """The inverted pendulum of height h above a foot at p: c̈ = g/h (c − p)."""
    b = ModelBuilder("cart", gravity=(0, 0, -9.81))
    b.add_body("x", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=1e-9)
    b.add_body("mass", parent="x", joint="prismatic", joint_name="y", axis=(0, 1, 0), mass=5.0, com=(0, 0, 0.5))
    for name, at in {"left": (0, 0.1, 0), "right": (0, -0.1, 0)}.items():
        b.add_frame(name, body="mass", xyz=at)
    robot, q, v = b.build(), np.array([0.2, -0.1]), np.array([0.7, 0.3])
    found, w = control.balance(robot, q, v, ("left", "right")), np.sqrt(9.81 / 0.5)
    np.testing.assert_allclose(found.point, [*(q + v / w), 0.0], atol=ITERATED)
    c, p, t = q, found.point[:2], 20.0 / w
    assert np.allclose(p + (c - p) * np.cosh(w * t) + v / w * np.sinh(w * t), p, atol=np.exp(w * t) * ITERATED)
    assert found.margin == pytest.approx(-abs(v[0] / w), abs=ITERATED)  # beside the line of two feet


def test_gravity_is_that_of_the_robot():
    """On the Moon a robot falls more slowly, so that its capture point is further away; sideways there is none."""
    dog, v = load("quadruped"), np.zeros(18)
    q, feet, v[3] = dog.neutral(), [frame.name for frame in dog.frames if "foot" in frame.name], 0.5
    moon = dog.edit().gravity((0, 0, -1.62)).done()
    places = [control.balance(robot, q, v, feet, -0.5).point[0] - robot.center_of_mass(q)[0] for robot in (dog, moon)]
    assert places[1] / places[0] == pytest.approx(np.sqrt(9.81 / 1.62), rel=ITERATED)
    with pytest.raises(DalembertError, match=r"gravity of robot 'quadruped' is .*expected downwards"):
        control.balance(dog.edit().gravity((9.81, 0, 0)).done(), q, v, feet)
    with pytest.raises(DalembertError, match=r"gravity of robot 'quadruped' is .*on Earth"):
        control.legs(moon, feet, q)


@pytest.mark.parametrize("count", [3, 4, 6])
def test_the_margin_is_the_distance_from_the_sides_of_the_hull(count):
    rng = np.random.default_rng(count)
    for _ in range(50):
        corners, point = rng.normal(size=(count, 2)), 0.5 * rng.normal(size=2)
        margin, expected = _margin(list(corners), point), support_margin(support_polygon(corners), point)
        assert np.sign(margin) == np.sign(expected)
        if expected > 0.0:
            assert margin == pytest.approx(expected, abs=COMPUTED)
        else:
            assert expected <= margin + COMPUTED  # beyond a corner the sides' lines are nearer than the polygon
    assert _margin([corners[0]], corners[0] + [0.3, 0.4]) == pytest.approx(-0.5)
    assert _margin([corners[0]] * 2, corners[0] + [0.3, 0.4]) == pytest.approx(-0.5)


def test_feet_that_are_not_named_are_an_error():
    robot = load("quadruped")
    with pytest.raises(DalembertError, match="no feet"):
        control.balance(robot, robot.neutral(), np.zeros(robot.nv), ())


def test_events_on_rigid_ground_beside_dry_friction_of_joints():
    """A ball falls past half its height: an event ended in a raw error where a joint has dry friction."""
    b = ModelBuilder("drop", gravity=(0, 0, -9.81))
    b.add_body("ball", parent="world", joint="prismatic", joint_name="z", axis=(0, 0, 1), mass=1.0)
    b.add_body(
        "arm",
        parent="ball",
        joint="revolute",
        joint_name="turn",
        axis=(0, 1, 0),
        mass=0.1,
        inertia=1e-3 * np.eye(3),
        friction=0.1,
    )
    b.add_geometry(Sphere(0.1), body="ball", role="collision")
    robot = b.build()
    low = Event("low", lambda t, q, v: q[0] - 0.5, terminal=True)
    run = robot.simulate([1.0, 0.0], [0.0, 0.0], 1.0, step=1e-3, contact=Contact(ground=0.0), events=[low])
    assert run.t[-1] == pytest.approx(np.sqrt(1.0 / 9.81), abs=MILLISECOND_STEPS)
