"""USD stages written by hand, with answers in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.model import start_of
from stages import body, joint, saved, stage
from tolerances import COMPUTED, INTEGRATED, assert_close

pytest.importorskip("pxr")

SCENE = """
    def PhysicsScene "scene"
    {
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 8
    }
"""
LIMITS = 'uniform token physics:axis = "Y"\nfloat physics:lowerLimit = -90\nfloat physics:upperLimit = 45'


def test_a_pendulum_in_closed_form(tmp_path):
    """m = 2 at 0.5 m below a hinge about y: M = I + m l², and gravity m g l sin q."""
    text = stage(
        SCENE
        + body("rod", at=(0, 0, -0.5))
        + joint("Revolute", "pin", "", "/World/rod", LIMITS, at0=(0, 0, 0), at1=(0, 0, 0.5))
    )
    robot = load(saved(tmp_path, text))
    assert robot.nq == 1 and robot.joints[0].name == "pin" and robot.joints[0].kind == "revolute"
    assert_close(robot.mass_matrix([0.3]), [[0.375 + 2.0 * 0.25]], COMPUTED)
    assert_close(robot.gravity([0.3]), [2.0 * 8.0 * 0.5 * math.sin(0.3)], COMPUTED)
    assert_close(robot.limits.upper, [math.radians(45)], COMPUTED)
    assert_close(robot.pose([0.0], "rod")[:3, 3], [0.0, 0.0, -0.5], COMPUTED)
    assert not robot.physical_findings


def test_units_and_up_axis(tmp_path):
    """The same pendulum in cm and g, with y up: a torque of 1 kg·m²/s² is 1e7 g·cm²/s²."""
    drive = """
        uniform token physics:axis = "Z"
        float drive:angular:physics:stiffness = 1000000
        float drive:angular:physics:damping = 500000
        float drive:angular:physics:maxForce = 20000000
        float drive:angular:physics:targetPosition = 90
    """
    text = stage(
        body("rod", at=(0, -50, 0), mass=2000, inertia=(2.5e6, 2.5e6, 2.5e6))
        + joint("Revolute", "pin", "", "/World/rod", drive, at1=(0, 50, 0), schemas='"PhysicsDriveAPI:angular"'),
        length=0.01,
        mass=0.001,
        up="Y",
    )
    robot = load(saved(tmp_path, text))
    assert_close(robot.mass_matrix([0.3]), [[0.25 + 2.0 * 0.25]], COMPUTED)
    assert_close(robot.gravity([0.3]), [2.0 * 9.81 * 0.5 * math.sin(0.3)], COMPUTED)
    assert_close(robot.pose([0.0], "rod")[:3, 3], [0.0, 0.0, -0.5], COMPUTED)
    (servo,) = robot.model.actuators
    assert_close(servo.gain[0], 0.1 * 180 / math.pi, COMPUTED)
    assert_close(servo.bias, [0.0, -0.1 * 180 / math.pi, -0.05 * 180 / math.pi], COMPUTED)
    assert_close(servo.force_limits, [-2.0, 2.0], COMPUTED)
    assert_close(robot.limits.effort, [2.0], COMPUTED)
    assert any("the position that the file states is 1.5707" in f.action for f in robot.import_log)


@pytest.mark.long
def test_a_stage_without_units_is_in_centimetres_with_y_up_and_says_so(tmp_path):
    text = stage(body("ball", at=(0, 100, 0))).split(")\n", 1)[1]
    robot = load(saved(tmp_path, "#usda 1.0\n" + text))
    assert_close(robot.model.keyframes[0].joints[0].q[:3], [0.0, 0.0, 1.0], COMPUTED)
    assert any("metersPerUnit" in f.what for f in robot.physical_findings)
    with pytest.raises(DalembertError, match="metersPerUnit"):
        load(saved(tmp_path, "#usda 1.0\n" + text), strict=True)


@pytest.mark.long
def test_bodies_need_not_be_at_zero(tmp_path):
    """A body that hangs at 30° in the stage: q = 0 is where the frames of the joint coincide."""
    half = math.radians(15)
    turned = f"""
        quatd xformOp:orient = ({math.cos(half)!r}, 0, {math.sin(half)!r}, 0)
        uniform token[] xformOpOrder = ["xformOp:orient"]
