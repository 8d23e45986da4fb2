"""The form of the code, as CONTRIBUTING.md states it: short files and functions, and tolerances with names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60  # without its docstring
LONGER: dict[str, str] = {}  # "path" or "path:function" → why it reads better in one piece

COMPARISONS = ("assert_allclose", "assert_close", "allclose", "approx", "isclose")
TOLERANCES = ("atol", "rtol", "abs", "rel", "tolerance", "abs_tol", "rel_tol")
LARGEST_TOLERANCE = 0.5  # of these arguments; larger numbers are sizes
SMALL = 0.01  # what an `assert x < …` states up to here is a tolerance

SUBJECTS = {  # tests of a room that concern no single file of it
    "dynamics/algorithms": {"closed_form", "operation_counts"},
    "audit": {"bundled_robots", "sound_robots", "thresholds"},
    "cli": {"drives"},
    "formats": {"physics"},
    "formats/mjcf": {"errors", "ledger"},
    "formats/sdf": {"coupling", "errors", "frames", "ledger", "robots", "shapes", "world"},
    "formats/urdf": {"errors", "extension", "ledger"},
    "formats/write": {"round_trips", "write"},
    "quantities": {"fast_framed", "fast_packed", "options"},
    "compiler/graph": {"programs", "properties", "scan"},
    "compiler/interop": {"arrays"},
    "linear": {"factors"},
    "model/bundled": {"robots"},
    ".": {"reprs"},
}


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


def test_docstrings_begin_with_a_noun_or_a_verb():
    riddle = re.compile(r'"""(Of|As|That|Those|What) ')
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if riddle.search(line)
    ]
    assert not found, "begin with what it is (a noun) or does (a verb):\n" + "\n".join(found)


def numbers(node: ast.AST, largest: float) -> list[ast.Constant]:
    """Small positive numbers among the terms of an expression; not those that multiply a name in capitals."""
    if isinstance(node, ast.Constant):
        return [node] if isinstance(node.value, float) and 0.0 < node.value <= largest else []
    if isinstance(node, ast.UnaryOp):
        return numbers(node.operand, largest)
    if not isinstance(node, ast.BinOp):
        return []
    if isinstance(node.op, ast.Pow):
        return []
    sides = [node.left] if isinstance(node.op, ast.Div) else [node.left, node.right]
    if any(isinstance(side, ast.Name) and side.id.isupper() for side in sides) and isinstance(node.op, ast.Mult):
        return []
    return [number for side in sides for number in numbers(side, largest)]


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """What an assertion states: all its nodes, but for indices and conditions of choices."""
    yield node
    for name, value in ast.iter_fields(node):
        if (type(node), name) not in ((ast.Subscript, "slice"), (ast.IfExp, "test")):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from parts(child)


def tolerances_of_call(call: ast.Call) -> list[ast.Constant]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name not in COMPARISONS:
        return []
    arguments = [keyword.value for keyword in call.keywords if keyword.arg in TOLERANCES]
    if name == "assert_close":
        arguments += call.args[2:3]
    return [number for argument in arguments for number in numbers(argument, LARGEST_TOLERANCE)]


def tolerances_of_assertion(assertion: ast.Assert) -> list[ast.Constant]:
    found = []
    for node in parts(assertion.test):
        if isinstance(node, ast.Compare):
            for left, operator, right in zip((node.left, *node.comparators), node.ops, node.comparators, strict=False):
                less, more = (isinstance(operator, each) for each in ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE)))
                for side, is_bound in ((right, less), (left, more)):
                    if is_bound or ((less or more) and isinstance(side, (ast.BinOp, ast.UnaryOp))):
                        found += numbers(side, SMALL)
    return found


def unnamed_tolerances(source: str) -> list[ast.Constant]:
    """Numbers of a test's source that say how near is near enough, without a name that says why."""
    unnamed: dict[tuple[int, int], ast.Constant] = {}
    for node in ast.walk(ast.parse(source)):
        found = tolerances_of_call(node) if isinstance(node, ast.Call) else []
        found += tolerances_of_assertion(node) if isinstance(node, ast.Assert) else []
        unnamed |= {(number.lineno, number.col_offset): number for number in found}
    return list(unnamed.values())


def test_tolerances_have_names():
    """From tests/support/tolerances.py; what one test expects of physics or noise is a constant in its file."""
    unnamed = [
        f"{path.relative_to(ROOT)}:{number.lineno}: {number.value:g}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for number in unnamed_tolerances(path.read_text("utf-8"))
        if path != Path(__file__)
    ]
    assert not unnamed, "name these tolerances (see tests/support/tolerances.py):\n" + "\n".join(unnamed)


def test_unnamed_tolerances_are_seen():
    seen = {
        "np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-9 * scale)": [1e-9],
        "assert_close(x, y, 2e-5, scale=3.0)": [2e-5],
        "assert x == pytest.approx(2.0, rel=0.02)": [0.02],
        "assert abs(x) < 1e-6 and y <= 1.0 + 1e-7": [1e-6, 1e-7],
        "assert low - 1e-12 <= x": [1e-12],
        "assert x > -1e-9": [1e-9],
        "assert x < 3e-3 * np.abs(y).max()": [3e-3],
        "assert_close(x, y, 10 * COMPUTED)": [],
        "assert_close(x, y, 0.5 * PRINTED)": [],
        "assert_close(x, y, 0.0)": [],
        "assert x < 0.05": [],
        "assert np.ptp(v[t > start + 1e-3]) < COMPUTED": [],
        "assert (a - b) / 2e-6 < COMPUTED": [],
        "run = robot.simulate(q, v, 1.0, rtol=1e-9)": [],
    }
    for source, expected in seen.items():
        assert [number.value for number in unnamed_tolerances(source)] == expected, source


def test_unit_tests_mirror_the_source():
    """tests/unit/ROOM/test_X.py is about src/dalembert/ROOM/X.py, or about a subject of that room."""
    for path in (ROOT / "tests" / "unit").rglob("test_*.py"):
        room = path.parent.relative_to(ROOT / "tests" / "unit")
        name = path.stem.removeprefix("test_")
        subject = ROOT / "src" / "dalembert" / room / name
        exists = subject.is_dir() or subject.with_suffix(".py").is_file()
        assert exists or name in SUBJECTS.get(room.as_posix(), ()), f"{path}: no such file in src/dalembert/{room}"


MAPPED = (  # rooms with many files: the docstring of their __init__ lists them in the order of reading
    "compiler/backends/llvm",
    "dynamics/collision",
    "contact",
    "compiler/execute",
    "compiler/graph",
    "linear",
    "sim/elements",
    "sim/rollout",
    "sim/system",
)


def off_the_map(room: Path) -> set[str]:
    """Files of a room that the docstring of its __init__ does not name; `name_*` there stands for all of that kind."""
    guide = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    words = set(re.findall(r"[a-z_0-9]+\*?", guide))
    kinds = [word[:-1] for word in words if word.endswith("*")]
    files = {path.stem for path in room.glob("*.py")} - {"__init__"}
    return {name for name in files - words if not any(name.startswith(kind) for kind in kinds)}


def test_maps_of_rooms_name_all_their_files(tmp_path):
    for room in MAPPED:
        assert not off_the_map(ROOT / "src/dalembert" / room), f"{room}/__init__.py: say when to read these"
    (tmp_path / "__init__.py").write_text('"""First `a`, then b_*."""')
    for name in ("a", "b_one", "c"):
        (tmp_path / f"{name}.py").touch()
    assert off_the_map(tmp_path) == {"c"}
