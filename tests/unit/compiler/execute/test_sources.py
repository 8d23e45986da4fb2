"""Digests of the package's code: every room that a program uses counts, and no other."""

from __future__ import annotations

import ast
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.compiler.backends.llvm.compilation import batch_objects
from dalembert.compiler.execute import sources
from dalembert.compiler.graph import trace
from dalembert.quantities import CATALOGUE, compiled
from dalembert.sim.elements import Spring

OPTIONS = [
    ("2r", {}),
    ("2r", {"frame": "tool"}),
    ("2r", {"accelerations": ["elbow"]}),
    ("four_bar", {}),
    ("four_bar", {"actuated": ["crank_joint"]}),
    ("scara", {}),
]
ABOVE_FUNCTIONS = {"sim", "contact", "mechanism", "control", "optimal", "formats", "audit", "cli", "loading"}


def rooms_run(work):
    """The rooms of the package whose functions are called while `work` runs."""
    seen = set()

    def noted(frame, event, argument):
        if event == "call":
            seen.add(frame.f_globals.get("__name__", ""))

    before = sys.getprofile()
    sys.setprofile(noted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return {sources.room_of(name) for name in seen} - {""}


def imported(path):
    """The rooms that a file imports, by its syntax; also those for type checkers."""
    here = os.path.relpath(path, os.path.dirname(sources.ROOT))[:-3].split(os.sep)
    names = set()
    for node in ast.walk(ast.parse(Path(path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = here[: len(here) - node.level] if node.level else []
            base = ".".join([*package, *([node.module] if node.module else [])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return {sources.room_of(name) for name in names} - {""}


def test_no_import_is_overlooked():
    """Text search finds what the syntax tree has, apart from imports for type checkers."""
    for room in [*os.listdir(sources.ROOT)]:
        for path in sources._files(room.removesuffix(".py")):
            text = Path(path).read_text("utf-8")
            depth = len(os.path.relpath(path, sources.ROOT).split(os.sep))
            for_checkers = "".join(sources._FOR_CHECKERS.findall(text)).replace("if TYPE_CHECKING:", "")
            found = {*sources._imports(text, depth, False), *sources._imports(_unindented(for_checkers), depth, False)}
            assert imported(path) - {room.removesuffix(".py")} <= found, path


def _unindented(text):
    return "\n".join(line.strip() for line in text.splitlines())


@pytest.mark.parametrize("name", CATALOGUE)
def test_traces_of_quantities_stay_in_their_rooms(name):
    call = first_call(name)
    known = sources.used(sources.rooms_of(call.program._step))
    rooms = rooms_run(call.program._step)
    assert {"quantities", "compiler"} <= rooms <= known and not known & ABOVE_FUNCTIONS


def first_call(name):
    """The quantity of the first robot that has it, with the options that it needs."""
    for robot, options in OPTIONS:
        try:
            return compiled(load(robot), name, **options)
        except DalembertError:
            pass
    raise AssertionError(f"no robot and options for {name}")


def test_runs_stay_in_their_rooms(monkeypatch):
    """All that is traced and compiled for runs and rollouts, and all else that they do."""
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    robot = load("2r")
    q, v, spring = np.ones(2), np.zeros(2), Spring(robot.joints[0].name, 1.0)
    runs = [
        partial(robot.simulate, q, v, 0.01, elements=[spring], integrator=name)
        for name in ("rk45", "rk4", "implicit-midpoint")
    ]
    rooms = rooms_run(lambda: [*(run() for run in runs), robot.rollout(q, v, steps=3, elements=[spring])])
    assert {"sim", "quantities", "compiler"} <= rooms <= sources.used(frozenset({"sim"}))


def test_compilers_need_no_robots():
    function = trace(lambda x: {"y": np.sin(x) * x[0]}, {"x": 3}, "f")
    rooms = rooms_run(partial(batch_objects, function, "double", 4, 4))
    assert {"compiler"} <= rooms <= sources.used(sources.COMPILERS)
    assert not sources.used(sources.COMPILERS) & {"model", "dynamics", "quantities", "robot"}


def test_a_change_counts_where_it_is_used(tmp_path, monkeypatch):
    """A room that is not used, what only type checkers import, and methods that open rooms make no difference."""
    files = {
        "compiler/graph/__init__.py": "",
        "compiler/backends/x.py": "from dalembert.compiler.graph import y",
        "low.py": "a = 1",
        "room/one.py": "def f():\n    from ..low import a",
        "room/deep/two.py": "from dalembert import (\n    low,\n)\nimport dalembert.far.away\nfrom .. import three",
        "far/away.py": "from .here import x",
        "robot.py": "from . import room\nif TYPE_CHECKING:\n    from .view import A\ndef g():\n    from .view import B",
        "view.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (0, 0))
    monkeypatch.setattr(sources, "ROOT", os.fspath(tmp_path))

    def digests():
        for kept in (sources._digest, sources.used, sources._room, sources._files):
            kept.cache_clear()
        return [sources.own_code(*rooms) for rooms in ((), ("room",), ("robot",), ("view",))]

    try:
        before = digests()
        assert sources.used(frozenset({"robot"})) == {"robot", "room", "low", "far"}
        for name, changed in (
            ("view.py", "0001"),
            ("low.py", "0110"),
            ("far/away.py", "0110"),
            ("compiler/graph/new.py", "1111"),
        ):
            (tmp_path / name).write_text("# another")
            os.utime(tmp_path / name, (0, 0))
            after = digests()
            assert "".join(str(int(a != b)) for a, b in zip(before, after, strict=True)) == changed, name
            before = after
        (tmp_path / "low.py").write_text("# edited after the start")
        assert str(os.getpid()) in digests()[1] and str(os.getpid()) not in digests()[0]
    finally:
        monkeypatch.undo()
        digests()
