"""Rollouts whose motions have friction of their own."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError
from loose_bodies import SIDE, G, ball, box
from tolerances import CONTACT_SOLVER, DIFFERENCE

MU = np.array([0.1, 0.3, 0.6])
START, SLIDES = [0, 0, 0.5 * SIDE, 1, 0, 0, 0], [0, 0, 0, 2.0, 0, 0]


def slide(steps=100, mu=MU, robot=None, **options):
    q, v = np.tile(START, (len(mu), 1)), np.tile(SLIDES, (len(mu), 1))
    contact = Contact(**options)
    return (robot or box()).rollout(
        q, v, step=2e-3, steps=steps, contact=contact, parameters={"contact_friction": mu[:, None]}
    )


def test_each_motion_slides_with_its_own():
    """v = v0 − µ g t."""
    np.testing.assert_allclose(slide().v[:, 3], 2.0 - MU * G * 0.2, atol=CONTACT_SOLVER)


@pytest.mark.parametrize("options", [{}, {"model": "compliant", "stiffness": 1e4, "slip_speed": 0.05}])
def test_it_is_the_friction_of_a_contact(options):
    """To the bit."""
    same = box().rollout(
        np.tile(START, (3, 1)), np.tile(SLIDES, (3, 1)), step=2e-3, steps=50, contact=Contact(friction=0.3, **options)
    )
    assert np.array_equal(slide(50, np.full(3, 0.3), **options).q, same.q)


def test_beside_arguments_of_a_law():
    """Which may be lists, and which a law that takes any keywords does not get."""
    names = set()

    def law(t, q, v, **arguments):
        names.update(arguments)
        return np.zeros(6)

    parameters = {"contact_friction": [0.3], "gain": [1.0, 2.0]}
    end = box().rollout(START, SLIDES, law, step=2e-3, steps=100, contact=Contact(), parameters=parameters)
    assert names == {"gain"} and end.v[3] == pytest.approx(2.0 - 0.3 * G * 0.2, abs=CONTACT_SOLVER)


def test_slopes():
    """Of where a box is, in its friction, against differences."""
    contact, h = Contact(), 1e-5

    def far(t, q, v):
        return q[0]

    def at(mu):
        return box().rollout_gradient(
            far, START, SLIDES, step=2e-3, steps=50, contact=contact, parameters={"contact_friction": np.array([mu])}
        )

    slope = (at(0.3 + h).loss - at(0.3 - h).loss) / (2 * h)
    assert at(0.3).parameters["contact_friction"] == pytest.approx(slope, rel=DIFFERENCE)


def test_what_it_refuses():
    for match, change in (
        ("there is no contact", {"contact": None}),
        ("leave out static_friction", {"contact": Contact(friction=0.5, static_friction=0.6)}),
        ("MuJoCo's model", {"contact": Contact(model="mujoco")}),
        ("expected 0 or more", {"parameters": {"contact_friction": np.array([-0.1])}}),
        ("expected 0 or more", {"parameters": {"contact_friction": np.array([np.nan])}}),
        ("did you mean 'contact_friction'", {"parameters": {"contact_frictions": np.array([0.5])}}),
        ("contact_friction has shape", {"parameters": {"contact_friction": np.full((2, 3), 0.5)}}),
    ):
        options = {"contact": Contact(), "parameters": {"contact_friction": np.array([0.5])}} | change
        with pytest.raises(DalembertError, match=match):
            ball().rollout(START, np.zeros(6), step=2e-3, steps=2, **options)
