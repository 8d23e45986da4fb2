"""Worked examples of lectures and handbooks on Newton-Euler dynamics, with the numbers they print."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, load
from dalembert.cli.demo import MOVE, quintic
from refs.printed import assert_decimals
from tolerances import ITERATED, RECURSION, ROUNDING, assert_close


def free_body(mass: float, moments) -> Robot:
    """One body adrift, without gravity."""
    builder = ModelBuilder("body", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", parent="world", joint="free", mass=mass, inertia=np.diag(moments))
    return builder.build()


def test_pushed_sphere():
    """2 kg, radius 0.5 m, so 0.2 kg·m²: 6 N give 3 m/s², 1 N·m gives 5 rad/s²."""
    mass, radius = 2.0, 0.5
    robot = free_body(mass, np.full(3, 0.4 * mass * radius**2))
    push = np.array([0.0, 0.0, 1.0, 6.0, 0.0, 0.0])
    a = robot.forward_dynamics(robot.neutral(), np.zeros(6), push)
    assert_close(a, [0.0, 0.0, 5.0, 3.0, 0.0, 0.0], ROUNDING)
    assert_close(robot.inverse_dynamics(robot.neutral(), np.zeros(6), a), push, ROUNDING)


def test_gyroscopic_coupling():
    """Moments 1, 2, 3 kg·m², turning at (1, 1, 0) rad/s without any torque: ω̇ = (0, 0, −1/3)."""
    robot = free_body(1.0, (1.0, 2.0, 3.0))
    spin = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    a = robot.forward_dynamics(robot.neutral(), spin, np.zeros(6))
    assert_close(a, [0.0, 0.0, -1.0 / 3.0, 0.0, 0.0, 0.0], ROUNDING)


def test_velocity_in_body_axes_turns_with_the_body():
    """Nothing acts: the velocity is constant in the world, and in the body's axes changes by −ω × v."""
    robot = free_body(2.0, (0.3, 0.3, 0.3))
    w, linear = np.array([0.2, -0.4, 0.7]), np.array([1.0, 2.0, -0.5])
    a = robot.forward_dynamics(robot.neutral(), np.concatenate([w, linear]), np.zeros(6))
    assert_close(a, [0.0, 0.0, 0.0, *-np.cross(w, linear)], ROUNDING)


def test_inertia_that_is_not_positive_definite_is_refused():
    with pytest.raises(DalembertError, match="negative principal moment"):
        free_body(1.0, (1.0, 2.0, -0.5))


def test_two_link_arm():
    """Links of 0.30 m, point masses 2.0 and 1.5 kg at their ends, q = (0, π/2), v = (1, −0.5)."""
    robot, q, v = load("2r"), np.array([0.0, np.pi / 2]), np.array([1.0, -0.5])
    M, gravity = robot.mass_matrix(q), robot.gravity(q)
    assert_decimals(M, [[0.450, 0.135], [0.135, 0.135]], 3)
    assert_decimals(np.linalg.det(M), 0.0425, 4)
    assert_decimals(robot.bias(q, v) - gravity, [0.101, 0.135], 3)
    assert_decimals(gravity, [10.30, 0.0], 2)
    assert_decimals(robot.inverse_dynamics(q, v, np.zeros(2)), [10.40, 0.135], 2)


def test_quintic_move_of_the_ur5():
    """+0.5 rad on each joint in 1 s: 0.9375 rad/s and 2.887 rad/s² at most; 5.8 rad/s² belongs to a move of 1 rad."""
    q, v, a = quintic(np.linspace(0.0, 1.0, 10_001))
    assert_decimals(np.abs(v).max(), 0.9375, 4)
    assert_decimals(np.abs(a).max(), 2.887, 3)
    assert_decimals(np.abs(a).max() / MOVE, 5.8, 1)
    robot = load("ur5")
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(tau[[0, -1]], robot.gravity(q[[0, -1]]), RECURSION)  # at rest at both ends
    assert np.max(np.abs(robot.forward_dynamics(q, v, tau) - a)) < ITERATED
    peaks = np.abs(tau).max(axis=0)
    assert np.all(peaks < [joint.effort_limit[0] for joint in robot.joints])
    assert np.argmax(peaks) == 1 and 10.0 < peaks[1] < 100.0  # the shoulder lift carries the arm: tens of N·m


def test_reflected_rotor_inertia():
    """A rotor of 5e-5 kg·m² behind a gear of 100 feels like 0.5 kg·m² at the joint."""
    builder = ModelBuilder("motor")
    builder.add_body(
        "link", parent="world", joint="revolute", mass=1.0, inertia=0.1 * np.eye(3), armature=100**2 * 5e-5
    )
    robot = builder.build()
    assert_close(robot.mass_matrix([0.3]), [[0.6]], ROUNDING)
    assert_close(robot.without("armature").mass_matrix([0.3]), [[0.1]], ROUNDING)


def test_standing_quadruped():
    """12 kg on two stance feet: 59 N each, which a friction coefficient of 0.6 holds against 35 N sideways."""
    robot = load("quadruped")
    lift = robot.gravity(robot.neutral())[robot.joints[0].v][3:]
    assert_close(lift, [0.0, 0.0, 12.0 * 9.81], RECURSION)
    assert_decimals(lift[2] / 2, 59.0, 0)
    assert_decimals(0.6 * lift[2] / 2, 35.0, 0)
