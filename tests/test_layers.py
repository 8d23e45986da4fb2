"""The rooms of docs/architecture.md: imports go down only (the contract is in pyproject.toml)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def layers() -> list[set[str]]:
    """Names of the rooms, layer by layer."""
    contract = next(contract for contract in CONTRACTS if contract["type"] == "layers")
    return [{name.strip(" ()").removeprefix("dalembert.") for name in layer.split("|")} for layer in contract["layers"]]


def test_contracts_are_kept(monkeypatch, capsys):
    pytest.importorskip("importlinter")
    from importlinter.cli import lint_imports

    monkeypatch.chdir(ROOT)
    code = lint_imports(no_cache=True)
    assert code == 0, capsys.readouterr().out


def test_every_room_is_in_the_contract():
    folder = ROOT / "src" / "dalembert"
    found = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert found - {"__init__"} == set.union(*layers())


def test_robots_have_their_type():
    """What takes a robot lies above `Robot`, and says so."""
    for path in (ROOT / "src" / "dalembert").rglob("*.py"):
        assert "robot: Any" not in path.read_text(), path


def test_documentation_lists_the_rooms():
    """In the order of the contract, and each in the table of folders."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table, rest = text.split("## Who may import whom")
    numbered = re.findall(r"^\d+\. (.*)$", rest.split("\n## ")[0], re.M)
    assert [set(re.findall(r"`(\w+)`", line)) for line in numbered] == layers()
    for name in set.union(*layers()) - {"version"}:
        assert f"`{name}/`" in table or f"`{name}.py`" in table, name


def test_documentation_names_files_that_exist():
    """Those in the diagrams of the life of a call and of a run, such as `execute/call` and `run/watch`."""
    text = (ROOT / "docs" / "architecture.md").read_text().split("## The life of a call")[1]
    named = set(re.findall(r"(?<!/)\b(execute|quantities|system|run|integrators)/(\w+)", text))
    above = {"execute": "compiler", "quantities": ""}
    assert len(named) > 15
    for folder, file in named:
        path = ROOT / "src" / "dalembert" / above.get(folder, "sim") / folder / file
        assert path.is_dir() or path.with_suffix(".py").is_file(), path
