"""MJCF: what does not enter the model is in the ledger, physics as warnings, with file and line."""

from __future__ import annotations

import re

import pytest

from dalembert.errors import DalembertError
from dalembert.formats import read_mjcf

GEOM = '<geom size=".1"/>'
ARM = f"""
<body name="a"><joint name="j" axis="1 0 0"/>{GEOM}<site name="s1"/>
<body name="b" pos="0 0 1"><joint name="k" axis="1 0 0"/>{GEOM}<site name="s2"/></body></body>
"""


def mujoco(inside: str = "", before: str = "", after: str = "") -> str:
    """The bodies begin in line 3, `after` in line 6."""
    return f"<mujoco>{before}\n<worldbody>{inside or ARM}</worldbody>\n{after}</mujoco>"


def joint(words: str) -> str:
    return mujoco(f'\n<body name="a"><joint name="j" {words}/>{GEOM}</body>')


TENDON = '<tendon><spatial name="t" {}><site site="s1"/><site site="s2"/></spatial></tendon>'
MUSCLE = '<tendon><spatial name="t"><site site="s1"/><site site="s2"/></spatial></tendon>'

WARNINGS = {
    "fluid": (mujoco(before='\n<option density="1.2" viscosity="2e-5"/>'), "2 <option>: a fluid around the bodies"),
    "gravcomp": (
        mujoco(f'\n<body name="a" gravcomp="1"><joint/>{GEOM}</body>'),
        "3 <body name='a'>: gravity is compens",
    ),
    "tendon spring": (
        mujoco(after=TENDON.format('stiffness="3"')),
        "6 <spatial name='t'>: tendon 't' has stiffness; otherwise acts",
    ),
    "tendon damper": (
        mujoco(after=TENDON.format('damping="3"')),
        "tendon 't' has damping; otherwise acts in simulations",
    ),
    "tendon rotor": (
        mujoco(after=TENDON.format('armature="3"')),
        "tendon 't' has armature; otherwise not used",
    ),
    "tendon friction": (mujoco(after=TENDON.format('frictionloss="3"')), "tendon 't' has frictionloss"),
    "tendon equality": (
        mujoco(after=TENDON.format("") + '<equality><tendon name="e" tendon1="t"/></equality>'),
        "6 <tendon name='e'>: an equality of kind tendon; otherwise acts with Contact",
    ),
    "muscle": (
        mujoco(after=MUSCLE + '<actuator><muscle name="m" tendon="t"/></actuator>'),
        "6 <muscle name='m'>: 'm' is a muscle",
    ),
    "rotor on a tendon": (
        mujoco(after=MUSCLE + '<actuator><motor name="m" tendon="t" armature="1"/></actuator>'),
        "6 <motor name='m'>: actuator 'm' has armature or damping and acts on no single joint",
    ),
    "cubic spring": (
        joint('stiffness="1 2 3"'),
        "3 <joint name='j'>: a spring that is not linear.*the first one is used",
    ),
    "yield": (joint('stiffness="1" springyield="1"'), "a spring that yields"),
    "discrete steps": (
        mujoco(before='\n<option integrator="discrete"/>'),
        "2 <option>: integrator discrete; otherwise not used: .* takes the steps of Euler",
    ),
    "speculative contacts": (
        mujoco(before='\n<option><flag speculative="enable" sleep="enable"/></option>'),
        "2 <option>: option speculative; otherwise not used.*\n.*option sleep; otherwise not used",
    ),
    "tendon that yields": (
        mujoco(after=TENDON.format('stiffness="3" springyield="1"')),
        "tendon 't' is not linear; otherwise the first numbers are used, without yielding",
    ),
    "cubic damper": (joint('damping="1 2 3"'), "damping that grows with speed"),
    "flipped limits": (joint('range="30 -30"'), "the larger limit first; likely cause: flipped; otherwise unlimited"),
    "degrees": (
        mujoco(f'\n<body><joint name="j" range="-90 90"/>{GEOM}</body>', before='<compiler angle="radian"/>'),
        "3 <joint name='j'>: limits of the revolute joint 'j' are -90 and 90 rad; likely cause: degrees",
    ),
    "grams": (
        mujoco('\n<body name="a"><joint/><inertial pos="0 0 0" mass="900" diaginertia="1e-4 1e-4 1e-4"/></body>'),
        "3 <body name='a'>: link 'a': mass 900 kg lies .* denser than any material",
    ),
    "free spring": (joint('type="free" stiffness="2"'), "stiffness 2 of a free joint"),
    "free rotor": (joint('type="free" armature="2"'), "armature or frictionloss of a free joint"),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_dropped_physics_is_a_warning(name):
    text, expected = WARNINGS[name]
    model, log = read_mjcf(text)
    assert [finding for finding in log if finding.severity == "warning"] and model.nv
    with pytest.raises(DalembertError, match=f"strict=True and .*\n(?s:.*)<string>:.*{expected}"):
        read_mjcf(text, strict=True)


INFOS = {
    "contact": (mujoco(), "2 geoms that can touch; kept as collision shapes with their friction"),
    "exclude": (
        mujoco(after='<contact><exclude body1="a" body2="b"/></contact>'),
        "6 <exclude>: <exclude>; kept: the two bodies never touch",
    ),
    "motor": (
        mujoco(after='<actuator><motor joint="j"/><motor joint="k"/></actuator>'),
        "2 × actuator; its force is part",
    ),
    "sensor": (
        mujoco(after='<sensor><jointpos joint="nobody"/></sensor>'),
        "6 <jointpos>: <jointpos> sensor: there is no joint 'nobody'; left out",
    ),
    "keyframe": (mujoco(after='<keyframe><key qpos="1"/></keyframe>'), "6 <key>: keyframe 'key0' has 1 and 2 numbers"),
    "camera": (mujoco('<camera name="c"/><geom size="1"/>' + ARM), "<camera name='c'>: <camera>; passed over"),
    "texture": (
        mujoco(before='<asset><texture name="t" file="no.png"/></asset>'),
        "<texture name='t'>: <texture>; passed",
    ),
    "tendon limit": (
        mujoco(after=TENDON.format('range="0 1"')),
        "6 <spatial name='t'>: tendon with a limit; acts with",
    ),
    "tendon": (mujoco(after=TENDON.format("")), "6 <spatial name='t'>: tendon without passive forces"),
    "mocap": (mujoco(f'<body name="m" mocap="true">{GEOM}</body>' + ARM), "<body name='m'>: mocap body.*fixed where"),
    "several joints": (
        mujoco(f'<body><joint/><joint type="slide"/>{GEOM}</body>'),
        "body with several joints; a chain",
    ),
    "start": (
        mujoco(f'<body name="a" pos="1 2 3"><freejoint/>{GEOM}</body>'),
        r"'a' starts at \(1, 2, 3, 1, 0, 0, 0\); q of a floating body is its pose in the world: start from these",
    ),
    "off its origin": (joint('pos="1 0 0"'), "turns about a point off its origin; fixed in the moving link"),
    "no names": (mujoco(f"<body><joint/>{GEOM}</body>"), "body without a name; named by its number"),
    "ball limits": (joint('type="ball" range="0 30"'), "limits of a ball joint; acts with Contact"),
    "inactive": (mujoco(after='<equality><weld body1="b" active="false"/></equality>'), "equality that is not active"),
    "no effect": (
        mujoco(f'<body name="c">{GEOM}</body>' + ARM, after='<equality><weld body1="c"/></equality>'),
        "ties 'c' to 'world', which do not move relative to each other; without effect",
    ),
    "no torque": (
        mujoco(after='<equality><weld body1="b" torquescale="0"/></equality>'),
        "torquescale 0; holds the point",
    ),
    "balance": (mujoco(before='<compiler balanceinertia="true"/>'), 'compiler balanceinertia="true"; as MuJoCo does'),
    "total mass": (mujoco(before='<compiler settotalmass="3"/>'), "MuJoCo says: .*settotalmass"),
    "height field": (
        mujoco(
            '<geom type="hfield" hfield="h"/>' + ARM,
            before='<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>',
        ),
        "<geom>: height field; kept for .* and as robot.terrain",
    ),
    "solver": (mujoco(before='<option timestep="0.1"/>'), "<option>: options of MuJoCo's solver: .* kept for Contact"),
    "no gravity": (
        mujoco(before='<option><flag gravity="disable"/></option>'),
        "<option>: gravity is disabled; gravity is 0",
    ),
    "uneven effort": (joint('actuatorfrcrange="-1 2"'), "actuatorfrcrange -1 2 is not symmetric; the larger one"),
    "site like a body": (mujoco('<site name="a"/>' + ARM), "<site name='a'>: site with the name of a body"),
}


@pytest.mark.parametrize("name", INFOS)
def test_what_concerns_no_dynamics_is_information(name):
    text, expected = INFOS[name]
    _, log = read_mjcf(text, strict=True)
    assert all(str(finding).startswith("info: <string>:") for finding in log)
    lines = "\n".join(map(str, log))
    assert re.search(expected, lines), lines


def test_a_silent_file_has_a_short_log():
    still = '<geom size=".1" contype="0" conaffinity="0"/>'
    assert read_mjcf(mujoco(f'<body name="a"><joint name="j"/>{still}</body>'))[1] == ()


SEEN = """<mujoco><asset><mesh name="shell" file="nowhere.stl"/></asset><worldbody><body name="a"><joint axis="0 1 0"/>
<inertial pos=".1 0 0" mass="1" diaginertia=".001 .01 .01"/><geom type="mesh" mesh="shell" contype="0" conaffinity="0"/>
</body></worldbody></mujoco>"""


def test_meshes_that_are_only_seen_may_be_missing(tmp_path):
    (tmp_path / "arm.xml").write_text(SEEN)
    model, log = read_mjcf(tmp_path / "arm.xml", strict=True)
    assert model.nv == 1 and not model.bodies[-1].parts[0].geometry
    assert any("only seen, and whose file is missing" in finding.what for finding in log)
    inertial = '<inertial pos=".1 0 0" mass="1" diaginertia=".001 .01 .01"/>'
    for needed in (SEEN.replace('contype="0"', ""), SEEN.replace(inertial, '<geom size=".1"/>')):
        (tmp_path / "arm.xml").write_text(needed)
        with pytest.raises(DalembertError, match="there is no file"):
            read_mjcf(tmp_path / "arm.xml")
