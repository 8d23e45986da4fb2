"""LLVM kernels against the interpreter: one state and batches, both precisions, every expression of the list."""

from __future__ import annotations

import platform
from ctypes import CFUNCTYPE, c_int64, c_void_p
from functools import partial

import numpy as np
import pytest

from compiler.backends.expressions import EXPRESSIONS, check
from dalembert import math
from dalembert.compiler.backends.llvm import emit, target
from dalembert.compiler.execute.host import NativeKernel as Kernel
from dalembert.compiler.graph import Loop, trace

# own elementary functions: within 2 ulp, NumPy's within 1; fused multiply-adds round once less
ULPS = 4
FUNCTIONS = [e for e in EXPRESSIONS if e.loop is None]
LOOPS = [e for e in EXPRESSIONS if e.loop is not None and e.passes]
TYPES = [np.float64, np.float32]


def kernel(program, lanes: int | None = None) -> Kernel:
    step = program.step if isinstance(program, Loop) else program
    sizes, shapes = [i.size for i in step.inputs], [o.shape for o in step.outputs]
    return Kernel(step.name, program.fingerprint(), sizes, shapes, lambda: program, lanes)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("expression", FUNCTIONS, ids=str)
def test_one_state(expression, dtype):
    compiled = kernel(expression.traced)

    def run(function, inputs, outputs, n):
        for row in range(len(next(iter(inputs.values())))):
            given = [np.ascontiguousarray(x[row]) for x in inputs.values()]
            made = [np.full(outputs[o.name].shape[1:], np.nan, dtype) for o in function.outputs]
            compiled.run_one(given, made)
            for o, x in zip(function.outputs, made, strict=True):
                outputs[o.name][row] = x

    check(expression, run, ULPS, dtype)


@pytest.mark.parametrize(("dtype", "lanes"), [(np.float64, None), (np.float32, None), (np.float64, 1)])
@pytest.mark.parametrize("expression", FUNCTIONS, ids=str)
def test_batch(expression, dtype, lanes):
    """lanes=1: states one at a time, vectors serve the transcendentals of each."""
    compiled = kernel(expression.traced, lanes)

    def run(function, inputs, outputs, n):
        count = len(next(iter(inputs.values())))
        compiled.run_batch(list(inputs.values()), [outputs[o.name] for o in function.outputs], (count,))

    check(expression, run, ULPS, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("expression", LOOPS, ids=str)
def test_loop(expression, dtype):
    compiled = kernel(expression.traced)

    def run(loop, inputs, outputs, n):
        count = len(next(iter(inputs.values())))
        rows = [x.reshape(count, -1) for x in inputs.values()]
        compiled.run_batch(rows, [outputs[o.name] for o, _ in loop.results()], (count,), passes=n)

    check(expression, run, ULPS, dtype)


@pytest.mark.parametrize("lanes", [1, 4])
def test_what_a_loop_leaves_out_is_zero_after_states_that_had_more(lanes):
    """Groups of states that follow each other have fewer items than those before, then more again."""

    def compute(x):
        rows = math.map(lambda a: {"y": 1.0 + a}, {"a": x[1:]}, x[0])["y"]
        total = math.scan(lambda s, a: {"s": s + a}, {"a": rows}, {"s": 1.0}, count=x[0])["s"][-1]
        return {"y": [*rows, total]}

    counts = np.repeat([5.0, 2.0, 0.0, 3.0, 9.0, -1.0], 4)
    x = np.concatenate([counts[:, None], np.arange(120.0).reshape(24, 5)], axis=1)
    y = np.full((24, 6), np.nan)
    kernel(trace(compute, {"x": 6}), lanes).run_batch([x], [y], (24,))
    expected = np.where(np.arange(5) < counts[:, None], 1.0 + x[:, 1:], 0.0)
    np.testing.assert_array_equal(y[:, :5], expected)
    np.testing.assert_array_equal(y[:, 5], 1.0 + expected.sum(axis=1))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 15, 16, 17, 33])
def test_a_row_does_not_depend_on_its_place(count, dtype):
    """Remainders of every size; the same bits as one state alone; nothing written beyond the batch."""
    expression = next(e for e in EXPRESSIONS if e.name == "pendulum")
    compiled, rng = kernel(expression.traced), np.random.default_rng(count)
    inputs = [rng.standard_normal((count, 2)).astype(dtype) for _ in range(3)]
    out = np.full((count + 2, 2), 7.0, dtype)
    compiled.run_batch(inputs, [out[1:-1]], (count,))
    assert np.array_equal(out[[0, -1]], np.full((2, 2), 7.0, dtype))
    for row in range(count):
        single = np.full(2, np.nan, dtype)
        compiled.run_one([np.ascontiguousarray(x[row]) for x in inputs], [single])
        assert single.tobytes() == out[1 + row].tobytes()


