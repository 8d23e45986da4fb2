"""Physics that a file states and the model does not have is a warning with a cure, so that strict=True refuses it."""

from __future__ import annotations

import pytest

from dalembert import DalembertError, load

URDF = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/>{origin}<axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="10"/></joint>{extra}</robot>"""
MJCF = """<mujoco><worldbody><body name="arm"><joint name="j" axis="0 1 0"/>
<inertial pos=".1 0 0" mass="1" diaginertia=".1 .1 .1"/></body></worldbody>{extra}</mujoco>"""
SDF = """<sdf version="1.11"><model name="m"><link name="base"/>
<link name="arm"><inertial><mass>1</mass></inertial></link>
<joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="j" type="revolute"><parent>base</parent><child>arm</child><axis><xyz>0 0 1</xyz></axis></joint>{extra}
</model></sdf>"""


def urdf(extra: str = "", origin: str = '<origin xyz="0 0 1"/>') -> str:
    return URDF.format(extra=extra, origin=origin)


CASES = {
    "damping in a gazebo axis": (
        urdf('<gazebo reference="j"><axis><dynamics><damping>0.3</damping></dynamics></axis></gazebo>'),
        "damping",
        "<dynamics>",
    ),
    "a gazebo link with mass": (
        urdf('<gazebo><link name="x"><inertial><mass>3</mass></inertial></link></gazebo>'),
        "mass",
        "<link>",
    ),
    "a gazebo plugin with forces": (
        urdf('<gazebo><plugin name="water"><linear_damping>5</linear_damping></plugin></gazebo>'),
        "linear_damping",
        "",
    ),
    "gravity by mujoco": (urdf('<mujoco><option gravity="0 0 -1.6"/></mujoco>'), "gravity", "<dalembert gravity"),
    "masses by mujoco": (urdf('<mujoco><compiler balanceinertia="true"/></mujoco>'), "balanceinertia", "<inertial>"),
    "actuators by mujoco": (
        urdf('<mujoco><actuator><position joint="j" kp="100"/></actuator></mujoco>'),
        "<actuator>",
        "MJCF",
    ),
    "rotor inertia in a transmission": (
        urdf("<transmission name='t'><actuator name='m'><rotorInertia>1e-4</rotorInertia></actuator></transmission>"),
        "rotorInertia",
        "armature",
    ),
    "a quaternion of an origin": (urdf(origin='<origin xyz="0 0 1" wxyz="0.7 0.7 0 0"/>'), "wxyz", "rpy"),
    "an element of another program": (
        urdf('<drake:x xmlns:drake="d"><drake:rotor_inertia value="1"/></drake:x>'),
        "rotor_inertia",
        "",
    ),
    "a servo": (MJCF.format(extra='<actuator><position joint="j" kp="100"/></actuator>'), "servo", "actuators"),
    "a velocity servo": (
        MJCF.format(extra='<actuator><velocity joint="j" kv="5"/></actuator>'),
        "servo",
        "actuators",
    ),
    "an SDF plugin with forces": (
        SDF.format(extra="<plugin name='p' filename='f'><spring_stiffness>3</spring_stiffness></plugin>"),
        "spring_stiffness",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_warning_with_a_cure(case):
    text, word, cure = CASES[case]
    warnings = [finding for finding in load(text).import_log if finding.severity == "warning"]
    assert any(word in finding.what and cure in finding.action for finding in warnings), warnings
    with pytest.raises(DalembertError, match="strict=True"):
        load(text, strict=True)


HARMLESS = {
    "colours and contact": '<gazebo reference="arm"><material>Gazebo/Red</material><mu1>0.5</mu1><kp>1e6</kp></gazebo>',
    "friction of a surface": '<gazebo reference="arm"><collision><surface><friction><mu>1</mu></friction>'
    "</surface></collision></gazebo>",
    "gravity as usual": '<gazebo reference="arm"><gravity>true</gravity></gazebo>',
    "no damping": '<gazebo reference="j"><axis><dynamics><damping>0.0</damping></dynamics></axis></gazebo>',
    "a transmission": '<transmission name="t"><joint name="j"/><actuator name="m">'
    "<mechanicalReduction>1</mechanicalReduction></actuator></transmission>",
    "paths for mujoco": '<mujoco><compiler meshdir="meshes" discardvisual="false" balanceinertia="false"/></mujoco>',
    "a controller": '<gazebo><plugin filename="c.so" name="c"><parameters>a.yaml</parameters></plugin></gazebo>',
}  # fmt: skip


@pytest.mark.parametrize("case", HARMLESS)
def test_no_warning(case):
    load(urdf(HARMLESS[case]), strict=True)


def test_motors_are_no_servos():
    load(MJCF.format(extra='<actuator><motor joint="j" gear="10"/></actuator>'), strict=True)
