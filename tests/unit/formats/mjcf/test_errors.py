"""Broken and hostile MJCF: one DalembertError each, with file, line, likely cause and cure."""

from __future__ import annotations

import builtins
import os
from pathlib import Path

import pytest

from dalembert.errors import DalembertError
from dalembert.formats import read_mjcf
from dalembert.formats.mjcf.source import MAX_DEPTH

GEOM = '<geom size=".1"/>'


def mujoco(inside: str, before: str = "", after: str = "") -> str:
    """The body's content stands in line 3."""
    return f"<mujoco>{before}\n<worldbody>\n{inside}</worldbody>\n{after}</mujoco>"


def body(inside: str, **sections: str) -> str:
    return mujoco(f'<body name="a">{inside}</body>', **sections)


def inertial(words: str) -> str:
    return body(f'<joint/><inertial pos="0 0 0" mass="1" {words}/>')


def two(after: str) -> str:
    bodies = f'<body name="a"><joint name="j"/>{GEOM}<body name="b"><joint name="k"/>{GEOM}</body></body>'
    return mujoco(bodies, after=after)


CASES = {
    # what XML itself must be
    "entity bomb": ('<!DOCTYPE m [<!ENTITY a "aaaa">]>' + mujoco(""), "has a DOCTYPE.*remove"),
    "external entity": ('<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco>&x;</mujoco>', "has a DOCTYPE"),
    "truncated": ("<mujoco><worldbody><body", ":1: not well-formed XML.*export it again"),
    "tags crossed": ("<mujoco><worldbody></mujoco></worldbody>", "not well-formed XML"),
    "too deep": (mujoco("<body>" * 252 + "</body>" * 252), f"nest deeper than {MAX_DEPTH}"),
    "urdf": ('<robot name="r"/>', r"root element is <robot> \(this is URDF: name it .urdf\), expected <mujoco>"),
    "sdf": ("<sdf/>", "this is SDF"),
    "web page": ("<html/>", "this is a web page"),
    "a part": ("<mujocoinclude/>", "a part for other files to include; load the file that includes it"),
    "empty": ("<mujoco/>", "<worldbody> has nothing in it"),
    # spelling and structure
    "unknown attribute": (
        body('<joint axs="0 0 1"/>'),
        r":3 <joint>: .*unrecognized attribute: 'axs'; check its spell",
    ),
    "unknown element": (body("<jiont/>"), ":3 <jiont>: .*unrecognized element; check its spelling"),
    "element astray": ("<mujoco>\n<joint/></mujoco>", ":2 <joint>: .*unrecognized element.*where"),
    "unknown type": (body('<joint type="hing"/>'), ":3 <joint>: .*invalid keyword: 'hing'; use one of the words"),
    "unknown class": (body('<joint class="x"/>'), ":3 <joint>: .*unknown default.*define it in <default>"),
    "same body twice": (
        mujoco('<body name="a"/>\n<body name="a"/>'),
        ":4 <body name='a'>: .*repeated name 'a'.*rename",
    ),
    "same joint twice": (body('<joint name="j"/><joint name="j"/>' + GEOM), "repeated name 'j'.*rename"),
    # numbers
    "not a number": (body('<joint axis="0 0 x"/>'), ":3 <joint>: .*attribute 'axis'; write numbers"),
    "too few numbers": (mujoco('<body pos="1 2"/>'), ":3 <body>: .*not have enough data; give as many"),
    "too many numbers": (mujoco('<body pos="1 2 3 4"/>'), ":3 <body>: .*too much data; give as many"),
    "nan": (mujoco('<body name="a" pos="0 0 nan"/>'), ":3 <body name='a'>: pos=\"0 0 nan\" is not finite; write"),
    "inf": (body('<geom size="inf"/>'), ':3 <geom>: size="inf" is not finite'),
    "overflow": (mujoco('<body pos="1e300 0 0"/>'), ":3 <body>: holds numbers that are not finite or above 1e"),
    "zero axis": (body('<joint axis="0 0 0"/>' + GEOM), ":3 <joint>: .*axis.*write a direction"),
    "zero quaternion": (mujoco('<body quat="0 0 0 0"/>'), ":3 <body>: .*quat"),
    "no size": (body("<joint/><geom/>"), ":3 <geom>: .*size.*give a geom sizes above 0"),
    "negative size": (body('<joint/><geom size="-1"/>'), ":3 <geom>: .*size"),
    # masses
    "no mass": (body("<joint/>"), ":3 <body name='a'>: .*mass and inertia of moving bodies.*give the body a geom"),
    "negative mass": (
        body('<joint/><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/>'),
        ":3 <body name='a'>: .*mass",
    ),
    "triangle": (inertial('diaginertia="1 1 9"'), ":3 <body name='a'>: .*triangle inequality: likely not taken at"),
    "negative moment": (inertial('diaginertia="1 -1 1"'), ":3 <body name='a'>: .*inertia.*moment|mass and inertia"),
    "tensor not positive": (inertial('fullinertia="1 1 1 5 0 0"'), ":3 .*fullinertia as Ixx Iyy Izz Ixy Ixz Iyz"),
    "two inertias": (inertial('diaginertia="1 1 1" fullinertia="1 1 1 0 0 0"'), ":3 "),
    # joints
    "free below": (
        mujoco(f"<body>{GEOM}\n<body name='b'><freejoint/>{GEOM}</body></body>"),
        ":4 <body name='b'>: .*top level",
    ),
    "free and hinge": (body(f"<freejoint/><joint/>{GEOM}"), ":3 <body name='a'>: .*a body has six freedoms at most"),
    "joint in the world": (mujoco("<joint/>"), ":3 <joint>: "),
    # names that lead nowhere
    "no such joint": (two('<actuator><motor joint="jj"/></actuator>'), ":4 <motor>: .*'jj'.*correct the name"),
    "no such body": (two('<equality><weld body1="c"/></equality>'), ":4 <weld>: .*'c'.*correct the name"),
    "no such leader": (
        two('<equality><joint joint1="j" joint2="q"/></equality>'),
        ":4 <joint>: .*'q'.*correct the name",
    ),
    "follows itself": (two('<equality><joint joint1="j" joint2="j"/></equality>'), ":4 <joint>: .*'j' is repeated"),
    "no such material": (body('<geom size="1" material="m"/>'), ":3 <geom>: .*material 'm' not found"),
    "no such mesh": (body('<geom type="mesh" mesh="m"/>'), ":3 <geom>: .*mesh 'm' not found"),
    "no such mesh file": (
        mujoco('<geom type="mesh" mesh="m"/>', before='<asset>\n<mesh name="m" file="no.stl"/></asset>'),
        ":2 <mesh name='m'>: there is no file 'no.stl'; correct file, or meshdir",
    ),
    "no such include": (mujoco('<include file="no.xml"/>'), ":3 <include>: there is no file 'no.xml'"),
    "include without a file": (mujoco("<include/>"), ":3 <include>: attribute 'file' is missing"),
    # what a tree of rigid bodies cannot hold
    "deformable": (
        mujoco('<flexcomp name="f" type="grid" count="3 3 1" spacing=".1 .1 .1" mass="1" dim="2"/>'),
        ":3 <flexcomp name='f'>: a deformable body cannot be part of a tree of rigid ones; remove it",
    ),
    "plugin": (
        body(
            f'<joint/>{GEOM}<plugin plugin="no.such.plugin"/>', before='<extension><plugin plugin="x.y"/></extension>'
        ),
        "plugin.*remove it",
    ),
    # hostile sizes and places
    "include from the root": (mujoco('<include file="/etc/passwd"/>'), ":3 <include>: .*not a relative path"),
    "include from far off": (
        mujoco('<include file="../../../../etc/x.xml"/>'),
        ":3 <include>: .*outside the folder above",
    ),
    "include by net": (mujoco('<include file="http://a.b/c.xml"/>'), ":3 <include>: .*not a relative path"),
    "a billion bodies": (
        mujoco(f'<replicate count="1000000000">{GEOM}</replicate>'),
        ":3 <replicate>: describes .*reduce",
    ),
    "powers of bodies": (
        mujoco('<replicate count="999">' * 3 + GEOM + "</replicate>" * 3),
        ":3 <replicate>: describes",
    ),
    "count that is none": (mujoco('<replicate count="many"/>'), ":3 <replicate>: count: 'many' is not a whole number"),
    "huge height field": (
        mujoco("", before='<asset>\n<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
        ":2 <hfield name='h'>: ncol, nrow: 1e.10 cells, more than",
    ),
    "huge history": (two('<actuator><motor joint="j" nsample="1000000000"/></actuator>'), ":4 <motor>: nsample: 1e"),
}


@pytest.mark.parametrize("name", CASES)
def test_broken(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, expected = CASES[name]
    with pytest.raises(DalembertError, match=expected) as error:
        read_mjcf(text)
    assert str(error.value).startswith("<string>") and len(str(error.value)) < 600
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_the_list_is_long():
    assert len(CASES) >= 50


def test_a_file_is_named_with_its_line(tmp_path):
    (tmp_path / "part.xml").write_text('<mujocoinclude>\n<body name="b">\n<joint axs="1"/></body></mujocoinclude>')
    (tmp_path / "robot.xml").write_text(mujoco('<include file="part.xml"/>'))
    with pytest.raises(DalembertError) as error:
        read_mjcf(tmp_path / "robot.xml")
    assert str(error.value).startswith(f"{tmp_path / 'part.xml'}:3 <joint>: MuJoCo refuses it")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            '<mujoco><include file="part.xml"/></mujoco>',
            "part.xml:1 <include>: .*is included twice, or includes",
        ),
        ('<!DOCTYPE x [<!ENTITY a "b">]><mujoco/>', "part.xml: the file has a DOCTYPE"),
        ("<robot/>", "part.xml:1 <robot>: included in .*robot.xml:3 <include>, but the root is <robot>"),
        ("", "part.xml: the file is empty"),
        ("<mujoco", "part.xml:1: not well-formed"),
    ],
)
def test_broken_includes(tmp_path, part, expected):
    (tmp_path / "part.xml").write_text(part)
    (tmp_path / "robot.xml").write_text(mujoco('<include file="part.xml"/>'))
    with pytest.raises(DalembertError, match=expected):
        read_mjcf(tmp_path / "robot.xml")


