"""What a DH table says is what the model holds; broken tables name file, line, entry and cure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert import load
from dalembert.errors import DalembertError
from dalembert.formats import Finding, read, read_dh
from dalembert.formats.dh.toml import MAX_BYTES, MAX_LINE
from dalembert.model import Model
from dalembert.model.geometry import Box, Capsule, Cylinder, Mesh, Sphere
from tolerances import ROUNDING

HEAD = 'convention = "standard"\nangles = "deg"\n'
JOINT = """
[[joint]]
name = "hip"
type = "revolute"
a = 0.3
alpha = 90
d = 0.1
mass = 2.0
com = [-0.1, 0, 0]
inertia = [0.01, 0.02, 0.02]
"""
SLIDE = '\n[[joint]]\ntype = "prismatic"\na = 0\nalpha = 0\ntheta = 0\nmass = 1\n'


def table(text: str, **options: str) -> tuple[Model, tuple[Finding, ...]]:
    return read_dh(text.encode(), **options)


def test_a_clean_table_has_an_empty_log() -> None:
    model, log = read_dh((HEAD + JOINT + SLIDE).encode(), strict=True)
    assert log == ()
    assert [body.name for body in model.bodies] == ["base", "link1", "link2"]
    assert [body.joint.name for body in model.bodies[1:]] == ["hip", "joint2"]
    assert [frame.name for frame in model.frames] == ["base", "link1", "link2", "link1_dh", "link2_dh"]
    assert model.gravity.tolist() == [0, 0, -9.81]
    assert model.name == "robot"


def test_every_field() -> None:
    effects = "lower = -90\nupper = 45\nvelocity = 180\neffort = 7\ndamping = 0.1\nfriction = 0.2\narmature = 0.3\n"
    effects += 'stiffness = 4\nrest = 30\nslip_speed = 1\nlink = "thigh"\n'
    model, _ = table('name = "leg"\ngravity = [0, -1, 0]\n' + HEAD + JOINT + effects)
    joint = model.joint("hip").joint
    assert (model.name, model.gravity.tolist(), model.bodies[1].name) == ("leg", [0, -1, 0], "thigh")
    for field, degrees in {"lower": -90, "upper": 45, "velocity_limit": 180, "rest": 30, "slip_speed": 1}.items():
        np.testing.assert_allclose(getattr(joint, field), np.deg2rad(degrees))
    for field, value in {"effort_limit": 7, "damping": 0.1, "friction": 0.2, "armature": 0.3, "stiffness": 4}.items():
        np.testing.assert_allclose(getattr(joint, field), value)


def test_limits_of_a_slider_are_metres() -> None:
    joint = table(HEAD + SLIDE + "lower = -0.1\nupper = 0.2\nvelocity = 3\n")[0].joint("joint1").joint
    assert (joint.lower[0], joint.upper[0], joint.velocity_limit[0]) == (-0.1, 0.2, 3.0)


def test_inertia_is_given_in_the_dh_frame() -> None:
    """Standard: the frame is 0.3 m out along x and turned by α about x, so that its y axis is the joint's."""
    body = table(HEAD + JOINT)[0].bodies[1]
    np.testing.assert_allclose(body.inertia.com, [0.2, 0, 0], atol=ROUNDING)
    np.testing.assert_allclose(body.inertia.about_com(), np.diag([0.01, 0.02, 0.02]), atol=ROUNDING)
    turned = JOINT.replace("[0.01, 0.02, 0.02]", "[[0.02, 0.001, 0], [0.001, 0.03, 0], [0, 0, 0.04]]")
    inertia = table(HEAD + turned)[0].bodies[1].inertia.about_com()
    np.testing.assert_allclose(inertia, [[0.02, 0, 0.001], [0, 0.04, 0], [0.001, 0, 0.03]], atol=ROUNDING)
    modified = table(HEAD.replace("standard", "modified") + JOINT)[0].bodies[1]
    np.testing.assert_allclose(modified.inertia.com, [-0.1, 0, 0], atol=ROUNDING)


