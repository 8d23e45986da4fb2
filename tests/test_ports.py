"""The ports of published examples run, and find the recorded numbers of their originals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PORTS = sorted((Path(__file__).parents[1] / "examples" / "ports").glob("*.py"))


@pytest.mark.long
@pytest.mark.parametrize("path", PORTS, ids=lambda path: path.stem)
def test_port(path, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "port.png"
    done = subprocess.run([sys.executable, path, "--plot", picture], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "assert" in path.read_text("utf-8"), "a port checks its numbers"
    assert picture.stat().st_size > 10_000, "a port shows a picture"
