"""Stages that are broken, hostile or incomplete: an error with a name, or a finding that names what is missing."""

from __future__ import annotations

import zipfile

import pytest

from dalembert import DalembertError, load
from stages import body, joint, saved, stage

pytest.importorskip("pxr")
pytestmark = pytest.mark.long

GOOD = stage(body("one") + body("two") + joint("Revolute", "pin", "/World/one", "/World/two"))
MASS = "float physics:mass = 2.0"
POINT = "point3f physics:localPos0 = (0, 0, 0)"
ORDER = "uniform token[] xformOpOrder = ["
FLAT = GOOD.replace(ORDER, f'double3 xformOp:scale = (1, 0, 1)\n{ORDER}"xformOp:scale", ', 1)
BROKEN = {
    "empty": ("", "the file is empty"),
    "truncated": (GOOD[:-20], r"robot.usda: \d+:\d+: .*not USD text"),
    "not usd": ("<robot/>", "not USD"),
    "version": (GOOD.replace("#usda 1.0", "#usda 9.0"), "Cannot parse layer version '9.0'"),
    "nan": (GOOD.replace(MASS, "float physics:mass = nan", 1), "</World/one>: physics:mass is nan, expected finite"),
    "infinite": (GOOD.replace(POINT, "point3f physics:localPos0 = (inf, 0, 0)"), "</World/pin>: .*expected finite"),
    "huge": (GOOD.replace(MASS, "double physics:mass = 1e200", 1), "too large, expected at most 1e"),
    "text": (GOOD.replace(MASS, 'string physics:mass = "heavy"', 1), "is 'heavy', expected a number"),
    "units": (GOOD.replace("metersPerUnit = 1", "metersPerUnit = nan"), "metersPerUnit is nan"),
    "no unit": (GOOD.replace("metersPerUnit = 1", "metersPerUnit = 0"), "metersPerUnit is 0"),
    "nested": ("#usda 1.0\n" + 'def "a"\n{\n' * 600 + "}\n" * 600, "braces nest 600 deep"),
    "no bodies": (stage(""), "no prim is a rigid body"),
    "dangling": (GOOD.replace("body1 = </World/two>", "body1 = </World/x>"), "names </World/x>, which does not exist"),
    "flat": (FLAT, "expected no zeros"),
    "turned by nan": (
        GOOD.replace(ORDER, f'quatd xformOp:orient = (0, nan, 0, 1)\n{ORDER}"xformOp:orient", ', 1),
        "xformOp:orient is .*expected finite",
    ),
    "swapped": (
        GOOD.replace(POINT, f"{POINT}\nfloat physics:lowerLimit = 2\nfloat physics:upperLimit = 1"),
        "swap them",
    ),
    "ring": (
        GOOD.replace('Xform "World"', 'Xform "World" (references = </World/one>)'),
        r"Cycle detected|CANNOT reference",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_stages(tmp_path, name):
    text, message = BROKEN[name]
    with pytest.raises(DalembertError, match=message):
        load(saved(tmp_path, text))
    assert [path.name for path in tmp_path.iterdir()] == ["robot.usda"]


def test_damaged_binary_files_are_refused_before_usd_makes_room(tmp_path):
    """A count of 2**28 sections would make USD fill 8 GB with zeros."""
    load("2r").save(tmp_path / "good.usd")
    data = bytearray((tmp_path / "good.usd").read_bytes())
    at = int.from_bytes(data[16:24], "little")
    data[at + 3] = 16
    (tmp_path / "bad.usd").write_bytes(data)
    with pytest.raises(DalembertError, match="the table of its sections is damaged"):
        load(str(tmp_path / "bad.usd"))


def test_files_that_are_none(tmp_path):
    for path, message in ((tmp_path / "no.usd", "no such file"), (tmp_path, "folder")):
        with pytest.raises(DalembertError, match=message):
            load(str(path) if path != tmp_path else path)
    (tmp_path / "a.usd").mkdir()
    with pytest.raises(DalembertError, match="not a regular file"):
        load(str(tmp_path / "a.usd"))


def test_truncated_binary_files(tmp_path):
    load("2r").save(tmp_path / "good.usd")
    data = (tmp_path / "good.usd").read_bytes()
    for length in (8, 60, 88, len(data) // 2, len(data) - 10):
        (tmp_path / "bad.usd").write_bytes(data[:length])
        with pytest.raises(DalembertError, match=r"bad\.usd"):
            load(str(tmp_path / "bad.usd"))


def test_missing_references_are_named(tmp_path):
    text = GOOD.replace('def Xform "World"', 'def Xform "World" (references = [@./gone.usda@, @https://host/x.usd@])')
    robot = load(saved(tmp_path, text))
    assert robot.nv == 7
    said = " ".join(finding.what for finding in robot.physical_findings)
    assert "gone.usda" in said and "host/x.usd" in said
    with pytest.raises(DalembertError, match=r"gone\.usda"):
        load(saved(tmp_path, text), strict=True)


def test_references_that_lead_far_outside(tmp_path):
    outside = saved(tmp_path, GOOD, "outside.usda")
    inside = tmp_path / "a" / "b" / "c"
    inside.mkdir(parents=True)
    for path in ("../../../outside.usda", outside):
        text = GOOD.replace('def Xform "World"', f'def Xform "World" (references = @{path}@</World>)')
        with pytest.raises(DalembertError, match="lies outside the folder above the stage's"):
            load(saved(inside, text))


def test_rings_of_files(tmp_path):
    for one, two in (("a", "b"), ("b", "a")):
        text = GOOD.replace('def Xform "World"', f'def Xform "World" (references = @./{two}.usda@)')
        saved(tmp_path, text, f"{one}.usda")
    with pytest.raises(DalembertError, match=r"Cycle detected|CANNOT reference"):
        load(str(tmp_path / "a.usda"))


def test_references_payloads_variants_and_instances(tmp_path):
    """One arm in a file of its own, twice in a stage; what it says of itself comes along, with its own line."""
    arm = stage(body("base") + body("link") + joint("Revolute", "pin", "/World/base", "/World/link"))
    saved(tmp_path, arm, "arm.usda")
    text = stage(
        """
    def Xform "left" (references = @./arm.usda@)
    {
    }
    def Xform "right" (
        instanceable = true
        payload = @./arm.usda@
    )
    {
        double3 xformOp:translate = (1, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    """
    )
    path = saved(tmp_path, text, "cell.usda")
    with pytest.raises(DalembertError, match=r'2 robots: </World/left>, </World/right>; .*prim="/World/left"'):
        load(path)
    for side in ("left", "right"):
        robot = load(path, prim=f"/World/{side}")
        assert robot.nv == 7 and [body.name for body in robot.model.bodies] == ["base", "link"]
        assert any("not loaded" in finding.action for finding in robot.import_log)
    both = load(path, prim="/")
    assert both.nv == 14 and {"left/base", "right/link"} <= {body.name for body in both.model.bodies}
    with pytest.raises(DalembertError, match=r"unknown prim|no prim|/World/lef"):
        load(path, prim="/World/lef")
    with pytest.raises(DalembertError, match="there is no rigid body in"):
        load(
            saved(tmp_path, GOOD.replace('def Xform "World"', 'def Xform "Empty"\n{\n}\ndef Xform "World"')),
            prim="/Empty",
        )


def package(path, entries, **options):
    with zipfile.ZipFile(path, "w", **options) as file:
        for name, data in entries:
            file.writestr(name, data)
    return str(path)


def test_packages(tmp_path):
    from pxr import UsdUtils

    source = saved(tmp_path, GOOD)
    assert UsdUtils.CreateNewUsdzPackage(source, str(tmp_path / "good.usdz"))
    robot = load(str(tmp_path / "good.usdz"))
    assert robot.nv == 7
    bomb = package(tmp_path / "a.usdz", [("a.usda", "0" * 10**7)], compression=zipfile.ZIP_DEFLATED)
    out = package(tmp_path / "b.usdz", [("../../evil.usda", GOOD)])
    whole = package(tmp_path / "c.usdz", [("/etc/evil.usda", GOOD)])
    deep = package(tmp_path / "d.usdz", [("a.usda", "#usda 1.0\n" + "{" * 1000)])
    short = tmp_path / "e.usdz"
    short.write_bytes((tmp_path / "good.usdz").read_bytes()[:200])
    for path, message in (
        (bomb, "is compressed or encrypted, which USDZ forbids"),
        (out, "leads out of the package"),
        (whole, "leads out of the package"),
        (deep, "braces nest 1000 deep"),
        (str(short), "not a .usdz package"),
    ):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(DalembertError, match=message):
            load(path)
        assert sorted(tmp_path.rglob("*")) == before


def test_variants_are_named(tmp_path):
    text = stage(
        """
    def Xform "arm" (
        variants = { string size = "large" }
        prepend variantSets = "size"
    )
    {
        variantSet "size" = {
            "small" {
                SMALL
            }
            "large" {
                LARGE
            }
        }
    }"""
    )
    text = text.replace("SMALL", body("link", mass=1)).replace("LARGE", body("link", mass=5))
    robot = load(saved(tmp_path, text))
    assert robot.model.bodies[0].inertia.mass == 5
    assert any("'large' is read" in f.action and "small" in f.what for f in robot.import_log)


def test_without_openusd_the_cure_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pxr", None)
    with pytest.raises(DalembertError, match=r"pip install 'dalembert\[usd\]'"):
        load(saved(tmp_path, GOOD))
