"""Branches: their meaning on numbers and traced values, and that they take in what they alone need."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, math
from dalembert.compiler.backends import interpreter
from dalembert.compiler.execute.host import NativeKernel as Kernel
from dalembert.compiler.graph import Function, gradient, trace
from dalembert.compiler.graph.sinking import sunk
from tolerances import DIFFERENCE, PRODUCT, STEP, assert_close

X = np.array([[0.5, -1.0, 2.0], [-0.5, 0.3, 1.0], [1.5, 0.2, -0.4], [-2.0, 1.0, 0.7], [0.1, 0.1, 0.1]])


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def costly(x):
    """A loop over items, and what goes into it."""
    return math.map(lambda a: {"y": math.sin(a) * x[2]}, {"a": np.array([x[0] * x[1], x[1], x[2]])})["y"]


def one_branch(x):
    begin = {"y": np.zeros(3), "z": x[0]}
    return np.concatenate([np.ravel(part) for part in math.branch(
        x[0] > 0.0, lambda: {"y": costly(x), "z": x[0] + 1.0}, begin).values()])  # fmt: skip


def nested(x):
    """A branch in a branch, each with a loop; sin(x₁) is needed by both, cos(x₁) everywhere."""
    common = math.cos(x[1])

    def outer():
        begin = {"y": math.sin(x[1]) * np.ones(3)}
        inner = math.branch(x[2] > 0.5, lambda: {"y": costly(x) + math.sin(x[1])}, begin)["y"]
        return {"y": inner * common + math.exp(x[0])}

    return math.branch(x[0] > 0.0, outer, {"y": common * x})["y"]


def operations(function: Function) -> list[str]:
    return [node.op for node in function.schedule()]


def values(function: Function, x: np.ndarray) -> np.ndarray:
    return interpreter.run(function, {"x": x})[function.outputs[0].name]


@pytest.mark.parametrize("f", [one_branch, nested])
def test_a_branch_means_the_same_on_numbers_traced_sunk_and_compiled(f):
    on_numbers = np.array([f(x) for x in X])
    traced = trace(f, {"x": 3})
    assert_close(values(traced, X), on_numbers, PRODUCT)
    assert_close(values(sunk(traced), X), on_numbers, PRODUCT)
    for lanes in (1, None):
        kernel = Kernel("f", "f", [3], [traced.outputs[0].shape], lambda: traced, lanes)
        out = np.full(on_numbers.shape, np.nan)
        kernel.run_batch([X], [out], (len(X),))
        assert_close(out, on_numbers, PRODUCT)


def test_what_only_a_branch_needs_is_inside():
    outside = operations(sunk(trace(one_branch, {"x": 3})))
    assert outside.count("compound") == 1 and not {"sin", "mul"} & set(outside)
    assert operations(trace(one_branch, {"x": 3})).count("compound") == 2


def test_what_others_need_stays_outside_and_inner_branches_take_in_their_share():
    function = sunk(trace(nested, {"x": 3}))
    outside = operations(function)
    assert outside.count("cos") == 1 and not {"sin", "exp"} & set(outside)
    (outer,) = [node for node in function.schedule() if node.op == "compound"]
    within = sunk(outer.value.step)
    assert operations(within).count("sin") == operations(within).count("exp") == 1  # sin is where its branch begins
    assert operations(within).count("compound") == 1  # the loop is inside of the inner branch


def test_results_of_a_loop_stay_with_it():
    def f(x):
        rows = math.map(lambda a: {"y": a * x[1]}, {"a": x})["y"]
        return [math.branch(x[0] > 0.0, lambda: {"y": rows[0]}, {"y": 0.0})["y"], rows[1]]

    traced = trace(f, {"x": 3})
    assert_close(values(sunk(traced), X), np.array([f(x) for x in X]), PRODUCT)
    assert operations(sunk(traced)).count("compound") == 2


def test_what_is_the_same_in_both_is_not_copied():
    def f(x):
        return math.branch(x[0] > 0.0, lambda: {"y": [x[1], x[2], 0.0]}, {"y": [x[1], x[0], 0.0]})["y"]

    traced = trace(f, {"x": 3})
    (node,) = [node for node in traced.schedule() if node.op == "compound"]
    assert node.value.width == 2  # one number, and whether the branch is taken
    assert_close(values(traced, X), np.array([f(x) for x in X]), PRODUCT)


def test_slopes_are_those_of_the_side_that_is_taken():
    traced = trace(lambda x: gradient(sum(nested(x)), x), {"x": 3})
    for x in X:
        differences = [sum(nested(x + STEP * e)) - sum(nested(x - STEP * e)) for e in np.eye(3)]
        assert_close(values(traced, x), np.array(differences) / (2.0 * STEP), DIFFERENCE, 10.0)


def test_results_must_agree():
    with pytest.raises(DalembertError, match="branch: the step gave nothing for 'y'"):
        math.branch(True, dict, {"y": 1.0})
    with pytest.raises(DalembertError, match=r"branch: the step gave \(3,\) for 'y', expected shape \(2,\)"):
        math.branch(True, lambda: {"y": np.zeros(3)}, {"y": np.zeros(2)})
