"""Every command that a page shows exists, with the options that it shows, and with robots in the robot's place."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from dalembert import cli, robots

ROOT = Path(__file__).parent.parent.parent
WRITTEN = {ROOT / "docs" / name for name in ("api", "api.md", "licences.md", "gallery")}  # by the build
PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if not WRITTEN & {page, page.parent}
]
SHOWN = re.compile(r"(?:^|`)dalembert ([a-z][^`\n]*)", re.M)  # at the beginning of a line, or as code
COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
ROBOT_FILES = (".urdf", ".xacro", ".xml", ".sdf", ".world", ".toml", "ROBOT")


def shown() -> list[tuple[str, str]]:
    return [
        (page.name, found[1].partition("#")[0].strip())
        for page in PAGES
        for found in SHOWN.finditer(page.read_text("utf-8"))
    ]


@pytest.mark.parametrize(("page", "line"), sorted(set(shown())))
def test_command_exists(page: str, line: str) -> None:
    name, *words = shlex.split(line)
    assert name in COMMANDS
    parameters = {option: p for p in COMMANDS[name].params for option in p.opts if option.startswith("--")}
    assert {word for word in words if word.startswith("--")} <= set(parameters)
    arguments = [p for p in COMMANDS[name].params if not p.opts[0].startswith("--")]
    values = iter(words)
    positional = []
    for word in values:
        if not word.startswith("--"):
            positional.append(word)
        elif not getattr(parameters[word], "is_flag", False):
            next(values, None)
    if positional and arguments and "robot" in arguments[0].name:
        places = positional if arguments[0].nargs == -1 else positional[:1]
        assert all(place in robots() or place.endswith(ROBOT_FILES) for place in places), positional


def test_commands_are_found() -> None:
    assert len(shown()) > 40 and {line.split()[0] for _, line in shown()} == set(COMMANDS)
