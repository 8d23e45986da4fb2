"""What is shipped: the wheel holds the code and the bundled robots, versions agree, and names stay what they are."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import dalembert

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_wheel_holds_every_module_and_robot(tmp_path):
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("dalembert-*-py3-none-any.whl")
    shipped = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    wanted = {str(path.relative_to(source)) for end in ("*.py", "*.urdf", "py.typed") for path in source.rglob(end)}
    assert len([name for name in wanted if name.endswith(".urdf")]) >= 8 and "dalembert/py.typed" in wanted
    assert wanted <= shipped
    assert not [name for name in shipped if "__pycache__" in name or "cache/" in name]


def test_versions_agree():
    assert dalembert.__version__ == PROJECT["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"version: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'version: "{PROJECT["version"]}"\n' in (ROOT / "packaging" / "recipe.yaml").read_text("utf-8")


def test_conda_recipe_needs_what_the_wheel_needs():
    recipe = (ROOT / "packaging" / "recipe.yaml").read_text("utf-8")
    for requirement in PROJECT["dependencies"]:
        assert f"    - {requirement.replace('>=', ' >=')}\n" in recipe, requirement


def test_workflows_name_folders_that_exist():
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for path in re.findall(r"\b(?:tests|docs|benchmarks)/[\w/]+", workflow.read_text("utf-8")):
            assert (ROOT / path).exists(), f"{workflow.name}: {path}"


def test_public_names_exist():
    for name in dalembert.__all__:
        assert getattr(dalembert, name) is not None, name
