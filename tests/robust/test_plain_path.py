"""Without the fast call, as on other interpreters, everything works the same way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.compiler.backends.llvm import fastcall, tables
from robust import processes

HERE = Path(__file__).parent
COMPUTE = """
import hashlib, numpy as np
from dalembert import function, load
r = load("quadruped")
rng = np.random.default_rng(0)
digest = hashlib.sha256()
for batch in ((), (1,), (5,), (300,), (20, 30)):
    q = r.random(rng, int(np.prod(batch))).reshape(*batch, r.nq)
    v, a = rng.normal(size=(2, *batch, r.nv))
    doubled = function(lambda q, v: 2.0 * r.bias(q, v), r)
    several = function(lambda q, v: {"tau": r.bias(q, v), "pairs": np.outer(v[:2], q[:3])}, r)
    for _ in range(2):
        for dtype in (np.float64, np.float32):
            x = [s.astype(dtype) for s in (q, v, a)]
            results = [
                r.inverse_dynamics(*x), r.forward_dynamics(*x), r.mass_matrix(x[0]), r.energy(x[0], x[1]),
                r.jacobian(x[0], "front_left_foot"), r.integrate(x[0], x[1], 0.5), doubled(x[0], x[1]),
                *several(x[0], x[1]),
            ]
            for y in results:
                digest.update(f"{type(y)} {np.shape(y)}".encode() + np.asarray(y).tobytes())
print(type(r.inverse_dynamics).__name__, digest.hexdigest())
"""


def test_same_bits():
    frames = processes.run('from dalembert import load; print([f.name for f in load("quadruped").frames][-1])')[0]
    code = COMPUTE.replace("front_left_foot", frames)
    fast, plain = (processes.run(code, DALEMBERT_FASTCALL=setting)[0].split() for setting in ("on", "off"))
    assert fast[0] == "builtin_function_or_method" and plain[0] == "method"
    assert fast[1] == plain[1]


@pytest.mark.long
def test_the_other_tests():
    """Arrays in and out, errors, same bits, random calls, pickling: as with the fast call."""
    files = ["arrays", "errors", "names", "determinism", "fuzz", "pickle"]
    # --noconftest: the compiled code of this process is used, instead of a cache of its own
    options = [
        "-q",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=short",
        "-k",
        "not (tree or thrown_away)",
    ]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(
        [*command, *[HERE / f"test_{name}.py" for name in files]],
        env=processes.environment(DALEMBERT_FASTCALL="off", DALEMBERT_FUZZ="1000", PYTEST_ADDOPTS=None),
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.mark.parametrize("change", ["implementation", "layout", "keyword", "numpy"])
def test_another_interpreter_or_layout_is_noticed(change, monkeypatch):
    """The builtin is only made where the structs look as it expects; otherwise nothing is read or called."""
    fastcall._addresses.cache_clear()
    missing = fastcall.missing.__wrapped__
    if change == "implementation":
        monkeypatch.setattr(fastcall.sys.implementation, "name", "other")
    elif change == "layout":
        monkeypatch.setattr(fastcall, "_layout_is_known", lambda: False)
    elif change == "keyword":
        monkeypatch.setattr(fastcall.sys, "gettotalrefcount", lambda: 0, raising=False)
    else:
        monkeypatch.setitem(sys.modules, "numpy._core._multiarray_umath", None)
        monkeypatch.delattr("numpy._core._multiarray_umath")
    assert missing()
    fastcall._addresses.cache_clear()


def test_a_setting_that_means_nothing():
    code = """
from dalembert import DalembertError, load
try:
    load("2r").gravity([0.1, 0.2])
except DalembertError as error:
    print(error)
"""
    shown = processes.run(code, DALEMBERT_FASTCALL="maybe")[0]
    assert shown == "environment variable DALEMBERT_FASTCALL is 'maybe': expected on or off"


def test_there_is_a_fast_call_here():
    """CPython with a global lock has one: items of tuples are found where this version has them."""
    assert fastcall.missing() == ("" if os.environ.get("DALEMBERT_FASTCALL", "on") == "on" else fastcall.SWITCHED_OFF)


@pytest.mark.parametrize("where", [16, 24, 32, 40])
@pytest.mark.parametrize("sequence", [tuple, list])
def test_items_that_lie_elsewhere(sequence, where, monkeypatch):
    assert fastcall._layout_is_known()
    name = f"{sequence.__name__.upper()}_ITEMS"
    known = where == getattr(tables, name)
    monkeypatch.setattr(tables, name, where)
    assert fastcall._layout_is_known() == known


@pytest.mark.parametrize("setting", ["on", "off"])
def test_a_missing_fast_call_is_mentioned_once(setting):
    """Unless it was switched off."""
    code = """
import sys, warnings, numpy as np
sys.gettotalrefcount = lambda: 0  # as in a debug build
from dalembert import load
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    for name in ("2r", "pendulum"):
        r = load(name)
        r.gravity(np.zeros(r.nq)), r.gravity(np.zeros(r.nq))
print(sum("no fast call" in str(w.message) for w in heard))
"""
    names = processes.run("import dalembert; print(*dalembert.robots())")[0].split()
    code = code.replace('("2r", "pendulum")', repr(tuple(names[:2])))
    assert processes.run(code, DALEMBERT_FASTCALL=setting)[0] == ("1" if setting == "on" else "0")


def test_no_32_bits(monkeypatch):
    """The compilers are refused in words; the interpreter backend works there too."""
    robot = load("2r")
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    with pytest.raises(DalembertError, match="64-bit"):
        robot.gravity(np.zeros(2))
    assert robot.gravity(np.zeros(2), backend="interpreter").shape == (2,)
