"""Digests of users' functions that use what cannot be seen through: they still change with what can."""

from __future__ import annotations

import importlib
import sys

import pytest

from dalembert.compiler.execute.identity import code
from dalembert.compiler.execute.visible import visible_code

HELPERS = "GAIN = 2.0\ndef scaled(x): return x * GAIN\n"
USER = """
import functools, logging, re
from collections import defaultdict
from pathlib import Path
LOG, PLACE, WORD = logging.getLogger("x"), Path("here"), re.compile("a+")
GROUPS = defaultdict(set, {"a": {"x", "y", "z"}})
def inner(x): return x + 1.0
@functools.lru_cache
def kept(x): return inner(x)
class Slotted:
    __slots__ = ("a",)
    def __init__(self, a): self.a = a
    def __call__(self, robot, row): return {"y": inner(self.a)}
def logs(robot, row):
    LOG.info("row")
    return {"y": inner(len(GROUPS["a"]))}
def imports(robot, row):
    import userhelpers
    from scipy.linalg import norm
    return {"y": userhelpers.scaled(norm([row["a"]]))}
def places(robot, row): return {"y": len(str(PLACE)) + bool(WORD.match("a"))}
def keeps(robot, row): return {"y": kept(row["a"])}
slotted = Slotted(3)
"""
NAMES = ("logs", "imports", "places", "keeps", "slotted")


@pytest.fixture
def digests(tmp_path, monkeypatch):
    """Digests of the functions by name, after changes (old, new) of the two files."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def digests(old="", new=""):
        for name, text in (("userhelpers", HELPERS), ("userfile", USER)):
            (tmp_path / f"{name}.py").write_text(text.replace(old, new) if old else text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        module = importlib.import_module("userfile")
        return {name: visible_code(getattr(module, name)) for name in NAMES}

    yield digests
    for name in ("userhelpers", "userfile"):
        sys.modules.pop(name, None)


def test_changes_of_what_a_function_uses_are_found(digests):
    before = digests()
    assert digests() == before and all(before.values())
    assert code(sys.modules["userfile"].logs) is None  # what speaks of all changes says nothing here
    for old, new, affected in (
        ("x + 1.0", "x + 2.0", {"logs", "keeps", "slotted"}),
        ("x * GAIN", "GAIN / x", {"imports"}),
        ("GAIN = 2.0", "GAIN = 3.0", {"imports"}),
        ('"z"}', '"w"}', {"logs"}),
        ('"here"', '"there"', {"places"}),
        ('"a+"', '"b+"', {"places"}),
        ("Slotted(3)", "Slotted(4)", {"slotted"}),
        ("import functools", "# why\nimport functools", set()),
    ):
        after = digests(old, new)
        assert {name for name in NAMES if after[name] != before[name]} == affected, new
