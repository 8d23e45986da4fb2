"""Every script below examples/ runs and finds its own result right."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from dalembert import Robot
from dalembert.quantities import CATALOGUE

DOCS = Path(__file__).parent.parent / "docs" / "quantities.md"
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example shows something"
    assert "assert" in path.read_text(), "an example checks its own result"
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


@pytest.mark.parametrize("name", [name for name in CATALOGUE if hasattr(Robot, name)])
def test_every_quantity_is_documented_and_has_an_example(name):
    called = re.compile(rf"\.{name}\(")
    assert any(called.search(path.read_text()) for path in EXAMPLES), "no example calls it"
    assert f"`{name}(" in DOCS.read_text(), "docs/quantities.md does not name it"
