"""Systems of blocks and islands of bodies, in loops whose lengths are numbers of the state."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.contact.solver.islands import labels_of, unsettled_part
from dalembert.linear.block_elimination import SIZE, block_pattern, solve_blocks
from tolerances import RECURSION, assert_close

NONE = 7.0  # the number of what does not move, beside bodies 0 to 6
PAIRS = np.array([[0, 3], [3, 5], [1, NONE], [6, 2], [NONE, 0], [4, NONE], [5, 0]], float)


@pytest.mark.parametrize("rows", [None, 4.0, 5.0])
def test_blocks_are_solved_as_one_matrix(rows):
    n, rng = 6, np.random.default_rng(2)
    pairs = np.array([[0, 2], [3, 1], [2, 3]])
    m = n if rows is None else int(rows)
    A = np.zeros((n, SIZE, n, SIZE))
    for i in range(n):
        A[i, :, i] = 8.0 * np.eye(SIZE) + rng.normal(size=(SIZE, SIZE))
    flags = np.eye(n)
    for i, j in pairs:
        A[i, :, j], A[j, :, i] = rng.normal(size=(2, SIZE, SIZE))
        flags[i, j] = flags[j, i] = 1.0
    b = rng.normal(size=(n, SIZE))
    blocks = A.transpose(0, 2, 1, 3).reshape(n * n, -1)
    x = solve_blocks(block_pattern(n, flags.reshape(-1, 1), rows), blocks, b)
    want = np.linalg.solve(A[:m, :, :m].reshape(m * SIZE, -1), b[:m].ravel())
    assert_close(x[:m].ravel(), want, RECURSION)


def test_islands_are_bodies_that_touch_but_not_through_what_is_fixed():
    assert labels_of(PAIRS, 6.0, 7).tolist() == [0, 1, 2, 0, 4, 0, 2]
    assert labels_of(PAIRS, 1.0, 7).tolist() == [0, 1, 2, 0, 4, 5, 6]  # the first contact alone


def test_a_part_has_all_of_its_islands_and_nothing_else():
    unsettled = np.array([0, 0, 0, 1, 0, 0, 1.0])
    part = unsettled_part(PAIRS, 7.0, unsettled, {"x": np.arange(7.0) + 10.0}, 7, 7)
    count, bodies = int(part.count), part.bodies[: int(part.body_count)]
    assert part.numbers[:count].tolist() == [0, 1, 3, 4, 6]
    assert part.columns["x"][:count].tolist() == [10, 11, 13, 14, 16]
    assert sorted(bodies) == [0, 2, 3, 5, 6]
    back = np.append(bodies, [NONE] * 3)[part.at[:count].astype(int)]
    assert np.array_equal(back, PAIRS[[0, 1, 3, 4, 6]])


def test_a_part_without_room_for_all_islands_has_those_that_fit():
    part = unsettled_part(PAIRS, 7.0, np.ones(7), {"x": np.arange(7.0)}, 7, 4)
    assert sorted(part.bodies[: int(part.body_count)]) == [0, 1, 3, 5]
