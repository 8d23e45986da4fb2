"""Emitted CUDA against the interpreter: compiled as C++ for this machine, every expression of the list."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from compiler.backends.expressions import EXPRESSIONS, check
from dalembert import load
from dalembert import math as dalembert_math
from dalembert.compiler.backends import cuda, interpreter
from dalembert.compiler.backends.elementary import FAST_LIMIT
from dalembert.compiler.graph import Function, Loop, trace
from dalembert.errors import DalembertError
from dalembert.quantities import compiled
from tolerances import ROUNDING, SOLVE, assert_close

COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
OPTIONS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-unknown-pragmas",
    "-Werror",
    "-O0",
    "-ffp-contract=off",
]
REAL = {"double": np.float64, "float": np.float32}
# own sine and cosine: within 2 ulp, NumPy's within 1
ULPS = 4

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")


def build(sources: list[cuda.CudaSource], folder: Path) -> ctypes.CDLL:
    """A library with a function run_<name>(threads, …) for each kernel."""
    texts = ['#include "cuda_host.h"\n']
    for source in sources:
        declared = re.search(
            rf"__launch_bounds__\([\d, ]+\) {source.name}\(\s*(.*?)\)\n", source.text, re.DOTALL
        ).group(1)
        names = ", ".join(re.findall(r"(\w+)(?:,|$)", declared))
        texts.append(source.text)
        texts.append(f'extern "C" void run_{source.name}(unsigned threads, {declared})\n')
        texts.append(f"{{ launch(threads, {source.name}, {names}); }}\n")
    code, built = folder / "kernels.cpp", folder / "kernels.so"
    code.write_text("".join(texts))
    include = ["-I", str(Path(__file__).parent), "-shared", "-fPIC"]
    subprocess.run([COMPILERS[0], *OPTIONS, *include, code, "-o", built], check=True)
    return ctypes.CDLL(str(built))


def run_strided(function, program: Function | Loop, inputs, outputs, n, columns: bool) -> None:
    """Launch with arrays [B][…], or with the batch as the last axis in memory."""
    order = [o.name for o, _ in program.results()] if isinstance(program, Loop) else list(outputs)
    count = len(next(iter(inputs.values())))
    arguments, made, kept = [], {}, []
    for name, x in [*inputs.items(), *((name, outputs[name]) for name in order)]:
        rows = isinstance(program, Loop) and (
            name in program.sequence if name in inputs and x is inputs[name] else name in program.record
        )
        flat = x.reshape(count, n, math.prod(x.shape[2:])) if rows else x.reshape(count, -1)
        if not x[0].size and not rows:
            continue
        memory = np.moveaxis(np.ascontiguousarray(np.moveaxis(flat, 0, -1)), -1, 0) if columns else flat.copy()
        if x is outputs.get(name):
            made[name] = memory
        kept.append(memory)
        strides = [s // x.itemsize for s in memory.strides]
        arguments += [ctypes.c_void_p(memory.ctypes.data), *map(ctypes.c_longlong, (strides[0], strides[-1]))]
        arguments += [ctypes.c_longlong(strides[1])] if rows else []
    passes = [] if n is None else [ctypes.c_longlong(n)]
    function(ctypes.c_uint(32), ctypes.c_longlong(count), *passes, *arguments)
    for name, memory in made.items():
        outputs[name][...] = memory.reshape(outputs[name].shape)


@pytest.fixture(scope="module", params=REAL)
def library(request, tmp_path_factory):
    """All expressions in one library."""
    real = request.param
    sources = [cuda.emit(e.traced, f"f_{e.name}", real) for e in EXPRESSIONS]
    return build(sources, tmp_path_factory.mktemp(real)), real


def limit(expression, real: str) -> float | None:
    """The largest input for which sine and cosine are not NaN."""
    return FAST_LIMIT[real] / 4 if {"sin", "cos"} & expression.traced.operations().keys() else None


@needs_compiler
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_agrees_with_the_interpreter(expression, library, columns):
    compiled, real = library

    def run(program, inputs, outputs, n):
        run_strided(getattr(compiled, f"run_f_{expression.name}"), program, inputs, outputs, n, columns)

    check(expression, run, ULPS, REAL[real], largest=limit(expression, real))


@needs_compiler
def test_sine_and_cosine(library):
    """Within two ulp as far as stated, at random and next to multiples of π/2; NaN beyond, never a wrong number."""
    compiled, real = library
    dtype, largest = REAL[real], FAST_LIMIT[real]
    rng = np.random.default_rng(0)
    near = rng.integers(-int(largest / 2), int(largest / 2), 50_000) * (np.pi / 2)
    x = np.concatenate([rng.uniform(-largest, largest, 50_000), rng.uniform(-4, 4, 50_000), near, [largest, -largest]])
    x = x[np.abs(x) <= largest].astype(dtype)
    far = np.array([largest * (1 + 1e-6), -2 * largest, 3e38, np.inf, -np.inf, np.nan], dtype)
    for name in ("sin", "cos"):
        given, got = np.concatenate([x, far])[:, None], np.full((len(x) + len(far), 1), 7.0, dtype)
        expression = next(e for e in EXPRESSIONS if e.name == name)
        function = getattr(compiled, f"run_f_{name}")
        run_strided(function, expression.traced, {"x": given}, {name: got[:, 0]}, None, False)
        want = getattr(np, name)(x.astype(np.longdouble))
        error = np.abs(got[: len(x), 0] - want) / np.spacing(np.abs(want).astype(dtype))
        assert error.max() <= 2.0
        assert np.isnan(got[len(x) :]).all()


def test_tables_are_constants_for_the_device():
    """A host compiler takes INFINITY as an initialiser; a device's, for which it is a function, does not."""
    tables = [
        table
        for e in EXPRESSIONS
        for table in re.findall(r"__device__ const \w+ \w+\[\d+\] = \{(.*?)\};", cuda.emit(e.traced).text, re.DOTALL)
    ]
    assert len(tables) > 5
    assert not any("INF" in table or "NAN" in table for table in tables)
    infinite = trace(lambda x: dalembert_math.lookup([1.0, np.inf], x[0]), {"x": 1}, "f")
    assert str(np.finfo(float).max) in cuda.emit(infinite).text  # the largest number stands in
    function = trace(lambda x: dalembert_math.lookup([1.0, np.nan], x[0]), {"x": 1}, "f")
    with pytest.raises(DalembertError, match="f: a table has NaN, which CUDA cannot"):
        cuda.emit(function)


