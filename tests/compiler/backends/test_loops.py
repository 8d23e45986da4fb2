"""Loops that stop when they are settled, and loops that choose the rows of their sequences."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from dalembert import DalembertError, math
from dalembert.compiler.backends import c, cuda, interpreter, sympy
from dalembert.compiler.backends.llvm import target
from dalembert.compiler.execute.host import NativeKernel as Kernel
from dalembert.compiler.graph import Loop, trace
from tolerances import COMPUTED, ITERATED, PRODUCT

GIVEN = {"x": [0.0], "row": [0.0], "way": [[0.5, 3.0]] * 2}
ROWS = np.array([[0.5, 3.0], [0.25, 4.0], [1.0, 6.0]])  # a step, and up to where it is taken


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def climb(x, row, way):
    """Up by sin²+cos² steps until the row's end, then on with the next row; it rests at the end of the last."""
    step, end = way
    rests = x[0] >= 6.0
    x_next = math.where(rests, x[0], x[0] + step * (math.sin(x[0]) ** 2 + math.cos(x[0]) ** 2))
    over = math.logical_and(x_next >= end, math.logical_not(rests))
    return {
        "x_next": [x_next],
        "row_next": [row[0] + math.where(math.logical_and(over, row[0] < 2.0), 1.0, 0.0)],
        "rests": [math.where(x_next >= 6.0, 1.0, 0.0)],
        "from": [x[0]],
    }


def loop() -> Loop:
    step = trace(climb, {"x": 1, "row": 1, "way": 2}, name="climb")
    return Loop(step, (("x_next", "x"), ("row_next", "row")), ("way",), ("from",), "rests", "row")


@pytest.mark.parametrize("lanes", [1, None])
def test_rows_are_taken_by_number_and_a_settled_loop_stops(lanes):
    starts, passes = np.array([[0.0], [2.9], [5.5], [-1.0], [3.7]]), 40
    program = loop()
    want = interpreter.run(program, {"x": starts, "row": np.zeros(1), "way": ROWS}, passes)
    kernel = Kernel("climb", "climb", [1, 1, 2], [(1,), (1,), (1,)], lambda: program, lanes)
    made = [np.full((5, 1), np.nan), np.full((5, 1), np.nan), np.full((5, passes, 1), np.nan)]
    kernel.run_batch([starts, np.zeros(1), ROWS.ravel()], made, (5,), passes=passes)
    np.testing.assert_allclose(made[0], want["x_next"], atol=COMPUTED)
    assert (made[1] == want["row_next"]).all()
    counts = np.isfinite(made[2]).sum(axis=(1, 2))
    for got, expected, count in zip(made[2], want["from"], counts, strict=True):
        np.testing.assert_allclose(got[:count], expected[:count], atol=COMPUTED)
    longest = int((want["from"] < 6.0 - 1e-9).sum(axis=(1, 2)).max())
    assert counts.max() == longest < passes  # lanes that run together stop together
    if lanes == 1:
        assert (counts == (want["from"] < 6.0 - ITERATED).sum(axis=(1, 2))).all()


@pytest.mark.parametrize("lanes", [1, None])
@pytest.mark.parametrize("passes", [1, 2, 5])
def test_what_no_step_reads_is_that_of_the_last_pass(lanes, passes):
    """Seen: a result, and inputs that become others before the next pass; nothing reads where they are carried to."""

    def step(x, seen):
        return {"x_next": [x[1], x[0] + 1.0], "seen_next": [x[0] * 10.0, x[0], x[1]]}

    program = Loop(trace(step, {"x": 2, "seen": 3}, name="seen"), (("x_next", "x"), ("seen_next", "seen")))
    starts = np.array([[0.0, 5.0], [1.0, -2.0], [7.0, 0.5]])
    want = interpreter.run(program, {"x": starts, "seen": np.zeros(3)}, passes)
    kernel = Kernel("seen", "seen", [2, 3], [(2,), (3,)], lambda: program, lanes)
    ends = [np.full((3, 2), np.nan), np.full((3, 3), np.nan)]
    kernel.run_batch([starts, np.zeros(3)], ends, (3,), passes=passes)
    np.testing.assert_array_equal(ends[0], want["x_next"])
    np.testing.assert_array_equal(ends[1], want["seen_next"])


@pytest.mark.parametrize("emit", [c.emit, cuda.emit, lambda program: sympy.run(program, GIVEN, 2)])
def test_backends_that_take_rows_in_order_say_so(emit):
    with pytest.raises(DalembertError, match=r"loop over 'climb': .* takes no rows of 'way' by number \('row'\)"):
        emit(loop())


@pytest.fixture(params=["jax", "torch"])
def array_library(request):
    """A backend that computes with the operations of an array library, in double precision."""
    library = pytest.importorskip(request.param)
    if request.param == "jax":
        library.config.update("jax_enable_x64", True)
    yield import_module(f"dalembert.compiler.backends.{request.param}")
    if request.param == "jax":
        library.config.update("jax_enable_x64", False)


