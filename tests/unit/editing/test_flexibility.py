"""Flexible joints: Spong's equations, natural frequencies, files, and what cannot give way."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, load
from tolerances import COMPUTED, INTEGRATED

ROTOR, LINK, STIFFNESS = 0.2, 0.5, 300.0


def shaft():
    """A disc on a motor, without gravity."""
    builder = ModelBuilder("shaft", gravity=(0.0, 0.0, 0.0))
    builder.add_body("disc", parent="world", joint="revolute", joint_name="axle", axis=(0, 0, 1), mass=3.0,
                     inertia=np.diag([LINK, LINK, LINK]))  # fmt: skip
    return builder.build().edit().set_joint("axle", armature=ROTOR, effort_limit=40.0).done()


def test_the_equations_are_those_of_a_rotor_and_a_spring():
    arm = load("2r").edit().set_joint("elbow", armature=0.05).done()
    soft = arm.edit().flexible("elbow", stiffness=500.0, damping=2.0).done()
    q, v = np.array([0.3, 0.8]), np.array([0.5, -0.4])
    stiff, give = np.append(q, 0.0), np.append(v, 0.0)
    M, own = soft.mass_matrix(stiff), arm.mass_matrix(q)
    np.testing.assert_allclose(M[:2, :2], own, atol=COMPUTED)
    link = own - np.diag([0.0, 0.05])  # the rotor does not turn with the deflection
    np.testing.assert_allclose(M[2], np.append(link[1], link[1, 1]), atol=COMPUTED)
    np.testing.assert_allclose(soft.bias(stiff, give)[:2], arm.bias(q, v), atol=COMPUTED)
    pulled = soft.inverse_dynamics([0.3, 0.78, 0.02], np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(pulled[:2], arm.gravity(q), atol=COMPUTED)
    assert pulled[2] == pytest.approx(500.0 * 0.02 + arm.gravity(q)[1], rel=COMPUTED)
    assert soft.motors.passive == ("elbow_spring",) and soft.joint("elbow").child == "link2_rotor"


def test_rotor_and_disc_swing_against_each_other():
    soft = shaft().edit().flexible("axle", stiffness=STIFFNESS).done()
    omega = np.sqrt(STIFFNESS * (1.0 / ROTOR + 1.0 / LINK))
    assert soft.modes([0.0, 0.0]).frequencies.max() == pytest.approx(omega, rel=COMPUTED)
    run = soft.simulate([0.0, 0.1], [0.0, 0.0], np.pi / omega, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.q[-1, 1], -0.1, atol=INTEGRATED)
    np.testing.assert_allclose(run.q[-1, 0], 0.2 * LINK / (ROTOR + LINK), atol=INTEGRATED)  # momentum is kept
    held = soft.edit().lock(axle=0.0).done()
    assert held.modes([0.0]).frequencies.max() == pytest.approx(np.sqrt(STIFFNESS / LINK), rel=COMPUTED)


def test_files_keep_flexible_joints(tmp_path):
    arm = load("iiwa14").edit().set_joint("iiwa_joint_2", armature=0.4).set_joint("iiwa_joint_4", armature=0.2).done()
    edit = arm.edit().flexible("iiwa_joint_2", stiffness=2e4, damping=5.0)
    soft = edit.flexible("iiwa_joint_4", stiffness=1e4).done()
    assert soft.nv == arm.nv + 2
    soft.save(tmp_path / "soft.urdf")
    again = load(tmp_path / "soft.urdf")
    q = 0.1 * np.arange(1.0, soft.nq + 1.0)
    np.testing.assert_allclose(again.mass_matrix(q), soft.mass_matrix(q), atol=COMPUTED)
    zero = np.zeros(soft.nv)
    np.testing.assert_allclose(
        again.inverse_dynamics(q, zero, zero), soft.inverse_dynamics(q, zero, zero), atol=COMPUTED * 1e3
    )
    assert again.motors.passive == soft.motors.passive


def test_joints_that_cannot_give_way_are_named():
    arm = shaft()
    for edit, text in (
        (lambda: arm.edit().flexible("axl", stiffness=1.0), "did you mean 'axle'"),
        (lambda: arm.edit().flexible("axle", stiffness=0.0), "stiffness is 0.0, expected a number above 0"),
        (lambda: arm.edit().flexible("axle", stiffness=1.0, damping=np.nan), "damping is nan"),
        (lambda: load("2r").edit().flexible("elbow", stiffness=1.0), "has no rotor inertia"),
        (lambda: load("quadruped").edit().flexible("trunk", stiffness=1.0), "expected one along an axis"),
        (
            lambda: arm.edit().flexible("axle", stiffness=1.0).flexible("axle", stiffness=2.0),
            "gives way already",
        ),
    ):
        with pytest.raises(DalembertError, match=text):
            edit()
