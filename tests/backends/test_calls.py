"""Functions that call functions give what they give written out."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load, math
from dalembert.backends import c, cuda, interpreter, sympy
from dalembert.execute.host import NativeKernel as Kernel
from dalembert.graph import call, trace
from dalembert.sim.system import shared


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def inner(x, y):
    turned = np.array([math.cos(x[0]) * y[0] - math.sin(x[0]) * y[1], math.sin(x[0]) * y[0] + math.cos(x[0]) * y[1]])
    return {"turned": turned, "more": [math.exp(x[1]) + 3.0, 7.0, x[1]]}


INNER = trace(inner, {"x": 2, "y": 2}, name="inner")


def outer(do):
    def compute(a, b):
        first, more = do(a, b)
        second, _ = do(first, np.array([more[0], 2.0], object))  # what the first call gave, and a constant
        again, last = do(math.sin(second), b)
        return {"z": first + 2.0 * second * again, "rest": [*last, more[0]]}

    return compute


CALLED = trace(outer(lambda *x: call(INNER, *x)), {"a": 2, "b": 2}, name="outer")
WRITTEN = trace(outer(lambda *x: [np.asarray(o, object) for o in inner(*x).values()]), {"a": 2, "b": 2}, name="outer")
STATES = np.random.default_rng(0).normal(size=(2, 21, 2))


def test_the_interpreter_and_the_counts():
    want, got = (interpreter.run(f, {"a": STATES[0], "b": STATES[1]}) for f in (WRITTEN, CALLED))
    for name in want:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-14)
    assert CALLED.operations()["exp"] == 3 and "result" not in CALLED.operations()
    other = trace(lambda x, y: {"turned": x * y, "more": [x[0], x[1], y[0]]}, {"x": 2, "y": 2}, name="inner")
    changed = trace(outer(lambda *x: call(other, *x)), {"a": 2, "b": 2}, name="outer")
    assert changed.fingerprint() != CALLED.fingerprint()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lanes", [None, 1])
def test_compiled(lanes, dtype):
    kernel = Kernel("outer", "outer", [2, 2], [(2,), (4,)], lambda: CALLED, lanes)
    want = interpreter.run(WRITTEN, {"a": STATES[0], "b": STATES[1]})
    a, b = STATES.astype(dtype)
    made = [np.full((21, 2), np.nan, dtype), np.full((21, 4), np.nan, dtype)]
    kernel.run_batch([a, b], made, (21,))
    one = [np.full(2, np.nan, dtype), np.full(4, np.nan, dtype)]
    kernel.run_one([a[4], b[4]], one)
    for got, single, name in zip(made, one, want, strict=True):
        np.testing.assert_allclose(got, want[name], rtol=1e-12 if dtype == np.float64 else 2e-4)
        np.testing.assert_array_equal(single, got[4])


@pytest.mark.parametrize("emit", [c.emit, cuda.emit, sympy.run])
def test_backends_that_cannot_call_say_so(emit):
    with pytest.raises(DalembertError, match=r"function 'outer' calls others, which .* cannot"):
        emit(CALLED)


@pytest.mark.parametrize(("integrator", "step"), [("rk45", None), ("rk8", None), ("rk4", 1e-3)])
def test_runs_whose_stages_share_their_code(integrator, step, monkeypatch):
    robot = load("2r")
    q, v, tau = np.array([0.4, -0.3]), np.array([0.1, 0.2]), np.array([0.3, -0.1])
    runs = []
    for limit in (1e9, 0.0):
        monkeypatch.setattr(shared, "WRITTEN_OUT", limit)
        fresh = robot.edit().gravity((0.0, 0.0, -9.8 - 1e-9 * (limit > 1.0))).done()  # another robot: compiled anew
        runs.append(fresh.simulate(q, v, 0.5, tau, integrator, step))
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-8)
    assert runs[0].steps == runs[1].steps
