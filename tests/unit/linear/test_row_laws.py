"""The parts of the law of a row, and of one that can have no impulse."""

import pytest

from dalembert.linear.row_laws import ANY, FREE, LOWER, PULLED, PUSHED, UPPER, Law, next_part, part_of, row_part


@pytest.mark.parametrize("part", [PUSHED, LOWER, FREE, UPPER, PULLED])
@pytest.mark.parametrize("p", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("u", [-1.0, 0.0, 1.0])
def test_friction_without_load_is_free(part, p, u):
    """A row held with an impulse of 0 would stand between two parts for ever, and Newton's steps would not end."""
    nothing = Law(0.0, 0.0, 0.0)
    assert part_of(nothing, p) == next_part(nothing, part, p, u) == FREE
    assert row_part(nothing, FREE, p, u, 1e-3, 1.0, 0.0) == (0.0, -p)


def test_parts_of_friction_and_of_a_stop():
    friction, stop = Law(0.0, 0.0, 2.0), Law(0.0, ANY, ANY)
    assert [part_of(friction, p) for p in (3.0, 1.0, 0.0, -1.0, -3.0)] == [PUSHED, LOWER, LOWER, UPPER, PULLED]
    assert [part_of(stop, p) for p in (1.0, 0.0)] == [LOWER, FREE]
    assert next_part(friction, LOWER, 3.0, 0.0) == PUSHED
    assert next_part(stop, LOWER, -1.0, 0.0) == FREE
    assert next_part(stop, FREE, 0.0, -1.0) == LOWER
