"""Robots with closed loops."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError
from tolerances import REACHED

WEIGHED = 0.01  # goals that are weighed against effort [rad]


def test_a_four_bar_turns_its_crank_and_stays_closed():
    robot = dalembert.load("four_bar")
    start = robot.close_loops(robot.neutral())[0]
    goal = start[0] + 0.8
    problem = robot.optimal_control(
        lambda q, v, u: {"effort": (1e-6, u), "rate": (1e-2, v[0])},
        lambda q, v: {"there": (1e4, q[0] - goal), "rest": (1e3, v)},
        step=0.02,
        nodes=60,
        limits={"torque": 3000.0},
        integrator="midpoint",
    )
    plan = problem.solve(start)
    assert plan.converged and plan.u.shape == (60, 1)
    assert abs(plan.q[-1, 0] - goal) < WEIGHED
    closed = np.array([robot.close_loops(q)[0] for q in plan.q])
    assert np.abs(closed - plan.q).max() < REACHED
    run = robot.simulate(start, np.zeros(3), 1.2, torque=dalembert.Sampled(_held(plan), 0.02))
    assert np.abs(run.q[-1] - plan.q[-1]).max() < 0.02


def _held(plan):
    return lambda t, q, v: plan.tau[min(int(t / 0.02 + 1e-9), 59)]


def test_open_loops_are_refused():
    robot = dalembert.load("four_bar")
    start = robot.close_loops(robot.neutral())[0]
    problem = robot.optimal_control(lambda q, v, u: {"effort": (1.0, u)}, step=0.01, nodes=5)
    with pytest.raises(DalembertError, match="close_loops"):
        problem.solve(start + np.array([0.1, 0.0, 0.0]))
    with pytest.raises(DalembertError, match="rate"):
        problem.solve(start, [1.0, 0.0, 0.0])
    with pytest.raises(DalembertError, match="contacts"):
        robot.optimal_control(lambda q, v, u: {"effort": (1.0, u)}, step=0.01, nodes=5, contacts=("rocker",))
