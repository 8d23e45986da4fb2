"""Small arms with equations of motion on paper: Spong's two links, the acrobot, a body turned about z, y and x."""

from __future__ import annotations

import numpy as np
import pytest
from numpy import pi

from dalembert import ModelBuilder, Robot
from refs.printed import data
from tolerances import RECURSION, REORDERED, assert_close

# Spong, Hutchinson, Vidyasagar: Robot Modeling and Control, p. 260 of the second edition, as tested by the Robotics
# Toolbox (tests/test_ERobot.py): point masses of 1 kg half-way along links of 1 m that turn about y, x forward.
SPONG_GRAVITY = {(0, 0): (-2, -0.5), (0, -pi / 2): (-1.5, 0), (-pi / 2, pi / 2): (-0.5, -0.5), (-pi / 2, 0): (0, 0)}

# RobotLocomotion/drake (BSD-3), multibody/benchmarks/acrobot: the closed form evaluated with both centres of mass 0.5 m
# from their joints.
ACROBOT = {
    "q": [0.7, -1.1],
    "v": [0.3, -0.5],
    "M": [[2.3665961214255775, 0.8067980607127887], [0.8067980607127887, 0.58]],
    "velocity terms": [-0.02228018400153589, -0.04010433120276459],
    "gravity": [7.5695662986786925, -1.9100969690239316],
    "free fall": [-8.245562987498714, 14.832250910389321],
}

ZYX = data("spherical_zyx")


def two_links(direction, moments) -> Robot:
    """Links of 1 m and 1 kg about y, centres of mass half-way along `direction`; moments of inertia about them."""
    builder, parent, xyz = ModelBuilder("two links"), "world", np.zeros(3)
    for name, I in zip(("upper", "lower"), moments, strict=True):
        builder.add_body(
            name, parent=parent, joint="revolute", axis=(0, 1, 0), xyz=xyz, mass=1.0, com=0.5 * np.array(direction),
            inertia=I * np.eye(3),
        )  # fmt: skip
        parent, xyz = name, np.array(direction, float)
    return builder.build()


@pytest.mark.parametrize("q", SPONG_GRAVITY)
def test_spong_gravity(q):
    robot = two_links((1, 0, 0), (0.0, 0.0))
    assert_close(robot.gravity(q) / 9.81, SPONG_GRAVITY[q], RECURSION)


def test_spong_mass_matrix_and_velocity_terms():
    robot = two_links((1, 0, 0), (0.0, 0.0))
    for q2 in (0.0, 0.4, -1.3, pi / 2):
        q, h = np.array([0.6, q2]), -0.5 * np.sin(q2)
        M12 = 0.25 + 0.5 * np.cos(q2)
        assert_close(robot.mass_matrix(q), [[1.5 + np.cos(q2), M12], [M12, 0.25]], RECURSION)
        for v, expected in {(1, 0): (0, -h), (0, 1): (h, 0), (1, 1): (3 * h, -h)}.items():
            assert_close(robot.bias(q, v) - robot.gravity(q), expected, RECURSION, scale=10.0)


def test_acrobot():
    robot, q, v = two_links((0, 0, -1), (0.083, 0.33)), ACROBOT["q"], ACROBOT["v"]
    assert_close(robot.mass_matrix(q), ACROBOT["M"], RECURSION)
    assert_close(robot.gravity(q), ACROBOT["gravity"], RECURSION)
    assert_close(robot.bias(q, v) - robot.gravity(q), ACROBOT["velocity terms"], RECURSION)
    assert_close(robot.forward_dynamics(q, v, np.zeros(2)), ACROBOT["free fall"], RECURSION)


@pytest.mark.parametrize("case", ZYX["cases"], ids=lambda case: str(case["q"]))
def test_turns_about_z_y_x(case):
    builder = ModelBuilder("z y x")
    builder.add_body("z", parent="world", joint="revolute", axis=(0, 0, 1))
    builder.add_body("y", parent="z", joint="revolute", axis=(0, 1, 0))
    solid = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": np.eye(3)}
    builder.add_body("x", parent="y", joint="revolute", axis=(1, 0, 0), **solid)
    robot, q = builder.build(), case["q"]
    tau = robot.inverse_dynamics(q, case["v"] * np.ones(3), case["a"] * np.ones(3))
    assert_close(tau, case["tau"], REORDERED)  # printed with fourteen digits
    if "M" in case:
        assert_close(robot.mass_matrix(q), case["M"], REORDERED)