@needs_compiler
def test_a_loop_of_many_parts(tmp_path, monkeypatch):
    """Functions too long for one are cut, in a loop as well; the state then passes through memory."""
    monkeypatch.setattr(cuda.body, "WHOLE", 10)
    monkeypatch.setattr(cuda.body, "PART", 4)
    expression = next(e for e in EXPRESSIONS if e.name == "loop")
    source = cuda.emit(expression.traced, "f_loop")
    assert source.text.count("__noinline__") > 2
    compiled = build([source], tmp_path)
    check(expression, lambda *a: run_strided(compiled.run_f_loop, *a, columns=True), ULPS)


@needs_compiler
def test_a_humanoid(tmp_path):
    """More values than registers: fewer threads in a block, shared memory for the rest."""
    robot, name = load("humanoid"), "forward_dynamics"
    function = compiled(robot, name).function()
    source = cuda.emit(function, name)
    assert source.threads < cuda.emit(trace(lambda x: x, {"x": 1})).threads
    rng = np.random.default_rng(0)
    inputs = {i.name: rng.normal(size=(5, i.size)) for i in function.inputs} | {"q": robot.random(rng, 5)}
    want = getattr(robot, name)(*inputs.values())
    got = {name: np.full_like(want, np.nan)}
    run_strided(getattr(build([source], tmp_path), f"run_{name}"), function, inputs, got, None, columns=True)
    assert_close(got[name], want, SOLVE)


def test_sine_and_cosine_of_one_angle_come_together():
    text = cuda.emit(trace(lambda q: np.array([q[0].sin(), q[0].cos(), q[1].cos()]), {"q": 2}, name="f")).text
    assert text.count("= f_sincos(q[0])") == 1 and text.count("= f_sincos(") == 2