def test_base_and_tool() -> None:
    more = '[base]\nlink = "cart"\nkind = "free"\nxyz = [0, 0, 1]\nrpy = [0, 0, 90]\nmass = 5\ninertia = [1, 1, 1]\n'
    more += '[tool]\nname = "hand"\nxyz = [0, 0, 0.2]\nmass = 0.5\n'
    model, _ = table(HEAD + JOINT + more)
    base = model.bodies[0]
    assert (base.name, base.joint.kind, base.inertia.mass) == ("cart", "free", 5.0)
    np.testing.assert_allclose(
        base.placement.matrix(), [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]], atol=ROUNDING
    )
    assert model.bodies[1].inertia.mass == 2.5
    np.testing.assert_allclose(model.frame("hand").placement.p, [0.3, -0.2, 0], atol=ROUNDING)
    assert read_dh((HEAD + JOINT + more).encode(), base="fixed")[0].bodies[0].joint.kind == "fixed"
    assert read_dh((HEAD + JOINT).encode(), base="free")[0].bodies[0].joint.kind == "free"


def test_geometry_in_the_dh_frame(tmp_path: Path) -> None:
    shapes = [
        'shape = "box"\nsize = [1, 2, 3]\nxyz = [0, 0, 1]\ncolor = [1, 0, 0, 0.5]\nname = "brick"',
        'shape = "sphere"\nradius = 0.5\nrole = "collision"',
        'shape = "cylinder"\nradius = 0.1\nlength = 2',
        'shape = "capsule"\nradius = 0.1\nlength = 2',
        'shape = "mesh"\nfile = "part.stl"\nscale = [0.001, 0.001, 0.001]',
        'shape = "mesh"\nfile = "lost.stl"',
    ]
    file = tmp_path / "arm.dh.toml"
    (tmp_path / "part.stl").touch()
    file.write_text(HEAD + JOINT + "".join(f"[[joint.geometry]]\n{shape}\n" for shape in shapes))
    model, log = read_dh(file)
    made = model.bodies[1].parts[0].geometry
    assert [type(g.shape) for g in made] == [Box, Sphere, Cylinder, Capsule, Mesh, Mesh]
    np.testing.assert_allclose(made[0].placement.p, [0.3, -1, 0], atol=ROUNDING)
    assert (made[0].color, made[0].name, made[1].role) == ((1, 0, 0, 0.5), "brick", "collision")
    assert (made[2].shape.radius, made[2].shape.length) == (0.1, 2.0)
    assert (made[4].shape.file, made[5].shape.file) == (str(tmp_path / "part.stl"), "lost.stl")
    assert [(f.severity, f.where) for f in log] == [("info", f"{file}:37 joint 'hip' (entry 1), geometry (entry 6)")]


def test_mimic() -> None:
    text = HEAD + JOINT + JOINT.replace("hip", "knee") + 'mimic = { joint = "hip", ratio = -2, offset = 90 }\n'
    model, log = table(text)
    assert (model.nq, log) == (1, ())
    follower = model.joint("knee").joint
    assert (follower.leader, follower.ratio) == ("hip", -2.0)
    np.testing.assert_allclose(follower.offset, np.pi / 2)
    model, log = table(text, mimic="free")
    assert model.nq == 2
    assert [finding.severity for finding in log] == ["info"]


def test_loops_are_placed_in_dh_frames() -> None:
    loop = '[[loop]]\nname = "pin"\nkind = "revolute"\na = "world"\nb = "link1"\nxyz_a = [1, 0, 0]\nxyz_b = [0, 0, 1]\n'
    model, log = read_dh((HEAD + JOINT + SLIDE + loop + "axis = [0, 0, 1]\n").encode(), strict=True)
    (closure,) = model.closures
    assert (closure.kind, closure.a.body, closure.b.body) == ("revolute", -1, 1)
    np.testing.assert_allclose(closure.b.placement.p, [0.3, -1, 0], atol=ROUNDING)
    assert [str(f) for f in log] == [
        "info: <bytes>:20 loop 'pin' (entry 1): a revolute closure holds 'link1' to 'world'; kept: model.closures"
    ]


def test_links_without_mass_are_reported() -> None:
    kinematics = HEAD + JOINT.partition("mass")[0]
    model, log = table(kinematics)
    assert model.nv == 1
    assert [(f.severity, f.where) for f in log] == [("warning", "<bytes>:4 joint 'hip' (entry 1)")]
    assert "without any mass" in log[0].what
    with pytest.raises(DalembertError, match="strict=True and 1 finding"):
        read_dh(kinematics.encode(), strict=True)


