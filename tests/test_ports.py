"""The ports of published examples run, find the recorded numbers of their originals, and draw a picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PORTS = sorted(path for path in (Path(__file__).parents[1] / "examples" / "ports").glob("*.py") if path.stem != "port")
QUICK = ("drake_acrobot", "mjctrl_opspace", "pinocchio_four_bar", "toolbox_puma")  # a second or two each


def run(path, *options):
    done = subprocess.run([sys.executable, path, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "a port shows its numbers"


@pytest.mark.parametrize("path", [path for path in PORTS if path.stem in QUICK], ids=lambda path: path.stem)
def test_port(path):
    run(path)


@pytest.mark.long
@pytest.mark.parametrize("path", PORTS, ids=lambda path: path.stem)
def test_port_and_its_picture(path, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "port.png"
    run(path, "--plot", picture)
    assert "np.testing.assert_allclose" in path.read_text("utf-8"), "a port checks its numbers"
    assert picture.stat().st_size > 10_000, "a port shows a picture"
