"""What a URDF file says is what the model holds: joints, placements, inertias, frames, order, base."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.formats import read, read_urdf
from dalembert.spatial import so3
from tolerances import PRODUCT, ROUNDING, assert_close

BALL = '<inertial><mass value="{m}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def link(name: str, mass: float = 1.0) -> str:
    return f'<link name="{name}">{BALL.format(m=mass)}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def robot(*elements: str) -> str:
    return '<robot name="r">' + "".join(elements) + "</robot>"


def two(inside: str = "", kind: str = "revolute") -> str:
    return robot(link("a"), link("b"), joint("j", "a", "b", kind, inside))


LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


@pytest.mark.parametrize(
    ("urdf", "kind", "nq", "nv"),
    [
        ("revolute", "revolute", 1, 1),
        ("continuous", "continuous", 1, 1),
        ("prismatic", "prismatic", 1, 1),
        ("floating", "free", 7, 6),
        ("planar", "planar", 3, 3),
    ],
)
def test_every_moving_joint_type(urdf: str, kind: str, nq: int, nv: int) -> None:
    model, _ = read_urdf(two('<axis xyz="0 1 0"/>' + LIMIT, urdf))
    assert [(body.joint.kind, body.joint.nq, body.joint.nv) for body in model.bodies] == [
        ("fixed", 0, 0),
        (kind, nq, nv),
    ]
    assert model.joint("j").name == "b"
    if kind != "free":
        assert model.joint("j").joint.axis.tolist() == [0.0, 1.0, 0.0]


def test_fields_of_a_joint() -> None:
    inside = '<axis xyz="0 0 1"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>' + LIMIT
    inside += '<dynamics damping="0.5" friction="0.25"/>'
    inside += '<dalembert armature="0.1" slip_speed="0.02" stiffness="7" rest="-0.5" stribeck="0.3"'
    inside += ' stribeck_speed="0.2" continuous_limit="1.5"/>'
    body = read_urdf(two(inside))[0].joint("j")
    assert_close(body.placement.p, [1.0, 2.0, 3.0], ROUNDING)
    assert_close(body.placement.R, so3.from_rpy(0.1, 0.2, 0.3), ROUNDING)
    fields = {
        "lower": -1, "upper": 2, "effort_limit": 3, "velocity_limit": 4, "damping": 0.5, "friction": 0.25,
        "armature": 0.1, "stiffness": 7, "rest": -0.5, "stribeck": 0.3, "continuous_limit": 1.5,
    }  # fmt: skip
    assert {name: float(getattr(body.joint, name)[0]) for name in fields} == fields
    assert (body.joint.slip_speed, body.joint.stribeck_speed) == (0.02, 0.2)


def test_axis_defaults_to_x_and_is_normalised() -> None:
    assert read_urdf(two(LIMIT))[0].joint("j").joint.axis.tolist() == [1.0, 0.0, 0.0]
    axis = read_urdf(two('<axis xyz="0 3 4"/>' + LIMIT))[0].joint("j").joint.axis
    assert_close(axis, [0.0, 0.6, 0.8], ROUNDING)


def test_inertia_is_turned_by_its_origin() -> None:
    """The tensor is given in axes turned by rpy: I = R I Rᵀ + m (|c|² 1 - c cᵀ), not R·I and not untouched."""
    inertial = '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/><mass value="2"/>'
    inertial += '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="-0.1" izz="2"/></inertial>'
    model, _ = read_urdf(robot(f'<link name="a">{inertial}</link>'))
    R, c = so3.from_rpy(0.4, 0.5, -0.6), np.array([0.1, -0.2, 0.3])
    given = np.array([[1, 0.1, 0.2], [0.1, 1.5, -0.1], [0.2, -0.1, 2]])
    inertia = model.bodies[0].inertia
    assert_close(inertia.I, R @ given @ R.T + 2.0 * ((c @ c) * np.eye(3) - np.outer(c, c)), PRODUCT)
    assert_close(inertia.moment, 2.0 * c, ROUNDING)
    assert inertia.mass == 2.0


def test_fixed_links_become_frames_and_their_mass_is_kept() -> None:
    tool = joint("f", "b", "tool", "fixed", '<origin xyz="0 0 0.5" rpy="0 0 1"/>')
    model, _ = read_urdf(robot(link("a", 5), link("b", 2), link("tool", 1), joint("j", "a", "b", inside=LIMIT), tool))
    assert [body.name for body in model.bodies] == ["a", "b"]
    assert [frame.name for frame in model.frames] == ["a", "b", "tool"]
    assert [body.inertia.mass for body in model.bodies] == [5.0, 3.0]
    assert_close(model.frame("tool").placement.p, [0, 0, 0.5], ROUNDING)


def test_depth_first_with_siblings_in_file_order() -> None:
    links = [link(name) for name in ("zoe", "amy", "root", "leaf")]
    joints = [joint("j1", "root", "zoe", inside=LIMIT), joint("j2", "root", "amy", inside=LIMIT)]
    model, _ = read_urdf(robot(*links, joint("j3", "zoe", "leaf", inside=LIMIT), *joints))
    assert [body.name for body in model.bodies] == ["root", "zoe", "leaf", "amy"]
    assert [body.parent for body in model.bodies] == [-1, 0, 1, 0]


def test_a_joint_may_be_called_like_a_link() -> None:
    text = robot(link("a"), link("b"), joint("a", "a", "b", inside=LIMIT))
    for base, nv in (("fixed", 1), ("free", 7)):
        model, _ = read_urdf(text, base=base)
        assert model.joint("a").name == "b"
        assert model.nv == nv


def test_base() -> None:
    text, free = two(LIMIT), two(LIMIT).replace("<link", '<dalembert base="free"/><link', 1)
    assert [read_urdf(text, base=base)[0].nv for base in (None, "fixed", "free")] == [1, 1, 7]
    assert [read_urdf(free, base=base)[0].nv for base in (None, "fixed", "free")] == [7, 1, 7]
    with pytest.raises(DalembertError, match=r"unknown base 'loose'.*fixed, free"):
        read_urdf(text, base="loose")


def test_a_root_called_world_is_the_world_or_floats_under_another_name() -> None:
    hold = joint("w", "world", "a", "fixed", '<origin xyz="0 0 1"/>')
    text = robot('<link name="world"/>', link("a"), link("b"), hold, joint("j", "a", "b"))
    fixed, _ = read_urdf(text)
    assert [body.name for body in fixed.bodies] == ["world", "b"]
    assert fixed.frame("a").body == 0
    free, log = read_urdf(text, base="free")
    assert [(body.name, body.joint.kind) for body in free.bodies] == [("world_link", "free"), ("b", "revolute")]
    assert free.frame("a").placement.p.tolist() == [0, 0, 1]
    assert any(finding.action == "renamed 'world_link'" for finding in log)
    swinging = robot('<link name="world"/>', link("a"), joint("j", "world", "a"))
    assert [read_urdf(swinging, base=base)[0].nv for base in (None, "free")] == [1, 7]


def test_joints_may_hang_on_a_world_that_is_not_stated() -> None:
    """As in files of Drake; the same robot as with <link name="world"/>."""
    weld = joint("weld", "world", "a", "fixed", '<origin xyz="0 0 1"/>')
    model, log = read_urdf(robot(link("a"), link("b"), joint("j", "a", "b", inside=LIMIT), weld), strict=True)
    stated, _ = read_urdf(robot('<link name="world"/>', link("a"), link("b"), joint("j", "a", "b", inside=LIMIT), weld))
    assert model == stated and model.nv == 1
    assert [finding.severity for finding in log if "hangs on 'world'" in finding.what] == ["info"]


def test_a_floating_joint_under_the_world() -> None:
    text = robot('<link name="world"/>', link("a"), joint("root", "world", "a", "floating"))
    for base, bodies in ((None, ["world", "a"]), ("free", ["a"])):
        model, _ = read_urdf(text, base=base, strict=True)
        assert [body.name for body in model.bodies] == bodies
        assert model.nv == 6


def test_mimic() -> None:
    follower = joint("k", "b", "c", inside=LIMIT + '<mimic joint="j" multiplier="-2" offset="0.5"/>')
    text = robot(link("a"), link("b"), link("c"), joint("j", "a", "b", inside=LIMIT), follower)
    for options in ({}, {"mimic": "couple"}):
        model, log = read_urdf(text, strict=True, **options)
        assert (model.nv, model.joint("k").q, model.joint("j").q) == (1, slice(0, 1), slice(0, 1))
        follower_joint = model.joint("k").joint
        assert (follower_joint.leader, follower_joint.ratio, follower_joint.offset) == ("j", -2.0, 0.5)
        assert not [f for f in log if "mimics" in f.what]
    model, log = read_urdf(text, mimic="free")
    assert model.nv == 2
    assert [f.what for f in log if "mimics" in f.what] == ["joint 'k' mimics 'j': q = -2·q('j') + 0.5"]
    with pytest.raises(DalembertError, match="unknown mimic option 'none'"):
        read_urdf(text, mimic="none")


def mimicking(mimic: str, leader: str = "revolute", inside: str = LIMIT) -> str:
    """j, and k behind it with this <mimic>."""
    follower = joint("k", "b", "c", inside=LIMIT + mimic)
    return robot(link("a"), link("b"), link("c"), joint("j", "a", "b", leader, inside), follower)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (mimicking('<mimic joint="x"/>'), "which is not a joint of the robot"),
        (mimicking('<mimic joint="j"/>', "fixed"), "which is a fixed joint"),
        (mimicking('<mimic joint="j"/>', "planar"), "which is a planar joint"),
        (mimicking('<mimic joint="j" multiplier="0"/>'), "which never moves"),
    ],
)
def test_a_mimic_that_cannot_hold_is_logged(text: str, what: str) -> None:
    model, log = read_urdf(text)
    (finding,) = [f for f in log if "mimics" in f.what]
    assert (finding.severity, finding.action) == ("warning", "independent")
    assert what in finding.what
    assert not model.coupled
    with pytest.raises(DalembertError, match="strict=True"):
        read_urdf(text, strict=True)


def test_a_ring_of_mimics_is_refused() -> None:
    ring = mimicking('<mimic joint="j"/>', inside=LIMIT + '<mimic joint="k"/>')
    with pytest.raises(DalembertError, match=r"<mimic>: joint 'j' follows itself \(j → k → j\).*mimic=\"free\""):
        read_urdf(ring)
    assert read_urdf(ring, mimic="free")[0].nv == 2


def test_limits_of_a_follower_that_its_leader_cannot_obey_are_logged() -> None:
    model, log = read_urdf(mimicking('<mimic joint="j" offset="5"/>'))
    assert model.coupled
    (finding,) = [f for f in log if "exclude each other" in f.what]
    assert finding.severity == "info"


def test_a_massless_follower_makes_no_singular_mass_matrix() -> None:
    massless = robot(
        link("a"), link("b"), '<link name="c"/>', joint("j", "a", "b", inside=LIMIT),
        joint("k", "b", "c", inside=LIMIT + '<mimic joint="j"/>'),
    )  # fmt: skip
    assert not [f for f in read_urdf(massless)[1] if "links without any mass" in f.what]
    assert [f for f in read_urdf(massless, mimic="free")[1] if "links without any mass" in f.what]


def test_prefixes_namespaces_comments_and_unicode() -> None:
    text = f'<robot name="rübe" xmlns="urn:x" xmlns:y="urn:y"><!-- <!DOCTYPE x> --><?pi?>{link("ä")}<y:z/></robot>'
    model, _ = read_urdf('\ufeff<?xml version="1.0" encoding="latin-1"?>\n' + text)
    assert (model.name, model.bodies[0].name) == ("rübe", "ä")
    model, log = read_urdf(robot(link("a"), "<controller:old x='1'/>"))  # a prefix that is never declared
    assert any("controller:old" in finding.what for finding in log)


@pytest.mark.parametrize(
    "declaration",
    [b'<?xml version="0.0" ?>\n', b'\n<?xml version="1.0"?>\n', b"\n\n<?xml version='1.1' encoding='UTF-8'?>\n"],
)
def test_declarations_that_other_readers_take(declaration: bytes, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_bytes(declaration + robot(link("é"), "<oddity/>").encode())
    model, log = read_urdf(path)
    assert model.bodies[0].name == "é"
    lines = declaration.count(b"\n")
    assert f"arm.urdf:{lines + 1} <oddity>" in log[0].where  # lines keep their numbers


def test_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(two().replace(' name="r"', ""))
    model, log = read(file)
    assert model.name == "arm"
    assert log[0].where == f"{file}:1 <joint name='j'>"
    assert read(str(file))[0] == model


def test_read_picks_the_format() -> None:
    assert read("2r")[0].nv == 2
    assert read(two(LIMIT), base="free")[0].nv == 7
    for name in ("a.xacro", "a.urdf.xacro", "A.XML", "a.sdf", "a.dh.toml"):
        with pytest.raises(DalembertError, match="no such file"):
            read(name)
    with pytest.raises(DalembertError, match="unknown robot 'pandda': did you mean 'panda'"):
        read("pandda")
    with pytest.raises(DalembertError, match=r"no reader for files that end in '\.stl'"):
        read("arm.stl")
    with pytest.raises(DalembertError, match="got int"):
        read(7)  # type: ignore[arg-type]


def test_a_long_chain_needs_no_recursion() -> None:
    n = 2000
    links = [link(f"l{i}") for i in range(n + 1)]
    joints = [joint(f"j{i}", f"l{i}", f"l{i + 1}", inside=LIMIT) for i in range(n)]
    assert read_urdf(robot(*links, *joints))[0].nv == n
