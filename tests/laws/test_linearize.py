"""Linear models against the motion they stand for; modes and equilibria against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from dalembert import DalembertError, ModelBuilder, Robot, load
from dalembert.dynamics.algorithms import difference, forward_dynamics, integrate, matrix_exponential
from laws.numeric import RATE, rate
from tolerances import COMPUTED, ITERATED, RECURSION, SOLVE, SOLVER_DEFAULT, assert_close
from trees import random_model

G = 9.81
NESTED = 1e-6  # a rate of a rate by differences
EIGEN = 1e-10  # eigenvalues of small well-conditioned matrices, with a square root


@pytest.fixture
def linear(small):
    """A tree and a state with their A and B."""
    return small, *Robot(small.model).linearize(small.q, small.v, small.a)


def test_lower_rows_are_rates_of_the_acceleration(linear):
    (model, q, v, tau, rng), A, B = linear
    n = model.nv
    dq, dv, du = rng.normal(size=(3, n))
    slope = rate(lambda e: forward_dynamics(model, integrate(model, q, e * dq), v + e * dv, tau + e * du))
    assert_close(A[n:] @ np.concatenate([dq, dv]) + B[n:] @ du, slope, 100 * RATE)


def test_upper_rows_are_rates_of_the_displacement(linear):
    """Two motions that start dq and dv apart: how fast their difference in tangent coordinates grows."""
    (model, q, v, _, rng), A, B = linear
    n = model.nv
    dq, dv = rng.normal(size=(2, n))

    def apart(e, t):
        other = integrate(model, integrate(model, q, e * dq), t * (v + e * dv))
        return difference(model, integrate(model, q, t * v), other)

    slope = rate(lambda e: rate(lambda t: apart(e, t)))
    assert_close(A[:n] @ np.concatenate([dq, dv]), slope, NESTED)
    assert not np.any(B[:n])


def test_discrete_pair_is_the_continuous_one_held_for_a_step(linear):
    (model, q, v, tau, _), A, B = linear
    n, step = model.nv, 0.01
    discrete = Robot(model).linearize(q, v, tau, step=step)
    whole = scipy.linalg.expm(step * np.block([[A, B], [np.zeros((n, 3 * n))]]))
    assert_close(discrete.A, whole[: 2 * n, : 2 * n], SOLVE)
    assert_close(discrete.B, whole[: 2 * n, 2 * n :], SOLVE)


def test_batches_of_linear_models():
    robot, rng = load("quadruped"), np.random.default_rng(4)
    q, v, tau = robot.random(rng, 3), rng.normal(size=(3, robot.nv)), rng.normal(size=robot.nv)
    for step in (None, 0.002):
        batch, one = robot.linearize(q, v, tau, step=step), robot.linearize(q[1], v[1], tau, step=step)
        assert_close(batch.A[1], one.A, SOLVE)
        assert_close(batch.B[1], one.B, SOLVE)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, 30.0])
def test_matrix_exponential(size):
    A = size * np.random.default_rng(0).normal(size=(3, 7, 7)) / 7**0.5
    A -= size * np.eye(7)  # decaying, so that nothing overflows
    assert_close(matrix_exponential(A), scipy.linalg.expm(A), SOLVE)
    nilpotent = np.diag([size, size], 1)
    assert_close(matrix_exponential(nilpotent), np.eye(3) + nilpotent + nilpotent @ nilpotent / 2, RECURSION)


def pendulum(**joint):
    builder = ModelBuilder("pendulum", gravity=(0, 0, -G))
    builder.add_body(
        "bob", parent="world", joint="revolute", joint_name="pivot", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.5),
        inertia=np.diag([0.1, 0.1, 0.01]), **joint,
    )  # fmt: skip
    return builder.build()


def test_modes_of_a_pendulum():
    modes = pendulum().modes([0.0])
    assert_close(modes.frequencies, [np.sqrt(2.0 * G * 0.5 / (0.1 + 2.0 * 0.25))], EIGEN)
    assert_close(modes.damping, [0.0], EIGEN)
    up = pendulum().modes([np.pi])  # falls: λ = ±ω
    assert_close(np.sort(up.eigenvalues.real), modes.frequencies[0] * np.array([-1.0, 1.0]), EIGEN)
    assert_close(np.sort(up.damping), [-1.0, 1.0], EIGEN)


def test_modes_of_a_damped_pendulum():
    w, inertia, c = np.sqrt(2.0 * G * 0.5 / 0.6), 0.6, 0.4
    modes = pendulum(damping=c).modes([0.0])
    assert_close(modes.frequencies, [w], EIGEN)
    assert_close(modes.damping, [c / (2.0 * inertia * w)], EIGEN)
    overdamped = pendulum(damping=20.0).modes([0.0])
    decay = np.roots([inertia, 20.0, inertia * w * w])
    assert_close(np.sort(overdamped.eigenvalues.real), np.sort(decay), EIGEN)
    assert_close(overdamped.damping, [1.0, 1.0], EIGEN)


def test_modes_of_a_double_pendulum():
    """Equal point masses on equal rods: ω² = (2 ∓ √2) g/l, the second link √2 times as far out (absolute angles)."""
    builder, length = ModelBuilder("double", gravity=(0, 0, -G)), 0.4
    builder.add_body("one", parent="world", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -length))
    builder.add_body(
        "two", parent="one", joint="revolute", axis=(0, 1, 0), xyz=(0, 0, -length), mass=1.0, com=(0, 0, -length)
    )
    modes = builder.build().modes([0.0, 0.0])
    assert_close(modes.frequencies**2, (2.0 + np.sqrt(2.0) * np.array([-1.0, 1.0])) * G / length, EIGEN)
    absolute = np.cumsum(modes.shapes, axis=0)
    assert_close((absolute[1] / absolute[0]).real, [np.sqrt(2.0), -np.sqrt(2.0)], EIGEN)
    assert_close((absolute[1] / absolute[0]).imag, [0.0, 0.0], EIGEN)


def test_modes_of_a_ball_pendulum_and_its_free_spin():
    builder = ModelBuilder("conical", gravity=(0, 0, -G))
    builder.add_body(
        "bob", parent="world", joint="ball", mass=1.0, com=(0, 0, -0.3), inertia=np.diag([0.02, 0.02, 0.005])
    )
    modes = builder.build().modes([1.0, 0.0, 0.0, 0.0])
    w = np.sqrt(G * 0.3 / (0.02 + 0.09))
    assert_close(modes.frequencies, [0.0, w, w], EIGEN)
    assert_close(np.abs(modes.shapes[:, 0]), [0.0, 0.0, 1.0], EIGEN)


def test_modes_need_an_equilibrium():
    robot = pendulum()
    held = robot.equilibrium_torque([1.0])
    assert_close(robot.modes([1.0], tau=held).frequencies ** 2, [G / 0.6 * np.cos(1.0)], EIGEN)
    with pytest.raises(DalembertError, match="not an equilibrium under tau: at joint 'pivot'"):
        robot.modes([1.0], tau=[0.0])
    with pytest.raises(DalembertError, match="one configuration"):
        robot.modes(np.zeros((3, 1)))


def test_equilibrium_of_pendulum_and_spring():
    robot = pendulum()
    for start, end in ((0.5, 0.0), (np.pi - 0.5, np.pi)):
        assert abs(robot.equilibrium([start]).q[0] - end) < ITERATED
    found = robot.equilibrium([0.1], tau=[2.0 * G * 0.5 * np.sin(0.7)])
    assert abs(found.q[0] - 0.7) < ITERATED
    assert np.max(np.abs(found.residual)) < SOLVER_DEFAULT
    builder = ModelBuilder("scale", gravity=(0, 0, -G))
    builder.add_body("pan", parent="world", joint="prismatic", joint_name="spring", mass=2.0, stiffness=300.0)
    assert abs(builder.build().equilibrium([0.2]).q[0] + 2.0 * G / 300.0) < COMPUTED


@pytest.mark.parametrize("seed", range(4))
def test_equilibrium_of_trees_under_a_load_that_has_one(seed):
    """Every joint type: the load that holds q is given, and an equilibrium is found from nearby."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "screw", "cylindrical", "universal", "ball", "planar")
    robot = Robot(random_model(rng, n_bodies=7, kinds=kinds))
    q = robot.random(rng)
    tau = robot.equilibrium_torque(q)
    found = robot.equilibrium(robot.integrate(q, 0.02 * rng.normal(size=robot.nv)), tau)
    assert_close(robot.gravity(found.q), tau, 2 * ITERATED)  # the default tolerance
    assert_close(robot.forward_dynamics(found.q, np.zeros(robot.nv), tau), np.zeros(robot.nv), 100 * SOLVER_DEFAULT)


def test_no_equilibrium_is_an_error_that_names_the_joint():
    robot = load("quadruped")  # floats: nothing holds its weight of 12 kg
    with pytest.raises(DalembertError, match=r"equilibrium: none found .* of robot 'quadruped' .* 117\.72"):
        robot.equilibrium(robot.neutral())
    with pytest.raises(DalembertError, match="at joint 'pivot'"):
        pendulum().equilibrium([0.3], tau=[100.0])
