"""Which joints count as motorised: as files state it, and everything that controls or judges a robot says so."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, control, load
from dalembert.audit.closed import motors

TRANSMISSION = (
    '<transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="slider">'
    '<hardwareInterface>EffortJointInterface</hardwareInterface></joint><actuator name="m"/></transmission>'
)
COMMANDED = (
    '<ros2_control name="c" type="system"><joint name="slider"><command_interface name="effort"/>'
    '<state_interface name="position"/></joint><joint name="pole"><state_interface name="position"/></joint>'
    "</ros2_control>"
)
BODY = '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/>{}</inertial>'
CART_POLE = (
    '<robot name="cartpole"><link name="rail"/><link name="cart">'
    + BODY.format("")
    + '</link><link name="bob">'
    + BODY.format('<origin xyz="0 0 .5"/>')
    + '</link><joint name="slider" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>'
    '<limit lower="-1" upper="1" effort="10" velocity="5"/></joint><joint name="pole" type="continuous">'
    '<parent link="cart"/><child link="bob"/><axis xyz="0 1 0"/></joint>{}</robot>'
)
MJCF = """<mujoco model="cartpole"><worldbody><body name="cart"><joint name="slider" type="slide" axis="1 0 0"/>
<geom size=".1"/><body name="bob" pos="0 0 .5"><joint name="pole" axis="0 1 0"/><geom size=".05" pos="0 0 .5"/>
</body></body></worldbody>{}</mujoco>"""
MOTOR = '<actuator><motor joint="slider"/></actuator>'


def mjcf(tmp_path, text: str):
    pytest.importorskip("mujoco")
    path = tmp_path / "cartpole.xml"
    path.write_text(text)
    return load(path)


def stated(tmp_path):
    yield "transmission", load(CART_POLE.format(TRANSMISSION))
    yield "ros2_control", load(CART_POLE.format(COMMANDED))
    yield "an edit", load(CART_POLE.format("")).edit().set_joint("pole", motor=False).done()
    yield "actuator", mjcf(tmp_path, MJCF.format(MOTOR))


def test_files_say_which_joints_have_motors(tmp_path) -> None:
    for where, robot in stated(tmp_path):
        assert (robot.motors.joints, robot.motors.passive, robot.motors.stated) == (("slider",), ("pole",), True), where
        law = control.lqr(robot, np.zeros(2))
        assert np.any(law.K[0]) and not np.any(law.K[1]), where
        assert law.motors.joints == ("slider",) and "passive: pole" in repr(law)
        problem = robot.optimal_control(lambda q, v, u: {"u": u @ u}, step=0.05, nodes=5)
        assert problem.motors.joints == ("slider",) and "slider" in repr(problem)
        assert problem.motion.controls == 1
        audit = robot.audit(rules=["limits-missing"])
        assert audit.facts["motors"]["passive"] == ("pole",) and "passive: pole" in str(audit)
        with pytest.raises(DalembertError, match="joint 'pole' of robot 'cartpole' has no motor"):
            control.computed_torque(robot, np.zeros(2), 10.0)
        assert [body.joint.name for body in motors(robot.model)] == ["slider"]


FOLLOWER = (
    '<link name="arm">' + BODY.format("") + '</link><joint name="other" type="continuous"><parent link="rail"/>'
    '<child link="arm"/><axis xyz="0 1 0"/><mimic joint="slider" multiplier="2"/></joint>'
)


def test_the_motor_of_a_joint_that_follows_drives_the_one_it_follows() -> None:
    robot = load(CART_POLE.format(FOLLOWER + TRANSMISSION.replace("slider", "other")))
    assert (robot.motors.joints, robot.motors.passive, robot.motors.stated) == (("slider",), ("pole",), True)


def test_a_motor_of_an_unknown_joint_is_named() -> None:
    with pytest.warns(UserWarning, match="a motor for 'sledge', which is no joint of the robot; not used"):
        robot = load(CART_POLE.format(TRANSMISSION.replace("slider", "sledge")))
    assert not robot.motors.stated


def test_where_nothing_is_said_all_joints_count_and_that_is_said(tmp_path) -> None:
    for robot in (load(CART_POLE.format("")), mjcf(tmp_path, MJCF.format(""))):
        assert robot.motors.joints == ("slider", "pole") and not robot.motors.stated
        law = control.lqr(robot, np.zeros(2))
        assert np.any(law.K[1]) and "the file does not say which have motors" in repr(law)
        assert "the file does not say which have motors" in str(robot.audit(rules=["limits-missing"]))


def test_motors_named_in_the_call_count() -> None:
    robot = load(CART_POLE.format(""))
    law = control.lqr(robot, np.zeros(2), motors=["slider"])
    assert not np.any(law.K[1]) and law.motors.passive == ("pole",)
    with pytest.raises(DalembertError, match="slidder"):
        control.lqr(robot, np.zeros(2), motors="slidder")
    assert np.any(control.lqr(load(CART_POLE.format(TRANSMISSION)), np.zeros(2), motors=["slider", "pole"]).K[1])


def test_the_import_log_says_what_was_read() -> None:
    robot = load(CART_POLE.format(TRANSMISSION), strict=True)
    assert any("motors for 1 of 2 joints" in str(f) and "pole" in f.action for f in robot.import_log)
    odd = CART_POLE.format(TRANSMISSION.replace("slider", "lost") + TRANSMISSION)
    assert any("'lost', which is no joint" in f.what for f in load(odd).import_log)
    nothing = load(CART_POLE.format(TRANSMISSION.replace("slider", "lost")))
    assert not nothing.motors.stated
    idle = CART_POLE.replace('effort="10"', 'effort="0"').format(TRANSMISSION)
    with pytest.raises(DalembertError, match="effort limit is 0"):
        load(idle, strict=True)


def test_a_gripper_that_is_not_named_keeps_its_motor_and_that_is_a_finding() -> None:
    limited = CART_POLE.replace('type="continuous"', 'type="revolute"').replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><limit lower="0" upper="1" effort="{}" velocity="1"/>'
    )
    robot = load(limited.format(30, TRANSMISSION))
    assert robot.motors.passive == () and robot.motors.stated
    assert any("no motor is stated for pole" in f.what for f in robot.import_log if f.severity == "warning")
    with pytest.raises(DalembertError, match="no motor is stated for pole"):
        load(limited.format(30, TRANSMISSION), strict=True)
    assert load(limited.format(0, TRANSMISSION), strict=True).motors.passive == ("pole",)


def test_motors_are_saved_and_do_not_change_the_motion(tmp_path) -> None:
    robot = load(CART_POLE.format(TRANSMISSION))
    robot.save(tmp_path / "back.urdf")
    assert load(tmp_path / "back.urdf").motors == robot.motors
    assert robot == load(CART_POLE.format(""))  # the motion is the same
    notes = robot.save(tmp_path / "back.sdf")
    assert any("motor" in note.what for note in notes)
    acted = mjcf(tmp_path, MJCF.format(MOTOR))
    acted.save(tmp_path / "acted.urdf", geometry=False)
    assert load(tmp_path / "acted.urdf").motors.joints == ("slider",)


def test_joints_that_move_a_frame_on_which_an_actuator_pulls_have_a_motor(tmp_path) -> None:
    text = MJCF.replace('<body name="bob"', '<site name="hook"/><body name="bob"').format(
        '<actuator><general site="hook" gear="1 0 0 0 0 0"/></actuator>'
    )
    assert mjcf(tmp_path, text).motors.joints == ("slider",)


def test_a_motor_is_true_false_or_not_known() -> None:
    with pytest.raises(DalembertError, match="motor is 'yes'"):
        load(CART_POLE.format("")).edit().set_joint("pole", motor="yes")