"""
    rod = body("rod").replace('uniform token[] xformOpOrder = ["xformOp:translate"]', turned)
    text = stage(rod + joint("Revolute", "pin", "", "/World/rod", LIMITS))
    robot = load(saved(tmp_path, text))
    assert_close(start_of(robot.model).q, [math.radians(30)], COMPUTED)
    assert_close(robot.pose([0.0], "rod"), np.eye(4), COMPUTED)


@pytest.mark.long
def test_joints_that_follow_others(tmp_path):
    mimic = 'uniform token physics:axis = "X"\nrel newton:mimicJoint = </World/a>\n'
    mimic += "float newton:mimicCoef0 = 90\nfloat newton:mimicCoef1 = -2"
    text = stage(
        body("one")
        + body("two")
        + joint("Revolute", "a", "", "/World/one", 'uniform token physics:axis = "X"')
        + joint("Revolute", "b", "/World/one", "/World/two", mimic, schemas='"NewtonMimicAPI"')
    )
    robot = load(saved(tmp_path, text))
    assert robot.nq == 1
    turn = 0.2 + (-2 * 0.2 + math.pi / 2)
    assert_close(robot.pose([0.2], "two")[1:3, 1], [math.cos(turn), math.sin(turn)], COMPUTED)
    assert load(saved(tmp_path, text), mimic="free").nq == 2


@pytest.mark.long
def test_bases(tmp_path):
    text = stage(body("base", at=(1, 2, 3)) + body("arm") + joint("Revolute", "j", "/World/base", "/World/arm"))
    robot = load(saved(tmp_path, text))
    assert robot.nq == 8 and robot.joints[0].kind == "free"
    assert_close(start_of(robot.model).q[:3], [1.0, 2.0, 3.0], COMPUTED)
    held = load(saved(tmp_path, text), base="fixed")
    assert held.nq == 1
    assert_close(held.pose([0.0], "base")[:3, 3], [1.0, 2.0, 3.0], COMPUTED)
    fixed = text.rstrip().removesuffix("}") + joint("Fixed", "root", "", "/World/base", at0=(1, 2, 3)) + "}\n"
    assert load(saved(tmp_path, fixed)).nq == 1
    assert load(saved(tmp_path, fixed), base="free").nq == 8


@pytest.mark.long
def test_what_other_programs_state_is_read_or_named(tmp_path):
    inside = """
        uniform token physics:axis = "X"
        float newton:armature = 0.5
        float newton:damping = 2
        float newton:friction = 3
        float newton:velocityLimit = 90
        float physxJoint:jointFriction = 0.25
        float newton:nonsense = 4
        float physxLimit:angular:stiffness = 4
"""
    text = stage(body("rod") + joint("Revolute", "pin", "", "/World/rod", inside))
    robot = load(saved(tmp_path, text))
    hinge = robot.model.bodies[1].joint
    assert_close(hinge.armature, [0.5], COMPUTED)
    assert_close(hinge.damping, [2 * 180 / math.pi], COMPUTED)
    assert_close(hinge.friction, [3.0], COMPUTED)
    assert_close(hinge.velocity_limit, [math.pi / 2], COMPUTED)
    (warning,) = robot.physical_findings
    line = 1 + [line.strip() for line in text.splitlines()].index('def PhysicsRevoluteJoint "pin"')
    assert "physxJoint:jointFriction = 0.25" in warning.what and f"robot.usda:{line} </World/pin>" in warning.where
    assert {"attribute newton:nonsense", "attribute physxLimit:angular:stiffness"} <= {
        f.what for f in robot.import_log if f.severity == "info"
    }


@pytest.mark.long
def test_the_same_arm_in_urdf(tmp_path):
    """A chain with turned frames in USD, and the same in URDF: same dynamics."""
    turned = "quatf physics:localRot0 = (1, 0, 0, 0)"
    text = stage(
        body("one", com=(0.1, 0, 0))
        + body("two", at=(0, 0, 0.4), com=(0, 0.2, 0))
        + joint("Revolute", "a", "", "/World/one", 'uniform token physics:axis = "Z"')
        + joint(
            "Prismatic", "b", "/World/one", "/World/two", 'uniform token physics:axis = "Y"', at0=(0, 0, 0.4)
        ).replace(turned, "quatf physics:localRot0 = (0.70710678, 0.70710678, 0, 0)")
    )
    urdf = """<robot name="arm"><link name="world"/>
      <link name="one"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
        <inertia ixx="0.5" iyy="0.375" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="two"><inertial><origin xyz="0 0.2 0"/><mass value="2"/>
        <inertia ixx="0.5" iyy="0.375" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="a" type="continuous"><parent link="world"/><child link="one"/><axis xyz="0 0 1"/></joint>
      <joint name="b" type="prismatic"><origin xyz="0 0 0.4" rpy="1.5707963267948966 0 0"/><parent link="one"/>
        <child link="two"/><axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>"""
    usd, other = load(saved(tmp_path, text)), load(urdf)
    q, v, a = [0.4, 0.3], [1.0, -0.5], [0.2, 0.7]
    assert_close(usd.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), INTEGRATED)


@pytest.mark.long
def test_a_prim_is_for_usd_files_alone():
    with pytest.raises(DalembertError, match="prim=… is for USD files"):
        load("ur5", prim="/World")
