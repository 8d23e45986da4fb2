"""The command line on terminals that are not UTF-8, into pipes that close, and when the program itself fails."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from dalembert import ModelBuilder, cli
from dalembert.cli import common, terminal

COMMANDS = [
    ["info", "panda"], ["audit", "2r"], ["equations", "2r"], ["torques", "2r"], ["simulate", "2r", "--duration", "0.1"],
    ["info", "2r", "--json"], ["equations", "2r", "--json"], ["audit", "2r", "--json"], ["--help"], ["info", "ur55"],
]  # fmt: skip


class Terminal(io.TextIOWrapper):
    """A stream of some encoding that refuses what it cannot write, as a terminal does."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, errors="strict")

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_on_terminals_that_are_not_utf_8(monkeypatch, command, encoding) -> None:
    out, errors = Terminal(encoding), Terminal(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", errors)
    code = cli.main(command)
    assert code == (2 if command == ["info", "ur55"] else 0)
    assert "?" not in out.text() and (out.text() or errors.text())
    if "--json" in command:
        json.loads(out.text())


def test_what_stands_for_what() -> None:
    stream = Terminal("ascii")
    terminal.prepare(stream)
    stream.write("9.81 m/s² → 3 N·m, 0 … ∞ °, 5 µs, −1, τ ω, Ångström, 名, \udcff")
    assert stream.text() == "9.81 m/s^2 -> 3 N.m, 0 ... inf deg, 5 us, -1, tau omega, Angstrom, ?, ?"


def test_json_keeps_names_that_the_terminal_cannot_write(monkeypatch) -> None:
    builder = ModelBuilder("naïve 名")
    builder.add_body("bras", parent="world", joint="revolute", joint_name="épaule", axis=(0, 0, 1), mass=1.0,
                     com=(0.1, 0, 0), inertia=0.01 * np.eye(3))  # fmt: skip
    out = Terminal("ascii")
    monkeypatch.setattr(sys, "stdout", out)
    cli.common.print_json({"name": builder.build().name})
    assert json.loads(out.text()) == {"name": "naïve 名"}


def test_a_bug_is_not_a_failed_check(monkeypatch, capsys) -> None:
    """Exit code 1 says that a check failed; an exception that nobody foresaw ends with 3 and its traceback."""

    def broken(*_, **__):
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(common, "load", broken)
    assert cli.main(["audit", "2r"]) == 3
    shown = capsys.readouterr().err
    assert "Traceback" in shown and "unforeseen" in shown
    assert shown.splitlines()[-1] == "dalembert audit: this is an error of the program itself: please report it"


def test_a_reader_that_stops_early() -> None:
    """`dalembert info … | head -1` ends without a complaint."""
    command = f"{sys.executable} -m dalembert.cli info simple_humanoid --json | head -1"
    command = command.replace("simple_humanoid", "quadruped")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert done.stdout == "{\n" and done.stderr == ""