def test_array_libraries_take_rows_by_number(array_library):
    """Rows for all motions, and rows for each of them."""
    program, starts = loop(), np.array([[0.0], [2.9], [5.5], [-1.0], [3.7]])
    for way in (ROWS, np.stack([ROWS, 1.1 * ROWS, ROWS, 0.9 * ROWS, ROWS])):
        inputs = {"x": starts, "row": np.zeros(1), "way": way}
        want, got = interpreter.run(program, inputs, 40), array_library.prepared(program)(inputs, 40)
        for name, x in want.items():
            np.testing.assert_allclose(np.asarray(got[name]), x, atol=COMPUTED)


def test_array_libraries_take_some_rows_by_number(array_library):
    program, inputs = mixed_loop()
    want, got = interpreter.run(program, inputs), array_library.run(program, inputs)
    for name, x in want.items():
        np.testing.assert_allclose(np.asarray(got[name]), x, rtol=PRODUCT)


def mixed_loop():
    """One sequence by number, from the end in steps of two; one row by row; one backwards; a record backwards."""

    def step(k, total, a, b, c):
        total_next = total + a * 100.0 + b * 10.0 + c
        return {"k_next": k - 2.0, "total_next": total_next, "seen": [a[0], b[0], c[0]]}

    function = trace(step, {"k": 1, "total": 1, "a": 1, "b": 1, "c": 1}, name="mixed")
    carry = (("k_next", "k"), ("total_next", "total"))
    mixed = Loop(function, carry, ("a", "b", "c"), ("seen",), None, (("a", "k"),), ("c", "seen"))
    rng, n = np.random.default_rng(0), 4
    a, b, c = rng.normal(size=(3, 8, 1)), rng.normal(size=(3, n, 1)), rng.normal(size=(3, n, 1))
    k = np.array([[7.0], [6.0], [7.0]])
    return mixed, {"k": k, "total": np.zeros(1), "a": a, "b": b, "c": c}


@pytest.mark.parametrize("lanes", [1, None])
def test_each_sequence_has_its_own_index(lanes):
    mixed, inputs = mixed_loop()
    k, _, a, b, c = inputs.values()
    n = b.shape[1]
    got = interpreter.run(mixed, {"k": k, "total": np.zeros(1), "a": a, "b": b, "c": c}, n)
    for row in range(3):
        rows = [[a[row, int(k[row, 0]) - 2 * j, 0], b[row, j, 0], c[row, n - 1 - j, 0]] for j in range(n)]
        np.testing.assert_array_equal(got["seen"][row], rows[::-1])
    kernel = Kernel("mixed", "mixed", [1] * 5, [(1,), (1,), (3,)], lambda: mixed, lanes)
    made = [np.full((3, 1), np.nan), np.full((3, 1), np.nan), np.full((3, n, 3), np.nan)]
    flat = [x.reshape(3, -1) for x in (a, b, c)]
    kernel.run_batch([k, np.zeros(1), *flat], made, (3,), passes=n)
    for name, x in zip(("k_next", "total_next", "seen"), made, strict=True):
        np.testing.assert_allclose(x, got[name], rtol=PRODUCT)


def test_unknown_names_are_refused():
    step = loop().step
    with pytest.raises(DalembertError, match="unknown sequence 'wax': did you mean 'way'"):
        Loop(step, (), ("way",), index=(("wax", "row"),))
    with pytest.raises(DalembertError, match="unknown sequence or record 'form': did you mean 'from'"):
        Loop(step, (), ("way",), ("from",), backwards=("form",))
    with pytest.raises(DalembertError, match="taken by number and cannot go backwards"):
        Loop(step, (), ("way",), index="row", backwards=("way",))
    with pytest.raises(DalembertError, match="unknown output 'rest'"):
        Loop(step, (), settled="rest")
    with pytest.raises(DalembertError, match="unknown input 'rows'"):
        Loop(step, (), index="rows")


@pytest.mark.parametrize("lanes", [1, None])
def test_loops_over_one_step_have_its_code_in_common(lanes, monkeypatch):
    """What is recorded and what has rows is no part of the step; two engines hold it, and the first may go."""
    texts, compile_object = [], target.compile_object
    monkeypatch.setattr(target, "compile_object", lambda text: texts.append(text) or compile_object(text))
    step = trace(lambda x, u: {"y": [x[0] + u[0] * math.cos(x[1]), x[1] + u[0]]}, {"x": 2, "u": 1}, name="walk")
    starts, u, passes = np.array([[0.0, 1.0], [2.0, -0.5], [0.5, 0.25]]), np.array([0.1, 0.2, -0.3, 0.4]), 4
    for sequence, record in [((), ()), ((), ("y",)), (("u",), ("y",))]:
        loop = Loop(step, (("y", "x"),), sequence, record)
        given = u[:, None] if sequence else u[:1]
        want = interpreter.run(loop, {"x": starts, "u": given}, passes)["y"]
        kernel = Kernel("walk", f"walk {sequence} {record}", [2, 1], [(2,)], lambda loop=loop: loop, lanes)
        made = np.full(want.shape, np.nan)
        kernel.run_batch([starts, given.ravel()], [made], (3,), passes=passes)
        np.testing.assert_allclose(made, want, atol=COMPUTED)
    assert len(texts) == 4  # the step, and three loops
    assert sum(f"define void @{target.STEP}" in text for text in texts) == 1
