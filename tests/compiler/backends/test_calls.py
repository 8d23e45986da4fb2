"""Functions that call functions give what they give written out."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load, math
from dalembert.compiler.backends import c, cuda, interpreter, sympy
from dalembert.compiler.execute.host import NativeKernel as Kernel
from dalembert.compiler.graph import call, gradient, jacobian, trace
from dalembert.sim.system import shared
from tolerances import PRODUCT, TIGHT_RUN, assert_close


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
        np.testing.assert_allclose(got[name], want[name], rtol=PRODUCT)
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


def test_a_function_that_is_called_often_is_written_once():
    assert c.emit(CALLED).source.count("static void outer_") == 1
    assert cuda.emit(CALLED).text.count("__forceinline__ void outer_f1(") == 1


def test_slopes_through_calls():
    """As of what is written out; calls used to pass for constants in forward mode."""
    x = {"a": STATES[0], "b": STATES[1]}
    for differentiate in (lambda z, a: jacobian(z, a), lambda z, a: np.array([gradient(y, a) for y in z])):
        slopes = [
            trace(
                lambda a, b, do=do, d=differentiate: d(outer(do)(a, b)["z"], np.concatenate([a, b])), {"a": 2, "b": 2}
            )
            for do in (lambda *x: call(INNER, *x), lambda *x: [np.asarray(o, object) for o in inner(*x).values()])
        ]
        got, want = (interpreter.run(f, x)["function"] for f in slopes)
        assert_close(got, want, PRODUCT)


def test_calls_within_calls():
    twice = trace(lambda x, y: {"z": call(INNER, call(INNER, x, y)[0], y)[0]}, {"x": 2, "y": 2}, name="twice")
    nested = trace(lambda a, b: call(twice, call(INNER, a, b)[0], b)[0], {"a": 2, "b": 2}, name="nested")
    kernel = Kernel("nested", "nested", [2, 2], [(2,)], lambda: nested)
    made = np.full((21, 2), np.nan)
    kernel.run_batch(list(STATES), [made], (21,))
    assert_close(made, interpreter.run(nested, {"a": STATES[0], "b": STATES[1]})["nested"], PRODUCT)


def test_a_backend_that_cannot_call_says_so():
    with pytest.raises(DalembertError, match="function 'outer' calls others, which SymPy cannot"):
        sympy.run(CALLED)


@pytest.mark.parametrize(("integrator", "step"), [("rk45", None), ("rk8", None), ("rk4", 1e-3)])
def test_runs_whose_stages_share_their_code(integrator, step, monkeypatch):
    robot = load("2r")
    q, v, tau = np.array([0.4, -0.3]), np.array([0.1, 0.2]), np.array([0.3, -0.1])
    runs = []
    for limit in (1e9, 0.0):
        monkeypatch.setattr(shared, "WRITTEN_OUT", limit)
        fresh = robot.edit().gravity((0.0, 0.0, -9.8 - 1e-9 * (limit > 1.0))).done()  # another robot: compiled anew
        runs.append(fresh.simulate(q, v, 0.5, tau, integrator, step))
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=TIGHT_RUN)
    assert runs[0].steps == runs[1].steps
