"""Broken and hostile files: one DalembertError each, with file, line and cure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dalembert.errors import DalembertError
from dalembert.formats import read_urdf
from dalembert.formats.xml import MAX_BYTES, MAX_DEPTH, parse

GOOD = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def links(*names: str) -> str:
    return "".join(f'<link name="{name}"/>' for name in names)


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'\n<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def robot(inside: str) -> str:
    return f'<robot name="r">{inside}</robot>'


def shown(shape: str) -> str:
    return robot(f'<link name="a">\n<visual><geometry>{shape}</geometry></visual></link>')


def two(inside: str) -> str:
    return robot(links("a", "b") + joint("j", "a", "b", inside))


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>'

CASES = {
    "entity bomb": (BOMB + robot('<link name="&c;"/>'), "has a DOCTYPE.*remove"),
    "external entity": ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + robot("&x;"), "has a DOCTYPE"),
    "doctype after prolog": ("<?xml version='1.0'?><!-- a --> \n<!doctype html><html/>", "has a DOCTYPE"),
    "undefined entity": (robot("&x;"), "not well-formed XML: Entity 'x' not defined"),
    "deep nesting": (robot("<a>" * 200 + "</a>" * 200), f"nest deeper than {MAX_DEPTH}"),
    "deeper nesting": (robot("<a>" * 9999 + "</a>" * 9999), "not well-formed XML: Excessive depth"),
    "truncated": ('<robot name="r"><link name="a"', ":1: not well-formed XML.*export it again"),
    "same attribute twice": ('<robot><link name="a" name="b"/></robot>', "Attribute name redefined"),
    "unknown encoding": ('<?xml version="1.0" encoding="klingon"?><robot/>', "the robot has no <link>"),
    "html": ("<html><body>404</body></html>", "root element is <html> .this is a web page., expected <robot>"),
    "mjcf": ("<mujoco/>", "this is MJCF"),
    "no links": (robot(""), "the robot has no <link>"),
    "xacro": ('<robot xmlns:xacro="http://ros.org/xacro"><xacro:arm/></robot>', "xacro macros; name it .urdf.xacro"),
    "bare xacro": ("<robot><link name='a'><xacro:arm/></link></robot>", "xacro macros; name it .urdf.xacro"),
    "xacro of words": (two('<origin xyz="$(optenv X 0 0 1)"/>'), r"0 0 1\)\" is an unexpanded xacro expression"),
    "xacro expression": (two('<origin xyz="0 0 ${h}"/>'), "xyz: '\\${h}' is an unexpanded xacro expression"),
    "no name": ("<robot><link/></robot>", "1 <link>: attribute 'name' is missing"),
    "blank name": (robot(links(" ")), "attribute 'name' is empty"),
    "same link twice": (robot(links("a", "b", "a")), "line 1 has a link of the same name"),
    "same joint twice": (
        robot(links("a", "b", "c") + joint("j", "a", "b") + joint("j", "b", "c")),
        "3 <joint name='j'>: line 2 has a joint of the same name; rename",
    ),
    "no such parent": (
        robot(links("a", "elbow") + joint("j", "elbw", "a")),
        "2 <joint name='j'>: unknown link 'elbw': did you mean 'elbow'",
    ),
    "no such child": (robot(links("a") + joint("j", "a", "b")), "unknown link 'b'"),
    "no parent": (robot(links("a") + '<joint name="j" type="fixed"><child link="a"/></joint>'), "has no <parent>; add"),
    "no child": (robot(links("a") + '<joint name="j" type="fixed"><parent link="a"/></joint>'), "has no <child>; add"),
    "two roots": (robot(links("a", "b")), "2 links have no parent: 'a', 'b'; a robot has one root"),
    "two parents": (
        robot(links("a", "b", "c") + joint("i", "a", "c") + joint("j", "b", "c")),
        "3 <joint name='j'>: link 'c' already hangs on joint 'i' .<string>:2 ",
    ),
    "loop of all": (robot(links("a", "b") + joint("i", "a", "b") + joint("j", "b", "a")), "form a loop.*trees only"),
    "loop apart": (
        robot(links("r", "a", "b") + joint("i", "a", "b") + joint("j", "b", "a")),
        "joints 'i', 'j' form a loop|joints 'j', 'i' form a loop",
    ),
    "own parent": (robot(links("a") + joint("j", "a", "a")), "joints 'j' form a loop"),
    "no type": (robot(links("a", "b") + '<joint name="j"/>'), "attribute 'type' is missing"),
    "unknown type": (
        robot(links("a", "b") + joint("j", "a", "b", kind="revolut")),
        "unknown joint type 'revolut': did you mean 'revolute'",
    ),
    "zero axis": (two('<axis xyz="0 0 0"/>'), "axis .0, 0, 0. of joint 'j' is zero; write a direction"),
    "axis without xyz": (two("<axis/>"), "attribute 'xyz' is missing"),
    "flipped limits": (
        two('<limit lower="2" upper="1" effort="1" velocity="1"/>'),
        "<limit>: lower limit 2 of joint 'j' is above upper limit 1; swap them",
    ),
    "two numbers": (two('<origin xyz="1 2"/>'), 'attribute xyz="1 2" has 2 numbers, expected 3'),
    "a word": (two('<origin rpy="1 2 x3"/>'), "attribute rpy: 'x3' is not a number"),
    "a comma": (two('<origin xyz="1, 2, 3"/>'), "attribute xyz: '1,' is not a number"),
    "underscore": (two('<origin xyz="1_0 2 3"/>'), "'1_0' is not a number"),
    "nan": (two('<dynamics damping="nan"/>'), "<dynamics>: attribute damping: 'nan' is not finite"),
    "inf": (two('<limit lower="0" upper="-Infinity"/>'), "attribute upper: '-Infinity' is not finite.*leave"),
    "overflow": (two('<origin xyz="1e999 0 0"/>'), "1e999 is too large"),
    "huge": (two('<origin xyz="1e31 0 0"/>'), "1e31 is too large, expected at most 1e.30"),
    "long number": (two(f'<origin xyz="{"1" * 5000} 0 0"/>'), "is not a number"),
    "negative damping": (two('<dynamics damping="-1"/>'), "damping of joint 'j' is -1; it must not be negative"),
    "no mass": (robot(f'<link name="a">{GOOD.replace("mass", "mas")}</link>'), "has no <mass>; add"),
    "no tensor": (robot('<link name="a"><inertial><mass value="1"/></inertial></link>'), "has no <inertia>; add"),
    "no moment": (robot(f'<link name="a">{GOOD.replace("ixx", "ixz2")}</link>'), "attribute 'ixx' is missing"),
    "box without size": (shown("<box/>"), "2 <box>: attribute 'size' is missing"),
    "box with two edges": (shown('<box size="1 2"/>'), '2 <box>: attribute size="1 2" has 2 numbers, expected 3'),
    "sphere without radius": (shown("<sphere/>"), "2 <sphere>: attribute 'radius' is missing"),
    "length in words": (shown('<cylinder radius="1" length="long"/>'), "length: 'long' is not a number"),
    "capsule without length": (shown('<capsule radius="1"/>'), "2 <capsule>: attribute 'length' is missing"),
    "mesh without file": (shown("<mesh/>"), "2 <mesh>: attribute 'filename' is missing"),
    "mesh scale": (shown('<mesh filename="a.stl" scale="0.001"/>'), "has 1 numbers, expected 3"),
    "place of a shape": (
        shown('<sphere radius="1"/>').replace("<visual>", '<visual><origin xyz="0 0 z"/>'),
        "<origin>: attribute xyz: 'z' is not a number",
    ),
    "loop_joint without a name": (
        robot(links("a") + '\n<loop_joint type="spherical"><link1 link="a"/><link2 link="a"/></loop_joint>'),
        "2 <loop_joint>: attribute 'name' is missing",
    ),
    "own tag, unknown word": (two('<dalembert armatur="1"/>'), "unknown attribute 'armatur': did you mean 'armature'"),
    "own tag twice": (two("<dalembert/><dalembert/>"), "a second <dalembert>"),
    "own tag filled": (two("<dalembert><x/></dalembert>"), "attributes only"),
    "own tag, negative": (two('<dalembert armature="-1"/>'), "armature of joint 'j' is -1"),
    "own tag, no slip": (two('<dalembert slip_speed="0"/>'), "slip_speed of joint 'j' is 0"),
    "own tag on fixed": (
        robot(links("a", "b") + joint("j", "a", "b", '<dalembert armature="1"/>', "fixed")),
        "no meaning on the fixed joint 'j'",
    ),
    "own base": (robot('<dalembert base="flying"/>' + links("a")), "unknown base 'flying'"),
    "a link called world": (
        robot(links("a", "world") + joint("j", "a", "world")),
        "2 <joint name='j'>: the child of a joint cannot be the world",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_broken_files_name_place_and_cure(case: str) -> None:
    text, message = CASES[case]
    with pytest.raises(DalembertError, match=f"(?s)^<string>.*{message}"):
        read_urdf(text)


def test_a_prolog_of_many_comments_takes_no_time() -> None:
    assert parse("<!---->" * 20_000 + robot("")).root.tag == "robot"


FILES = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n\t", "the file is empty"),
    "binary": (bytes(range(256)) * 9, "not UTF-8 text"),
    "utf-16": (robot("").encode("utf-16"), "not UTF-8 text .*save the file as UTF-8"),
    "latin-1": ('<robot name="ü"/>'.encode("latin-1"), "not well-formed XML"),
    "text": (b"hello", "not well-formed XML"),
    "encoding": (b'<?xml version="1.0" encoding="klingon"?><robot/>', "not well-formed XML: Unsupported encoding"),
    "zip": (b"PK\3\4" + bytes(30), "not UTF-8 text"),
    "utf-7 doctype": (b'<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE r+AD4-<r/>', "not well-formed|DOCTYPE"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_no_xml(case: str, tmp_path: Path) -> None:
    content, message = FILES[case]
    file = tmp_path / "x.urdf"
    file.write_bytes(content)
    with pytest.raises(DalembertError, match=f"x.urdf.*: {message}"):
        read_urdf(file)
    with pytest.raises(DalembertError, match=message):
        read_urdf(content)


def test_size_is_refused_before_parsing(tmp_path: Path) -> None:
    file = tmp_path / "big.urdf"
    with file.open("wb") as out:
        out.truncate(MAX_BYTES + 1)  # sparse: nothing is written, nothing must be read
    with pytest.raises(DalembertError, match=r"big\.urdf: 67108865 bytes is more than the 67108864"):
        read_urdf(file)
    with pytest.raises(DalembertError, match="<string>: 101 bytes is more than the 50"):
        parse(robot("x" * 75 + "  "), size_limit=50)


def test_a_huge_attribute_is_refused() -> None:
    with pytest.raises(DalembertError, match="limit exceeded"):
        read_urdf(robot(f'<link name="{"a" * 11_000_000}"/>'))


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(DalembertError, match="no such file; check the path"):
        read_urdf(tmp_path / "none.urdf")
    with pytest.raises(DalembertError, match="not a regular file"):
        read_urdf(tmp_path)
    with pytest.raises(DalembertError, match="cannot be read"):
        read_urdf("a\0b.urdf")
    with pytest.raises(DalembertError, match="expected a path or XML text, got int"):
        read_urdf(3)  # type: ignore[arg-type]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.urdf")  # opening it would wait for a writer
        with pytest.raises(DalembertError, match="not a regular file"):
            read_urdf(tmp_path / "pipe.urdf")


def test_nothing_is_fetched(tmp_path: Path) -> None:
    """Neither XInclude nor schema hints nor mesh paths are followed."""
    secret = tmp_path / "secret"
    secret.write_text('<link name="stolen"/>')
    include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{secret}"/>'
    model, log = read_urdf(robot(links("a") + include))
    assert [frame.name for frame in model.frames] == ["a"]
    assert any("include" in finding.what for finding in log)
