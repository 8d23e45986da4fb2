"""Contacts in colours: no two of one colour have a body in common, and each keeps what it has."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.contact.solver import coloured, ordered
from dalembert.contact.solver.colours import COLOURS


def colouring(at, count, n):
    """Groups of the contacts, and their rows (first, second, number), in the new order."""
    colours = coloured(at, float(count), n)
    rows = ordered(np.column_stack([at, np.arange(len(at))]), colours.place, float(count))
    return colours.group[:count], rows[:count]


@pytest.mark.parametrize("count", [0, 1, 30])
def test_contacts_of_one_colour_have_no_body_in_common(count):
    n, rng = 7, np.random.default_rng(2)
    at = np.array([rng.permutation(n + 1)[:2] for _ in range(30)], float)  # n: the world, which all may touch
    group, rows = colouring(at, count, n)
    assert sorted(rows[:, 2]) == list(range(count))
    np.testing.assert_array_equal(rows[:, :2], at[rows[:, 2].astype(int)])
    assert list(group) == sorted(group)
    for colour in set(group):
        bodies = rows[group == colour, :2].ravel()
        moving = bodies[bodies < n]
        assert len(set(moving)) == len(moving)


def test_a_stack_has_as_many_colours_as_a_body_has_contacts():
    at = np.repeat([[k, k + 1] for k in range(9)], 4, axis=0).astype(float)
    group, _ = colouring(at, len(at), 10)
    assert len(set(group)) == 8


def test_more_contacts_at_a_body_than_colours_are_alone():
    more = 5
    at = np.array([[0, k + 1] for k in range(COLOURS + more)], float)
    group, _ = colouring(at, len(at), len(at) + 1)
    assert len(set(group)) == len(at)
