"""Broken and hostile SDF files: one DalembertError each, with file, line and cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalembert import load
from dalembert.errors import DalembertError
from dalembert.formats import read_sdf
from formats.sdf.two_links import AXIS, GOOD, sdf


def bare(inside: str, version: str = "1.9") -> str:
    return f'<sdf version="{version}"><model name="r">{inside}</model></sdf>'


def links(*names: str) -> str:
    return "".join(f'<link name="{name}">{GOOD}</link>' for name in names)


def joint(ends: str, inside: str = "", kind: str = "revolute") -> str:
    return f'\n<joint name="j" type="{kind}">{ends}{inside}</joint>'


ENDS = "<parent>a</parent><child>b</child>"
AXIS2 = "<axis2><xyz>0 0 1</xyz></axis2>"
BOMB = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'

CASES = {
    "entity bomb": (BOMB + bare('<link name="&b;"/>'), "has a DOCTYPE.*remove"),
    "external entity": ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + bare("&x;"), "has a DOCTYPE"),
    "deep nesting": (bare("<a>" * 200 + "</a>" * 200), "nest deeper than"),
    "truncated": ('<sdf version="1.6"><model name="r"', ":1: not well-formed XML"),
    "urdf": ("<robot/>", "root element is <robot> .this is URDF., expected <sdf>"),
    "no version": ("<sdf><model name='r'/></sdf>", "attribute 'version' is missing"),
    "no number": ("<sdf version='new'/>", 'version="new" is not a version; write one from 1.4 to 1.11'),
    "too old": ("<sdf version='1.3'/>", "SDF 1.3 is older than 1.4; convert it first: gz sdf"),
    "empty": ("<sdf version='1.6'/>", "there is no <model>; add one"),
    "two worlds": ("<sdf version='1.6'><world name='a'/><world name='b'/></sdf>", "the file has 2 worlds"),
    "no links": (bare(""), "the model has no <link>; add one"),
    "no name": (bare("<link/>"), "1 <link>: attribute 'name' is missing"),
    "model without name": ("<sdf version='1.6'><model/></sdf>", "<model>: attribute 'name' is missing"),
    "same link twice": (bare(links("a", "b", "a")), "line 1 has a link of the same name; rename one"),
    "link and joint alike": (bare(links("j", "b") + joint("<parent>j</parent><child>b</child>", AXIS)),
        "line 1 has a link"),
    "a link called world": (bare(links("world")), "the name 'world' is reserved by SDF; remove it or give it another"),
    "reserved": (bare(links("__model__")), "the name '__model__' is reserved by SDF"),
    "separator": (bare(links("a::b")), "'::' in a name refers to entities inside models; rename it"),
    "no type": (bare(links("a", "b") + f'<joint name="j">{ENDS}</joint>'), "attribute 'type' is missing"),
    "unknown type": (bare(links("a", "b") + joint(ENDS, AXIS, "revolut")), "2 <joint name='j'>: unknown joint type "
                     "'revolut': did you mean 'revolute'"),
    "piston": (bare(links("a", "b") + joint(ENDS, AXIS, "piston")), "unknown joint type 'piston'"),
    "no parent": (bare(links("a", "b") + joint("<child>b</child>", AXIS)), "2 <joint name='j'>: has no <parent>; add"),
    "no child": (bare(links("a", "b") + joint("<parent>a</parent>", AXIS)), "has no <child>; add"),
    "empty child": (bare(links("a", "b") + joint("<parent>a</parent><child/>", AXIS)), "<child>: is empty"),
    "unknown parent": (bare(links("arm", "b") + joint("<parent>amr</parent><child>b</child>", AXIS)),
                       "2 <joint name='j'>: unknown frame 'amr': did you mean 'arm'"),
    "child of the world": (bare(links("a") + joint("<parent>a</parent><child>world</child>", AXIS)),
                           "cannot be the world; swap <parent> and <child>"),
    "joins itself": (bare(links("a") + joint("<parent>a</parent><child>a</child>", AXIS)), "joins 'a' to itself"),
    "no axis": (bare(links("a", "b") + joint(ENDS)), "2 <joint name='j'>: has no <axis>; add <axis><xyz>0 0 1"),
    "no second axis": (bare(links("a", "b") + joint(ENDS, AXIS, "universal")), "has no <axis2>; add"),
    "zero axis": (bare(links("a", "b") + joint(ENDS, AXIS.replace("0 0 1", "0 0 0"))), "axis of joint 'j' is zero"),
    "parallel axes": (bare(links("a", "b") + joint(ENDS, AXIS + AXIS2, "universal")), "2 <joint.*are parallel"),
    "two numbers": (bare(links("a", "b") + joint(ENDS, AXIS.replace("0 0 1", "0 1"))), "2 <xyz>: has 2 number.s., "
                    "expected 3"),
    "unknown expressed_in": (bare(links("a", "b") + joint(ENDS, AXIS.replace("<xyz>", '<xyz expressed_in="c">'))),
                             "unknown frame 'c'"),
    "flipped limits": (bare(links("a", "b") + joint(ENDS, AXIS.replace(
        "</axis>", "<limit><lower>2</lower><upper>1</upper></limit></axis>"))), "lower limit 2 is above upper limit 1; "
        "swap them"),
    "limit in words": (bare(links("a", "b") + joint(ENDS, AXIS.replace(
        "</axis>", "<limit><lower>none</lower></limit></axis>"))), "2 <lower>: value: 'none' is not a number"),
    "negative damping": (bare(links("a", "b") + joint(ENDS, AXIS.replace(
        "</axis>", "<dynamics><damping>-1</damping></dynamics></axis>"))), "<damping> is -1; it must not be negative"),
    "no thread": (bare(links("a", "b") + joint(ENDS, AXIS + "<thread_pitch>0</thread_pitch>", "screw")),
                  "2 <thread_pitch>: is 0 rad/m, which no screw has; use a prismatic joint"),
    "no reference body": (bare(links("a", "b") + joint(ENDS, AXIS + AXIS2, "gearbox")), "no <gearbox_reference_body>"),
    "mimic of nothing": (bare(links("a", "b") + joint(ENDS, AXIS.replace("</axis>", "<mimic/></axis>"))),
                         "<mimic>: attribute 'joint' is missing"),
    "mass in words": (sdf(link=GOOD.replace(">1</mass", ">heavy</mass")), "4 <mass>: value: 'heavy' is not a number"),
    "nan": (sdf(link=GOOD.replace("<ixx>1", "<ixx>nan")), "4 <ixx>: value: 'nan' is not finite"),
    "huge": (sdf(link=GOOD.replace("<ixx>1", "<ixx>1e99")), "4 <ixx>: value: 1e99 is too large"),
    "empty mass": (sdf(link=GOOD.replace(">1</mass", "></mass")), "4 <mass>: is empty; write <mass>…</mass>"),
    "inertial elsewhere": (sdf(link=GOOD.replace("<mass>", '<pose relative_to="a"/><mass>')), "remove relative_to"),
    "five numbers": (sdf(link="<pose>0 0 0 0 0</pose>" + GOOD), "4 <pose>: has 5 number.s., expected 6"),
    "unknown rotation": (sdf(link='<pose rotation_format="axis">0</pose>' + GOOD), "write euler_rpy or quat_xyzw"),
    "zero quaternion": (sdf(link='<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>' + GOOD),
        "quaternion is zero"),
    "degrees of a quaternion": (sdf(link='<pose rotation_format="quat_xyzw" degrees="1">0 0 0 0 0 0 1</pose>' + GOOD),
                                "degrees has no meaning for a quaternion"),
    "unknown frame": (sdf(link='<pose relative_to="c">0 0 0 0 0 0</pose>' + GOOD),
        "4 <link name='b'>: unknown frame 'c'"),
    "ring of poses": (bare(f'<link name="a"><pose relative_to="b"/>{GOOD}</link><link name="b"><pose relative_to="a"/>'
                           f"{GOOD}</link>"), "the poses of a → b are relative to each other; base one on __model__"),
    "ring of frames": (bare(links("a") + '<frame name="f" attached_to="g"><pose relative_to="a"/></frame>'
                            '<frame name="g" attached_to="f"><pose relative_to="a"/></frame>'),
        "'f' is attached to itself.*name a link"),
    "canonical link": (bare(links("a") + '<frame name="f"/>').replace("<model", '<model canonical_link="c"'),
                       "unknown frame 'c'"),
    "placement frame": (bare(links("a") + f'<model name="m" placement_frame="x">{links("a")}</model>'),
        "unknown frame 'x'"),
    "no truth": (bare("<static>perhaps</static>" + links("a")), "<static>: 'perhaps' is not a truth value"),
    "no radius": (sdf(link=GOOD + '<visual name="v"><geometry><sphere/></geometry></visual>'),
        "has no <radius>; add it"),
    "no mesh": (sdf(link=GOOD + '<visual name="v"><geometry><mesh/></geometry></visual>'), "name the file of the mesh"),
    "include of nothing": (bare(links("a") + "<include/>"), "<include>: has no <uri>; add"),
    "merge": (bare('<include merge="true"><uri>model://x</uri></include>'), "'model://x' does not exist; put it"),
    "same joint twice": (bare(links("a", "b", "c") + joint(ENDS, AXIS) + joint(ENDS, AXIS)),
                         "3 <joint name='j'>: line 2 has a joint of the same name"),
    "link and frame alike": (bare(links("a") + '<frame name="a"/>', "1.6"), "line 1 has a link of the same name"),
    "gravity of a world": ("<sdf version='1.6'><world name='w'><gravity>9.81</gravity><model name='r'>" + links("a")
                           + "</model></world></sdf>", "<gravity>: has 1 number.s., expected 3"),
    "models without end": (bare('<model name="m">' * 40 + links("a") + "</model>" * 40), "models nest deeper than 30"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_broken_files_name_place_and_cure(case: str) -> None:
    text, message = CASES[case]
    with pytest.raises(DalembertError, match=f"(?s)^<string>.*{message}"):
        read_sdf(text)


def test_options_are_checked() -> None:
    with pytest.raises(DalembertError, match="unknown base 'flying'"):
        read_sdf(sdf(), base="flying")
    with pytest.raises(DalembertError, match="unknown mimic option 'x'"):
        read_sdf(sdf(), mimic="x")
    moving = bare(links("a") + joint("<parent>world</parent><child>a</child>", AXIS))
    with pytest.raises(DalembertError, match="base='free', but the revolute joint 'j' moves the robot in the world"):
        read_sdf(moving, base="free")


def test_load_takes_files_and_text(tmp_path: Path) -> None:
    file = tmp_path / "arm.sdf"
    file.write_text(sdf())
    assert load(file).model == load(sdf()).model == load("<?xml version='1.0'?><!-- <robot> -->" + sdf()).model
    assert [joint.name for joint in load(file).joints] == ["j"]
    with pytest.raises(DalembertError, match=r"arm\.sdf:4 <mass>: value: 'x' is not a number"):
        file.write_text(sdf(link=GOOD.replace(">1</mass", ">x</mass")))
        load(file)
    with pytest.raises(DalembertError, match="no such file"):
        load(tmp_path / "none.sdf")


def test_long_chains_of_frames_take_no_time_and_no_stack() -> None:
    frames = "".join(f'<frame name="f{i}" attached_to="{f"f{i - 1}" if i else "a"}"/>' for i in range(5000))
    assert len(read_sdf(bare(links("a") + frames))[0].frames) == 5001
