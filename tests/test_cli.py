"""The command line: what it prints, where it writes, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from dalembert import cli, demo


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "dalembert.cli", *arguments], capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def test_demo_shows_torques_and_writes_a_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert cli.main(["demo", "--out", str(tmp_path / "new"), "--states", "500"]) == 0
    shown = capsys.readouterr().out
    assert "peak velocity 0.9375 rad/s, peak acceleration 2.887 rad/s²" in shown
    for word in ("shoulder_lift", "N·m", "peak |τ|", "one call from Python", "batch of 500, all threads"):
        assert word in shown
    assert max(map(len, shown.splitlines()[:-1])) <= 110
    assert (tmp_path / "new" / "ur5_torques.png").read_bytes().startswith(b"\x89PNG")


def test_quintic_rates_are_derivatives():
    t = np.linspace(0, 1, 2001)
    q, v, a = demo.quintic(t)
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], v[1:-1], atol=2e-6)
    np.testing.assert_allclose(np.gradient(v, t, axis=0)[1:-1], a[1:-1], atol=1e-5)
    np.testing.assert_allclose(q[-1] - q[0], demo.MOVE)
    assert not v[[0, -1]].any() and np.abs(a[[0, -1]]).max() < 1e-12


def test_convert_writes_and_says_what_it_left_out(tmp_path, capsys):
    target = tmp_path / "ur5.xml"
    assert cli.main(["convert", "ur5", str(target)]) == 0
    shown = capsys.readouterr().out
    assert "MJCF has no limits of speed; left out" in shown and f"wrote {target}: ur5, 6 joints" in shown
    assert "<mujoco" in target.read_text()
    assert cli.main(["convert", str(tmp_path / "nothing.urdf"), str(target)]) == 2
    assert "no such file" in capsys.readouterr().err


def test_convert_asks_before_it_approximates(tmp_path, capsys):
    target = tmp_path / "panda.sdf"
    assert cli.main(["convert", "panda", str(target)]) == 2
    assert "the slip speed of friction" in capsys.readouterr().err and not target.exists()
    assert cli.main(["convert", "panda", str(target), "--approximate", "--base", "free", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["robot"] == "panda" and [f["severity"] for f in said["written"]] == ["warning"]
    assert "world" not in target.read_text().split("-->")[1]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["convert", "ur5", "ur5.stl"], ".dh.toml"),
        (["convert", "ur55", "ur5.urdf"], "ur5"),
        (["convert", "ur5"], "target"),
        (["bench", "ur55"], "ur5"),
        (["bench", "ur5", "--function", "inverse_dynamic"], "inverse_dynamics"),
        (["demo", "--out", "/dev/null/x", "--states", "10"], "/dev/null"),
        (["demo", "--states", "0"], "--states"),
        (["nonsense"], "nonsense"),
        ([], "command"),
    ],
)
def test_mistakes_end_with_2_and_no_traceback(arguments, word):
    code, _, errors = run(*arguments)
    assert code == 2
    assert word in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["bench", "--help"], ["convert", "--help"]])
def test_help(arguments):
    code, shown, _ = run(*arguments)
    assert code == 0
    assert "usage: dalembert" in shown
    if len(arguments) == 2:
        assert f"example: dalembert {arguments[0]}" in shown
