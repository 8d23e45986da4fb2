"""The rooms of docs/architecture.md: imports go down only (the contract is in pyproject.toml)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def rooms() -> list[str]:
    """Names in the list of layers, in its order."""
    layers = next(contract for contract in CONTRACTS if contract["type"] == "layers")["layers"]
    return [name.strip(" ()").removeprefix("dalembert.") for layer in layers for name in layer.split("|")]


def test_contracts_are_kept(monkeypatch, capsys):
    pytest.importorskip("importlinter")
    from importlinter.cli import lint_imports

    monkeypatch.chdir(ROOT)
    code = lint_imports(no_cache=True)
    assert code == 0, capsys.readouterr().out


def test_every_room_is_in_the_contract():
    folder = ROOT / "src" / "dalembert"
    found = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert found - {"__init__"} == set(rooms())


def test_robots_have_their_type():
    """What takes a robot lies above `Robot`, and says so."""
    for path in (ROOT / "src" / "dalembert").rglob("*.py"):
        assert "robot: Any" not in path.read_text(), path


def test_documentation_lists_the_rooms():
    text = (ROOT / "docs" / "architecture.md").read_text()
    for name in rooms():
        assert f"`{name}`" in text or f"`{name}.py`" in text or f"`{name}/`" in text, name
