"""What a solve leaves behind when it stops: the plan is that of the trajectory it returns."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert.math import sin, tanh
from tolerances import RECURSION, REORDERED, assert_close


@pytest.fixture(scope="module")
def rugged():
    """Minima everywhere, so that steps of Newton's method are refused."""
    robot = dalembert.load("2r")

    def running(q, v, u):
        waves = np.array([tanh(8.0 * sin(9.0 * q[0]) - 7.0), sin(7.0 * q[1] + 3.0 * q[0])])
        return {"waves": (1.0, waves), "effort": (1e-4, u), "speed": (1e-3, v)}

    return robot.optimal_control(running, step=0.02, nodes=12, curvature="gauss-newton")


def test_a_plan_that_stops_after_a_refused_step_is_consistent(rugged):
    starts = np.random.default_rng(0).uniform(-2.0, 2.0, (40, 2))
    stopped = 0
    for k, most in ((1, 2), (13, 8), (22, 3), (27, 5), (34, 3)):  # where the last step is refused
        plan = rugged.solve(starts[k], max_iterations=most)
        stopped += not plan.converged
        assert_close(plan.u, rugged.robot.inverse_dynamics(plan.q[:-1], plan.v[:-1], plan.control), REORDERED)
    assert stopped == 5


@pytest.mark.parametrize("nodes", [1, 2, 4, 5, 8, 11, 12, 13])
def test_nodes_need_not_fill_vectors(nodes):
    robot = dalembert.load("2r")

    def running(q, v, u):
        return {"posture": (1.0, q - 1.0), "effort": (1e-2, u - robot.gravity(q)), "speed": (0.1, v)}

    def terminal(q, v):
        return {"posture": (10.0, q - 1.0)}

    plan = robot.optimal_control(running, terminal, step=0.05, nodes=nodes).solve([0.0, 0.0])
    assert plan.converged
    state, cost = (np.zeros(2), np.zeros(2)), 0.0
    for u in plan.u:
        q, v = state
        effort = u - np.asarray(robot.gravity(q))
        cost += 0.05 * 0.5 * (np.sum((q - 1.0) ** 2) + 1e-2 * np.sum(effort**2) + 0.1 * np.sum(v**2))
        v = v + 0.05 * np.asarray(robot.forward_dynamics(q, v, u))
        state = q + 0.05 * v, v
    assert_close(plan.q[-1], state[0], RECURSION)
    assert_close(plan.cost, cost + 5.0 * np.sum((state[0] - 1.0) ** 2), RECURSION)


def test_starts_on_limits_take_no_longer_than_those_inside():
    robot, home = dalembert.load("2r"), np.array([0.2, -0.3])
    lower, upper = np.array([-1.0, -1.2]), np.array([1.0, 1.2])

    def running(q, v, u):
        return {"posture": (1.0, q - home), "effort": (1e-3, u), "speed": (0.05, v)}

    def terminal(q, v):
        return {"posture": (100.0, q - home), "rest": (1.0, v)}

    limits = {"position": (lower, upper), "velocity": 1.0, "torque": 10.0}
    problem = robot.optimal_control(running, terminal, step=0.02, nodes=30, limits=limits)
    corners = np.array([[lower[0], lower[1]], [lower[0], upper[1]], [upper[0], lower[1]], upper])
    on, inside = (problem.solve(starts) for starts in (corners, 0.9 * corners))
    assert all(plan.converged and plan.violation == 0.0 and plan.why == "" for plan in on)
    assert sum(plan.iterations for plan in on) <= 1.2 * sum(plan.iterations for plan in inside)