@pytest.mark.parametrize(
    ("unit", "alpha", "cause"), [("deg", 1.5708, "radians"), ("deg", -3.14159, "radians"), ("rad", 90, "degrees")]
)
def test_angles_in_the_other_unit_are_doubted(unit: str, alpha: float, cause: str) -> None:
    (finding,) = table((HEAD + JOINT).replace('"deg"', f'"{unit}"').replace("alpha = 90", f"alpha = {alpha}"))[1]
    assert (finding.severity, finding.where) == ("warning", "<bytes>:8 joint 'hip' (entry 1)")
    assert f"likely cause: {cause}" in finding.what


def test_by_name_and_by_load(tmp_path: Path) -> None:
    file = tmp_path / "arm.dh.toml"
    file.write_text(HEAD + JOINT)
    assert load(file).name == read(str(file))[0].name == "arm"
    with pytest.raises(DalembertError, match=r"expected one of .*\.dh\.toml"):
        read(tmp_path / "arm.toml")


def changed(old: str, new: str) -> str:
    assert old in HEAD + JOINT
    return (HEAD + JOINT).replace(old, new)


MORE = HEAD + JOINT
BROKEN = {
    "empty": ("", ": convention is missing: write convention = "),
    "syntax": (changed("a = 0.3", "a = 0.3."), ":7: not TOML: "),
    "cut off": (changed("com = [-0.1, 0, 0]", "com = [-0.1, 0"), ": not TOML: "),
    "key twice": (changed("a = 0.3", "a = 0.3\na = 0.3"), ":8: not TOML: Cannot overwrite"),
    "no joints": (HEAD, ": the table has no joint; add ..joint"),
    "convention": (changed("standard", "standart"), ":1: unknown convention 'standart': did you mean 'standard'"),
    "no convention": (changed('convention = "standard"', ""), ": convention is missing"),
    "no unit": (changed('angles = "deg"', ""), ': angles is missing: write angles = "rad" or "deg"'),
    "unit": (changed('"deg"', '"degrees"'), ":2: unknown angles 'degrees'.*rad, deg"),
    "unknown key": (changed("alpha", "alhpa"), ":8 joint 'hip' .entry 1.: unknown key 'alhpa': did you mean 'alpha'"),
    "unknown table": (MORE + "[tol]", ": unknown key 'tol': did you mean 'tool'"),
    "no type": (changed('type = "revolute"', ""), ":4 joint 'hip' .entry 1.: type is missing"),
    "type": (changed("revolute", "revolut"), ":6 joint 'hip' .*unknown type 'revolut': did you mean 'revolute'"),
    "no a": (changed("a = 0.3\n", "\n"), ":4 joint 'hip' .*: a is missing: write a = "),
    "no d": (changed("d = 0.1", ""), "d is missing"),
    "slider without theta": (HEAD + SLIDE.replace("theta = 0\n", ""), ":4 joint .entry 1.: theta is missing"),
    "text for a number": (changed("alpha = 90", 'alpha = "90"'), ":8 joint 'hip' .*: alpha has '90', expected"),
    "true for a number": (changed("alpha = 90", "alpha = true"), "alpha has True, expected a number"),
    "nan": (changed("alpha = 90", "alpha = nan"), ":8 .*alpha has nan, expected a finite number"),
    "inf": (changed("d = 0.1", "d = 0.1\nupper = inf"), ":10 .*upper has inf.*omit it"),
    "huge": (changed("a = 0.3", "a = 1e31"), ":7 .*a has 1e.31, expected at most 1e.30"),
    "big integer": (changed("a = 0.3", "a = 1" + "0" * 400), ":7 .*a has 10"),
    "bigger integer": (changed("a = 0.3", "a = 1" + "0" * 5000), ": not TOML that can be read"),
    "two numbers": (changed("[-0.1, 0, 0]", "[-0.1, 0]"), ":11 .*com has 2 values, expected 3 numbers"),
    "no list": (changed("[-0.1, 0, 0]", "3"), ":11 .*com has 3, expected 3 numbers"),
    "six moments": (changed("[0.01, 0.02, 0.02]", "[1, 1, 1, 0, 0, 0]"), ":12 .*inertia has 6 numbers.*three rows"),
    "not symmetric": (
        changed("[0.01, 0.02, 0.02]", "[[1, 0, 0.1], [0, 1, 0], [0, 0, 1]]"),
        ":12 .*is not symmetric: make it symmetric",
    ),
    "com without mass": (changed("mass = 2.0", ""), ":11 joint 'hip' .*: com without mass: write mass"),
    "negative damping": (MORE + "damping = -1", ":13 joint 'hip' .*: damping is -1, expected at least 0"),
    "no slip": (MORE + "slip_speed = 0", ":13 .*slip_speed is 0, expected at least"),
    "flipped limits": (MORE + "lower = 10\nupper = -10", ":4 joint 'hip' .*: lower = 10 is above upper = -10: swap"),
    "same joint": (MORE + JOINT, ":14 joint 'hip' .entry 2.: .*already a joint 'hip'"),
    "same link": (changed('name = "hip"', 'link = "base"'), ":4 joint .*already a body or frame of that name"),
    "link called world": (MORE + '[base]\nlink = "world"\nmass = 1\nxyz = [0, 0, 1]', "the world's own"),
    "joint is a table": (HEAD + "[joint]\na = 1", ": joint is .*expected a list of tables: write ..joint"),
    "joint is a number": (HEAD + "joint = [1]", ": joint is 1, expected a table"),
    "empty name": (changed('"hip"', '" "'), ":5 joint ' ' .entry 1.: name is ' ', expected text"),
    "number for a name": (changed('"hip"', "3"), ":5 joint .entry 1.: name is 3, expected text"),
    "base kind": (MORE + '[base]\nkind = "afloat"', ":14 base: unknown kind 'afloat'"),
    "shape": (MORE + '[[joint.geometry]]\nshape = "ball"', ":14 joint 'hip' .*, geometry .entry 1.: unknown shape"),
    "flat box": (MORE + '[[joint.geometry]]\nshape = "box"\nsize = [1, 0, 1]', "a size of 0 m, expected above 0"),
    "colour": (MORE + '[[joint.geometry]]\nshape = "sphere"\nradius = 1\ncolor = [9, 0, 0, 1]', ":16 .*color is"),
    "mimic of nobody": (MORE + 'mimic = { joint = "knee" }', ":4 joint 'hip' .*unknown leading joint 'knee'"),
    "mimic of itself": (MORE + 'mimic = { joint = "hip" }', ":4 joint 'hip' .*follows itself"),
    "loop without end": (MORE + '[[loop]]\nname = "l"\nkind = "weld"\na = "world"', ":13 loop 'l' .*: b is missing"),
    "loop kind": (
        MORE + '[[loop]]\nname = "l"\nkind = "wield"\na = "world"\nb = "link1"',
        ":13 loop 'l' .*unknown closure kind 'wield': did you mean 'weld'",
    ),
    "loop to nobody": (
        MORE + '[[loop]]\nname = "l"\nkind = "weld"\na = "world"\nb = "link9"',
        ":13 loop 'l' .*unknown body or frame 'link9'",
    ),
    "loop on one body": (
        MORE + '[tool]\n[[loop]]\nname = "l"\nkind = "weld"\na = "tool"\nb = "link1"\n',
        ":14 loop 'l' .entry 1.: .*which are parts of one body",
    ),
    "deep": ("a = " + "[" * 3000 + "]" * 3000, ": not TOML that can be read"),
    "long line": ("#" * (MAX_LINE + 1), ":1: a line of 10001 characters"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_tables_name_place_and_cure(case: str) -> None:
    text, message = BROKEN[case]
    with pytest.raises(DalembertError, match=f"^<bytes>.*{message}|^<bytes>{message}"):
        table(text)


FILES = {
    "binary": (bytes(range(256)), "not UTF-8 text"),
    "utf-16": (HEAD.encode("utf-16"), "not UTF-8 text"),
    "xml": (b'<robot name="r"/>', ":1: not TOML"),
    "json": (b'{"name": "r"}', ":1: not TOML"),
    "too large": (b"#\n" * MAX_BYTES, "2097152 bytes is more than the 1048576"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_no_toml(case: str, tmp_path: Path) -> None:
    content, message = FILES[case]
    file = tmp_path / "x.dh.toml"
    file.write_bytes(content)
    with pytest.raises(DalembertError, match=f"x.dh.toml.*{message}"):
        read_dh(file)


def test_options() -> None:
    with pytest.raises(DalembertError, match="unknown base 'flying'"):
        table(MORE, base="flying")
    with pytest.raises(DalembertError, match="unknown mimic option 'tied'"):
        table(MORE, mimic="tied")
    with pytest.raises(DalembertError, match="no such file"):
        read_dh("none.dh.toml")
