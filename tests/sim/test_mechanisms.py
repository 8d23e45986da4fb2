"""Mechanisms of free bodies that closures join: the same motion as the tree, closed loops, cost in proportion."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, Robot
from dalembert.compiler.graph import trace
from dalembert.dynamics import algorithms
from dalembert.sim.integrators.explicit import semi_implicit
from dalembert.sim.system.system import System
from dalembert.spatial import Pose, so3
from tolerances import ACCUMULATED, COMPUTED, DEFAULT_RUN, ITERATED, MILLISECOND_STEPS, ORDER, REORDERED

LENGTH = 0.2
BAR = {"mass": 0.18, "inertia": np.diag([2.7e-5, 6.1e-4, 6.1e-4])}


def at(x: float) -> Pose:
    return Pose(np.eye(3), np.array([x, 0.0, 0.0]))


def free_chain(count: int, reversed_order: bool = False) -> Robot:
    """Bars that hinges join, each of six freedoms, hanging from the world."""
    builder = ModelBuilder("free chain", gravity=(0.0, -9.81, 0.0))
    for i in range(count):
        builder.add_body(f"bar{i}", parent="world", joint="free", **BAR)
    for i in range(count)[:: -1 if reversed_order else 1]:
        a, place = ("world", at(0.0)) if i == 0 else (f"bar{i - 1}", at(LENGTH / 2))
        builder.add_closure(
            f"pin{i}", "revolute", a=a, b=f"bar{i}", placement_a=place, placement_b=at(-LENGTH / 2), axis=(0, 0, 1)
        )
    return builder.build()


def tree_chain(count: int) -> Robot:
    """The same bars as a tree of revolute joints."""
    builder = ModelBuilder("tree chain", gravity=(0.0, -9.81, 0.0))
    for i in range(count):
        builder.add_body(
            f"bar{i}", parent="world" if i == 0 else f"bar{i - 1}", joint="revolute", axis=(0, 0, 1),
            xyz=(0.0 if i == 0 else LENGTH, 0.0, 0.0), com=(LENGTH / 2, 0.0, 0.0), **BAR,
        )  # fmt: skip
    return builder.build()


def spread(angles: np.ndarray) -> np.ndarray:
    """q of the free bars at the angles of the tree's joints."""
    q, end, turn = [], np.zeros(3), 0.0
    for angle in angles:
        turn = turn + angle
        along = np.array([np.cos(turn), np.sin(turn), 0.0])
        q.append(np.concatenate([end + 0.5 * LENGTH * along, so3.quaternion_exp(np.array([0.0, 0.0, turn]))]))
        end = end + LENGTH * along
    return np.concatenate(q)


@pytest.fixture(scope="module")
def chains() -> tuple[Robot, np.ndarray, np.ndarray]:
    """Three free bars, their start, and where the tree is after 0.2 s."""
    angles = np.array([0.4, -0.7, 0.5])
    exact = tree_chain(3).simulate(angles, np.zeros(3), 0.2, rtol=1e-11, atol=1e-12, record=None)
    return free_chain(3), spread(angles), spread(exact.q[-1])


def test_free_bars_swing_like_the_tree(chains) -> None:
    robot, start, end = chains
    errors, gaps, openings = [], [], []
    for steps in (100, 200, 400):
        q, v = robot.rollout(start, np.zeros(robot.nv), step=0.2 / steps, steps=steps)[1:]
        closed = algorithms.constraints(robot.model, q, v)
        errors.append(np.abs(q - end).max())
        gaps.append(np.abs(closed.residual).max())
        openings.append(np.abs(closed.J @ v).max())
    orders = [np.log2(np.divide(x[:-1], x[1:])) for x in (errors, gaps, openings)]
    for measured, order in zip(orders, (1.0, 3.0, 2.0), strict=True):
        np.testing.assert_allclose(measured, order, atol=3 * ORDER)
    assert errors[-1] < 2 * MILLISECOND_STEPS and gaps[-1] < DEFAULT_RUN
    run = robot.simulate(start, np.zeros(robot.nv), 0.2, integrator="semi-implicit", step=5e-4, record=0.2)
    np.testing.assert_allclose(run.q[-1], q, atol=COMPUTED)
    fine = robot.simulate(start, np.zeros(robot.nv), 0.2, integrator="rk4", step=1e-3, record=0.2)
    np.testing.assert_allclose(fine.q[-1], end, atol=ITERATED)


def test_a_law_that_is_called_back_moves_the_same(chains) -> None:
    robot, start, _ = chains
    still = np.zeros(robot.nv)
    settings = {"integrator": "semi-implicit", "step": 1e-3, "record": 0.02}
    called = robot.simulate(start, still, 0.02, lambda t, q, v: -0.01 * np.array([float(x) for x in v]), **settings)
    traced = robot.simulate(start, still, 0.02, lambda t, q, v: -0.01 * v, **settings)
    np.testing.assert_allclose(called.q, traced.q, atol=REORDERED)
    np.testing.assert_allclose(called.v, traced.v, atol=ACCUMULATED)


def test_the_order_of_closures_does_not_matter(chains) -> None:
    robot, start, _ = chains
    ends = [r.rollout(start, np.zeros(robot.nv), step=1e-3, steps=50) for r in (robot, free_chain(3, True))]
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=COMPUTED)


def test_a_start_that_is_open_closes_without_a_kick(chains) -> None:
    robot, start, _ = chains
    open_start = start + 1e-4 * np.concatenate([[1.0, -1.0, 0.5, 0, 0, 0, 0]] * 3)
    end = robot.rollout(open_start, np.zeros(robot.nv), step=1e-5, steps=20)
    wanted = robot.rollout(start, np.zeros(robot.nv), step=1e-5, steps=20)
    assert np.abs(algorithms.constraints(robot.model, end.q, end.v).residual).max() < COMPUTED
    np.testing.assert_allclose(end.v, wanted.v, atol=MILLISECOND_STEPS)


def test_cost_is_in_proportion_to_the_number_of_bodies() -> None:
    def operations(count: int, **options) -> int:
        system = System(free_chain(count, **options).model, ledger=False)
        sizes = {"t": 2, "q": 7 * count, "v": 6 * count}

        def step(t, q, v):
            return np.concatenate(semi_implicit(system, t[0], t[1], q, v, np.zeros(0)))

        return sum(trace(step, sizes).operations().values())

    four, eight, twelve = operations(4), operations(8), operations(12)
    assert twelve - eight == eight - four < 4 * 1400
    assert operations(8, reversed_order=True) < 1.02 * eight
