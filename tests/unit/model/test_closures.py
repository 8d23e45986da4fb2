"""Closures: rates and accelerations against differences, zero sets, and what the builder refuses."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder
from dalembert.model import JointEquation
from dalembert.model.closures import CLOSURES, closure_maker
from dalembert.model.frame import Frame
from dalembert.model.geometry import Box, Sphere
from dalembert.spatial import Pose, so3
from tolerances import ROUGH_SLOPE, ROUNDING, SLOPE

SHAPES = {
    "axis": np.array([0.6, 0.0, 0.8]),
    "axis2": np.array([0.0, 1.0, 0.0]),
    "length": 0.7,
    "pitch": 0.2,
}
NEEDS = {
    "universal": ("axis", "axis2"),
    "distance": ("length",),
    "screw": ("axis", "pitch"),
    **dict.fromkeys(("revolute", "prismatic", "cylindrical", "planar", "point-on-line", "point-on-plane"), ("axis",)),
}


def made(kind: str):
    shape = {key: SHAPES[key] for key in NEEDS.get(kind, ())}
    frame = Frame("f", 0, Pose.identity())
    return closure_maker(kind, shape, "test")(name="c", a=frame, b=frame)


def motion(t: float) -> Pose:
    """A smooth motion of L as seen from K."""
    w = np.array([0.3 + 0.5 * t, -0.2 + 0.1 * t * t, 0.4 * t])
    return Pose(so3.exp(w), np.array([0.2 + 0.3 * t, -0.5 * t + t * t, 0.4 + 0.2 * t**3]))


def velocity(t: float, h: float = 1e-5) -> np.ndarray:
    """[ω; ṗ] along K's axes, by central differences."""
    before, after = motion(t - h), motion(t + h)
    W = (after.R - before.R) / (2 * h) @ motion(t).R.T
    return np.concatenate([[W[2, 1], W[0, 2], W[1, 0]], (after.p - before.p) / (2 * h)])


@pytest.mark.parametrize("kind", CLOSURES)
def test_rate_and_acceleration_are_the_derivatives_of_the_residual(kind: str) -> None:
    closure, t, h = made(kind), 0.3, 1e-4
    residual = [closure.residual(motion(t + k * h)) for k in (-1, 0, 1)]
    V = velocity(t)
    A = (velocity(t + h) - velocity(t - h)) / (2 * h)
    assert residual[0].shape == (closure.count,)
    np.testing.assert_allclose(closure.rate(motion(t), V), (residual[2] - residual[0]) / (2 * h), atol=SLOPE)
    second = (residual[2] - 2 * residual[1] + residual[0]) / h**2
    np.testing.assert_allclose(closure.acceleration(motion(t), V, A), second, atol=ROUGH_SLOPE)


@pytest.mark.parametrize("kind", CLOSURES)
def test_freedoms_and_equations_make_six(kind: str) -> None:
    """The rate at a closed pose has full rank: `count` motions are stopped, the others are free."""
    closure = made(kind)
    offset = 0.7 * np.array([0.0, 0.0, 1.0]) if kind == "distance" else np.zeros(3)
    closed = Pose(np.eye(3), offset)
    if kind == "universal":
        assert SHAPES["axis"] @ SHAPES["axis2"] == 0.0
    np.testing.assert_allclose(closure.residual(closed), 0.0, atol=ROUNDING)
    rates = np.stack([closure.rate(closed, V) for V in np.eye(6)], axis=1)
    assert np.linalg.matrix_rank(rates) == closure.count


def four_bar() -> ModelBuilder:
    b = ModelBuilder("four-bar")
    for name, parent, x in (("crank", "world", 0.0), ("coupler", "crank", 0.2), ("rocker", "world", 0.5)):
        b.add_body(
            name, parent=parent, joint="revolute", axis=(0, 1, 0), xyz=(x, 0, 0), mass=1.0, inertia=0.01 * np.eye(3)
        )
    b.add_frame("tip", body="coupler", xyz=(0.5, 0, 0))
    return b


