"""The table of thresholds in docs/audit_rules.md says what the rules use."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs" / "audit_rules.md"
ROWS = re.findall(r"^\| `(\w+)\.([A-Z_]+)` \| (.+?) \| (.+?) \|$", DOCS.read_text("utf-8"), re.MULTILINE)
SOURCES = ("rounding", "text", "ours", "measured", "materials", "rule of thumb", "the integrator")


@pytest.mark.parametrize(("module", "name", "value", "source"), ROWS)
def test_a_threshold_is_as_documented(module: str, name: str, value: str, source: str) -> None:
    assert repr(getattr(import_module(f"dalembert.audit.{module}"), name)) == value
    assert source.startswith(SOURCES)


def test_the_table_is_there() -> None:
    assert len(ROWS) > 25
