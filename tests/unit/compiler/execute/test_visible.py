"""Digests of users' functions that use what cannot be seen through: they still change with what can."""

from __future__ import annotations

import importlib
import sys

import numpy as np
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


HIDDEN = """
import functools
from collections import defaultdict
from types import SimpleNamespace
import numpy as np
class Table(dict):
    def __missing__(self, key): return 1.0
class Gain(float): pass
class Keys:
    def __init__(self): self.k = 1.0
    def scaled(self, x): return x * self.k
    def by(self, factor): return 1.5 * factor
    three = functools.partialmethod(by, 3.0)
@functools.singledispatch
def split(x): return 0.0
@split.register
def _(x: int): return 4.0
CASES = {
    "vectorized": np.vectorize(lambda x: x + 5.0), "factory": defaultdict(lambda: 6.0), "table": Table(a=7.0),
    "gain": Gain(8.0), "masked": np.ma.masked_array([9.0, 10.0], [0, 11]), "keys": Keys().scaled, "split": split,
    "partial": Keys.three, "space": SimpleNamespace(a=12.0), "series": np.polynomial.Polynomial([13.0, 1.0]),
}
def user(name):
    inside = CASES[name]
    return lambda robot, row: {"y": inside}
"""


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("vectorized", ("5.0", "5.5")), ("factory", ("6.0", "6.5")), ("table", ("7.0", "7.5")),
        ("table", ("return 1.0", "return 1.5")), ("gain", ("8.0", "8.5")), ("masked", ("11", "0")),
        ("keys", ("k = 1.0", "k = 1.5")), ("split", ("4.0", "4.5")), ("partial", ("3.0", "3.5")),
        ("partial", ("1.5 * factor", "2.5 * factor")), ("space", ("12.0", "12.5")),
        ("series", ("13.0", "13.000000000001")),
    ],
)  # fmt: skip
def test_what_objects_hold_is_seen(name, change):
    digests = []
    for text in (HIDDEN, "\n" + HIDDEN, HIDDEN.replace(*change)):
        names: dict = {"__name__": "hidden"}
        exec(text, names)
        digests.append(visible_code(names["user"](name)))
    assert digests[0] == digests[1] != digests[2]


def test_functions_that_numpy_wraps_do_not_count_as_numpys():
    assert code(np.frompyfunc(lambda x: 2.0 * x, 1, 1)) is None
    assert code(np.vectorize(lambda x: 2.0 * x)) is None
    assert code(np.add, np.linalg.norm) is not None
