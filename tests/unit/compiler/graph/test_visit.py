"""Items that read and write rows of a table: meaning on numbers and traced values, compiled, slopes, errors."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, math
from dalembert.compiler.backends import interpreter
from dalembert.compiler.execute.host import NativeKernel
from dalembert.compiler.graph import Function, jacobian, trace
from dalembert.compiler.graph.differentiate import vjp
from tolerances import DIFFERENCE, EPS32, PRODUCT, RECURSION, STEP, assert_close

ROWS, COLUMNS, ITEMS = 4, 3, 5
SIZES = {"x": ROWS * COLUMNS + ITEMS, "i": 2 * ITEMS, "c": 1}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def visits(x, i, c, reverse=False):
    """Pairs of rows change each other, some of them no rows; the carry and the records depend on what they read."""
    at = i.reshape(ITEMS, 2)

    def step(rows, total, a, numbers):
        swapped = 0.5 * rows + a * math.sin(rows[::-1])
        return {"rows": swapped, "to": numbers, "total": total + rows[0, 0] * a, "read": rows[1] * a + x[0]}

    items = {"a": x[ROWS * COLUMNS :], "numbers": at}
    return math.visit(step, items, x[: ROWS * COLUMNS].reshape(ROWS, COLUMNS), at, {"total": x[1]}, c[0], reverse)


def arguments(n=9):
    """States with rows of their own; the two rows of an item differ, as slopes need no care for then."""
    rng = np.random.default_rng(3)
    numbers = np.array([rng.permuted(np.arange(-1.0, ROWS + 1))[:2] for _ in range(n * ITEMS)])
    count = rng.integers(0, ITEMS + 2, (n, 1)).astype(float)
    return rng.normal(size=(n, SIZES["x"])), numbers.reshape(n, -1), count


@pytest.mark.parametrize("reverse", [False, True])
def test_numbers_interpreter_and_machine_code_agree(reverse):
    f = trace(lambda x, i, c: visits(x, i, c, reverse), SIZES)
    x, i, c = arguments()
    want = [visits(*row, reverse) for row in zip(x, i, c, strict=True)]
    got = interpreter.run(f, {"x": x, "i": i, "c": c})
    assert got.keys() == want[0].keys()
    for name, values in got.items():
        assert_close(values, np.stack([each[name] for each in want]), PRODUCT)
    for dtype, tolerance in ((np.float64, RECURSION), (np.float32, 64 * EPS32)):
        for lanes in (None, 1):
            outs = [np.full((len(x), *o.shape), np.nan, dtype) for o in f.outputs]
            compiled(f, lanes).run_batch([a.astype(dtype) for a in (x, i, c)], outs, (len(x),))
            for name, out in zip(got, outs, strict=True):
                assert_close(out, got[name], tolerance)


@pytest.mark.parametrize("reverse", [False, True])
def test_items_on_lanes_give_the_bits_of_one_after_the_other(reverse):
    """Groups of one to more items than there are lanes; of one state they are computed together, of a batch in turn."""
    n, rows = 29, 70
    lengths = [1, 3, 11, 1, 9, 4]
    rng = np.random.default_rng(5)
    numbers = np.concatenate([rng.permutation(rows)[: 2 * k] for k in lengths]).reshape(n, 2).astype(float)
    groups = np.repeat(np.arange(len(lengths)), lengths).astype(float)

    def pushed(x, g, c):
        def step(rows, a, numbers):
            moved = math.repeat(lambda y, done: {"y": 0.5 * y, "done": y[0] < 0.1}, 9, {"y": rows[0], "done": 0.0})["y"]
            return {"rows": np.array([rows[1] + a * moved, math.sin(rows[0])]), "to": numbers, "read": rows[:, 1] * a}

        table = x[: 2 * rows].reshape(rows, 2)
        items = {"a": x[2 * rows :], "numbers": numbers}
        after = math.visit(step, items, table, numbers, count=c[0], reverse=reverse, groups=g)
        seen = math.visit(lambda rows, a: {"sum": rows.sum() * a}, {"a": x[2 * rows :]}, table, numbers, count=c[0])
        return after | {"seen": seen["sum"]}

    f = trace(pushed, {"x": 2 * rows + n, "g": n, "c": 1})
    x, g = rng.normal(size=(9, 2 * rows + n)), np.tile(groups, (9, 1))
    c = np.array([[29.0], [0.0], [1.0], [28.0], [15.0], [4.0], [16.0], [40.0], [7.0]])
    want = interpreter.run(f, {"x": x, "g": g, "c": c})
    for dtype, tolerance in ((np.float64, RECURSION), (np.float32, 64 * EPS32)):
        both = []
        for lanes in (None, 1):
            both.append([np.full((len(x), *o.shape), np.nan, dtype) for o in f.outputs])
            compiled(f, lanes).run_batch([a.astype(dtype) for a in (x, g, c)], both[-1], (len(x),))
        for name, batch, single in zip(want, *both, strict=True):
            np.testing.assert_array_equal(batch, single)
            assert_close(batch, want[name], tolerance)
    on_numbers = pushed(x[0], g[0], c[0])
    for name, values in want.items():
        assert_close(values[0], on_numbers[name], PRODUCT)


def test_items_that_are_not_wanted_are_left_out():
    n = 37

    def listed(x, c):
        near = np.array([math.where(each > 0.8, 1.0, 0.0) for each in x], object)

        def add(rows, count, y):
            return {"rows": np.array([[y]]), "to": np.array([count]), "count": count + 1.0}

        after = math.visit(add, {"y": x}, np.zeros((n, 1)), None, {"count": 0.0}, c[0], wanted=near)
        squares = math.visit(lambda rows, y: {"y": y * y}, {"y": x}, np.zeros((1, 1)), count=c[0], wanted=near)
        return {"table": after["table"], "count": after["count"], "squares": squares["y"]}

    f = trace(listed, {"x": n, "c": 1})
    x, c = np.random.default_rng(4).normal(size=(9, n)), np.array([[37.0], [0.0], [1.0], [36.0]] + 5 * [[20.0]])
    x[8] = 0.0
    got = interpreter.run(f, {"x": x, "c": c})
    for k, row in enumerate(x):
        wanted = [y for y in row[: int(c[k, 0])] if y > 0.8]
        assert got["count"][k] == len(wanted)
        np.testing.assert_array_equal(got["table"][k, : len(wanted), 0], wanted)
        on_numbers = listed(row, c[k])
        for name in got:
            assert_close(got[name][k], np.asarray(on_numbers[name], float), PRODUCT)
    for lanes in (None, 1):
        outs = [np.full((len(x), *o.shape), np.nan) for o in f.outputs]
        compiled(f, lanes).run_batch([x, c], outs, (len(x),))
        for name, out in zip(got, outs, strict=True):
            assert_close(out, got[name], PRODUCT)


def test_groups_with_a_row_in_common_are_refused():
    def step(rows, number):
        return {"rows": rows[:1] + 1.0, "to": number[:1]}

    numbers = np.array([[0.0, 1.0], [2.0, 5.0], [1.0, 3.0]])
    arguments = {"numbers": numbers}, np.zeros((4, 2)), numbers
    math.visit(step, *arguments, groups=np.array([0.0, 0.0, 1.0]))
    with pytest.raises(DalembertError, match="item 2 and another one of its group 0 have row 1"):
        math.visit(step, *arguments, groups=np.zeros(3))
    with pytest.raises(DalembertError, match=r"groups \(2,\), expected \(3,\)"):
        math.visit(step, *arguments, groups=np.zeros(2))


def compiled(function: Function, lanes: int | None) -> NativeKernel:
    shapes = [o.shape for o in function.outputs]
    return NativeKernel("f", "f", [i.size for i in function.inputs], shapes, lambda: function, lanes)


@pytest.mark.parametrize("reverse", [False, True])
def test_slopes_forwards_and_in_reverse(reverse):
    x, i, c = arguments(4)

    def flat(x, i, c):
        results = visits(x, i, c, reverse)
        return np.concatenate([np.asarray(results[name], object).ravel() for name in ("table", "total", "read")])

    def slopes(x, i, c):
        return jacobian(flat(x, i, c), x)

    def pulled(x, i, c):
        values = flat(x, i, c)
        return vjp(list(values), np.linspace(0.5, 1.5, len(values)), list(x))

    forward = interpreter.run(trace(slopes, SIZES), {"x": x, "i": i, "c": c}).popitem()[1]
    pulled_back = interpreter.run(trace(pulled, SIZES), {"x": x, "i": i, "c": c}).popitem()[1]
    for k, row in enumerate(x):
        columns = []
        for unit in np.eye(len(row)):
            high, low = (flat(row + s * STEP * unit, i[k], c[k]).astype(float) for s in (1.0, -1.0))
            columns.append((high - low) / (2.0 * STEP))
        differences = np.array(columns).T
        assert_close(forward[k], differences, DIFFERENCE)
        assert_close(pulled_back[k], np.linspace(0.5, 1.5, len(differences)) @ differences, DIFFERENCE)


def test_an_item_that_reads_a_row_twice_has_both_slopes():
    def squared(x):
        found = math.visit(lambda rows: {"y": rows[0, 0] * rows[1, 0]}, {}, x[:, None], np.array([[1.0, 1.0]]))
        return found["y"]

    def pulled(x):
        return vjp(list(squared(x)), np.ones(1), list(x))

    x = np.array([[2.0, 3.0, 4.0]])
    assert_close(interpreter.run(trace(pulled, {"x": 3}), {"x": x}).popitem()[1][0], [0.0, 6.0, 0.0], PRODUCT)


def test_rows_are_taken_by_number():
    table = np.arange(6.0).reshape(3, 2)
    assert_close(math.take(table, [2.0, -1.0, 0.0, 3.0]), [[4.0, 5.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]], PRODUCT)


def test_shapes_that_do_not_fit_are_refused():
    table = np.zeros((3, 2))
    with pytest.raises(DalembertError, match="one k > 0"):
        math.visit(lambda rows: {}, {}, table)
    with pytest.raises(DalembertError, match=r"expected \(w, 2\)"):
        math.visit(lambda rows: {"rows": np.zeros((1, 3)), "to": np.zeros(1)}, {}, table, np.zeros((2, 1)))
    with pytest.raises(DalembertError, match="'rows' names something else"):
        math.visit(lambda rows, x: {}, {}, table, np.zeros((2, 1)), {"rows": 0.0})


def test_tables_that_are_read_again_and_shorter_loops_after_longer_ones():
    """A visit may change a table where it lies, and leave records of items that are not there: never what is read."""

    def twice(x, c):
        def add(rows, k):
            return {"rows": rows + 1.0, "to": [k], "was": rows[0, 0]}

        def passes(table, count, total):
            items = {"k": np.arange(4.0)}
            first = math.visit(add, items, table, np.arange(4.0)[:, None], count=count)
            second = math.visit(add, items, first["table"], np.arange(4.0)[:, None])  # in the place of the first
            kept = math.take(first["table"], np.array([0.0, 9.0]))  # unless that is read as well
            return {"table": second["table"], "count": count - 1.0, "total": total + first["was"] + kept[:, 0].sum()}

        end = math.repeat(passes, 3, {"table": x.reshape(4, 2), "count": c[0], "total": np.zeros(4)})
        return {name: end[name] for name in ("table", "total")}

    f = trace(twice, {"x": 8, "c": 1})
    x, c = np.random.default_rng(1).normal(size=(5, 8)), np.array([[4.0], [2.0], [1.0], [0.0], [3.5]])
    for lanes in (None, 1):
        outs = [np.full((5, *o.shape), np.nan) for o in f.outputs]
        compiled(f, lanes).run_batch([x, c], outs, (5,))
        for k in range(5):
            want = twice(x[k], c[k])
            for name, out in zip(want, outs, strict=True):
                assert_close(out[k], want[name], RECURSION)


def test_arrays_that_belong_together_are_one_item():
    """A dict of arrays in the place of one: the step takes a dict of rows, after the table's rows and the carry."""

    def compute(x):
        at = np.array([[0.0], [1.0]])

        def pushed(rows, total, push, share):
            return {"rows": rows + share * push["force"], "to": push["number"], "total": total + push["force"][0]}

        push = {"force": x.reshape(2, 3), "number": at}
        return math.visit(pushed, {"push": push, "share": np.array([2.0, 3.0])}, np.zeros((2, 3)), at, {"total": 0.0})

    x = np.arange(1.0, 7.0)
    traced = interpreter.run(trace(compute, {"x": 6}), {"x": x})
    for results in (compute(x), traced):
        assert_close(results["table"], [[2.0, 4.0, 6.0], [12.0, 15.0, 18.0]], PRODUCT)
        assert_close(results["total"], 5.0, PRODUCT)
