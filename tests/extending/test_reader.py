"""A file format read by a function from outside the package, with public names only."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dalembert as da
from tolerances import PRODUCT, assert_close

ARM = {
    "name": "arm",
    "links": [{"name": "upper", "length": 0.4, "mass": 2.0}, {"name": "fore", "length": 0.3, "mass": 1.0}],
}


def read_links(path, log, base=None):
    """A chain of rods, each about the y axis of the one before."""
    content = json.loads(path.read_text())
    b = da.ModelBuilder(content["name"])
    b.add_body("base", parent="world", joint=base or "fixed", mass=1.0, inertia=0.01 * np.eye(3))
    parent, offset = "base", 0.0
    for link in content["links"]:
        m, length = link["mass"], link["length"]
        I = np.diag([1e-4, m * length**2 / 12, m * length**2 / 12])
        b.add_body(
            link["name"], parent=parent, joint="revolute", axis=(0, 1, 0), xyz=(offset, 0, 0), mass=m,
            com=(length / 2, 0, 0), inertia=I,
        )  # fmt: skip
        parent, offset = link["name"], length
        if "color" in link:
            log.info(f"{path.name} {link['name']}", "a color", "passed over")
        if "backlash" in link:
            log.warning(f"{path.name} {link['name']}", "backlash", "left out")
    b.add_frame("tool", body=parent, xyz=(offset, 0, 0))
    return b


@pytest.fixture
def file(tmp_path):
    da.register_reader(".links.json", read_links)
    path = tmp_path / "arm.LINKS.json"
    path.write_text(json.dumps(ARM))
    return path


def test_load_uses_it(file):
    robot = da.load(file)
    assert (robot.name, robot.nq) == ("arm", 2)
    assert_close(robot.pose(np.zeros(2), "tool")[:3, 3], [0.7, 0, 0], PRODUCT)
    assert da.load(str(file), base="free").nv == 8


def test_the_log_and_strict(file):
    file.write_text(json.dumps(ARM | {"links": [ARM["links"][0] | {"color": "red", "backlash": 0.1}]}))
    robot = da.load(file)
    assert [finding.severity for finding in robot.import_log] == ["info", "warning"]
    with pytest.raises(da.DalembertError, match="backlash; otherwise left out"):
        da.load(file, strict=True)


def test_the_usual_checks_apply(file):
    file.write_text(json.dumps(ARM | {"links": [{"name": "upper", "length": 400.0, "mass": 2.0}]}))  # mm
    assert any(finding.severity == "warning" for finding in da.load(file).import_log)


def test_an_edit_takes_effect(file):
    def longer(path, log):
        return read_links(path, log).build().edit().scale(length=2.0).done()

    da.register_reader(".links.json", longer)
    assert_close(da.load(file).pose(np.zeros(2), "tool")[:3, 3], [1.4, 0, 0], PRODUCT)
    with pytest.raises(da.DalembertError, match=r"base='free', but the reader of '.links.json' files takes no base"):
        da.load(file, base="free")


def test_mistakes_are_named(file, tmp_path):
    with pytest.raises(da.DalembertError, match="no such file"):
        da.load(tmp_path / "none.links.json")
    with pytest.raises(da.DalembertError, match="ending is 'json'"):
        da.register_reader("json", read_links)
    da.register_reader(".links.json", lambda path, log: 3)
    with pytest.raises(da.DalembertError, match="returned int, expected a ModelBuilder"):
        da.load(file)
    with pytest.raises(da.DalembertError, match=r"no reader for files that end in '.abc'; .*\.links\.json"):
        da.load("arm.abc")
