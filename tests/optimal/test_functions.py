"""The problem's functions for other solvers: derivatives against differences, minima against those of others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint, minimize

import dalembert
from dalembert import DalembertError, optimal
from tolerances import ITERATED, OPTIMAL, REACHED, SOLVER_DEFAULT, assert_close

DIFFERENCES = 1e-6


def swing():
    robot = dalembert.load("cartpole").without("friction")
    problem = robot.optimal_control(
        lambda q, v, u: {"effort": (1e-1, u), "speed": (1e-2, v), "height": 1.0 - np.cos(q[1])},
        lambda q, v: {"there": (1e2, q - np.array([0.3, 0.0]))},
        step=0.05,
        nodes=8,
        limits={"torque": 4.0, "position": ([-0.4, -9.0], [0.4, 9.0])},
        terminal_constraints=lambda q, v: {"still": optimal.Equal(v[0])},
    )
    return problem, np.array([0.0, 0.2]), np.zeros(2)


def fly():
    robot = dalembert.load("quadrotor")
    problem = robot.optimal_control(
        lambda q, v, u: {"rate": (0.1, v), "effort": (1e-3, u)},
        lambda q, v: {"place": (1.0, q[:3])},
        step=0.02,
        nodes=3,
        actuation=lambda q, v, u: np.array([u[0], u[1], u[2], 0.0, 0.0, u[3]], object),
        control_count=4,
    )
    return problem, robot.random(np.random.default_rng(0)), 0.1 * np.ones(6)


def repeat():
    """A pendulum on a cart that moves periodically in a time of its choice: what the plan chooses is unknown, too."""
    robot = dalembert.load("cartpole").without("friction")
    problem = robot.optimal_control(
        lambda q, v, u, start_q, T: {"effort": (1e-1, u), "away": (1.0, q[0] * start_q[0] - 0.1), "haste": (0.1, T)},
        lambda q, v: {"wide": (1.0, q[1] - 0.3)},
        step=lambda T: T[0] / 8,
        nodes=8,
        T=1,
        unknowns=("T",),
        free_start=True,
        limits={"position": ([-0.4, -9.0], [0.4, 9.0])},
        terminal_constraints=lambda q, v, start_q, start_v, T: {
            "again": optimal.Equal(np.concatenate([q - start_q, v - start_v])),
            "ahead": T - 0.1,
        },
    )
    return problem, np.array([0.1, 0.2]), np.zeros(2), {"T": 0.5}


def orbit():
    """A quadrotor with a free start: its orientation is a displacement from the guess."""
    robot = dalembert.load("quadrotor")
    problem = robot.optimal_control(
        lambda q, v, u, start_q: {"rate": (0.1, v), "effort": (1e-3, u), "start": (1.0, q[:3] - 2.0 * start_q[:3])},
        lambda q, v: {"place": (1.0, q[:3])},
        step=0.02,
        nodes=2,
        actuation=lambda q, v, u: np.array([u[0], u[1], u[2], 0.0, 0.0, u[3]], object),
        control_count=4,
        free_start=True,
    )
    return problem, robot.random(np.random.default_rng(0)), 0.1 * np.ones(6), {}


def made(make):
    problem, q, v, *parameters = make()
    return problem.functions(q, v, **(parameters[0] if parameters else {}))


def dense(program, z):
    J = np.zeros((len(program.constraint_lower), len(z)))
    J[program.jacobianstructure()] = program.jacobian(z)
    return J


@pytest.mark.parametrize("make", [swing, fly, repeat, pytest.param(orbit, marks=pytest.mark.long)])
def test_slopes_are_those_of_differences(make):
    program, rng, h = made(make), np.random.default_rng(1), 1e-6
    z = program.start + 0.05 * rng.standard_normal(len(program.start))
    for _ in range(3):
        d = rng.standard_normal(len(z))
        for function, expected in (
            (program.objective, program.gradient(z) @ d),
            (program.constraints, dense(program, z) @ d),
        ):
            assert_close((function(z + h * d) - function(z - h * d)) / (2.0 * h), expected, DIFFERENCES)


LONG = [pytest.param(make, marks=pytest.mark.long) for make in (fly, orbit)]


@pytest.mark.parametrize("make", [swing, repeat, *LONG])
def test_second_derivatives_are_those_of_differences(make):
    program, rng, h = made(make), np.random.default_rng(1), 1e-6
    z = program.start + 0.05 * rng.standard_normal(len(program.start))
    multipliers = rng.standard_normal(len(program.names))
    H = np.zeros((len(z), len(z)))
    np.add.at(H, program.hessianstructure(), program.hessian(z, multipliers, 2.0))
    H = H + np.tril(H, -1).T

    def slope(z):
        return 2.0 * program.gradient(z) + multipliers @ dense(program, z)

    for _ in range(3):
        d = rng.standard_normal(len(z))
        assert_close((slope(z + h * d) - slope(z - h * d)) / (2.0 * h), H @ d, DIFFERENCES)


def test_a_plan_satisfies_them_and_scipy_finds_it():
    problem, q, v = swing()
    plan, program = problem.solve(q, v), problem.functions(q, v)
    kept = NonlinearConstraint(
        program.constraints, program.constraint_lower, program.constraint_upper, jac=lambda z: dense(program, z)
    )
    answer = minimize(
        program.objective,
        program.start,
        jac=program.gradient,
        constraints=kept,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 200},
    )
    assert plan.converged and answer.fun == pytest.approx(plan.cost, rel=10 * SOLVER_DEFAULT)
    other = program.plan(answer.x)
    assert other.cost == pytest.approx(answer.fun, rel=ITERATED)
    assert other.violation < OPTIMAL
    assert_close(other.q, plan.q, REACHED)
    again = problem.functions(q, v, guess=plan)
    assert again.objective(again.start) == pytest.approx(plan.cost, rel=ITERATED)
    lower, upper = program.constraint_lower - 1e-7, program.constraint_upper + 1e-7
    assert np.all((lower <= program.constraints(again.start)) & (program.constraints(again.start) <= upper))


def test_what_the_plan_chooses_is_found_by_other_solvers():
    problem, q, v, parameters = repeat()
    plan, program = problem.solve(q, v, **parameters), problem.functions(q, v, **parameters)
    kept = NonlinearConstraint(
        program.constraints, program.constraint_lower, program.constraint_upper, jac=lambda z: dense(program, z)
    )
    options = {"ftol": 1e-13, "maxiter": 300}
    answer = minimize(
        program.objective, program.start, jac=program.gradient, constraints=kept, method="SLSQP", options=options
    )
    assert plan.converged and answer.fun == pytest.approx(plan.cost, rel=OPTIMAL)
    other = program.plan(answer.x)
    assert other.cost == pytest.approx(answer.fun, rel=ITERATED) and other.violation < OPTIMAL
    assert_close(other.unknowns["T"], plan.unknowns["T"], REACHED)
    assert_close(other.t, plan.t, REACHED)


def test_names_say_what_and_where():
    problem, q, v = swing()
    program = problem.functions(q, v)
    assert "step of position of slider at node 0" in program.names
    assert "position of slider at node 0" not in program.names  # the first state is what it is
    assert "still at node 8" in program.names
    with pytest.raises(DalembertError, match="expected"):
        program.objective(np.zeros(3))


def test_ipopt_finds_the_same_minimum():
    pytest.importorskip("casadi", reason="casadi brings IPOPT: pip install casadi")
    problem, q, v = swing()
    other = problem.functions(q, v).ipopt()
    assert other.converged and other.cost == pytest.approx(problem.solve(q, v).cost, rel=10 * SOLVER_DEFAULT)


def test_without_casadi_ipopt_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "casadi", None)
    problem, q, v = swing()
    with pytest.raises(DalembertError, match="pip install casadi"):
        problem.functions(q, v).ipopt()
