"""Systems of blocks and islands of bodies, in loops whose lengths are numbers of the state."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.contact.solver import Carrier, ContactProblem, PairContacts, Rows
from dalembert.contact.solver.islands import labels_of
from dalembert.contact.solver.unsettled import UnsettledPart
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


def problem_of(closing: np.ndarray) -> ContactProblem:
    """Seven bodies of 1 kg that do not turn, with contacts between `PAIRS`, some of which close at 1 m/s."""
    k, nothing = len(PAIRS), np.zeros((len(PAIRS), 3, 3))
    columns = {"axes": np.tile(np.eye(3), (k, 1, 1)), "c": np.outer(-closing, [1.0, 0.0, 0.0])}
    columns |= {f"{name}_{side}": nothing for name in ("levers", "turns") for side in "ab"}
    columns |= {f"light_{side}": np.ones(k) for side in "ab"}
    columns |= {f"spins_{side}": np.zeros((k, 0, 3)) for side in "ab"}
    columns |= {"mu": np.zeros(k), "reach": np.zeros((k, 0)), "group": np.arange(float(k))}
    none = Rows(Carrier(*np.zeros((4, 0, 0))), np.zeros(0), (), np.zeros(0))
    inertia = np.tile([1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0], (7, 1))
    return ContactProblem([PairContacts(columns, PAIRS, float(k), tolerance=1e-6)], none, inertia)


def part_of(closing: list[int], most: int | None) -> UnsettledPart:
    problem = problem_of(np.array(closing, float))
    return UnsettledPart(problem, np.zeros(3 * len(PAIRS)), np.zeros(len(PAIRS)), 1e-3, most)


def test_a_part_has_all_of_its_islands_and_nothing_else():
    part = part_of([0, 0, 0, 1, 0, 0, 1], 7)
    (numbers, count), bodies = part.numbers[0], part.bodies[: int(part.body_count)]
    assert numbers[: int(count)].tolist() == [0, 1, 3, 4, 6]
    assert sorted(bodies) == [0, 2, 3, 5, 6]
    at = part.kinds[0].at[: int(count)].astype(int)
    assert np.array_equal(np.append(bodies, [NONE] * 3)[at], PAIRS[[0, 1, 3, 4, 6]])


def test_a_part_without_a_limit_keeps_the_numbers_of_bodies():
    part = part_of([0, 0, 0, 1, 0, 0, 1], None)
    count = int(part.kinds[0].count)
    assert np.array_equal(part.kinds[0].at[:count], PAIRS[[0, 1, 3, 4, 6]])


def test_a_part_without_room_for_all_islands_has_those_that_fit():
    part = part_of([1, 0, 0, 1, 0, 0, 0], 4)
    assert sorted(part.bodies[: int(part.body_count)]) == [0, 3, 5]
    part = part_of([0, 0, 1, 0, 0, 1, 0], 1)  # that of one body, and the next without room
    assert sorted(part.bodies[: int(part.body_count)]) == [1]


def test_what_a_part_reaches_is_put_back_and_the_rest_stays():
    part = part_of([0, 0, 0, 1, 0, 0, 1], 7)
    p, slip = part.restored(3.0 + 0.0 * part.start[0], 2.0 + 0.0 * part.start[1])
    wanted = np.isin(np.arange(len(PAIRS)), [0, 1, 3, 4, 6])
    assert np.array_equal(p.reshape(3, -1)[0], np.where(wanted, 3.0, 0.0))
    assert np.array_equal(slip, np.where(wanted, 2.0, 0.0))
