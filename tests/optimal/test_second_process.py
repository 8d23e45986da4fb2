"""Problems whose steps another process has traced give the same plans without a trace; curious functions are found."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from dalembert.compiler.backends import cache
from dalembert.optimal import stage


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """An empty cache, and the roles of the nodes whose steps are traced."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    done: list[str] = []
    stepped = stage.Node._stepped
    monkeypatch.setattr(
        stage.Node, "_stepped", lambda self, x, is_bent: done.append(self.role) or stepped(self, x, is_bent)
    )
    yield done
    cache._directory.cache_clear()


def running(q, v, u):
    return {"effort": (1e-3, u), "state": (1e-1, np.concatenate([q, v]))}


def swing(robot="2r", weight=10.0, cost=running, **options):
    """A plan of an arm, and its problem; costs of functions made anew."""

    def terminal(q, v):
        return {"state": (weight, np.concatenate([q - 0.3, v]))}

    r = load(robot)
    problem = r.optimal_control(cost, terminal, step=0.02, nodes=20, **options)
    return problem.solve(r.neutral(), np.zeros(r.nv)), problem


def reach(q, v, u, goal):
    return {"effort": (1e-3, u), "goal": (1.0, q - goal), "smooth": 1e-3 * (v @ v)}


def room(q, v, u):
    return {"up": q[0] + 2.0, "pair": np.array([1.0 - q[1], 1.0 + q[1]])}


OPTIONS = {
    "plain": {},
    "limits": {"limits": {"torque": 30.0, "velocity": 3.0}},
    "constraints": {"constraints": room},
    "midpoint": {"integrator": "midpoint"},
    "rk4": {"integrator": "rk4", "limits": {"torque": 30.0}},
}


# limits are in the case of rk4 too
@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.long] * (x in ("limits", "midpoint"))) for x in OPTIONS]
)
def test_the_second_problem_traces_no_step(traces, name):
    first, _ = swing(**OPTIONS[name])
    assert set(traces) == {"a node", "the end"}
    traces.clear()
    second, problem = swing(**OPTIONS[name])
    assert not traces and problem.users.known is not None
    assert np.array_equal(first.q, second.q) and np.array_equal(first.u, second.u)


def test_another_number_is_another_program(traces):
    first, _ = swing(weight=10.0)
    traces.clear()
    second, _ = swing(weight=1.0)
    assert traces == ["the end"] or set(traces) == {"a node", "the end"}
    assert not np.array_equal(first.q, second.q)


def test_parameters_and_steps_as_functions(traces):
    r = load("2r")

    def problem(step):
        return r.optimal_control(reach, last, step=step, nodes=20, goal=2, T=1, unknowns=["T"])

    def last(q, v, goal, T):
        return {"goal": (10.0, np.concatenate([q - goal, v])), "time": (1.0, T - 0.5)}

    def step(T):
        return T[0] / 20.0

    plans = []
    for _ in range(2):
        plans.append(problem(step).solve(r.neutral(), goal=[0.2, -0.1], T=0.5))
        count = len(traces)
    assert len(traces) == count and np.array_equal(plans[0].q, plans[1].q)


def test_a_function_that_inspects_its_arguments_is_found_out(traces, monkeypatch):
    def curious(q, v, u):
        return {"effort": (1e-3 if q[0].op == "input" else 1e-1, u)}

    first, problem = swing(cost=curious)
    assert problem.users.known is not None and not problem.users.agree
    traces.clear()
    second, _ = swing(cost=curious)
    assert "a node" in traces
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    alone, _ = swing(cost=curious)
    assert np.array_equal(first.q, alone.q) and np.array_equal(second.q, alone.q)


def test_code_that_cannot_be_seen_through_is_traced(traces):
    table = {"weight": 1e-3}

    class Cost:
        def __getattr__(self, name):
            raise AttributeError(name)

        def __call__(self, q, v, u):
            return {"effort": (vars()["self"].__class__ and table["weight"], u)}

    for _ in range(2):
        traces.clear()
        _, problem = swing(cost=Cost())
        assert problem.users.known is None and "a node" in traces
