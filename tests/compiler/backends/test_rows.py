"""Rows of batch results: every length, wherever the array begins, zeros among them, near its begin and far into it."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.compiler.backends.llvm import emit
from dalembert.compiler.backends.llvm.tiles import CACHED
from dalembert.compiler.execute.host import NativeKernel as Kernel
from dalembert.compiler.graph import trace

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 20, 36, 38, 40]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def rows(n: int, zeros: str) -> tuple[Kernel, np.ndarray]:
    """Column k is (k + 1) x, or 0 where the zeros lie."""
    weights = np.arange(1.0, n + 1)
    weights[{"none": slice(0, 0), "many": slice(n // 4, max(n // 4 + 1, n - 2)), "all": slice(None)}[zeros]] = 0.0
    function = trace(lambda x: np.array([w * x[0] if w else 0.0 for w in weights]), {"x": 1}, "rows")
    return Kernel("rows", function.fingerprint(), [1], [(n,)], lambda: function), weights


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("zeros", ["none", "many", "all"])
@pytest.mark.parametrize("n", LENGTHS)
def test_every_length_and_beginning(n, zeros, dtype):
    kernel, weights = rows(n, zeros)
    count = 21  # groups of every width, and a remainder
    x = np.linspace(1, 2, count, dtype=dtype)[:, None]
    for begin in range(9):
        whole = np.full(count * n + 32, np.nan, dtype)
        kernel.run_batch([x], [whole[begin : begin + count * n].reshape(count, n)], (count,))
        assert np.array_equal(whole[begin : begin + count * n].reshape(count, n), x * weights.astype(dtype))
        assert np.all(np.isnan(whole[:begin])), "written before the array"
        assert np.all(np.isnan(whole[begin + count * n :])), "written behind the array"


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("begin", [0, 1, 2, 3])
@pytest.mark.parametrize(("n", "zeros"), [(40, "none"), (40, "many"), (42, "many")])
def test_far_into_a_large_array(n, zeros, begin, threads):
    kernel, weights = rows(n, zeros)
    count = CACHED // (8 * n) * 3 // 2 + 5
    x = np.random.default_rng(0).uniform(1, 2, (count, 1))
    whole = np.full(count * n + 8, np.nan)
    out = whole[begin : begin + count * n].reshape(count, n)
    kernel.run_batch([x], [out], (count,), limit=threads)
    assert np.array_equal(out, x * weights)
    assert np.all(np.isnan(whole[:begin]))
    assert np.all(np.isnan(whole[begin + count * n :]))


def test_parts_computed_for_several_groups_of_rows(monkeypatch):
    """Results have the bits of one state, whatever is left for the last groups; a bad row anywhere is found."""
    monkeypatch.setattr(emit, "GROUPS", ())
    monkeypatch.setattr(emit, "MOST", 3)
    robot = load("quadrotor")
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng, 50), rng.normal(size=(50, robot.nv)), rng.normal(size=(50, robot.nv))
    expected = np.array([robot.forward_dynamics(*state) for state in zip(q, v, tau, strict=True)])
    for count in (2, 7, 8, 9, 16, 23, 24, 25, 50):
        out = np.full((count + 1, robot.nv), np.nan)
        robot.forward_dynamics(q[:count], v[:count], tau[:count], out=out[:count])
        assert np.array_equal(out[:count], expected[:count]) and np.isnan(out[count]).all()
    for row in (0, 11, 30, 49):
        wrong, unknown = q.copy(), tau.copy()
        wrong[row, 3:] *= 1.1
        unknown[row, 2] = np.nan
        with pytest.raises(DalembertError, match=rf"state {row} has length"):
            robot.forward_dynamics(wrong, v, tau)
        with pytest.raises(DalembertError, match=rf"\b{row}\b"):
            robot.forward_dynamics(q, v, unknown)