@needs_compiler
def test_names_that_cuda_cannot_have(tmp_path):
    """Keywords, what the kernel itself uses, clashes of input and output."""
    sizes = {"double": 1, "q": 1, "q_data": 1, "count": 1, "threadIdx": 1, "t0p": 1, "first": 1, "j": 1}
    function = trace(lambda *x: {"q": sum(v[0] for v in x), "f": x[1][0].sin()}, sizes, name="f")
    compiled = build([cuda.emit(function)], tmp_path)
    inputs = {name: np.full((3, 1), 0.5) for name in sizes}
    outputs = {"q": np.full(3, np.nan), "f": np.full(3, np.nan)}
    run_strided(compiled.run_f, function, inputs, outputs, None, columns=False)
    np.testing.assert_array_equal(outputs["q"], 4.0)
    np.testing.assert_allclose(outputs["f"], np.sin(0.5), rtol=ROUNDING)


def test_source_of_a_quantity():
    text = load("ur5").source("inverse_dynamics", "cuda")
    assert 'extern "C" __global__' in text and "ur5_inverse_dynamics(" in text
    assert text.count("= ur5_inverse_dynamics_sincos(") == 5


def test_unknown_words():
    function = trace(lambda x: x, {"x": 1})
    with pytest.raises(DalembertError, match="unknown dtype 'flaot': did you mean 'float'"):
        cuda.emit(function, dtype="flaot")


def rarely(x):
    """A branch with loops over items, one within the other, whose arrays are too large for a thread."""

    def beyond():
        def step(carry, item):
            inner = dalembert_math.scan(lambda total, z: {"total": total + z * carry}, {"z": y}, {"total": item})
            return {"carry": carry + inner["total"][-1], "record": np.array([carry, item * x[1]])}

        y = np.array([x[0] * k for k in range(6)])
        every = dalembert_math.scan(step, {"item": y + 1.0}, {"carry": x[2]})
        end, z = every["carry"][-1], every["record"][3, 1]
        return {"x": np.array([0.5 * x[0], 0.5 * x[1] + z / (1.0 + z * z), end / (1.0 + end * end)])}

    slower = np.array([x[0] + 0.3, x[1] * 0.9, x[2].sin()])
    return dalembert_math.branch(x[0] > 1.0, beyond, {"x": slower})["x"]


@needs_compiler
@pytest.mark.parametrize("passes", [None, 1, 7])
def test_states_that_take_a_rare_branch_go_to_a_kernel_of_their_own(passes, tmp_path, monkeypatch):
    """They come back for the passes that follow; large arrays lie in memory that the caller provides."""
    for module in (cuda, cuda.body):
        monkeypatch.setattr(module, "LOCAL", 5)
    monkeypatch.setattr(cuda.body, "SMALL", 3)
    program = trace(rarely, {"x": 3}, "f")
    if passes is not None:
        program = Loop(Function("f", program.inputs, program.outputs), ((program.outputs[0].name, "x"),))
    source = cuda.emit(program, "f")
    assert source.rare is not None and source.rare.room and not source.room
    built = build([source, source.rare], tmp_path)
    x = np.random.default_rng(0).uniform(-2.0, 2.0, (40, 3))
    got, name = np.full((40, 3), np.nan), program.results()[0][0].name if passes else program.outputs[0].name
    room, held = np.full(64 * source.rare.room, np.nan), np.full(3 * 40, np.nan)
    states, at = np.zeros(40, np.int32), np.zeros(40, np.int32)
    for number in range(1 if passes is None else passes):
        listed = np.zeros(1, np.int32)
        for kernel, own in ((source, []), (source.rare, [room])):
            arrays = [z for y in (x, got) for z in (y, 3, 1)] + [*own, listed, states]
            arrays += [] if passes is None else [held, at, number]
            words = [40, *([] if passes is None else [passes]), *arrays]
            arguments = [
                ctypes.c_void_p(w.ctypes.data) if isinstance(w, np.ndarray) else ctypes.c_longlong(w) for w in words
            ]
            getattr(built, f"run_{kernel.name}")(ctypes.c_uint(32), *arguments)
    want = interpreter.run(program, {"x": x}, passes)[name]
    assert (x[:, 0] > 1.0).sum() > 5
    assert_close(got, want, SOLVE)
