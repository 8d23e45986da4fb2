"""Laws of rows that give way a little: on the staircase where they push, dampers where they hold."""

from __future__ import annotations

import pytest

from dalembert.contact.solver.row_laws import ANY, Law, yielding_row


@pytest.mark.parametrize("p", [-1.0, 0.0, 2.0])
@pytest.mark.parametrize("u", [-1.0, 0.0, 2.0])
def test_a_row_that_can_have_no_impulse_is_free(p: float, u: float) -> None:
    assert yielding_row(Law(0.0, 0.0, 0.0), p, u, 1e-3, 0.0) == (0.0, 0.0)


def test_a_row_that_holds_is_a_damper_about_its_impulse() -> None:
    friction, stop = Law(0.0, 0.0, 3.0), Law(0.0, ANY)
    assert yielding_row(friction, 1.0, 0.0, 0.5, 0.0) == (1.0, 2.0)
    assert yielding_row(friction, 0.0, 0.0, 0.5, 0.0) == (0.0, 2.0)  # held without a load
    assert yielding_row(friction, 1.0, -5.0, 0.5, 0.0) == (3.0, 0.0)  # slides
    assert yielding_row(friction, 1.0, 5.0, 0.5, 0.0) == (-3.0, 0.0)
    assert yielding_row(stop, 1.0, -1.0, 0.5, 0.0) == (3.0, 2.0)
    assert yielding_row(stop, 1.0, 1.0, 0.5, 0.0) == (0.0, 0.0)  # released
    assert yielding_row(stop, 1.0, -1.0, 0.25, 0.25) == (2.5, 2.0)  # also gives way by itself
