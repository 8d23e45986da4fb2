"""Nothing physical happens in silence: what the reader assumes, drops or doubts is in the log, with file and line."""

from __future__ import annotations

import pytest

from dalembert.errors import DalembertError
from dalembert.formats import Finding, read_sdf
from formats.sdf.two_links import AXIS, GOOD, sdf


def log(text: str) -> tuple[Finding, ...]:
    return read_sdf(text)[1]


def test_a_clean_file_has_an_empty_log() -> None:
    assert read_sdf(sdf(), strict=True)[1] == ()


def dynamics(inside: str) -> str:
    return f"<axis><xyz>0 0 1</xyz><dynamics>{inside}</dynamics></axis>"


WARNINGS = {
    "misspelt element": ({"link": GOOD + "<pos>0 0 1 0 0 0</pos>"}, "4 <pos>", "<pos> in <link> is not known"),
    "misspelt limit": (
        {"joint": "<axis><xyz>0 0 1</xyz><limit><lowr>-1</lowr></limit></axis>"}, "7 <lowr>", "<lowr> in <limit>",
    ),
    "degrees": ({"link": GOOD + "<pose>0 0 0 0 90 0</pose>"}, "4 <pose>", "likely cause: degrees"),
    "no mass in a loop": (
        {
            "link": GOOD.replace(">1<", ">0<"),
            "extra": '<joint name="l" type="ball"><parent>a</parent><child>b</child></joint>',
        },
        "6 <joint name='j'>", "without any mass, from 'b' on",
    ),
    "negative mass": ({"link": GOOD.replace(">1</mass", ">-1</mass")}, "4 <link name='b'>", "mass is negative"),
    "no mass": ({"link": GOOD.replace(">1</mass", ">0</mass")}, "4 <link name='b'>", "mass is 0 but"),
    "negative moment": ({"link": GOOD.replace("<ixy>0", "<ixy>2")}, "4 <link", "negative principal moment"),
    "triangle": ({"link": GOOD.replace("<ixx>1", "<ixx>2.1")}, "4 <link", "triangle inequality"),
    "no inertial": ({"link": ""}, "4 <link name='b'>", "no <inertial>"),
    "no tensor": ({"link": "<inertial><mass>1</mass></inertial>"}, "4 <inertial>", "no <inertia>"),
    "no moment": ({"link": GOOD.replace("<izz>1</izz>", "")}, "4 <inertia>", "no izz"),
    "two inertials": ({"link": GOOD + GOOD}, "4 <inertial>", "a second <inertial>"),
    "no gravity": ({"link": GOOD + "<gravity>false</gravity>"}, "4 <gravity>", "gravity does not act"),
    "kinematic": ({"link": GOOD + "<kinematic>true</kinematic>"}, "4 <link", "<kinematic> is true"),
    "decay": (
        {"link": GOOD + "<velocity_decay><linear>0.1</linear></velocity_decay>"}, "4 <velocity_decay>", "is damped by",
    ),
    "added mass": (
        {"link": GOOD.replace("</inertial>", "<fluid_added_mass><xx>1</xx></fluid_added_mass></inertial>")},
        "4 <fluid_added_mass>", "mass of the fluid",
    ),
    "long axis": ({"joint": "<axis><xyz>0 0 2</xyz></axis>"}, "7 <axis>", "axis has length 2"),
    "no pitch": ({"kind": "screw"}, "6 <joint name='j'>", "neither <screw_thread_pitch> nor"),
    "ball damping": ({"kind": "ball", "joint": dynamics("<damping>1</damping>")}, "7 <dynamics>", "of a ball joint"),
    "other dynamics": ({"joint": dynamics("<gear_ratio>9</gear_ratio>")}, "7 <gear_ratio>", "may carry physics"),
    "rotor": (
        {"joint": AXIS + '<d:rotor_inertia xmlns:d="drake">1</d:rotor_inertia>'}, "7 <rotor_inertia>", "may carry",
    ),
    "old frame attribute": ({"link": '<pose frame="a">0 0 0 0 0 0</pose>' + GOOD}, "4 <pose>", "no version of SDF"),
    "model frame after 1.6": (
        {"joint": AXIS.replace("</axis>", "<use_parent_model_frame>1</use_parent_model_frame></axis>"),
         "version": "1.7"}, "7 <axis>", "1.7 and later do not have",
    ),
    "nested static": (
        {"extra": f'<model name="m"><static>1</static><link name="c">{GOOD}</link></model>'},
        "9 <model", "<static> of a",
    ),
    "newer": ({"version": "1.12"}, "1 <sdf>", "newer than 1.11"),
    "quaternion": (
        {"version": "1.9", "link": '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 2</pose>' + GOOD},
        "4 <pose>", "length 2",
    ),
    "massless": (
        {"link": GOOD.replace(">1<", ">0<")}, "6 <joint name='j'>", "without any mass, from 'b' on",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WARNINGS)
def test_physics_in_doubt_is_a_warning_and_fails_strict(case: str) -> None:
    arguments, where, what = WARNINGS[case]
    text = sdf(**arguments)
    warnings = [finding for finding in log(text) if finding.severity == "warning"]
    assert len(warnings) == 1, warnings
    assert warnings[0].where.startswith(f"<string>:{where}")
    assert what in warnings[0].what
    with pytest.raises(DalembertError, match=f"(?s)strict=True and 1 finding.*<string>:{where}"):
        read_sdf(text, strict=True)


LIMIT = "<limit><lower>-1</lower><upper>1</upper><stiffness>1e8</stiffness></limit>"
INFOS = {
    "no mass": ({"link": GOOD.replace("<mass>1</mass>", "")}, "4 <inertial>", "taken as 1 kg"),
    "no products": ({"link": GOOD.replace("<ixy>0</ixy>", "")}, "4 <inertia>", "taken as 0"),
    "no xyz": ({"joint": "<axis/>"}, "7 <axis>", "taken as (0, 0, 1)"),
    "left-handed": (
        {"kind": "screw", "joint": AXIS + "<thread_pitch>5</thread_pitch>"}, "7 <thread_pitch>", "-1.25664 m per turn",
    ),
    "two pitches": (
        {"kind": "screw", "joint": AXIS + "<thread_pitch>5</thread_pitch><screw_thread_pitch>1</screw_thread_pitch>"},
        "7 <screw_thread_pitch>", "the latter is used",
    ),
    "pitch of a hinge": ({"joint": AXIS + "<thread_pitch>5</thread_pitch>"}, "7 <thread_pitch>", "without effect"),
    "stops": ({"joint": f"<axis><xyz>0 0 1</xyz>{LIMIT}</axis>"}, "7 <stiffness>", "stops of joints"),
    "continuous range": (
        {"kind": "continuous", "joint": "<axis><xyz>0 0 1</xyz><limit><lower>0</lower></limit></axis>"},
        "7 <limit>", "position limits not used",
    ),
    "initial position": (
        {"joint": AXIS.replace("</axis>", "<initial_position>1</initial_position></axis>")}, "7 <initial", "in q",
    ),
    "axis of a ball": ({"kind": "ball"}, "7 <axis>", "without effect"),
    "engine": ({"joint": AXIS + "<physics><ode><cfm>0</cfm></ode></physics>"}, "7 <physics>", "simulator"),
    "joint sensor": ({"joint": AXIS + '<sensor name="s"/>'}, "7 <sensor", "sensor"),
    "link sensor": ({"link": GOOD + '<sensor name="s"/>'}, "4 <sensor", "carries no dynamics"),
    "light": ({"link": GOOD + '<light name="s"/>'}, "4 <light", "carries no dynamics"),
    "self collide": ({"top": "<self_collide>1</self_collide>"}, "2 <self_collide>", "contact, plugins"),
    "wind": ({"top": "<enable_wind>1</enable_wind>"}, "2 <enable_wind>", "contact, plugins"),
    "plugin": ({"extra": '<plugin name="p" filename="f"/>'}, "9 <plugin", "contact, plugins"),
    "unknown tag": ({"extra": "<wings/>"}, "9 <wings>", "passed over"),
    "unknown attribute": ({"joint": '<axis q="1"><xyz>0 0 1</xyz></axis>'}, "7 <axis>", "passed over"),
    "surface": (
        {"link": GOOD + '<collision name="c"><geometry><box><size>1 1 1</size></box></geometry><surface/></collision>'},
        "4 <surface>", "contact",
    ),
    "friction of a surface": (
        {"link": GOOD + '<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry><surface>'
         "<friction><ode><mu>0.5</mu></ode></friction></surface></collision>"}, "4 <surface>", "kept, for contacts",
    ),
    "flat box": (
        {"link": GOOD + '<visual name="v"><geometry><box><size>0 1 1</size></box></geometry></visual>'},
        "4 <box>", "not drawn",
    ),
    "script": (
        {"link": GOOD + '<visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry><material>'
         "<script/></material></visual>"}, "4 <script>", "plain colour",
    ),
    "start": ({"extra": f'<link name="c"><pose>1 0 0 0 0 0</pose>{GOOD}</link>'}, "9 <link name='c'>", "start from"),
}  # fmt: skip


@pytest.mark.parametrize("case", INFOS)
def test_harmless_findings_are_infos(case: str) -> None:
    arguments, where, action = INFOS[case]
    findings = read_sdf(sdf(**arguments), strict=True)[1]
    assert [finding.severity for finding in findings] == ["info"]
    assert findings[0].where.startswith(f"<string>:{where}")
    assert action in findings[0].action


def test_wind_of_a_world_is_physics() -> None:
    text = sdf().replace("<model", "<world name='w'><gravity>0 0 0</gravity><wind><linear_velocity>1 0 0"
                         "</linear_velocity></wind><model").replace("</model>", "</model></world>")  # fmt: skip
    assert [finding.what for finding in log(text)] == ["wind blows in the world"]


def test_what_was_meant_by_a_misspelt_word() -> None:
    (finding,) = log(sdf(link=GOOD + "<pos>0 0 1 0 0 0</pos>"))
    assert finding.action == "not used: did you mean 'pose'?"


def test_a_link_beside_its_axis_is_told() -> None:
    (finding,) = log(sdf(joint=AXIS + "<pose>1 0 0 0 0 0</pose>"))
    assert (finding.severity, finding.where) == ("info", "<string>:4 <link name='b'>")
    assert "beside the axis" in finding.what and "named and placed like the joint" in finding.action


def test_an_empty_link_called_world_is_the_world_before_the_name_was_reserved() -> None:
    text = sdf(top='<link name="world"/>')
    model, findings = read_sdf(text)
    assert [finding.action for finding in findings] == ["taken as the world itself"]
    assert [body.name for body in model.bodies] == [body.name for body in read_sdf(sdf())[0].bodies]
