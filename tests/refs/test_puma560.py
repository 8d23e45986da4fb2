"""The Puma 560 with its motors: numbers printed by the Robotics Toolbox. The bundled model gives them all."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Robot, Wrench, load
from refs.printed import assert_decimals, assert_significant, data, with_gravity
from tolerances import COMPUTED, PRINTED

DATA = data("puma560")
SIX, FOUR = DATA["six significant digits"], DATA["four decimals"]
QN = np.array([0.0, np.pi / 4, np.pi, 0.0, np.pi / 4, 0.0])
ZERO, ONE, COUNT = np.zeros(6), np.ones(6), np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])


@pytest.fixture(scope="module")
def puma() -> Robot:
    return load("puma560")


def test_gravity(puma):
    assert_decimals(puma.gravity(QN), FOUR["gravload"], 4)
    assert_decimals(puma.inverse_dynamics(QN, ZERO, ZERO), FOUR["gravload"], 4)


@pytest.mark.parametrize(("v", "a"), [(0, 1), (1, 0), (1, 1)])
def test_inverse_dynamics(puma, v, a):
    """Rotors, viscous and Coulomb friction included."""
    assert_significant(puma.inverse_dynamics(QN, v * ONE, a * ONE), SIX[f"rne qd={v} qdd={a}"], 6)


def test_inverse_dynamics_without_gravity(puma):
    weightless = with_gravity(puma, 0.0)
    assert_significant(weightless.inverse_dynamics(QN, ONE, ONE), SIX["rne qd=1 qdd=1 no gravity"], 6)


def test_load_on_the_tool(puma):
    """The table gives what the tool exerts; on the robot acts the opposite."""
    load = Wrench(force=-COUNT[:3], torque=-COUNT[3:], frame="link6")
    tau = puma.inverse_dynamics(QN, ZERO, ZERO, external=[load])
    assert_significant(tau, SIX["rne qd=0 qdd=0 fext=(1,2,3,1,2,3)"], 6)
    assert np.max(np.abs(puma.forward_dynamics(QN, ZERO, tau, external=[load]))) < COMPUTED


def test_mass_matrix(puma):
    M = puma.mass_matrix(QN)
    assert_decimals(M, FOUR["inertia"], 4)
    assert_decimals(M @ COUNT, FOUR["itorque qdd=(1,2,3,1,2,3)"], 4)


def test_forward_dynamics(puma):
    accel = FOUR["accel"]
    assert_decimals(puma.forward_dynamics(QN, accel["qd"], accel["tau"]), accel["qdd"], 4)


def test_velocity_terms(puma):
    """The printed C summed over six columns of speeds up to 3, so that four decimals of C leave 6e-4 of C·qd."""
    C = np.array(FOUR["coriolis qd=(1,2,3,1,2,3)"])
    rigid = puma.without("friction", "damping")
    velocity_terms = rigid.bias(QN, COUNT) - rigid.gravity(QN)
    assert np.max(np.abs(velocity_terms - C @ COUNT)) < 0.5 * PRINTED * COUNT.sum()


def test_cartesian_inertia_and_manipulability(puma):
    """From the Jacobian of the tool, in the Toolbox with the linear part first."""
    J = np.roll(puma.jacobian(QN, "tool"), 3, axis=0)
    inverse = np.linalg.inv(J)
    assert_decimals(inverse.T @ puma.mass_matrix(QN) @ inverse, FOUR["cartesian inertia"], 4)
    rows = {"all": slice(0, 6), "trans": slice(0, 3), "rot": slice(3, 6)}
    for part, decimals in (("all", 4), ("trans", 4), ("rot", 4)):
        measure = np.sqrt(np.linalg.det(J[rows[part]] @ J[rows[part]].T))
        assert_decimals(measure, DATA["manipulability (Yoshikawa)"][part], decimals)
