"""Traced functions, guards and loops: what they hold and what they refuse; the schedule."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from dalembert import math
from dalembert.compiler.graph import Function, Input, Loop, trace
from dalembert.errors import DalembertError


def test_outputs_keep_names_shapes_and_order():
    function = trace(lambda q, v: {"M": np.outer(q, v), "e": q[0], "c": 3}, {"q": 2, "v": 3}, name="f")
    assert isinstance(function, Function) and function.name == "f"
    assert function.inputs == (Input("q", 2), Input("v", 3))
    assert [(o.name, o.shape, len(o.nodes)) for o in function.outputs] == [("M", (2, 3), 6), ("e", (), 1), ("c", (), 1)]


def test_collection_of_garbage_goes_on_after_a_trace():
    states = []

    def fails(q):
        states.append(gc.isenabled())
        raise ZeroDivisionError

    for wanted in (True, False):
        (gc.enable if wanted else gc.disable)()
        try:
            trace(lambda q: q, {"q": 1})
            with pytest.raises(ZeroDivisionError):
                trace(fails, {"q": 1})
            assert gc.isenabled() == wanted
        finally:
            gc.enable()
    assert states == [False, False]


def test_one_result_is_named_like_the_function():
    assert [o.name for o in trace(lambda q: [q[0], 1.0], {"q": 1}, name="tau").outputs] == ["tau"]


def test_conditions_come_out_as_numbers():
    function = trace(lambda q: [q[0] < 1.0, True], {"q": 1})
    assert [node.op for node in function.outputs[0].nodes] == ["where", "const"]


def test_guards_that_always_hold_are_dropped_and_others_checked():
    assert trace(lambda q: q, {"q": 1}, guards=lambda q: [True, 1.0 < 2.0]).guards == ()
    assert len(trace(lambda q: q, {"q": 1}, guards=lambda q: [q[0] < 2.0]).guards) == 1
    with pytest.raises(DalembertError, match="false for every input"):
        trace(lambda q: q, {"q": 1}, guards=lambda q: [q[0] < 2.0, 2.0 < 1.0])
    with pytest.raises(DalembertError, match="guard must be a condition"):
        trace(lambda q: q, {"q": 1}, guards=lambda q: [q[0]])


def test_dead_code_is_not_scheduled():
    def f(q):
        math.sin(q[0]) * 3.0
        return q[0] + q[1]

    assert trace(f, {"q": 2}).operations() == {"add": 1}


def test_guards_are_scheduled():
    function = trace(lambda q: q, {"q": 1}, guards=lambda q: [q[0] * q[0] < 2.0])
    assert function.operations() == {"mul": 1, "lt": 1}


def test_schedule_is_depth_first_with_arguments_before_users():
    def limbs(q):
        """Independent chains: traced side by side, computed one after the other."""
        chains = list(q)
        for _ in range(10):
            chains = [math.sin(x) * 2.0 for x in chains]
        return chains

    order = trace(limbs, {"q": 4}).schedule()
    place = {node.id: k for k, node in enumerate(order)}
    assert len(place) == len(order)
    assert all(place[a.id] < place[node.id] for node in order for a in node.args)
    last_use = {a.id: k for k, node in enumerate(order) for a in node.args}
    alive = [sum(place[i] <= k < end for i, end in last_use.items()) for k in range(len(order))]
    assert max(alive) <= 3  # one chain and the constant, where tracing order would keep four chains alive


def step():
    return trace(lambda x, v, u: {"x": x + v, "v": v + u, "e": v @ v}, {"x": 2, "v": 2, "u": 2}, name="step")


def test_loop_results():
    loop = Loop(step(), (("x", "x"), ("v", "v")), ("u",), ("e", "x"))
    assert [(o.name, recorded) for o, recorded in loop.results()] == [("x", True), ("v", False), ("e", True)]
    assert [(o.name, recorded) for o, recorded in Loop(step(), (("v", "x"),)).results()] == [("v", False)]


@pytest.mark.parametrize(
    ("carry", "sequence", "record", "message"),
    [
        ((("e", "x"),), (), (), r"output 'e' \(1 numbers\) cannot become input 'x' \(2 numbers\)"),
        ((("y", "x"),), (), (), r"output 'y' \(missing numbers\)"),
        ((("x", "y"),), (), (), r"input 'y' \(missing numbers\)"),
        ((), ("uu",), (), "unknown input 'uu'"),
        ((), ("e",), (), "unknown input 'e'"),
        ((), (), ("u",), "unknown output 'u'"),
        ((), ("x", "u"), ("u",), "unknown output 'u'"),
        ((("x", "x"), ("v", "x")), (), (), "'x' is fed .* twice"),
        ((("x", "x"),), ("x",), (), "'x' is fed .* twice"),
        ((("x", "x"), ("x", "v")), (), (), "'x' is carried twice"),
        ((), (), ("e", "e"), "'e' is recorded twice"),
    ],
)
def test_loop_refuses(carry, sequence, record, message):
    with pytest.raises(DalembertError, match=message):
        Loop(step(), carry, sequence, record)


def test_fingerprint_is_that_of_what_is_computed():
    """NumPy's numbers and names, the sign of a NaN and what is traced in vain make no difference."""

    def of(compute, sizes=None, guards=None, **options):
        return trace(compute, sizes or {"x": 2}, "f", guards, **options).fingerprint()

    plain = of(lambda x: math.where(x[0] < x[1], x, np.nan))
    assert of(lambda x: (x + 3.0, math.where(x[0] < x[1], x, -np.nan))[1]) == plain
    assert of(lambda x: math.where(x[0] < x[1], x, np.float32("nan")), {np.str_("x"): np.int64(2)}) == plain
    table = np.arange(6.0).reshape(3, 2)
    entry = of(lambda x: x[0].__lookup__(table, 1))
    assert of(lambda x: x[0].__lookup__(table, np.int64(1))) == entry
    others = [
        of(lambda x: math.where(x[0] < x[1], x, 0.0)),
        of(lambda x: math.where(x[1] < x[0], x, np.nan)),
        of(lambda x: {"f": [math.where(x[0] < x[1], x, np.nan)]}),
        of(lambda x: math.where(x[0] < x[1], x, np.nan), {"x": 3}),
        of(lambda x: math.where(x[0] < x[1], x, np.nan), guards=lambda x: [x[0] < 5.0]),
        of(lambda x: math.where(x[0] < x[1], x, np.nan), finite=True),
        of(lambda x: x[0].__lookup__(table, 0)),
        of(lambda x: x[0].__lookup__(table + 1.0, 1)),
    ]
    assert len({plain, entry, *others}) == 2 + len(others)
