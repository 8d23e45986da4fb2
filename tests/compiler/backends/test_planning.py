"""Planning costs as much Python work as there are nodes, arguments and entries, not their square."""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.compiler.backends.llvm.plan import SlotPlan
from dalembert.compiler.graph import trace
from dalembert.compiler.graph.pressure import fewest_at_once
from dalembert.math import product, repeat, sin
from effort import effort

TWICE = 2.6  # the work for twice as much, where it is linear; 4 where it is quadratic


def looped(n):
    """A repetition that takes n numbers from outside, each computed on the way."""

    def compute(x):
        outside = sin(x)
        return repeat(lambda y: {"y": sum(outside * y)}, 3, {"y": x[0]})["y"]

    return trace(compute, {"x": n})


def multiplied(n):
    """A product of two matrices (n, n), too large to be written out, of values that need transcendentals."""
    return trace(lambda x: product(np.outer(x, sin(x)), np.outer(x, x)), {"x": n})


def test_order_for_registers_is_linear_in_the_arguments_of_a_loop():
    few, many = ([node for output in looped(n).outputs for node in output.nodes] for n in (300, 600))
    assert effort(partial(fewest_at_once, many)) < TWICE * effort(partial(fewest_at_once, few))


def test_plan_is_linear_in_the_entries_of_a_product():
    """Twice as many rows and columns are four times as many entries."""
    few, many = (multiplied(n) for n in (24, 48))
    for function in (few, many):
        function.schedule()
    plans = [partial(SlotPlan, function, 4, True) for function in (few, many)]
    assert effort(plans[1]) < TWICE**2 * effort(plans[0])
