"""Nothing physical happens in silence: what the reader assumes, drops or doubts is in the log, with file and line."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.formats import Finding, read_urdf

GOOD = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


def urdf(
    *, link: str = GOOD, joint: str = '<axis xyz="0 0 1"/>' + LIMIT, extra: str = "", kind: str = "revolute"
) -> str:
    return f"""<robot name="r">
  <link name="a">{GOOD}</link>
  <link name="b">{link}</link>
  <joint name="j" type="{kind}">
    <parent link="a"/><child link="b"/>
    {joint}
  </joint>
  {extra}
</robot>"""


def log(text: str, **options: str) -> tuple[Finding, ...]:
    return read_urdf(text, **options)[1]


def test_a_clean_file_has_an_empty_log() -> None:
    assert log(urdf()) == ()
    assert read_urdf(urdf(), strict=True)[1] == ()


WARNINGS = {
    "negative mass": ({"link": GOOD.replace('value="1"', 'value="-1"')}, "3 <link name='b'>", "mass is negative"),
    "no mass": ({"link": GOOD.replace('value="1"', 'value="0"')}, "3 <link name='b'>", "mass is 0 but"),
    "negative moment": ({"link": GOOD.replace('ixy="0"', 'ixy="2"')}, "3 <link", "negative principal moment"),
    "triangle": ({"link": GOOD.replace('ixx="1"', 'ixx="2.1"')}, "3 <link", "triangle inequality.*likely cause"),
    "product left out": ({"link": GOOD.replace('ixy="0"', "")}, "3 <inertia>", "'ixy' is missing"),
    "two inertials": ({"link": GOOD + GOOD}, "3 <inertial>", "a second <inertial>"),
    "long axis": ({"joint": '<axis xyz="0 0 2"/>' + LIMIT}, "6 <axis> of joint 'j'", "axis has length 2"),
    "negative effort": ({"joint": LIMIT.replace('"3"', '"-1"')}, "6 <limit> of joint 'j'", "effort limit is negative"),
    "other dynamics": (
        {"joint": LIMIT + '<dynamics damping="1" K="7000"/>'},
        "6 <dynamics>",
        "'K' of <dynamics> is not URDF",
    ),
    "idle dynamics": ({"joint": '<dynamics damping="1"/>', "kind": "floating"}, "6 <dynamics>", "free joint"),
    "massless": ({"link": ""}, "4 <joint name='j'>", "without any mass, from 'b' on"),
    "gazebo spring": ({"extra": '<gazebo reference="j"><springStiffness>5</springStiffness></gazebo>'}, "8 <", "=5"),
    "gazebo gravity": ({"extra": '<gazebo reference="b"><gravity>false</gravity></gazebo>'}, "8 <", "gravity=false"),
    "gazebo loop": (
        {"extra": '<gazebo><joint name="x"><parent>a</parent></joint></gazebo>'},
        "8 <joint",
        "sets joint",
    ),
    "loop of an unknown type": ({"extra": '<loop_joint name="l" type="screw"/>'}, "8 <loop_joint", "type 'screw'"),
    "loop with one end": (
        {"extra": '<loop_joint name="l" type="spherical"><link1 link="a"/></loop_joint>'},
        "8 <loop_joint",
        "1 ends",
    ),
    "coupling of URDF+": ({"extra": '<coupling name="c"/>'}, "8 <coupling", "may carry physics"),
    "unknown physics": ({"link": GOOD + '<damping value="1"/>'}, "3 <damping>", "may carry physics"),
    "misspelt attribute": ({"joint": LIMIT + '<dynamics dampin="1"/>'}, "6 <dynamics>", "did you mean 'damping'"),
    "letters exchanged": ({"joint": LIMIT + '<origin xzy="0 0 1"/>'}, "6 <origin>", "did you mean 'xyz'"),
    "misspelt element": ({"joint": LIMIT + '<dynamic damping="1"/>'}, "6 <dynamic>", "did you mean <dynamics>"),
    "misspelt link": ({"extra": '<Link name="c"/>'}, "8 <Link", "did you mean <link>"),
    "links elsewhere": ({"extra": '<group><link name="c"/></group>'}, "8 <group>", "holds <link>"),
    "degrees": ({"joint": LIMIT + '<origin rpy="0 90 0"/>'}, "6 <origin>", "likely cause: degrees"),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_physics_in_doubt_is_a_warning_and_fails_strict(case: str) -> None:
    arguments, where, what = WARNINGS[case]
    text = urdf(**arguments)
    warnings = [finding for finding in log(text) if finding.severity == "warning"]
    assert len(warnings) == 1, warnings
    assert warnings[0].where.startswith(f"<string>:{where}")
    with pytest.raises(DalembertError, match=f"(?s)strict=True and 1 finding.*<string>:{where}.*{what}"):
        read_urdf(text, strict=True)


INFOS = {
    "no axis": ({"joint": LIMIT}, "4 <joint name='j'>", "taken as (1, 0, 0)"),
    "no limit": ({"joint": '<axis xyz="0 0 1"/>'}, "4 <joint name='j'>", "unlimited"),
    "rounded axis": ({"joint": '<axis xyz="0 0.70711 0.70711"/>' + LIMIT}, "6 <axis>", "normalised"),
    "no range": ({"joint": '<axis xyz="0 0 1"/><limit effort="1" velocity="1"/>'}, "6 <limit>", "unlimited"),
    "half a range": (
        {"joint": '<axis xyz="0 0 1"/><limit upper="1" effort="1" velocity="1"/>'},
        "6 <limit>",
        "taken as 0",
    ),
    "no effort": ({"joint": '<axis xyz="0 0 1"/><limit lower="0" upper="1" velocity="1"/>'}, "6 <limit>", "unlimited"),
    "continuous range": ({"joint": '<axis xyz="0 0 1"/>' + LIMIT, "kind": "continuous"}, "6 <limit>", "not used"),
    "idle limit": ({"joint": LIMIT, "kind": "fixed"}, "6 <limit>", "without effect"),
    "idle mimic": ({"joint": '<mimic joint="x"/>', "kind": "fixed"}, "6 <mimic>", "without effect"),
    "calibration": ({"joint": '<axis xyz="0 0 1"/>' + LIMIT + '<calibration rising="1"/>'}, "6 <cal", "controller"),
    "safety": (
        {"joint": '<axis xyz="0 0 1"/>' + LIMIT + '<safety_controller k_velocity="1"/>'},
        "6 <saf",
        "controller",
    ),
    "transmission": ({"extra": '<transmission name="t"><type/></transmission>'}, "8 <transmission", "armature"),
    "gazebo": ({"extra": '<gazebo reference="b"><mu1>1</mu1></gazebo>'}, "8 <gazebo>", "kept, for contacts"),
    "no gazebo spring": (
        {"extra": "<gazebo><springStiffness>0.0</springStiffness><gravity>true</gravity></gazebo>"},
        "8 <gazebo>",
        "contact, colour",
    ),
    "unknown tag": ({"extra": "<wings/>"}, "8 <wings>", "passed over"),
    "unknown attribute": ({"joint": '<axis xyz="0 0 1" kind="x"/>' + LIMIT}, "6 <axis>", "passed over"),
    "no such mesh": (
        {"link": GOOD + '<visual><geometry><mesh filename="package://x/y.stl"/></geometry></visual>'},
        "3 <mesh>",
        "kept by name",
    ),
    "mesh on the network": (
        {"link": GOOD + '<visual><geometry><mesh filename="https://x/y.stl"/></geometry></visual>'},
        "3 <mesh>",
        "kept by name",
    ),
    "empty geometry": ({"link": GOOD + "<collision><geometry/></collision>"}, "3 <collision>", "left out"),
    "flat box": (
        {"link": GOOD + '<visual><geometry><box size="1 0 1"/></geometry></visual>'},
        "3 <box>",
        "left out",
    ),
    "unknown shape": ({"link": GOOD + "<visual><geometry><torus/></geometry></visual>"}, "3 <torus>", "left out"),
    "no colour": ({"extra": '<material name="m"><color rgba="2 0 0"/></material>'}, "8 <material name='m'>", "no col"),
    "texture": ({"extra": '<material name="m"><texture filename="x"/></material>'}, "8 <material", "colours alone"),
}


@pytest.mark.parametrize("case", INFOS)
def test_harmless_findings_are_infos(case: str) -> None:
    arguments, where, action = INFOS[case]
    model, findings = read_urdf(urdf(**arguments), strict=True)
    assert [finding.severity for finding in findings] == ["info"]
    assert findings[0].where.startswith(f"<string>:{where}")
    assert action in findings[0].action
    assert model.nv == (0 if arguments.get("kind") == "fixed" else 1)


def test_non_physical_numbers_are_kept_as_given() -> None:
    model, _ = read_urdf(urdf(link=GOOD.replace('value="1"', 'value="-1"').replace('ixx="1"', 'ixx="9"')))
    assert model.bodies[1].inertia.mass == -1.0
    assert np.diag(model.bodies[1].inertia.I).tolist() == [9.0, 1.0, 1.0]


def test_many_alike_are_one_line() -> None:
    findings = log(urdf(extra="<wings/><wings/><wings/>"))
    assert [str(finding) for finding in findings] == [
        "info: <string>:8 <wings>: 3 × <wings> in <robot> is not URDF; passed over"
    ]


def test_strict_lists_every_warning_at_once() -> None:
    text = urdf(link=GOOD.replace('value="1"', 'value="-1"'), joint='<axis xyz="0 0 2"/>' + LIMIT)
    with pytest.raises(DalembertError, match=r"(?s)2 finding.*mass is negative.*length 2.*import_log"):
        read_urdf(text, strict=True)


def test_massless_chains_are_reported_once_and_armature_heals() -> None:
    chain = '<link name="c"/><joint name="k" type="prismatic"><parent link="b"/><child link="c"/>' + LIMIT + "</joint>"
    warnings = [finding for finding in log(urdf(link="", extra=chain)) if finding.severity == "warning"]
    assert [finding.where for finding in warnings] == ["<string>:4 <joint name='j'>"]
    heavy = '<axis xyz="0 0 1"/><dalembert armature="1"/>' + LIMIT
    assert not [finding for finding in log(urdf(link="", joint=heavy)) if finding.severity == "warning"]


def test_unlimited_written_as_the_largest_double() -> None:
    limit = '<limit lower="-1.7e308" upper="1.7e308" effort="1e300" velocity="1e100"/>'
    joint = read_urdf(urdf(joint='<axis xyz="0 0 1"/>' + limit))[0].bodies[1].joint
    bounds = [joint.lower[0], joint.upper[0], joint.effort_limit[0], joint.velocity_limit[0]]
    assert bounds == [-np.inf, np.inf, np.inf, np.inf]
