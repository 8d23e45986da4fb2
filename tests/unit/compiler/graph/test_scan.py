"""Maps and scans: meaning on numbers and traced values, every number of items, layouts, slopes, counts, errors."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, math
from dalembert.compiler.backends import interpreter, sympy
from dalembert.compiler.backends.llvm.compounds import Visiting
from dalembert.compiler.backends.llvm.plan import SlotPlan
from dalembert.compiler.execute.host import NativeKernel
from dalembert.compiler.graph import Function, gradient, jacobian, trace
from tolerances import DIFFERENCE, EPS32, PRODUCT, RECURSION, STEP, assert_close


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def kernel(function: Function, lanes: int | None = None) -> NativeKernel:
    shapes = [o.shape for o in function.outputs]
    return NativeKernel("f", "f", [i.size for i in function.inputs], shapes, lambda: function, lanes)


def both(n, reverse=False):
    """A map over neighbours in rows and in reverse order, then a scan; x (2 (n + 1),)."""

    def compute(x):
        rows = x.reshape(2, n + 1).T

        def one(a, b, c, far):
            return {"y": a[0] * math.sin(b[1]) + c * x[0], "z": [a[1], 1.0, math.exp(0.1 * far), x[1]]}

        made = math.map(one, {"a": rows[:n], "b": rows[1:], "c": np.arange(1.0, n + 1), "far": x[::-1][:n]})

        def on(s, v, y):
            return {"s": 0.5 * s + y, "v": 0.25 * v + s * x[1], "p": s * y}

        return made | math.scan(on, {"y": made["y"]}, {"s": x[2], "v": x[:2]}, reverse)

    return compute


@pytest.mark.parametrize(("n", "reverse"), [(1, False), (2, True), (5, False), (8, True), (13, False), (17, True)])
def test_every_number_of_items(n, reverse):
    """The same from NumPy, the interpreter, and compiled: batches, rows one by one (lanes are items), one state."""
    compute = both(n, reverse)
    f = trace(compute, {"x": 2 * (n + 1)})
    x = np.random.default_rng(n).normal(size=(5, 2 * (n + 1)))
    want = {name: np.stack([compute(row)[name] for row in x]) for name in compute(x[0])}
    got = interpreter.run(f, {"x": x})
    assert got.keys() == want.keys()
    for name in want:
        assert_close(got[name], want[name], PRODUCT)
    for dtype, tolerance in ((np.float64, RECURSION), (np.float32, 64 * EPS32)):
        bits = []
        for lanes in (None, 1):
            outs = [np.full((5, *o.shape), np.nan, dtype) for o in f.outputs]
            kernel(f, lanes).run_batch([x.astype(dtype)], outs, (5,))
            for o, out in zip(f.outputs, outs, strict=True):
                assert_close(out, want[o.name], tolerance)
            bits.append([out.tobytes() for out in outs])
        assert bits[0] == bits[1]
        ones = [np.full(o.shape, np.nan, dtype) for o in f.outputs]
        kernel(f).run_one([x[2].astype(dtype)], ones)
        assert all(one.tobytes() == out[2].tobytes() for one, out in zip(ones, outs, strict=True))


@pytest.mark.parametrize("reverse", [False, True])
def test_slopes_are_those_of_differences(reverse):
    n = 5
    compute = both(n, reverse)

    def every(x):
        made = compute(x)
        return np.concatenate([np.ravel(made[name]) for name in ("y", "z", "s", "v", "p")])

    x = np.random.default_rng(1).normal(size=2 * (n + 1))
    want = np.stack([(every(x + STEP * e) - every(x - STEP * e)) / (2 * STEP) for e in np.eye(len(x))], axis=1)
    size = {"x": len(x)}
    forward = trace(lambda x: jacobian(every(x), x), size, "J")
    reverse_mode = trace(lambda x: [gradient(y, x) for y in every(x)[-n - 2 :]], size, "J")
    summed = trace(lambda x: gradient(np.sum(every(x)), x), size, "J")
    run = lambda f: interpreter.run(f, {"x": x})["J"]  # noqa: E731
    assert_close(run(forward), want, 100 * DIFFERENCE)
    assert_close(run(reverse_mode), want[-n - 2 :], 100 * DIFFERENCE)
    assert_close(run(summed), want.sum(axis=0), 100 * DIFFERENCE)
    out = np.full(len(x), np.nan)
    kernel(summed).run_one([x], [out])
    assert_close(out, run(summed), RECURSION)


def test_a_map_in_the_step_of_a_map_and_a_scan_in_a_repetition():
    def compute(x):
        A = x[:12].reshape(3, 4)

        def row(a, b):
            inner = math.map(lambda p, q: {"m": p * q * b + x[0]}, {"p": a, "q": a[::-1]})["m"]
            total = math.scan(lambda t, m: {"t": t + m * m}, {"m": inner}, {"t": 0.0})["t"][-1]
            return {"total": total, "inner": inner}

        def sweep(s, k):
            swept = math.scan(lambda t, y: {"t": 0.5 * (t + y) + 0.1 * x[1]}, {"y": s}, {"t": x[2]})["t"]
            return {"s": swept, "k": k + 1.0}

        made = math.map(row, {"a": A, "b": x[12:]})
        return made | math.repeat(sweep, 4, {"s": x[:5], "k": 0.0})

    f = trace(compute, {"x": 15})
    x = np.random.default_rng(0).normal(size=(9, 15))
    want = interpreter.run(f, {"x": x})
    number = compute(x[4])
    for lanes in (None, 1):
        outs = [np.full((9, *o.shape), np.nan) for o in f.outputs]
        kernel(f, lanes).run_batch([x], outs, (9,))
        for o, out in zip(f.outputs, outs, strict=True):
            assert_close(out, want[o.name], RECURSION)
            assert_close(out[4], number[o.name], RECURSION)


def test_rows_stay_where_they_are():
    """Neighbours in rows, shifted ones too, are read in place: nothing is gathered, nothing moved."""

    def compute(x):
        rows = x.reshape(2, 21).T
        step = lambda a, b: {"y": a * b[::-1]}  # noqa: E731
        first = math.map(step, {"a": rows[:-1], "b": rows[1:]})["y"]
        return math.map(step, {"a": first[1:], "b": first[:-1]})["y"]

    plan = SlotPlan(trace(compute, {"x": 42}), 8, keep_outputs=False)
    parts = [part for part in plan.parts if isinstance(part, Visiting)]
    assert len(parts) == 2
    for part in parts:
        assert part.subroutine.lanes == 8 and not part.gathered and not part.moved
        assert part.subroutine.plan.size == 0  # no memory of its own


def test_what_is_alike_for_all_items_is_kept_once():
    def compute(x):
        same, known = np.full(9, x[1], object), np.full(9, 2.0)
        return math.map(lambda a, s, k: {"y": a * math.sin(s) + k * x[0]}, {"a": x, "s": same, "k": known})["y"]

    f = trace(compute, {"x": 9})
    assert f.operations() == {"mul": 9 + 1, "add": 9, "sin": 1}  # the sine and 2 x₀ are outside
    assert f.fingerprint() == trace(compute, {"x": 9}).fingerprint()
    assert f.fingerprint() != trace(lambda x: compute(x)[::-1], {"x": 9}).fingerprint()


def test_constants_and_items_among_the_results_are_not_computed_again():
    """They stay constants, and fold in what uses them."""

    def compute(x):
        results = math.map(lambda a, b: {"zero": 0.0, "item": b, "double": 2.0 * a}, {"a": x, "b": np.arange(5.0)})
        assert all(node.op == "const" for node in (*results["zero"], *results["item"]))
        return results["item"] * 3.0 + results["double"] * results["zero"]

    function = trace(compute, {"x": 5})
    assert not function.operations()
    np.testing.assert_array_equal(interpreter.run(function, {"x": np.ones(5)})["function"], 3.0 * np.arange(5.0))


def test_errors():
    with pytest.raises(DalembertError, match=r"items are a \(2,\), b \(3,\), expected arrays \(n, …\) with one n"):
        math.map(lambda a, b: {"y": a}, {"a": np.zeros(2), "b": np.zeros(3)})
    with pytest.raises(DalembertError, match="there are no items"):
        math.map(lambda a: {"y": a}, {"a": np.zeros(0)})
    with pytest.raises(DalembertError, match="expected a dict of results by name"):
        math.map(lambda a: a, {"a": np.zeros(2)})
    with pytest.raises(DalembertError, match=r"carried, but not among what the step gave.*unknown result 't'"):
        math.scan(lambda t, a: {"s": a}, {"a": np.zeros(2)}, {"t": 0.0})
    with pytest.raises(DalembertError, match=r"the step gave \(2,\) for 't', expected \(\)"):
        math.scan(lambda t, a: {"t": [a, a]}, {"a": np.zeros(2)}, {"t": 0.0})
    with pytest.raises(DalembertError, match="'a' is carried and an item"):
        math.scan(lambda t, a: {"a": a}, {"a": np.zeros(2)}, {"a": 0.0})
    with pytest.raises(DalembertError, match="function 'f' goes over items, which SymPy cannot"):
        sympy.run(trace(lambda x: math.map(lambda a: {"y": a * x[0]}, {"a": x})["y"], {"x": 2}, "f"))


def test_arrays_that_belong_together_are_one_item():
    """A dict of arrays in the place of one: the step takes a dict of rows, on numbers and traced, after the carry."""

    def compute(x):
        ball = {"mass": x[:3], "place": x[3:].reshape(3, 2)}

        def heavier(total, ball, share):
            return {"total": total + share * ball["mass"] * ball["place"]}

        return math.scan(heavier, {"ball": ball, "share": np.array([1.0, 2.0, 3.0])}, {"total": np.zeros(2)})

    x = np.arange(1.0, 10.0)
    want = np.cumsum((np.array([1.0, 2.0, 3.0]) * x[:3])[:, None] * x[3:].reshape(3, 2), axis=0)
    assert_close(compute(x)["total"], want, PRODUCT)
    assert_close(interpreter.run(trace(compute, {"x": 9}), {"x": x})["total"], want, PRODUCT)
    with pytest.raises(DalembertError, match=r"ball\.mass"):
        math.map(lambda ball: {"m": ball["mass"]}, {"ball": {"mass": np.zeros(2), "place": np.zeros((3, 2))}})


def test_a_loop_that_is_written_out_has_no_loop_and_the_same_numbers():
    """Items that are the constant 0 fold; a count and numbers of rows are plain numbers."""

    def compute(x, unroll):
        scale = np.array([1.0, 0.0, 2.0])
        each = math.map(lambda a, s: {"y": s * math.sin(a)}, {"a": x, "s": scale}, 2, unroll)
        ends = math.scan(lambda sum, a: {"sum": sum + a}, {"a": x}, {"sum": x[0]}, True, unroll=unroll)

        def pushed(rows, total, a):
            return {"rows": rows + a, "to": np.array([1.0]), "total": total + a * rows[0, 0], "was": rows[0, 1]}

        at = np.array([[0.0], [1.0], [-1.0]])
        table = math.visit(pushed, {"a": x}, np.ones((2, 2)), at, {"total": 0.0}, 2, unroll=unroll)
        return each | ends | table

    looped, written = (trace(lambda x, u=u: compute(x, u), {"x": 3}) for u in (False, True))
    assert any(node.op == "compound" for node in looped.schedule())
    assert not any(node.op == "compound" for node in written.schedule())
    assert written.operations()["sin"] == 1
    x = np.array([[0.3, -1.2, 0.7]])
    want, got = interpreter.run(looped, {"x": x}), interpreter.run(written, {"x": x})
    plain = compute(x[0], True)
    for name in want:
        assert_close(got[name], want[name], PRODUCT)
        assert_close(plain[name], want[name][0], PRODUCT)
        assert np.asarray(plain[name]).dtype == float


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [None, 0.0, 2.0, 9.0])
def test_the_end_alone_is_that_of_the_history(reverse, count):
    """On numbers, written out, interpreted and compiled."""

    def both(x, unroll=False):
        items, start = {"a": x[:4] * np.arange(1.0, 5.0)}, {"s": x[4], "v": x[:2]}
        ends = []
        for history in (True, False):
            step = lambda s, v, a: {"s": 0.5 * s + a, "v": v * a + s, "twice": 2.0 * a}  # noqa: E731
            made = math.scan(step, items, start, reverse, count, unroll, history)
            last = (0 if reverse else -1) if history else ...
            ends.append(np.concatenate([np.ravel(made["s"][last] if history else made["s"]), made["v"][last]]))
        return np.array(ends)

    x = np.random.default_rng(5).normal(size=(7, 5))
    want = np.array([both(row) for row in x])
    assert (want[:, 0] == want[:, 1]).all()
    for unroll in (False, True):
        f = trace(lambda x, unroll=unroll: both(x, unroll), {"x": 5})
        assert_close(interpreter.run(f, {"x": x})["function"], want, PRODUCT)
        kernel(f).run_batch([x], [out := np.empty((7, 2, 3))], (7,))
        assert_close(out, want, RECURSION)
