"""Branches that are compiled when they are taken: the same bits, whoever takes them first."""

from __future__ import annotations

import threading
import zlib

import numpy as np
import pytest

from dalembert import math
from dalembert.compiler.backends.llvm import rare, target
from dalembert.compiler.execute import Program
from dalembert.compiler.graph import trace
from tolerances import COMPUTED

FAR = 1.0  # beyond it the branch is taken
NEAR = np.linspace(-0.9, 0.9, 24).reshape(12, 2)
OUT, INNER, LOOP = (NEAR + np.array(x) for x in ((2.0, 0.0), (2.0, 2.0), (0.0, 40.0)))


def stepped(x, factor):
    """A branch that is large, within it another one, and a loop that makes a pass at most where it is needed."""

    def beyond():
        y = math.branch(x[1] > FAR, lambda: {"z": factor * math.sin(x[0] * x[1]) + x[1]}, {"z": x[1]})["z"]
        return {"y": np.array([factor * math.cos(x[0]) + y, x[0] * y])}

    y = math.branch(x[0] > FAR, beyond, {"y": np.array([factor * x[0], x[1]])})["y"]
    halved = math.repeat(
        lambda z, small: {"z": z / factor, "small": z / factor < 4.0}, 9, {"z": y[1], "small": y[1] < 4.0}, "small"
    )
    return np.array([y[0], halved["z"]])


def program(name: str, factor: float) -> Program:
    """Another factor makes other branches: those of one text are compiled once in a process."""
    return Program(name, None, {"x": 2}, {name: (2,)}, lambda: trace(lambda x: stepped(x, factor), {"x": 2}, name))


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """All branches apart, none on disk; the texts that were compiled."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    monkeypatch.setattr(rare, "SMALLEST", 0)
    texts, compile_object = [], target.compile_object
    monkeypatch.setattr(target, "compile_object", lambda text: texts.append(text) or compile_object(text))
    return texts


def expected(x: np.ndarray, factor: float) -> np.ndarray:
    z = np.where(x[:, 1] > FAR, factor * np.sin(x[:, 0] * x[:, 1]) + x[:, 1], x[:, 1])
    far = (x[:, 0] > FAR)[:, None]
    y = np.where(far, np.stack([factor * np.cos(x[:, 0]) + z, x[:, 0] * z], -1), x * [factor, 1.0])
    while (y[:, 1] >= 4.0).any():
        y[:, 1] = np.where(y[:, 1] >= 4.0, y[:, 1] / factor, y[:, 1])
    return y


def test_a_branch_is_compiled_when_it_is_taken(compiled):
    run = program("first", 2.0)
    counts = []
    for x in (NEAR, OUT, NEAR, LOOP, INNER, INNER):
        np.testing.assert_allclose(run({"x": x}, (len(x),))["first"], expected(x, 2.0), rtol=COMPUTED, atol=COMPUTED)
        counts.append(len(compiled))
    assert counts == [1, 2, 2, 3, 4, 4]
    again = program("first", 2.0)  # as in another process: from the disk, where the branches are as well
    assert np.array_equal(again({"x": INNER}, (12,))["first"], run({"x": INNER}, (12,))["first"])
    assert len(compiled) == 4


def test_bits_do_not_depend_on_where_the_code_is(compiled, monkeypatch):
    x = np.concatenate([NEAR, OUT, INNER, LOOP])
    apart = program("apart", 2.25)({"x": x}, (len(x),))["apart"]
    monkeypatch.setattr(rare, "SMALLEST", 10**9)
    whole = program("whole", 2.25)({"x": x}, (len(x),))["whole"]
    assert np.array_equal(apart, whole) and "dalembert_rare_branch" not in compiled[-1]


def test_ahead(compiled, monkeypatch):
    monkeypatch.setenv("DALEMBERT_BRANCHES", "ahead")
    program("ahead", 2.5)({"x": NEAR}, (12,))
    assert len(compiled) == 4


def test_threads_take_a_branch_together(compiled):
    run, results = program("threads", 2.75), []
    run({"x": NEAR}, (12,))
    threads = [threading.Thread(target=lambda: results.append(run({"x": INNER}, (12,))["threads"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(np.array_equal(x, results[0]) for x in results)
    np.testing.assert_allclose(results[0], expected(INNER, 2.75), rtol=COMPUTED, atol=COMPUTED)
    assert len(compiled) == len(set(compiled)) == 4


def test_a_branch_that_cannot_be_compiled_gives_nan(compiled, monkeypatch):
    """It is told, other states are right, and the branch is tried again."""
    run = program("failing", 3.0)
    run({"x": NEAR}, (12,))
    with monkeypatch.context() as patch:
        patch.setattr(zlib, "decompress", lambda text: (_ for _ in ()).throw(MemoryError("full")))
        with pytest.warns(RuntimeWarning, match="rare branch of failing could not be compiled.*NaN.*full"):
            x = run({"x": OUT}, (12,))["failing"]
    assert np.isnan(x[:, 0]).all()
    np.testing.assert_allclose(run({"x": OUT}, (12,))["failing"], expected(OUT, 3.0), rtol=COMPUTED, atol=COMPUTED)


def test_an_interruption_comes_after_the_branch(compiled, monkeypatch):
    run, given = program("stopped", 3.25), []
    run({"x": NEAR}, (12,))
    decompress = zlib.decompress

    def interrupted(text):
        if not given:
            given.append(text)
            raise KeyboardInterrupt
        return decompress(text)

    monkeypatch.setattr(zlib, "decompress", interrupted)
    results = []
    with pytest.raises(KeyboardInterrupt):
        results.append(run({"x": OUT}, (12,))["stopped"])
        for _ in range(1000):
            threading.Event().wait(0.01)
    np.testing.assert_allclose(results[0], expected(OUT, 3.25), rtol=COMPUTED, atol=COMPUTED)