def test_models_that_mujoco_would_open_itself_are_looked_at_first(tmp_path):
    (tmp_path / "sub.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><mujoco/>')
    text = mujoco('<attach model="s" prefix="p"/>', before='<asset><model name="s" file="sub.xml"/></asset>')
    (tmp_path / "robot.xml").write_text(text)
    with pytest.raises(DalembertError, match=r"sub.xml: the file has a DOCTYPE"):
        read_mjcf(tmp_path / "robot.xml")


def test_a_model_that_attaches_itself(tmp_path):
    text = mujoco('<attach model="s" prefix="p"/>', before='<asset><model name="s" file="robot.xml"/></asset>')
    (tmp_path / "robot.xml").write_text(text)
    with pytest.raises(DalembertError, match=r"robot.xml:1 <model name='s'>: .*is included twice, or includes itself"):
        read_mjcf(tmp_path / "robot.xml")


def test_a_folder_or_pipe_is_no_mesh(tmp_path):
    make = getattr(os, "mkfifo", os.mkdir)  # opening a pipe would wait for a writer
    make(tmp_path / "m.stl")
    (tmp_path / "robot.xml").write_text(mujoco("", before='<asset><mesh name="m" file="m.stl"/></asset>'))
    with pytest.raises(DalembertError, match=r"<mesh name='m'>: .*is not a regular file"):
        read_mjcf(tmp_path / "robot.xml")


@pytest.mark.parametrize("option", [{"base": "loose"}, {"mimic": "no"}])
def test_unknown_options(option):
    with pytest.raises(DalembertError, match=r"read_mjcf: unknown"):
        read_mjcf(body(GEOM), **option)


def test_without_mujoco(monkeypatch):
    ordinary = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "mujoco":
            raise ImportError(name)
        return ordinary(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DalembertError, match=r"not installed: pip install 'dalembert\[mjcf\]'"):
        read_mjcf(body(GEOM))


def test_nothing_is_logged_to_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read_mjcf(body(f"<joint/>{GEOM}", before='<compiler settotalmass="3"/>'))
    assert not list(Path().iterdir())
