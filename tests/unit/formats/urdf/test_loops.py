"""Closed loops in URDF files: our own element, and the dialects that are understood."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from dalembert.errors import DalembertError
from dalembert.formats import read_urdf
from tolerances import PRODUCT

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def joint(name: str, parent: str, child: str, kind: str = "continuous") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/>'
    return f'<joint name="{name}" type="{kind}">{ends}</joint>'


def chain(extra: str) -> str:
    links = "".join(f'<link name="{name}">{BODY}</link>' for name in ("base", "one", "two", "three"))
    joints = joint("j1", "base", "one") + joint("j2", "one", "two") + joint("j3", "two", "three", "fixed")
    return f'<robot name="r">{links}{joints}\n{extra}</robot>'


OWN = '<dalembert><loop name="l" {}/></dalembert>'
KINDS = {
    "weld": ("", 6),
    "point": ("", 3),
    "revolute": ('axis="0 0 2"', 5),
    "prismatic": ('axis="1 0 0"', 5),
    "cylindrical": ('axis="1 0 0"', 4),
    "planar": ('axis="0 0 1"', 3),
    "universal": ('axis="0 0 1" axis2="1 0 0"', 4),
    "point-on-line": ('axis="0 0 1"', 2),
    "point-on-plane": ('axis="0 0 1"', 1),
    "distance": ('length="0.5"', 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind: str) -> None:
    shape, count = KINDS[kind]
    ends = f'kind="{kind}" a="world" b="three" xyz_a="0 0 1" rpy_b="0 0 1.5707963267948966" xyz_b="3 2 1" {shape}'
    model, log = read_urdf(chain(OWN.format(ends)), strict=True)
    (closure,) = model.closures
    assert (closure.name, closure.kind, closure.count) == ("l", kind, count)
    assert (closure.a.body, closure.b.body) == (-1, 2)
    assert closure.a.placement.p.tolist() == [0, 0, 1]
    assert closure.b.placement.p.tolist() == [4, 2, 1]  # the fixed link three lies 1 m along two
    assert closure.b.placement.R[:, 0].tolist() == [0, 1, 0]
    assert [(finding.severity, finding.where) for finding in log] == [("info", "<string>:2 <loop name='l'>")]


def test_equation_and_gravity() -> None:
    equation = '<equation name="e" follower="j2" leader="j1" coefficients="0.5 -2 1"/>'
    model, log = read_urdf(chain(f'<dalembert gravity="0 -9.81 0">{equation}</dalembert>'))
    assert model.gravity.tolist() == [0, -9.81, 0]
    assert model.closures[0].coefficients.tolist() == [0.5, -2, 1]
    assert "polynomial of 'j1'" in log[0].what
    held = '<dalembert><equation name="e" follower="j2" coefficients="0.5"/></dalembert>'
    assert read_urdf(chain(held))[0].closures[0].leader == ""


DIALECTS = {
    "isaac": (
        '<loop_joint name="l" type="spherical"><link1 link="base" xyz="0 0 1"/><link1 link="two" xyz="3 0 0"/>'
        "</loop_joint>",
        "point",
    ),
    "drake": (
        '<loop_joint name="l" type="continuous"><link1 link="base" xyz="0 0 1"/><link2 link="two" xyz="3 0 0"/>'
        '<axis xyz="0 0 1"/></loop_joint>',
        "revolute",
    ),
    "urdf+": (
        '<loop name="l" type="revolute"><predecessor link="base"><origin xyz="0 0 1"/></predecessor>'
        '<successor link="two"><origin xyz="3 0 0"/></successor><axis xyz="0 0 1"/></loop>',
        "revolute",
    ),
    "weld": (
        '<loop_joint name="l" type="fixed"><link1 link="base" xyz="0 0 1"/><link2 link="two" xyz="3 0 0"/>'
        "</loop_joint>",
        "weld",
    ),
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(dialect: str) -> None:
    text, kind = DIALECTS[dialect]
    (closure,) = read_urdf(chain(text), strict=True)[0].closures
    assert (closure.kind, closure.a.body, closure.b.body) == (kind, 0, 2)
    assert (closure.a.placement.p.tolist(), closure.b.placement.p.tolist()) == ([0, 0, 1], [3, 0, 0])
    if kind == "revolute":
        assert closure.axis.tolist() == [0, 0, 1]


BROKEN = {
    "no name": ('<dalembert><loop kind="weld" a="base" b="two"/></dalembert>', "attribute 'name' is missing"),
    "no end": ('<dalembert><loop name="l" kind="weld" a="base"/></dalembert>', "attribute 'b' is missing"),
    "no such kind": (OWN.format('kind="wold" a="base" b="two"'), "unknown closure kind 'wold': did you mean 'weld'"),
    "no such link": (OWN.format('kind="weld" a="base" b="tow"'), "unknown body or frame 'tow': did you mean 'two'"),
    "no axis": (OWN.format('kind="revolute" a="base" b="two"'), "a revolute closure needs axis"),
    "zero axis": (OWN.format('kind="revolute" a="base" b="two" axis="0 0 0"'), "axis is .*, expected three numbers"),
    "needless axis": (OWN.format('kind="weld" a="base" b="two" axis="0 0 1"'), "unknown argument 'axis'"),
    "misspelt": (OWN.format('kind="weld" a="base" b="two" xyz="0 0 1"'), "unknown attribute 'xyz': did you mean"),
    "no length": (OWN.format('kind="distance" a="base" b="two" length="0"'), "length is 0.0, expected a length"),
    "one body": (OWN.format('kind="weld" a="three" b="two"'), "'three' to 'two', which are parts of one body"),
    "filled": ('<dalembert><loop name="l" kind="weld" a="base" b="two"><x/></loop></dalembert>', "attributes only"),
    "other tag": ("<dalembert><lop/></dalembert>", "unknown element 'lop': did you mean 'loop'"),
    "twice": (
        OWN.format('kind="weld" a="base" b="two"').replace("</d", '<loop name="l" kind="weld" a="base" b="two"/></d'),
        "already a closure of that name",
    ),
    "no such joint": ('<dalembert><equation name="e" follower="j9" coefficients="1"/></dalembert>', "unknown joint"),
    "no coefficients": ('<dalembert><equation name="e" follower="j1"/></dalembert>', "'coefficients' is missing"),
    "dialect, no link": (
        '<loop_joint name="l" type="spherical"><link1 link="base"/><link2/></loop_joint>',
        "attribute 'link' is missing",
    ),
    "gravity": ('<dalembert gravity="9.81"/>', "has 1 numbers, expected 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_loops_name_place_and_cure(case: str) -> None:
    text, message = BROKEN[case]
    with pytest.raises(DalembertError, match=f"^<string>:2 <.*{message}"):
        read_urdf(chain(text))


def test_a_four_bar_closes(tmp_path) -> None:
    """A parallelogram: with q = (t, -t, t) its loop stays closed, and forces on the open tree alone are refused."""
    links = "".join(f'<link name="{name}">{BODY}</link>' for name in ("base", "crank", "coupler", "rocker"))
    ends = [("base", "crank", "0 0 0"), ("crank", "coupler", "0 1 0"), ("base", "rocker", "2 0 0")]
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="{a}"/><child link="{b}"/><origin xyz="{xyz}"/>'
        '<axis xyz="0 0 1"/></joint>'
        for k, (a, b, xyz) in enumerate(ends)
    )
    pin = 'kind="revolute" a="coupler" b="rocker" xyz_a="2 0 0" xyz_b="0 1 0" axis="0 0 1"'
    loop = f'<dalembert><loop name="pin" {pin}/></dalembert>'
    file = tmp_path / "four_bar.urdf"
    file.write_text(f'<robot name="four_bar">{links}{joints}{loop}</robot>')
    model = read_urdf(file)[0]
    closure, tree = model.closures[0], load(file).without("loops")
    for t in (0.0, 0.4, -1.1):
        q = np.array([t, -t, t])
        poses = [tree.pose(q, frame) for frame in ("coupler", "rocker")]
        X_K, X_L = (
            X @ place.matrix() for X, place in zip(poses, (closure.a.placement, closure.b.placement), strict=True)
        )
        relative = np.linalg.inv(X_K) @ X_L
        np.testing.assert_allclose(relative[:3, 3], 0, atol=PRODUCT)
        np.testing.assert_allclose(relative[:3, 2], [0, 0, 1], atol=PRODUCT)
