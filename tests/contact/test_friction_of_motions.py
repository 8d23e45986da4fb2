"""Rollouts whose motions have friction of their own."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError
from dalembert.compiler.graph import Function
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


def test_steppers_take_it_in_every_call() -> None:
    """With the memory of contacts, and for controllers; a later value acts from its step on and compiles nothing."""
    contact = Contact(ground=0.0)
    q, v = np.tile(START, (3, 1)), np.tile(np.array(SLIDES), (3, 1))
    step = box().stepper(2e-3, contact=contact, parameters=("contact_friction", "gravity"))
    memory, values = step.start(q, v), {"contact_friction": MU[:, None], "gravity": [0.0, 0.0, -G]}
    for _ in range(50):
        q, v, memory = step(q, v, np.zeros(6), memory, **values)
    np.testing.assert_array_equal(q, slide(50).q)
    before = v[:, 3]
    q, v, memory = step(q, v, np.zeros(6), memory, **values | {"contact_friction": 0.5})
    np.testing.assert_allclose(before - v[:, 3], 0.5 * G * 2e-3, atol=CONTACT_SOLVER)
    alone = step(q[0], v[0], contact_friction=0.5, gravity=[0.0, 0.0, -G])
    np.testing.assert_allclose(alone[1][3], v[0, 3] - 0.5 * G * 2e-3, atol=CONTACT_SOLVER)
    controlled = box().stepper(
        2e-3, contact=contact, torque=lambda t, q, v: np.zeros(6), parameters=("contact_friction",)
    )
    after = controlled(START, SLIDES, controlled.start(START, SLIDES), contact_friction=0.1)
    np.testing.assert_allclose(after[1][3], 2.0 - 0.1 * G * 2e-3, atol=CONTACT_SOLVER)


def test_what_steppers_refuse() -> None:
    step = box().stepper(2e-3, contact=Contact(ground=0.0), parameters=("contact_friction",))
    state = START, SLIDES, np.zeros(6)
    with pytest.raises(DalembertError, match="stepper: contact_friction is missing"):
        step(*state)
    with pytest.raises(DalembertError, match="stepper: contact_friction is -1"):
        step(*state, contact_friction=-1.0)
    with pytest.raises(TypeError, match="mu"):
        step(*state, contact_friction=0.5, mu=0.3)
    with pytest.raises(DalembertError, match="expected a tuple of names"):
        box().stepper(2e-3, contact=Contact(ground=0.0), parameters="contact_friction")
    with pytest.raises(DalembertError, match="stepper: parameters: contact_friction: there is no contact"):
        box().stepper(2e-3, parameters=("contact_friction",))


def test_another_number_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contact made with another friction takes the code of the one before, alone, in batches and of one state."""
    robot = box()
    q, v = np.tile(START, (4, 1)), np.tile(SLIDES, (4, 1))

    def slid(mu: float) -> tuple[float, float, float]:
        contact = Contact(ground=0.0, friction=mu)
        batch = robot.rollout(q, v, step=2e-3, steps=10, contact=contact)
        one = robot.rollout(START, SLIDES, step=2e-3, steps=10, contact=contact)
        return batch.v[0, 3], one.v[3], robot.contact_dynamics(START, SLIDES, np.zeros(6), contact=contact).a[3]

    slid(0.3)
    monkeypatch.setattr(Function, "__init__", None)  # which a trace makes
    for mu in (0.1, 0.55):
        batch, one, a = slid(mu)
        assert batch == one == pytest.approx(2.0 - mu * G * 0.02, abs=CONTACT_SOLVER)
        assert a == pytest.approx(-mu * G, rel=CONTACT_SOLVER)