@pytest.mark.parametrize("kind", ["sin", "cos"])
@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e5), (np.float64, 2.0**30), (np.float32, 1e5)])
def test_sine_and_cosine_are_within_two_ulp(kind, dtype, limit):
    """Against extended precision, at random and at the floats nearest to multiples of π/2: the hardest to reduce."""
    rng = np.random.default_rng(0)
    k = rng.integers(-int(limit / 2), int(limit / 2), 100_000)
    x = np.concatenate([rng.uniform(-limit, limit, 200_000), rng.uniform(-4, 4, 50_000), k * (np.pi / 2)])
    x = x[np.abs(x) <= limit].astype(dtype)
    x = np.concatenate([x, np.nextafter(x, dtype(np.inf)), 10.0 ** rng.uniform(-300, 0, 1000).astype(dtype)])[:, None]
    compiled = kernel(trace(lambda x: getattr(x[0], kind)(), {"x": 1}))
    got = np.full(len(x), np.nan, dtype)
    compiled.run_batch([x], [got], (len(x),))
    want = getattr(np, kind)(x[:, 0].astype(np.longdouble))
    error = np.abs(got - want) / np.spacing(np.abs(want).astype(dtype))
    assert error.max() <= 2.0, (error.max(), x[error.argmax()])


@pytest.mark.parametrize("dtype", TYPES)
def test_sine_far_out_is_the_library_s_and_leaves_its_neighbours_alone(dtype):
    compiled = kernel(trace(lambda x: np.array([x[0].sin(), x[0].cos()]), {"x": 1}))
    near = np.linspace(-3, 3, 64).astype(dtype)
    mixed = near.copy()
    mixed[::5] = dtype(3e7) * np.arange(1, 14)
    if dtype is np.float64:
        mixed[::5] *= 1e10
    results = [np.full((64, 2), np.nan, dtype) for _ in range(2)]
    for x, out in zip((near, mixed), results, strict=True):
        compiled.run_batch([x[:, None]], [out], (64,))
    kept = np.ones(64, bool)
    kept[::5] = False
    assert results[0][kept].tobytes() == results[1][kept].tobytes()
    want = np.stack([np.sin(mixed.astype(np.float64)), np.cos(mixed.astype(np.float64))], 1)
    np.testing.assert_allclose(results[1][::5], want[::5], atol=2 * np.finfo(dtype).eps)


def test_status_tells_numbers_that_are_not_finite_and_guards_that_fail():
    compiled = kernel(trace(lambda q, unused: 2.0 * q, {"q": 5, "unused": 2}, guards=lambda q, u: [q[1] < 1.0]))
    for bad, status in (((), 0), (((0, 4, np.nan),), 1), (((1, 0, np.inf),), 1), (((0, 1, 2.0),), 2)):
        inputs = [np.zeros(5), np.zeros(2)]
        for k, i, value in bad:
            inputs[k][i] = value
        assert compiled.run_one(inputs, [np.empty(5)]) == status
        batch = [np.zeros((11, x.size)) for x in inputs]
        for k, x in enumerate(inputs):
            batch[k][9] = x
        assert compiled.run_batch(batch, [np.empty((11, 5))], (11,)) == status


HOSTS = [(None, width) for width in (1, 2, 4, 8, 16)]
if platform.machine() in ("x86_64", "AMD64"):
    HOSTS += [("x86-64", 2), ("haswell", 4)]  # SSE2 without fused multiply-add; AVX2 with it


@pytest.mark.parametrize("name", ["several", "pendulum", "rotation", "block_product"])
@pytest.mark.parametrize(("cpu", "width"), HOSTS)
def test_other_hosts(cpu, width, name, monkeypatch):
    """Widths and instruction sets that other hosts have; LLVM splits vectors that a processor cannot hold."""
    if cpu == "haswell" and not target.features().get("avx2"):
        pytest.skip("this host cannot run AVX2")
    if cpu:
        monkeypatch.setattr(target, "machine", partial(target.machine, cpu, ""))
    expression = next(e for e in EXPRESSIONS if e.name == name)
    engine = target.load_object(target.compile_object(emit.batch_kernel(expression.traced, "double", width).text()))
    call = CFUNCTYPE(c_int64, *[c_void_p] * 3, *[c_int64] * 3)(engine.get_function_address("batch"))

    def run(function, inputs, outputs, n):
        made = [outputs[o.name] for o in function.outputs]
        pointers = [(c_void_p * len(x))(*[a.ctypes.data for a in x]) for x in (list(inputs.values()), made)]
        strides = (c_int64 * len(inputs))(*[x.strides[0] for x in inputs.values()])
        assert call(pointers[0], strides, pointers[1], 0, len(made[0]), 1) == 0

    check(expression, run, ULPS)
