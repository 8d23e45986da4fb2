"""How large rooms and tests are: `python docs/rooms.py` writes tables into docs/architecture.md and docs/testing.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent
PAGE, PACKAGE = DOCS / "architecture.md", DOCS.parent / "src" / "dalembert"
TABLE = re.compile(r"(?<=<!-- rooms -->\n).*(?=<!-- end of rooms -->)", re.DOTALL)
TESTING, TESTS = DOCS / "testing.md", DOCS.parent / "tests"
TEST_TABLE = re.compile(r"(?<=<!-- tests -->\n).*(?=<!-- end of tests -->)", re.DOTALL)


class Room(NamedTuple):
    """Lines and files of Python, and how many names its `__all__` has."""

    lines: int
    files: int
    names: int


def rooms() -> dict[str, Room]:
    """All rooms, the largest first; "others": the files beside them."""
    found = {}
    for folder in (*sorted(path for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()), PACKAGE):
        files = sorted(folder.glob("*.py") if folder == PACKAGE else folder.rglob("*.py"))
        lines = sum(len(path.read_text("utf-8").splitlines()) for path in files)
        found["others" if folder == PACKAGE else folder.name] = Room(lines, len(files), len(public(folder)))
    return dict(sorted(found.items(), key=lambda room: -room[1].lines))


def public(folder: Path) -> list[str]:
    """The names in `__all__` of a package."""
    for node in ast.parse((folder / "__init__.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def table(found: dict[str, Room]) -> str:
    """In Markdown."""
    whole = Room(*(sum(column) for column in zip(*found.values(), strict=True)))
    rows = [
        f"| {name} | {room.lines} | {room.files} | {room.names} |" for name, room in {**found, "all": whole}.items()
    ]
    return "\n".join(["| room | lines | files | public names |", "|---|--:|--:|--:|", *rows, ""])


def tests() -> dict[str, tuple[int, int]]:
    """Files and test functions of each folder of tests, most functions first; "others": the files beside them."""
    counted = {}
    for folder in (*sorted(path for path in TESTS.iterdir() if path.is_dir()), TESTS):
        files = sorted(folder.glob("test_*.py") if folder == TESTS else folder.rglob("test_*.py"))
        functions = sum(len(re.findall(r"^ *def test_", path.read_text("utf-8"), re.MULTILINE)) for path in files)
        if files:
            counted["others" if folder == TESTS else folder.name] = (len(files), functions)
    return dict(sorted(counted.items(), key=lambda folder: -folder[1][1]))


def test_table(counted: dict[str, tuple[int, int]]) -> str:
    """In Markdown."""
    whole = tuple(sum(column) for column in zip(*counted.values(), strict=True))
    rows = [f"| {name} | {files} | {functions} |" for name, (files, functions) in {**counted, "all": whole}.items()]
    return "\n".join(["| folder | files | test functions |", "|---|--:|--:|", *rows, ""])


def written_tests() -> dict[str, int]:
    """Test functions of each folder as the page has them."""
    rows = re.findall(r"^\| (\w+) \| \d+ \| (\d+) \|", TESTING.read_text("utf-8"), re.MULTILINE)
    return {name: int(functions) for name, functions in rows}


def written() -> dict[str, int]:
    """Lines of each room as the page has them."""
    match = TABLE.search(PAGE.read_text("utf-8"))
    assert match is not None, "docs/architecture.md has no place for the table of rooms"
    return {name: int(lines) for name, lines in re.findall(r"^\| (\w+) \| (\d+) \|", match[0], re.MULTILINE)}


if __name__ == "__main__":
    TESTING.write_text(TEST_TABLE.sub(lambda _: test_table(tests()), TESTING.read_text("utf-8")), "utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(rooms()), PAGE.read_text("utf-8")), "utf-8")
