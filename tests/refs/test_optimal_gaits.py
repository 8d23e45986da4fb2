"""Gaits on given contacts cost what Crocoddyl finds (3.2.1, FDDP). Compiling one takes half a minute."""

from __future__ import annotations

import pytest

from peers.example_robots import folder
from refs import gaits
from tolerances import ITERATED

RELATIVE = 1e-8


@pytest.mark.long
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: gaits.anymal(folder(), "trot"), id="anymal-trot"),
        pytest.param(lambda: gaits.anymal(folder(), "walk"), id="anymal-walk"),
        pytest.param(lambda: gaits.talos(folder()), id="talos-walk"),
    ],
)
def test_gaits_cost_what_another_solver_finds(make):
    gait = make()
    plan = gait.problem.solve(gait.start, **gait.data)
    assert plan.converged and plan.violation < ITERATED
    assert plan.cost == pytest.approx(gait.cost, rel=RELATIVE)
