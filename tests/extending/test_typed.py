"""A user's script is typed to the end: what comes out of every public room has a type that checkers know."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert

SCRIPT = Path(__file__).with_name("typed_user.py")
WRONG = """
import dalembert
robot = dalembert.load("2r")
robot.rollout([0, 0], [0, 0], steps="many")
robot.stepper(1e-3, input="controls")
plan: int = robot.optimal_control(print, step=0.1, nodes=2).solve([0.0, 0.0])
dalembert.Settings(steps=1.5)
"""


def checked(path: Path, cache: Path) -> list[str]:
    """Lines of mypy --strict on a file; the package itself is checked elsewhere."""
    pytest.importorskip("mypy")
    source = Path(dalembert.__file__).parent.parent
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", f"--cache-dir={cache}", "--config-file="]
    command = [sys.executable, "-m", "mypy", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env={"MYPYPATH": str(source)})
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_the_script_runs():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_pyright_finds_no_unknown(tmp_path):
    """`make test-long` installs it; elsewhere `pip install basedpyright`, or pyright."""
    beside = str(Path(sys.executable).parent)
    program = shutil.which("basedpyright", path=beside) or shutil.which("basedpyright") or shutil.which("pyright")
    if program is None:
        pytest.skip("pyright is not installed")
    source, here = Path(dalembert.__file__).parent.parent, tmp_path / "user.py"
    here.write_text(SCRIPT.read_text("utf-8"), "utf-8")
    settings = {"include": [here.name], "extraPaths": [str(source)], "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings | {"reportMissingTypeStubs": "none"}))
    command = [program, "-p", str(tmp_path), "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_strict_checkers_find_nothing_and_see_mistakes(tmp_path):
    assert checked(SCRIPT, tmp_path / "cache") == []
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    lines = checked(wrong, tmp_path / "cache")
    assert {line.split(":")[1] for line in lines if ": error:" in line} == {"4", "5", "6", "7"}, lines
