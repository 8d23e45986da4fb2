"""The form of the code, as CONTRIBUTING.md states it: files and functions that are read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60  # without its docstring
LONGER: dict[str, str] = {}  # "path" or "path:function" → why it reads better in one piece


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring."""
    first, total = function.body[0], (function.end_lineno or 0) - function.lineno + 1
    return total if ast.get_docstring(function) is None else total - ((first.end_lineno or 0) - first.lineno + 1)


def too_long(source: str, path: str) -> list[str]:
    """The file and the functions in it that are over the limits and not in the list of exceptions."""
    lines = len(source.splitlines())
    long = [(path, lines)] if lines > MOST_LINES_OF_A_FILE else []
    long += [
        (f"{path}:{function.name}", length(function))
        for function in functions(ast.parse(source))
        if length(function) > MOST_LINES_OF_A_FUNCTION
    ]
    return [f"{name} has {count} lines" for name, count in long if name not in LONGER]


def test_files_and_functions_are_short():
    """A longer one is a sign that a noun is missing: find it, and give it a file, a class or a function."""
    long = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        long += too_long(path.read_text("utf-8"), str(path.relative_to(ROOT / "src" / "dalembert")))
    assert not long, "\n".join(long)


def test_the_limits_are_seen():
    body = "    x = 1\n"
    assert too_long("def f():\n" + body * 60, "a.py") == ["a.py:f has 61 lines"]
    assert not too_long('def f():\n    """Two\n    lines."""\n' + body * 59, "a.py")
    assert too_long("x = 1\n" * 401, "a.py") == ["a.py has 401 lines"]
