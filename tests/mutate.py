"""Mutation testing: `python tests/mutate.py ROOM TESTS… [--count 200] [--seed 0] [--seconds 120]`.

Each mutant is one change in the room's source: another operator, comparison or number, a condition turned round. The
tests must fail. What survives is printed with file and line, so that somebody can say why or write a test. Tuning
constants (names in capitals at module level), messages and annotations are left alone.

    python tests/mutate.py dynamics/algorithms tests/laws --count 50
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
    ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change of a file: where, what, and the source with it."""

    path: Path
    line: int
    change: str
    source: str


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """(node, field) of everything that may be changed."""
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Raise, ast.Assert)):
            left_out.update(map(id, ast.walk(node)))
        for field in ("annotation", "returns", "decorator_list"):
            parts = getattr(node, field, None) or []
            for part in parts if isinstance(parts, list) else [parts]:
                left_out.update(map(id, ast.walk(part)))
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.ImportFrom, ast.Import)):
            left_out.update(map(id, ast.walk(statement)))
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in OPERATORS:
            yield node, "op"
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
            yield node, "ops"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            yield node, "operand"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            yield node, "value"


def changed(node: ast.AST, field: str) -> str:
    """Change a node in place; returns words for it."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = OPERATORS[type(node.op)]()
        return f"now {type(node.op).__name__}"
    if isinstance(node, ast.Compare):
        node.ops[0] = OPERATORS[type(node.ops[0])]()
        return f"now {type(node.ops[0]).__name__}"
    if isinstance(node, ast.UnaryOp):
        words = f"without {type(node.op).__name__}"
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        return words
    assert isinstance(node, ast.Constant)
    before = node.value
    node.value = (
        (not before) if isinstance(before, bool) else before + 1 if isinstance(before, int) else 2.0 * before + 1.0
    )
    return f"{before} → {node.value}"


def mutants(room: Path, count: int, seed: int) -> Iterator[Mutant]:
    """Changes of a room, drawn evenly from all places."""
    files = sorted(room.rglob("*.py")) if room.is_dir() else [room.with_suffix(".py")]
    spots = [(path, k) for path in files for k, _ in enumerate(places(ast.parse(path.read_text("utf-8"))))]
    for path, k in random.Random(seed).sample(spots, min(count, len(spots))):
        tree = ast.parse(path.read_text("utf-8"))
        node, field = list(places(tree))[k]
        words = changed(node, field)
        yield Mutant(path, node.lineno, words, ast.unparse(ast.fix_missing_locations(tree)))  # type: ignore[attr-defined]


def killed(mutant: Mutant | None, tests: list[str], seconds: float) -> bool:
    """Whether tests fail with this change (None: without any), or take too long; in a copy of the package."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", Path(folder) / "src", ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            (Path(folder) / mutant.path.relative_to(ROOT)).write_text(mutant.source, "utf-8")
        environment = os.environ | {"PYTHONPATH": f"{folder}/src", "DALEMBERT_PROGRESS": "off"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def interval(hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share."""
    z, p = 1.96, hits / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="for the tests of one mutant; longer counts as found"
    )
    options = parser.parse_args()
    if killed(None, options.tests, options.seconds):
        sys.exit("these tests fail, or take longer, without any change")
    hits, n = 0, 0
    for mutant in mutants(ROOT / "src" / "dalembert" / options.room, options.count, options.seed):
        found = killed(mutant, options.tests, options.seconds)
        hits, n = hits + found, n + 1
        if not found:
            print(f"survives: {mutant.path.relative_to(ROOT)}:{mutant.line}: {mutant.change}", flush=True)
    low, high = interval(hits, n)
    print(f"{options.room}: {hits} of {n} found, {hits / n:.0%} (95 %: {low:.0%} to {high:.0%}), seed {options.seed}")


if __name__ == "__main__":
    main()
