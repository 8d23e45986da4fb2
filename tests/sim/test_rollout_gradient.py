"""Gradients of losses of rollouts, against differences."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, elements, load
from dalembert.math import sin
from tolerances import INTEGRATED, SLOPE

STEPS, STEP = 20, 1e-2


def loss(t, q, v):
    return sin(q[0]) * q[1] + 0.3 * v @ v + t * q[1]


def slope(call, x, direction, h=1e-6):
    """The slope of a loss along a direction, by differences."""
    return (call(x + h * direction).loss - call(x - h * direction).loss) / (2 * h)


@pytest.mark.parametrize("record", [None, 1, 5])
@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4", "implicit-fast"])
def test_in_states_torques_and_parameters(integrator, record) -> None:
    robot, rng = load("2r"), np.random.default_rng(0)
    q, v = rng.normal(size=(2, 3, 2))
    rows, inertia = rng.normal(size=(3, STEPS, 2)), np.tile(robot.live_values("inertia"), (3, 1))
    options = {"step": STEP, "steps": STEPS, "integrator": integrator, "every": record, "friction": "smooth"}

    def at(q=q, v=v, rows=rows, inertia=inertia):
        return robot.rollout_gradient(loss, q, v, rows, parameters={"inertia": inertia}, **options)

    found = at()
    rolled = robot.rollout(q, v, rows, parameters={"inertia": inertia}, **options)
    assert np.array_equal(found.rollout.q, rolled.q) and np.array_equal(found.rollout.v, rolled.v)
    assert (
        found.torque.shape == rows.shape and found.controls is None and "<RolloutGradient of 3 motions" in repr(found)
    )
    for name, x, gradient in (
        ("q", q, found.q),
        ("v", v, found.v),
        ("rows", rows, found.torque),
        ("inertia", inertia, found.parameters["inertia"]),
    ):
        direction = rng.normal(size=x.shape) * (x if name == "inertia" else 1.0)  # masses stay what masses can be
        axes = tuple(range(1, x.ndim))
        wanted = slope(lambda y, name=name: at(**{name: y}), x, direction)
        np.testing.assert_allclose((gradient * direction).sum(axis=axes), wanted, rtol=INTEGRATED, atol=SLOPE)


def test_one_motion_with_a_loss_by_hand() -> None:
    """Without gravity a unit mass moves x = v T: the loss x² has the slope 2 v T² in v."""
    builder = ModelBuilder("slide", gravity=(0, 0, 0))
    builder.add_body("m", parent="world", joint="prismatic", axis=(1, 0, 0), mass=1.0, inertia=np.eye(3))
    robot = Robot(builder.model())
    found = robot.rollout_gradient(lambda t, q, v: q[0] * q[0], [0.0], [3.0], step=0.1, steps=10)
    assert found.loss == pytest.approx(9.0) and found.v == pytest.approx([6.0]) and found.q == pytest.approx([6.0])
    assert found.torque is None


def test_controls_and_elements_with_states() -> None:
    builder = ModelBuilder("driven")
    link = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": 0.1 * np.eye(3), "axis": (0, 1, 0)}
    builder.add_body("a", parent="world", joint="revolute", **link)
    builder.add_body("b", parent="a", joint="revolute", xyz=(0.5, 0, 0), **link)
    builder.add_actuator("servo", "a", gain=(20.0, 0, 0), bias=(0, -20.0, -1.0), dynamics="filter", time_constant=0.1)
    builder.add_actuator("motor", "b")
    robot = Robot(builder.model())
    soft = [elements.FlexibleJoint("b", stiffness=30.0, inertia=0.2, damping=0.1)]
    q, v, u = np.array([0.3, -0.2]), np.array([0.1, 0.5]), np.array([0.8, 0.4])

    def at(q=q, v=v, u=u):
        return robot.rollout_gradient(loss, q, v, step=STEP, steps=STEPS, elements=soft, controls=u)

    found = at()
    assert found.torque is None
    for name, x, gradient in (("q", q, found.q), ("v", v, found.v), ("u", u, found.controls)):
        for direction in np.eye(2):
            wanted = slope(lambda y, name=name: at(**{name: y}), x, direction)
            assert gradient @ direction == pytest.approx(wanted, rel=INTEGRATED, abs=0.1 * SLOPE)


def test_mistakes_are_told() -> None:
    robot = load("2r")
    with pytest.raises(DalembertError, match=r"loss returned shape \(2,\), expected one number"):
        robot.rollout_gradient(lambda t, q, v: q, [0, 0], [0, 0], steps=2)
    with pytest.raises(DalembertError, match=r"q has shape \(3,\)"):
        robot.rollout_gradient(loss, [0, 0, 0], [0, 0], steps=2)
