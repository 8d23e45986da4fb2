"""Momentum, reactions and regressor beside Pinocchio, on robots of example-robot-data, fixed and free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert import Robot, function, load
from peers.example_robots import folder, on_both_bases
from peers.pinocchio_twin import Twin
from peers.test_pinocchio import FREE_AND_PLANAR, agree, bare, states

FILES = [
    "anymal_b_simple_description/robots/anymal.urdf",
    "baxter_description/urdf/baxter.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "go2_description/urdf/go2.urdf",
    "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf",
    "icub_description/robots/icub_reduced.urdf",
    "kinova_description/robots/kinova.urdf",
    "panda_description/urdf/panda.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "solo_description/robots/solo12.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "tiago_description/robots/tiago.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "z1_description/urdf/z1.urdf",
]


def ours(robot: Robot, q: Any, v: Any, a: Any) -> dict[str, Any]:
    """What dalembert says of one state."""
    return {
        "centroidal_momentum_matrix": robot.centroidal_momentum_matrix(q),
        "centroidal_momentum": robot.centroidal_momentum(q, v),
        "centroidal_momentum_rate": robot.centroidal_momentum_rate(q, v, a),
        "reaction_wrenches": robot.reaction_wrenches(q, v, a),
        "regressor": robot.regressor(q, v, a),
    }


def agree_on_momentum(robot: Robot, twin: Twin, together: bool) -> None:
    """together: compiled as one function, which shares what they have in common; else by the robot's own methods."""
    pi = robot.parameters()
    compute = function(lambda q, v, a: ours(robot, q, v, a), robot) if together else None
    for q, v, a in states(robot):
        A, p, rate, F, Y = compute(q, v, a) if compute else ours(robot, q, v, a).values()
        agree("centroidal_momentum_matrix", A, twin.centroidal_momentum_matrix(q))
        agree("centroidal_momentum", p, twin.centroidal_momentum(q, v))
        agree("centroidal_momentum_rate", rate, twin.centroidal_momentum_rate(q, v, a))
        agree("reaction_wrenches", F[twin.moving], twin.reaction_wrenches(q, v, a))
        agree("regressor", Y, twin.regressor(q, v, a))
        tau = twin.inverse_dynamics(q, v, a)
        agree("torque from the regressor", Y @ pi, tau, size=np.max(np.abs(Y * pi), initial=0.0))


@pytest.mark.parametrize(("file", "base"), on_both_bases(FILES))
def test_momentum_reactions_and_regressor(file, base):
    robot = bare(folder() / file, base=base)
    twin = Twin((folder() / file).read_text(), robot, floating=base == "free")
    agree_on_momentum(robot, twin, together=base == "free")


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_planar_continuous_and_floating_joints(base):
    robot = bare(FREE_AND_PLANAR, base=base)
    for together in (False, True):
        agree_on_momentum(robot, Twin(FREE_AND_PLANAR, robot, floating=base == "free"), together)


def test_the_files_are_there():
    missing = [file for file in FILES if not (folder() / file).is_file()]
    assert not missing
    assert load(folder() / FILES[0]).total_mass > 1.0
