"""Robots of collections by name: found where they are installed, and never fetched."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dalembert import DalembertError, load, robots
from dalembert.cli import main
from dalembert.formats.installed import located
from dalembert.model.bundled import path

# as the modules of robot_descriptions are written; their import would fetch the repository
MODULE = """
from os import getenv as _getenv
from os import path as _path
from ._cache import clone_to_cache as _clone_to_cache
raise RuntimeError("imported")
REPOSITORY_PATH: str = _clone_to_cache("arms", commit=_getenv("ROBOT_DESCRIPTION_COMMIT", None))
PACKAGE_PATH: str = _path.join(REPOSITORY_PATH, "ur_description")
{line}
"""
REPOSITORIES = """
REPOSITORIES = {"arms": Repository(url="https://example.org/arms.git", commit="abc", cache_path="arms_cache")}
"""
URDF = 'URDF_PATH: str = _path.join(PACKAGE_PATH, "urdf", "arm.urdf")'
XACRO = 'XACRO_PATH = _path.join(PACKAGE_PATH, "arm.urdf.xacro")\nXACRO_ARGS = {"prefix": "left_"}'
SHAPE = '<mujoco model="{}"><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'


@pytest.fixture
def disk(tmp_path, monkeypatch) -> Path:
    """A package robot_descriptions, a cache with one of its repositories, and a checkout of Menagerie."""
    package = tmp_path / "site" / "robot_descriptions"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "_repositories.py").write_text(REPOSITORIES)
    for name, line in (("arm", URDF), ("macro", XACRO), ("empty", ""), ("gone", URDF.replace("arm.urdf", "no.urdf"))):
        (package / f"{name}_description.py").write_text(MODULE.format(line=line))
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "robot_descriptions", raising=False)
    for variable in ("ROBOT_DESCRIPTION_COMMIT", "MUJOCO_MENAGERIE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "cache" / "arms_cache" / "ur_description" / "urdf" / "arm.urdf"
    file.parent.mkdir(parents=True)
    file.write_text(Path(path("ur5")).read_text())
    menagerie = tmp_path / "cache" / "mujoco_menagerie"
    for name in ("unitree_go2/go2", "unitree_go2/go2_mjx", "unitree_go2/scene", "hands/left", "hands/right", "one/x"):
        (menagerie / name).parent.mkdir(parents=True, exist_ok=True)
        (menagerie / f"{name}.xml").write_text(SHAPE.format(name))
    return tmp_path


def test_a_robot_of_robot_descriptions(disk: Path) -> None:
    assert load("robot_descriptions:arm_description") == load("ur5")
    assert "robot_descriptions" not in sys.modules
    assert main(["info", "robot_descriptions:arm_description"]) == 0


def test_xacro_comes_with_its_arguments(disk: Path) -> None:
    file = disk / "cache" / "arms_cache" / "ur_description" / "arm.urdf.xacro"
    file.write_text("<robot/>")
    assert located("robot_descriptions:macro_description") == (str(file), {"prefix": "left_"})


def test_what_is_not_on_the_disk_is_not_fetched(disk: Path, monkeypatch) -> None:
    with pytest.raises(DalembertError, match=r"there is no .*no\.urdf; .* pull gone_description` downloads it"):
        load("robot_descriptions:gone_description")
    with pytest.raises(DalembertError, match="its module states none of URDF_PATH"):
        load("robot_descriptions:empty_description")
    monkeypatch.setenv("ROBOT_DESCRIPTION_COMMIT", "0123")
    with pytest.raises(DalembertError, match=r"not on this disk: there is no .*arms_cache-0123.arms_cache"):
        load("robot_descriptions:arm_description")
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(disk / "nowhere"))
    with pytest.raises(DalembertError, match="no checkout on this disk; set MUJOCO_MENAGERIE"):
        load("menagerie:one")


def test_a_robot_of_menagerie(disk: Path, monkeypatch) -> None:
    pytest.importorskip("mujoco")
    assert load("menagerie:unitree_go2").name == "unitree_go2/go2"
    assert load("menagerie:unitree_go2/go2_mjx").name == "unitree_go2/go2_mjx"
    assert load("menagerie:one").name == "one/x"
    monkeypatch.setenv("MUJOCO_MENAGERIE", str(disk / "cache" / "mujoco_menagerie"))
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(disk / "nowhere"))
    assert load("menagerie:hands/left.xml").name == "hands/left"
    with pytest.raises(
        DalembertError, match="several models: name one, as menagerie:hands/left, menagerie:hands/right"
    ):
        load("menagerie:hands")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("robot_descriptions:ram_description", "unknown robot 'ram_description': did you mean 'arm_description'"),
        ("menagerie:unitree_go1", "unknown robot 'unitree_go1': did you mean 'unitree_go2'"),
        ("menagerie:one/y", "unknown file 'y'"),
        ("menagerie:../cache", "expected menagerie:NAME"),
        ("menagerie:one/../../x", "expected menagerie:NAME"),
        ("robot_descriptions:", "expected robot_descriptions:NAME"),
        ("robot_descriptions:os.path", "unknown robot 'os.path'"),
        ("robot_descriptions:_cache", "unknown robot '_cache'"),
    ],
)
def test_names_that_are_none(disk: Path, source: str, message: str) -> None:
    with pytest.raises(DalembertError, match=message):
        load(source)


def test_other_sources_are_left_alone() -> None:
    assert all(located(source) is None for source in (*robots(), "arm.urdf", "C:/arm.urdf", "http://x/y.urdf"))
