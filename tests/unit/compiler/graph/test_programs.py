"""Programs made of maps, scans and repetitions: a whole solver of optimal control as one compiled function."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import math
from dalembert.compiler.backends import interpreter
from dalembert.compiler.execute.host import NativeKernel
from dalembert.compiler.graph import gauss_newton, gradient, linearised, substitute, trace
from dalembert.compiler.graph.capture import placeholders
from tolerances import OPTIMAL, PRODUCT, RECURSION, assert_close

NODES, STEP = 12, 0.1
GOAL = np.array([2.5, 0.0])


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def swing(x, u):
    """A pendulum, driven too weakly to be held anywhere: angle and speed after a step."""
    v = x[1] + STEP * (u - 4.0 * math.sin(x[0]) - 0.1 * x[1])
    return np.array([x[0] + STEP * v, v])


def running(z):
    return [(0.02, z[:2] - GOAL), (0.05, z[2:])]


def terminal(x):
    return [(5.0, x - GOAL)]


def quadratic(x, u):
    """Cost at a node, and the step's slopes."""
    z = np.array([*x, u], object)
    cost, g, H = gauss_newton(running, z)
    return {"c": cost, "g": g, "H": H, "F": linearised(lambda z: swing(z, z[2]), z).slope}


def riccati(V, s, g, H, F):
    """From the value V, s after a node to that before it, and the feedback that leads there."""
    Q, r = H + F.T @ (V @ F), g + F.T @ s
    K, k = -Q[2, :2] / Q[2, 2], -r[2] / Q[2, 2]
    return {"V": Q[:2, :2] + np.outer(Q[:2, 2], K), "s": r[:2] + Q[:2, 2] * k, "K": K, "k": k, "gain": -k * r[2]}


def rolled(x0, u, K, k, x, step):
    """The trajectory of a part of the way, and its cost."""

    def on(at, u, K, k, x):
        control = u + step * k + K @ (at - x)
        cost = sum(0.5 * w * (r @ r) for w, r in running(np.array([*at, control], object)))
        return {"at": swing(at, control), "u": control, "c": cost}

    made = math.scan(on, {"u": u, "K": K, "k": k, "x": x}, {"at": x0})
    end = made["at"][-1]
    return made["at"], made["u"], sum(made["c"]) + sum(0.5 * w * (r @ r) for w, r in terminal(end))


def solve(x0):
    """Gauss-Newton: quadratics of all nodes (map), feedback (scan in reverse), line search (repeat), until it rests."""

    def iterate(u, x, cost, done):
        nodes = math.map(quadratic, {"x": np.concatenate([x0[None], x[:-1]]), "u": u})
        _, s, V = gauss_newton(terminal, x[-1])
        back = math.scan(riccati, {"g": nodes["g"], "H": nodes["H"], "F": nodes["F"]}, {"V": V, "s": s}, reverse=True)
        gain = sum(back["gain"])
        before = np.concatenate([x0[None], x[:-1]])

        def shorter(step, u1, x1, found, good):
            moved, control, total = rolled(x0, u, back["K"], back["k"], before, step)
            return {"step": 0.5 * step, "u1": control, "x1": moved, "found": total, "good": total <= cost}

        start = {"step": 1.0, "u1": u, "x1": x, "found": cost, "good": gain <= 1e-13 * cost}
        best = math.repeat(shorter, 10, start, "good")
        return {"u": best["u1"], "x": best["x1"], "cost": best["found"], "done": gain <= 1e-13 * cost}

    zeros = np.zeros(NODES)
    x, u, cost = rolled(x0, zeros, np.zeros((NODES, 2)), zeros, np.zeros((NODES, 2)), 0.0)
    return math.repeat(iterate, 100, {"u": u, "x": x, "cost": cost, "done": False}, "done")


def total(x0, u):
    """The cost of controls, straightforwardly."""
    x, cost = x0, 0.0
    for each in u:
        cost = cost + sum(0.5 * w * (r @ r) for w, r in running(np.array([*x, each])))
        x = swing(x, each)
    return cost + sum(0.5 * w * (r @ r) for w, r in terminal(x))


def test_a_solver_in_one_function():
    """Stationary for the slopes of the cost, written out; the same alone, in batches, in the interpreter."""
    names = ("u", "x", "cost", "passes")
    f = trace(lambda x: {name: solve(x)[name] for name in names}, {"x0": 2}, "solve")
    starts = np.array([[0.0, 0.0], [0.5, -1.0], [2.4, 0.0], [-1.0, 2.0], [3.0, 0.5]])
    want = interpreter.run(f, {"x0": starts})
    slope = trace(lambda x, u: {"c": total(x, u), "slope": gradient(total(x, u), u)}, {"x": 2, "u": NODES})
    check = interpreter.run(slope, {"x": starts, "u": want["u"]})
    assert_close(check["c"], want["cost"], RECURSION)
    assert np.abs(check["slope"]).max() < 10 * OPTIMAL
    assert 3 <= want["passes"].min() < want["passes"].max() < 100
    for lanes in (None, 1):
        outs = [np.full((5, *o.shape), np.nan) for o in f.outputs]
        NativeKernel("solve", "solve", [2], [o.shape for o in f.outputs], lambda: f, lanes).run_batch(
            [starts], outs, (5,)
        )
        assert_close(outs[0], want["u"], OPTIMAL)
        assert_close(outs[2], want["cost"], RECURSION)


@pytest.mark.parametrize("loop", ["repeat", "branch", "scan", "visit"])
def test_one_loop_with_two_sets_of_values(loop):
    """A traced loop that is put into one function twice, with other values in place of its inputs."""

    def once(a, b):
        if loop == "repeat":
            return math.repeat(lambda x: {"x": 0.5 * x + math.sin(x) * a}, 5, {"x": b})["x"]
        if loop == "branch":
            return math.branch(a > 0, lambda: {"x": 3.0 * math.sin(b) + a}, {"x": b})["x"]
        if loop == "scan":
            return math.scan(lambda x, c: {"x": x * c + a}, {"c": np.arange(1.0, 4.0) * b}, {"x": a})["x"][-1]
        table, at = np.array([[a], [b], [a]]), np.arange(3.0)
        doubled = math.visit(lambda rows, k: {"to": np.array([k]), "rows": 2 * rows + a}, {"k": at}, table, at[:, None])
        return doubled["table"][1, 0]

    def twice(x):
        z = placeholders(x[0].graph, 2)
        whole = np.array([once(*z)], object)
        values = [dict(zip(z, pair, strict=True)) for pair in ((x[0], x[1]), (x[2], x[0] * x[1]))]
        return np.concatenate([substitute(whole, each) for each in values])

    f = trace(twice, {"x": 3})
    x = np.random.default_rng(0).normal(size=(9, 3))
    want = np.array([[once(a, b), once(c, a * b)] for a, b, c in x], float)
    assert_close(interpreter.run(f, {"x": x})["function"], want, PRODUCT)
    out = np.empty((9, 2))
    kernel = NativeKernel("f", "f", [3], [(2,)], lambda: f)
    kernel.run_batch([x], [out], (9,))
    assert_close(out, want, RECURSION)
    kernel.run_one([x[4]], [one := np.empty(2)])
    assert_close(one, want[4], RECURSION)