def test_a_closure_joins_frames_bodies_and_the_world() -> None:
    b = four_bar()
    b.add_closure(
        "pin", "revolute", a="tip", b="rocker", placement_b=Pose(np.eye(3), np.array([0, 0, 0.3])), axis=(0, 2, 0)
    )
    b.add_closure("rope", "distance", a="world", b="tip", length=1.0)
    b.add_equation("gear", "rocker", "crank", coefficients=[0.1, -2.0])
    model = b.model()
    pin, rope, gear = model.closures
    assert (model.bodies[pin.a.body].name, model.bodies[pin.b.body].name, model.bodies[rope.a.body].name) == (
        "coupler",
        "rocker",
        "world",
    )
    np.testing.assert_array_equal(pin.a.placement.p, [0.5, 0, 0])
    np.testing.assert_array_equal(pin.axis, [0, 1, 0])
    assert isinstance(gear, JointEquation) and gear.law(0.5)[:2] == (-0.9, -2.0)
    assert model != four_bar().model() and model.without("loops") == four_bar().model()


def test_the_world_is_no_body_of_a_robot_with_a_base() -> None:
    b = ModelBuilder("held")
    b.add_body("base", parent="world", joint="free", mass=1.0)
    b.add_closure("rope", "distance", a="world", b="base", length=1.0)
    assert b.model().closures[0].a.body == -1


def test_the_law_of_an_equation_has_its_slope_and_curvature() -> None:
    law = JointEquation("e", "a", "b", np.array([1.0, -2.0, 0.5, 3.0])).law
    assert law(2.0) == (1 - 4 + 2 + 24, -2 + 2 + 36, 1 + 36)


def test_forward_dynamics_does_not_pass_over_a_loop() -> None:
    b = four_bar()
    b.add_closure("pin", "point", a="tip", b="rocker")
    robot = b.build()
    state = np.zeros(3)
    with pytest.raises(DalembertError, match=r"forward_dynamics: .*'pin',.*; robot.without\('loops'\)"):
        robot.forward_dynamics(state, state, state)
    assert robot.inverse_dynamics(state, state, state).shape == (3,)
    assert np.all(np.isfinite(robot.without("loops").mass_matrix(state)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pin", "revolute", {"a": "tip", "b": "rocker"}), "needs axis"),
        (("pin", "revolut", {"a": "tip", "b": "rocker"}), "did you mean 'revolute'"),
        (("pin", "point", {"a": "tipp", "b": "rocker"}), "did you mean 'tip'"),
        (("pin", "point", {"a": "tip", "b": "rocker", "axis": (0, 0, 1)}), "unknown argument 'axis'"),
        (("pin", "revolute", {"a": "tip", "b": "rocker", "axis": (0, 0, 0)}), "not all zero"),
        (("pin", "distance", {"a": "tip", "b": "rocker", "length": -1}), "a length above 0"),
    ],
)
def test_the_builder_says_what_a_closure_lacks(arguments: tuple, said: str) -> None:
    name, kind, rest = arguments
    with pytest.raises(DalembertError, match=said):
        four_bar().add_closure(name, kind, **rest)


def test_a_closure_inside_one_body_is_refused() -> None:
    b = four_bar()
    b.add_closure("self", "point", a="tip", b="coupler")
    with pytest.raises(DalembertError, match="parts of one body"):
        b.model()


def test_geometry_moves_nothing() -> None:
    plain, drawn = four_bar(), four_bar()
    drawn.add_geometry(Box(np.array([0.1, 0.2, 0.3])), body="crank", xyz=(0.1, 0, 0), color=(1, 0, 0, 1))
    drawn.add_geometry(Sphere(0.1), body="crank", role="collision")
    model = drawn.model()
    assert model == plain.model() and model.fingerprint == plain.model().fingerprint
    box, ball = model.body("crank").parts[0].geometry
    assert (box.role, ball.role, box.shape.size.tolist()) == ("visual", "collision", [0.1, 0.2, 0.3])
    assert not box.shape.size.flags.writeable
