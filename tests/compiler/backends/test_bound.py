"""Batches on fixed arrays: addresses are taken once, contents are those of the moment of the call."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, math
from dalembert.compiler.execute.host import NativeKernel
from dalembert.compiler.execute.program import Program, Repetition
from dalembert.compiler.graph import trace


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def function():
    return trace(lambda x, c: {"y": math.sin(x) * c[0], "s": x @ x}, {"x": 3, "c": 1}, "f")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [1, 5, 64])
def test_reads_and_writes_in_place(rows, dtype):
    kernel = NativeKernel("f", "f", [3, 1], [(3,), ()], function)
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=(rows, 3)).astype(dtype), np.array([2.0], dtype)
    y, s = np.full((rows, 3), np.nan, dtype), np.full(rows, np.nan, dtype)
    call = kernel.bound([x, c], [y, s])
    for scale in (2.0, -3.0):
        x *= 0.5
        c[0] = scale
        assert call() == 0
        want = [np.empty_like(y), np.empty_like(s)]
        kernel.run_batch([x, c], want, (rows,))
        assert y.tobytes() == want[0].tobytes() and s.tobytes() == want[1].tobytes()
    x[0, 0] = np.nan
    assert call() == 1  # the status tells of numbers that are not finite


def test_loops_are_bound_with_their_passes():
    def step(x, u):
        return {"x_next": 0.5 * x + u}

    repetition = Repetition((("x_next", "x"),), ("u",), ("x_next",))
    program = Program(
        "f", None, {"x": 1, "u": 1}, {"x_next": (1,)}, lambda: trace(step, {"x": 1, "u": 1}, "f"), repetition
    )
    x, u, out = np.ones((3, 1)), np.arange(12.0).reshape(3, 4, 1), np.full((3, 4, 1), np.nan)
    program.bound({"x": x, "u": u}, {"x_next": out}, 4)()
    want = program({"x": x, "u": u.reshape(3, 4)}, (3,), 4)["x_next"]
    np.testing.assert_array_equal(out, want)


def test_arrays_that_cannot_be_bound_are_refused():
    kernel = NativeKernel("f", "f", [3, 1], [(3,), ()], function)
    x, c, y, s = np.zeros((4, 3)), np.zeros(1), np.zeros((4, 3)), np.zeros(4)
    with pytest.raises(DalembertError, match="must be dense and of one type"):
        kernel.bound([x[:, ::-1], c], [y, s])
    with pytest.raises(DalembertError, match="must be dense and of one type"):
        kernel.bound([x.astype(np.float32), c], [y, s])
    with pytest.raises(DalembertError, match=r"a bound input has shape \(3, 3\), expected \(4, 3\)"):
        kernel.bound([x[:3], c], [y, s])
    with pytest.raises(DalembertError, match=r"a bound input has shape \(4, 2\), expected \(4, 3\)"):
        kernel.bound([np.zeros((4, 2)), c], [y, s])
    with pytest.raises(DalembertError, match=r"a bound result has shape \(3,\), expected \(4, 1\)"):
        kernel.bound([x, c], [y, s[:3]])
