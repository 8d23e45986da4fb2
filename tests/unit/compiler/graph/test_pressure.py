"""Orders for machines with registers: right, and with fewer values alive at once than the usual ones."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from dalembert.compiler.graph import trace
from dalembert.compiler.graph.pressure import LEAVES, fewest_at_once, peak
from dalembert.compiler.graph.schedule import depth_first
from dalembert.quantities import compiled


def roots(function):
    return [node for output in function.outputs for node in output.nodes]


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
@pytest.mark.parametrize("robot", ["ur5", "quadruped", "humanoid"])
def test_order(robot, name):
    """Every node once, arguments first; never more alive than depth first or in the order of tracing."""
    ends = roots(compiled(load(robot), name).function())
    order, deep = fewest_at_once(ends), [node for node in depth_first(ends) if node.op not in LEAVES]
    place = {node.id: k for k, node in enumerate(order)}
    assert sorted(place) == sorted(node.id for node in deep) and len(place) == len(order)
    for k, node in enumerate(order):
        assert all(place[a.id] < k for a in node.args if a.op not in LEAVES)
    assert peak(order) <= min(peak(deep), peak(sorted(deep, key=lambda node: node.id)))


def test_limbs_are_computed_one_after_the_other():
    """Four legs need hardly more registers than one: two thirds at most of what the order of tracing needs."""
    ends = roots(compiled(load("quadruped"), "inverse_dynamics").function())
    traced = sorted((node for node in depth_first(ends) if node.op not in LEAVES), key=lambda node: node.id)
    assert peak(fewest_at_once(ends)) < 0.67 * peak(traced)


def test_peak_counts_what_is_alive():
    ends = roots(trace(lambda x: (x[0] + x[1]) * (x[2] + x[3]), {"x": 4}))
    assert peak(fewest_at_once(ends)) == 2
    chain = roots(trace(lambda x: np.array([((x[0] + 1.0) * 3.0).sin()]), {"x": 1}))
    assert peak(fewest_at_once(chain)) == 2  # a value and what is made of it
