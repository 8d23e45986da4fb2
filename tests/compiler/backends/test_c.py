"""Emitted C against the interpreter: compiled without warnings, called through ctypes; its own test programs."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from compiler.backends.expressions import EXPRESSIONS, check
from dalembert.compiler.backends import c
from dalembert.compiler.graph import Loop, trace
from dalembert.errors import DalembertError

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
REAL = {"double": np.float64, "float": np.float32}
# the C library's elementary functions and NumPy's are each within about 1 ulp
ULPS = 4

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")


@pytest.fixture(scope="module", params=REAL)
def library(request, tmp_path_factory):
    """All expressions compiled into one shared library, in double or float."""
    folder = tmp_path_factory.mktemp(request.param)
    sources = [c.write(c.emit(e.traced, f"f_{e.name}", request.param), folder)[1] for e in EXPRESSIONS]
    built = folder / "expressions.so"
    subprocess.run([COMPILERS[0], *STRICT, "-O0", "-shared", "-fPIC", *sources, "-lm", "-o", built], check=True)
    return ctypes.CDLL(str(built)), REAL[request.param]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_agrees_with_the_interpreter(expression, library):
    compiled, dtype = library
    function = getattr(compiled, f"f_{expression.name}")
    function.restype = None

    def run(traced, inputs, outputs, n):
        head = [] if n is None else [ctypes.c_size_t(n)]
        order = [o.name for o, _ in traced.results()] if isinstance(traced, Loop) else outputs
        arrays = [x for x in (*inputs.values(), *(outputs[name] for name in order)) if x[0].size or n is not None]
        for row in range(len(next(iter(inputs.values())))):
            function(*head, *(ctypes.c_void_p(x[row : row + 1].ctypes.data) for x in arrays))

    check(expression, run, ULPS, dtype)


def _run(source: c.CSource, folder: Path, compiler: str, *options: str) -> subprocess.CompletedProcess:
    _, code, test = c.write(source, folder)
    program = folder / "program"
    subprocess.run([compiler, *STRICT, *options, code, test, "-lm", "-o", program], check=True)
    return subprocess.run([program], capture_output=True, text=True)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["several", "constants", "pendulum", "chain", "loop", "loop_carried_and_recorded"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_own_test_program_passes(compiler, name, dtype, tmp_path):
    expression = next(e for e in EXPRESSIONS if e.name == name)
    done = _run(c.emit(expression.traced, dtype=dtype), tmp_path, compiler, "-O2")
    assert done.returncode == 0, done.stdout
    assert re.search(rf"{name}: largest error \S+, tolerance", done.stdout)


@pytest.mark.parametrize("wrong", ["1.0", "NAN", "INFINITY"])
def test_own_test_program_can_fail(wrong, tmp_path):
    source = c.emit(trace(lambda q: q[0] * q[1], {"q": 2}, name="f"))
    spoiled = c.CSource(source.name, source.header, source.source.replace("= t0;", f"= t0 + {wrong};"), source.test)
    assert _run(source, tmp_path / "good", COMPILERS[0]).returncode == 0
    assert _run(spoiled, tmp_path / "bad", COMPILERS[0]).returncode == 1


def test_own_test_program_uses_the_given_sample(tmp_path):
    source = c.emit(trace(lambda q: q[0] * q[1], {"q": 2}, name="f"), sample={"q": [0.25, 3.0]})
    assert "0.25, 3.0" in source.test and "0.75" in source.test
    assert _run(source, tmp_path, COMPILERS[0]).returncode == 0


def test_names_that_c_cannot_have(tmp_path):
    """Keywords, library functions, temporaries, other alphabets, clashes of input and output, comment ends."""
    sizes = {"double": 1, "sin": 1, "t0": 1, "w": 1, "θ": 1, "2nd": 1, "new": 1, "f_max": 1, "f_part0": 1, "a*/b": 1}
    function = trace(lambda *x: {"double": sum(v[0] for v in x), "main": x[0][0] ** 2, "f": x[1][0]}, sizes, name="f")
    assert _run(c.emit(function), tmp_path / "1", COMPILERS[0]).returncode == 0
    assert _run(c.emit(function, "sin"), tmp_path / "2", COMPILERS[0]).returncode == 0
    assert _run(c.emit(function, "7 segments */ + check"), tmp_path / "3", COMPILERS[0]).returncode == 0
    assert _run(c.emit(function, "check"), tmp_path / "4", COMPILERS[0]).returncode == 0


def test_header_serves_c_plus_plus(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler")
    source = c.emit(trace(lambda this: this[0] * 2.0, {"this": 1}, name="f"))
    c.write(source, tmp_path)
    (tmp_path / "user.cpp").write_text(
        '#include "f.h"\nint main() { double x[1] = {1}, y[1]; f(x, y); return y[0] != 2; }\n'
    )
    subprocess.run([COMPILERS[0], *STRICT, "-c", "f.c", "-o", "f.o"], cwd=tmp_path, check=True)
    subprocess.run(["g++", "-Wall", "-Wextra", "-pedantic", "-Werror", "user.cpp", "f.o"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a.out"]).returncode == 0


def test_long_functions_are_cut():
    """No C function has more statements than PART says, and the parts reuse places in the shared array."""
    expression = next(e for e in EXPRESSIONS if e.name == "product")
    bodies = re.findall(r"\n\{\n(.*?)\n\}", c.emit(expression.traced).source, re.DOTALL)
    statements = [body.count("const double t") for body in bodies]
    assert sum(statements) == sum(expression.traced.operations().values()) > 4 * c.PART
    assert max(statements) == c.PART
    shared = int(re.search(r"double w\[(\d+)\];", bodies[-1]).group(1))
    assert 0 < shared < 2 * 196


def test_sub_expressions_are_shared_and_counts_shown():
    source = c.emit(trace(lambda q: np.array([(q[0] + q[1]) ** 2, q[1] + q[0]]), {"q": 2}, name="f"))
    assert source.source.count("q[0] + q[1]") == 1
    assert "2 operations (1 add, 1 mul)" in source.header
    assert "q: 2 numbers" in source.header and "f_out: 2 numbers" in source.header


def test_constants_read_back_exactly():
    values = [0.1, 1 / 3, 1e300, 5e-324, 2.0**53 + 2, -1.7976931348623157e308]
    source = c.emit(trace(lambda x: np.array(values), {"x": 1}, name="f")).source
    assert [float(text) for text in re.findall(r"= (\S+);", source)] == values
    single = c.emit(trace(lambda x: np.array([0.1, 1e300]), {"x": 1}, name="f"), dtype="float").source
    assert "= 0.1f;" in single and "= INFINITY;" in single


def test_unknown_dtype():
    with pytest.raises(DalembertError, match="unknown dtype 'dubble': did you mean 'double'"):
        c.emit(trace(lambda x: x, {"x": 1}), dtype="dubble")
