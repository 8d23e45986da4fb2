"""Mechanisms whose equations of motion are printed in every textbook."""

from __future__ import annotations

import numpy as np
import pytest
from numpy import cos, sin

from dalembert.dynamics import algorithms as alg
from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder
from tolerances import PRODUCT, ROUNDING, assert_close

G = 9.81


@pytest.fixture
def double_pendulum():
    """Two rods that swing about y and hang at q = 0; m mass, c distance and I inertia of the centre of mass."""
    builder = ModelBuilder("double pendulum")
    for name, parent, z, m, c, I in (("upper", "world", 0.0, 2.0, 0.3, 0.05), ("lower", "upper", -0.7, 1.5, 0.2, 0.04)):
        builder.add_body(
            name, parent=parent, joint="revolute", axis=(0, 1, 0), xyz=(0, 0, z), mass=m, com=(0, 0, -c),
            inertia=np.diag([I, I, 0.9 * I]),
        )  # fmt: skip
    builder.add_frame("end", body="lower", xyz=(0, 0, -0.5))
    return builder.model()


def test_double_pendulum(double_pendulum):
    q, v, a = np.array([0.4, -1.1]), np.array([0.7, 1.3]), np.array([-0.2, 0.5])
    m1, m2, l1, c1, c2, I1, I2 = 2.0, 1.5, 0.7, 0.3, 0.2, 0.05, 0.04
    coupling = m2 * l1 * c2
    M11 = I1 + I2 + m1 * c1**2 + m2 * (l1**2 + c2**2) + 2 * coupling * cos(q[1])
    M12 = I2 + m2 * c2**2 + coupling * cos(q[1])
    M = np.array([[M11, M12], [M12, I2 + m2 * c2**2]])
    h = coupling * sin(q[1])
    coriolis = np.array([-h * (2 * v[0] * v[1] + v[1] ** 2), h * v[0] ** 2])
    lower = m2 * c2 * G * sin(q[0] + q[1])
    gravity = np.array([(m1 * c1 + m2 * l1) * G * sin(q[0]) + lower, lower])
    model = double_pendulum
    assert_close(alg.mass_matrix(model, q), M, PRODUCT)
    assert_close(alg.inverse_mass_matrix(model, q), np.linalg.inv(M), PRODUCT)
    assert_close(alg.gravity(model, q), gravity, PRODUCT)
    assert_close(alg.bias(model, q, v), coriolis + gravity, PRODUCT)
    assert_close(alg.rnea(model, q, v, a), M @ a + coriolis + gravity, PRODUCT)
    assert_close(alg.forward_dynamics(model, q, v, M @ a + coriolis + gravity), a, PRODUCT)
    assert_close(alg.kinetic_energy(model, q, v), 0.5 * v @ M @ v, PRODUCT)
    height = -m1 * c1 * cos(q[0]) - m2 * (l1 * cos(q[0]) + c2 * cos(q[0] + q[1]))
    assert_close(alg.potential_energy(model, q), G * height, PRODUCT)


def test_end_of_the_double_pendulum(double_pendulum):
    model, q, v = double_pendulum, np.array([0.4, -1.1]), np.array([0.7, 1.3])
    end, s = model.frame("end"), q[0] + q[1]
    x, z = -0.7 * sin(q[0]) - 0.5 * sin(s), -0.7 * cos(q[0]) - 0.5 * cos(s)
    assert_close(alg.frame_pose(model, q, end).p, [x, 0.0, z], PRODUCT)
    assert_close(alg.jacobian(model, q, end)[[1, 3, 5]], [[1, 1], [z, -0.5 * cos(s)], [-x, 0.5 * sin(s)]], PRODUCT)
    along, across = -v @ [0.7 * cos(q[1]) + 0.5, 0.5], -v[0] * 0.7 * sin(q[1])
    assert_close(alg.velocity(model, q, v, end, axes="body")[3:], [along, 0.0, across], PRODUCT)


def test_end_at_rest_swings_only_with_centripetal_acceleration():
    """A point 2 m from a hinge that turns at 3 rad/s accelerates by 2·3² towards it."""
    builder = ModelBuilder("arm")
    builder.add_body("arm", parent="world", joint="continuous", mass=1.0)
    model = builder.model()
    q, v, a, point = np.zeros(1), np.array([3.0]), np.zeros(1), np.array([2.0, 0, 0])
    found = alg.acceleration(model, q, v, a, model.frame("arm"), point)
    assert_close(found, [0, 0, 0, -18.0, 0, 0], ROUNDING)


def test_free_body_falls_and_precesses():
    """Newton for the centre of mass, Euler for the rotation about it."""
    builder = ModelBuilder("brick")
    c, I = np.array([0.1, -0.2, 0.05]), np.diag([0.3, 0.2, 0.4])
    builder.add_body("brick", parent="world", joint="free", mass=2.0, com=c, inertia=I)
    model, q = builder.model(), np.array([0.0, 0, 0, 1, 0, 0, 0])
    v = np.array([1.0, 2.0, -3.0, 0.5, 0.1, -0.4])
    w = v[:3]
    dw = np.linalg.solve(I, -np.cross(w, I @ w))
    of_origin = [0, 0, -G] - np.cross(dw, c) - np.cross(w, np.cross(w, c))
    assert_close(alg.forward_dynamics(model, q, v, np.zeros(6)), [*dw, *(of_origin - np.cross(w, v[3:]))], PRODUCT)


def test_massless_tip_is_refused_by_forward_dynamics_and_carried_by_inverse_dynamics():
    builder = ModelBuilder("tip")
    builder.add_body("arm", parent="world", joint="revolute", mass=1.0, com=(0.2, 0, 0))
    builder.add_body("tip", parent="arm", joint="revolute", joint_name="loose")
    model, z = builder.model(), np.zeros(2)
    assert alg.rnea(model, z, z, z)[1] == 0.0
    with pytest.raises(DalembertError, match=r"joint 'loose' moves no mass.*armature"):
        alg.forward_dynamics(model, z, z, z)


def test_a_rotor_is_inertia_enough():
    builder = ModelBuilder("rotor")
    builder.add_body("disc", parent="world", joint="revolute", armature=0.5)
    assert_close(alg.forward_dynamics(builder.model(), np.zeros(1), np.zeros(1), np.ones(1)), [2.0], ROUNDING)


def test_a_model_without_joints_has_empty_dynamics():
    builder = ModelBuilder("rock")
    builder.add_body("rock", parent="world", mass=3.0, com=(0, 0, 1.0))
    model, e = builder.model(), np.zeros(0)
    assert alg.rnea(model, e, e, e).shape == alg.forward_dynamics(model, e, e, e).shape == (0,)
    assert alg.mass_matrix(model, e).shape == alg.inverse_mass_matrix(model, e).shape == (0, 0)
    assert_close(alg.energy(model, e, e), 3.0 * G, ROUNDING)
    assert_close(alg.center_of_mass(model, e), [0, 0, 1.0], ROUNDING)


def test_no_mass_has_no_centre():
    builder = ModelBuilder("ghost")
    builder.add_body("ghost", parent="world", joint="revolute")
    with pytest.raises(DalembertError, match="'ghost' has no mass"):
        alg.center_of_mass(builder.model(), np.zeros(1))


def test_unknown_axes_are_refused(double_pendulum):
    with pytest.raises(DalembertError, match="'local', expected 'world', 'body' or a Frame"):
        alg.jacobian(double_pendulum, np.zeros(2), double_pendulum.frame("end"), axes="local")
