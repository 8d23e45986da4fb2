"""<dalembert> in URDF: the base's place and forces, gravity, and joints with several coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError
from dalembert.formats import read

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'


def urdf(robot: str = "", joint: str = "", kind: str = "planar") -> str:
    return f"""<robot name="r">{robot}
  <link name="a">{INERTIAL}</link><link name="b">{INERTIAL}</link>
  <joint name="j" type="{kind}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>{joint}</joint>
</robot>"""


def test_where_the_base_is_and_gravity():
    model = read(urdf('<dalembert xyz="1 2 3" rpy="0 0 1.5707963267948966" gravity="0 0 -1.62"/>'))[0]
    base = model.bodies[0]
    np.testing.assert_allclose(base.placement.p, (1, 2, 3))
    np.testing.assert_array_equal(base.placement.R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(model.gravity, (0, 0, -1.62))


def test_forces_of_a_free_base():
    text = urdf('<dalembert base="free" damping="1 2 3 4 5 6" stiffness="7 7 7 0 0 0"/>')
    joint = read(text)[0].bodies[0].joint
    np.testing.assert_array_equal(joint.damping, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(joint.stiffness, [7, 7, 7, 0, 0, 0])
    model, log = read(text, base="fixed")
    assert model.bodies[0].joint.nv == 0 and any("but base='fixed'" in finding.what for finding in log)


def test_forces_and_limits_of_a_planar_joint():
    effects = 'armature="0.1" damping="1 2 3" friction="0.5" slip_speed="0.02" rest="0.1 0.2 0.3" stiffness="4 5 6"'
    limits = 'lower="-1 -2 -1.7976931348623157e+308" upper="1 2 1.7976931348623157e+308" effort_limit="9"'
    joint = read(urdf(joint=f"<dalembert {effects} {limits}/>"))[0].body("b").joint
    np.testing.assert_array_equal(joint.armature, [0.1, 0.1, 0.1])
    np.testing.assert_array_equal(joint.damping, [1, 2, 3])
    np.testing.assert_array_equal(joint.rest, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(joint.lower, [-1, -2, -np.inf])
    np.testing.assert_array_equal(joint.upper, [1, 2, np.inf])
    np.testing.assert_array_equal(joint.effort_limit, [9, 9, 9])
    assert joint.slip_speed == 0.02


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (urdf('<dalembert damping="1"/>'), 'damping has no meaning without base="free"'),
        (urdf('<dalembert base="afloat"/>'), "unknown base 'afloat'"),
        (urdf('<dalembert xyz="1 2"/>'), "has 2 numbers, expected 3"),
        (urdf('<dalembert held_by="j"/>'), 'held_by="j" must name the fixed joint by which an empty link "world"'),
        (urdf('<dalembert held_by="j" xyz="1 2 3"/>'), "xyz and rpy beside held_by"),
        (urdf(joint='<dalembert damping="1 2"/>'), "has 2 numbers, expected 3"),
        (urdf(joint='<dalembert damping="-1"/>'), "damping is .* expected at least 0"),
        (urdf(joint='<dalembert damping="x"/>'), "'x' is not a number"),
        (urdf(joint='<dalembert damping=" "/>'), "attribute 'damping' is empty"),
        (urdf(joint='<dalembert damping="1"/>', kind="revolute"), "unknown attribute 'damping'"),
        (urdf(joint='<dalembert armature="1"/>', kind="fixed"), "no meaning on the fixed joint 'j'"),
    ],
)
def test_mistakes_have_their_place(text, words):
    with pytest.raises(DalembertError, match=f"^<string>:[1-4] .*{words}"):
        read(text)
