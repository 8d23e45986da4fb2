"""The three-link arm of the Modern Robotics library: its examples of every dynamics function, to the printed digits.

Its first screw axis has the length √2, so its first coordinate is an angle divided by √2: with D = diag(√2, 1, 1) the
angles are D·θ, the torques D·tau and the mass matrix D·M·D.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, Robot, Wrench
from dalembert.spatial import Pose
from refs.printed import assert_decimals, assert_significant, data

DATA = data("modern_robotics_3link")
D = np.array([np.sqrt(2.0), 1.0, 1.0])
Q, V, A = (D * DATA[name] for name in ("theta", "dtheta", "ddtheta"))
ZERO = np.zeros(3)


@pytest.fixture(scope="module")
def arm() -> Robot:
    """Bodies with the world's axes at home, each placed on its screw axis; the tip as the library has it."""
    builder = ModelBuilder("three links", gravity=DATA["g"])
    X, parent, at = Pose.identity(), "world", np.zeros(3)
    for i, screw in enumerate(np.array(DATA["Slist"], float), start=1):
        X = X @ Pose.from_matrix(np.array(DATA[f"M{i - 1}{i}"], float))  # centre of mass in the world
        axis, moment = screw[:3], screw[3:]
        point = np.cross(axis, moment) / (axis @ axis)
        *moments, mass = DATA[f"G{i}"][:4]
        inertia = X.R @ np.diag(moments) @ X.R.T
        builder.add_body(
            f"link{i}", parent=parent, joint="revolute", axis=axis / np.linalg.norm(axis), xyz=point - at,
            mass=mass, com=X.p - point, inertia=inertia,
        )  # fmt: skip
        parent, at = f"link{i}", point
    tip = X @ Pose.from_matrix(np.array(DATA["M34"], float))
    builder.add_frame("tip", body=parent, placement=Pose(tip.R, tip.p - at))
    return builder.build()


def exerted(wrench: list[float]) -> list[Wrench]:
    """What acts on the tip while it exerts `wrench` on its surroundings."""
    return [Wrench(torque=-np.array(wrench[:3]), force=-np.array(wrench[3:]), frame="tip")]


def test_inverse_dynamics(arm):
    tau = arm.inverse_dynamics(Q, V, A, external=exerted(DATA["Ftip"]))
    assert_decimals(D * tau, DATA["InverseDynamics"], 8)


def test_inverse_dynamics_of_the_unit_screw(arm):
    """The same numbers for θ taken as angles."""
    theta, dtheta, ddtheta = (np.array(DATA[name]) for name in ("theta", "dtheta", "ddtheta"))
    tau = arm.inverse_dynamics(theta, dtheta, ddtheta, external=exerted(DATA["Ftip"]))
    assert_decimals(tau, DATA["unit screw"]["InverseDynamics"], 8)


def test_mass_matrix(arm):
    assert_significant(D[:, None] * arm.mass_matrix(Q) * D, DATA["MassMatrix"], 9)


def test_velocity_terms_and_gravity(arm):
    gravity = arm.gravity(Q)
    assert_decimals(D * gravity, DATA["Gravity"], 8)
    assert_decimals(D * (arm.bias(Q, V) - gravity), DATA["VelQuadratic"], 8)


def test_forces_at_the_tip(arm):
    held = arm.inverse_dynamics(Q, ZERO, ZERO, external=exerted(DATA["Ftip"])) - arm.gravity(Q)
    assert_decimals(D * held, DATA["EndEffectorForces"], 8)
    assert_decimals(D * (arm.jacobian(Q, "tip", axes="body").T @ DATA["Ftip"]), DATA["EndEffectorForces"], 8)


def test_forward_dynamics(arm):
    example = DATA["ForwardDynamics"]
    a = arm.forward_dynamics(Q, V, example["tau"] / D, external=exerted(DATA["Ftip"]))
    assert_decimals(a / D, example["ddtheta"], 8)
