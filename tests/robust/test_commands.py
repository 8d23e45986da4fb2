"""Every command with default arguments on every robot: an answer or one line that says why not, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert
from dalembert.cli import main

COMMANDS = {
    "info": (),
    "audit": (),
    "torques": (),
    "simulate": (),
    "size": (),
    "control": (),
    "expect": (),
    "equations": (),
    "export": (),
    "report": ("--out", "report.html"),
    "excite": ("--out", "motion.csv"),
    "plan": ("--goal", "0.3,0.2,0.4"),
    "convert": ("robot.urdf",),
}


def files() -> list[str]:
    """The URDF files of example-robot-data, if they are installed."""
    import sysconfig

    folder = Path(sysconfig.get_path("purelib"))
    roots = [folder, *folder.glob("cmeel.prefix")]
    return sorted(str(path) for root in roots for path in (root / "share/example-robot-data").rglob("*.urdf"))


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("robot", [*dalembert.robots(), *files()], ids=lambda robot: Path(robot).stem)
def test_a_command_answers(robot, command, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    code = main([command, robot, *COMMANDS[command]])
    shown = capfd.readouterr()
    assert code in (0, 1, 2), shown.err[-400:]
    assert "Traceback" not in shown.err + shown.out
    if code == 2:  # a refusal says what is wrong with what was asked
        assert shown.err.strip().splitlines()[-1].startswith(("dalembert", "Error", "warning"))
