"""Laws of rows, linear on the part of the staircase that they are on, where what is held gives way a little."""

from __future__ import annotations

import pytest

from dalembert.contact.solver.row_laws import ANY, Law, active_part, linear_row

FRICTION, STOP = Law(0.0, 0.0, 3.0), Law(0.0, ANY)


def step(law: Law, p: float, u: float, give: float) -> tuple[float, float]:
    """The impulse after a step that changes no velocity, and K, for a row of size 1."""
    change, K = linear_row(law, p, u, active_part(law, p, u, 1.0), give)
    return p + change, K


@pytest.mark.parametrize("p", [-1.0, 0.0, 2.0])
@pytest.mark.parametrize("u", [-1.0, 0.0, 2.0])
def test_a_row_that_can_have_no_impulse_is_free(p: float, u: float) -> None:
    assert step(Law(0.0, 0.0, 0.0), p, u, 1e-3) == (0.0, 0.0)


def test_a_row_that_holds_is_a_damper_about_its_impulse() -> None:
    assert step(FRICTION, 1.0, 0.0, 0.5) == (1.0, 2.0)
    assert step(FRICTION, 0.0, 0.0, 0.5) == (0.0, 2.0)  # held without a load
    assert step(FRICTION, 1.0, -1.0, 0.5) == (3.0, 2.0)
    assert step(STOP, 1.0, -1.0, 0.5) == (3.0, 2.0)
    assert step(STOP, 1.0, -1.0, 0.25) == (5.0, 4.0)


def test_a_row_that_slides_or_is_released_has_a_known_impulse() -> None:
    assert step(FRICTION, 1.0, -5.0, 0.5) == (3.0, 0.0)
    assert step(FRICTION, 1.0, 5.0, 0.5) == (-3.0, 0.0)
    assert step(STOP, 1.0, 2.0, 0.5) == (0.0, 0.0)
