"""Ctrl-C is answered soon by everything that runs long, and what was computed is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dalembert import Interrupted, load
from dalembert.compiler.execute import Program, Repetition, interruption
from dalembert.compiler.graph import trace
from robust import processes

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")

HEAD = """
import signal, sys, time, numpy as np, dalembert
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start jobs in the background with it ignored
from dalembert import Interrupted, load
robot = load("ur5")
q, v = np.zeros(6), np.zeros(6)
many = np.random.default_rng(0).uniform(-1, 1, (100_000, 6))
def ready():
    print("ready", flush=True)
def report(words):
    print(time.time(), words, flush=True)
"""

CASES = {
    "one motion of 10^10 steps": """
robot.rollout(q, v, step=1e-9, steps=10)
ready()
try:
    robot.rollout(q, v, step=1e-9, steps=10**10)
except Interrupted as error:
    t, x, _ = error.result
    report(f"{error.passes > 1000} {abs(t - error.passes * 1e-9) < 1e-12} {np.isfinite(x).all() and np.any(x != 0)}")
""",
    "many motions of many steps": """
robot.rollout(many, many, step=1e-6, steps=2, every=1, threads=2)
robot.rollout(many, many, step=1e-6, steps=2, threads=2)
ready()
try:
    robot.rollout(many, many, step=1e-6, steps=10**5, threads=2)
except KeyboardInterrupt as error:
    t, x, _ = error.result
    report(f"{x.shape == (100_000, 6)} {error.passes >= 0} {np.isfinite(x).all()}")
""",
    "records": """
robot.rollout(q, v, step=1e-7, steps=200, every=100)
ready()
try:
    robot.rollout(q, v, step=1e-7, steps=10**9, every=10**5)
except Interrupted as error:
    t, x, _ = error.result
    report(f"{len(t) == len(x) == error.passes // 10**5 > 0} {t[0] == 10**5 * 1e-7} {np.isfinite(x).all()}")
""",
    "every step recorded": """
robot.rollout(q, v, step=1e-7, steps=20, every=1)
ready()
try:
    robot.rollout(q, v, step=1e-7, steps=3 * 10**7, every=1)
except Interrupted as error:
    t, x, _ = error.result
    report(f"{len(t) == len(x) == error.passes > 0} {np.isfinite(x).all()} {x[-1, 1] != 0}")
""",
    "steps of a picosecond": """
robot.simulate(q, v, 1e-9, step=1e-12, integrator="rk4", record=1e-9)
ready()
try:
    robot.simulate(q, v, 1.0, step=1e-12, integrator="rk4")
except Interrupted as error:
    run = error.result
report(f"{run.audit().verdict == 'incomplete'} {len(run.t) >= 1} True")
""",
    "small steps that are recorded": """
robot.simulate(q, v, 1e-9, step=1e-10, integrator="rk4", record=1e-10)
ready()
try:
    robot.simulate(q, v, 1.0, step=1e-8, integrator="rk4", record=1e-5)
except Interrupted as error:
    run = error.result
report(f"{run.audit().verdict == 'incomplete'} {len(run.t) > 1} {np.isfinite(run.q).all()}")
""",
    "an adaptive run": """
robot.simulate(q, v, 0.1, rtol=1e-12)
ready()
try:
    robot.simulate(q, v, 1e5, rtol=1e-12, atol=1e-13, record=1.0)
except Interrupted as error:
    run = error.result
report(f"{run.audit().verdict == 'incomplete'} {len(run.t) > 1} {np.isfinite(run.q).all()}")
""",
    "many plans, and a law that plans": """
robot = load("2r")
problem = robot.optimal_control(
    lambda q, v, u: {"speed": (1e-2, v), "effort": (1e-3, u)},
    lambda q, v: {"there": (10.0, q - 1.0)}, step=0.02, nodes=20,
)
law, starts = problem.receding(rate=100.0), np.random.default_rng(0).normal(size=(10**5, 2))
problem.solve(starts[:2])
robot.rollout(starts[:64], starts[:64], law, step=1e-3, steps=20, threads=2)
ready()
try:
    problem.solve(starts, threads=2)
except KeyboardInterrupt:
    answered = time.time()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    robot.rollout(starts[:64], starts[:64], law, step=1e-3, steps=10**6, threads=2)
except Interrupted as error:
    print(answered, error.passes > 0, error.result.q.shape == (64, 2), np.isfinite(error.result.q).all(), flush=True)
""",
    "a large batch": """
x = np.broadcast_to(many[:1], (30_000_000, 6))
out = np.empty((30_000_000, 6))
robot.inverse_dynamics(many, many, many, threads=2)
ready()
try:
    while True:
        robot.inverse_dynamics(x, x, x, out=out, threads=2)
except KeyboardInterrupt:
    report("True True True")
""",
}


@pytest.mark.parametrize("case", CASES)
def test_answers_soon(case):
    """Within 0.3 s, on a machine that may have other work to do: the fastest of up to three tries counts."""
    waited = []
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", HEAD + CASES[case]],
            env=processes.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout.readline().strip() == "ready", process.stderr.read()
            time.sleep(0.5)
            assert process.poll() is None, "it ended by itself"
            sent = time.time()
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        when, *words = out.split()
        assert words == ["True"] * 3, (out, errors)
        waited.append(float(when) - sent)
        if waited[-1] < 0.3:
            return
    raise AssertionError(f"answered after {waited} s")


# ---- the same numbers in pieces


@pytest.fixture
def pieces(monkeypatch):
    """Everything is taken for slow: loops run in pieces of a few passes."""
    monkeypatch.setattr(interruption, "ANSWER", 1e-7)
    monkeypatch.setattr(interruption, "PIECE", 1e-7)
    monkeypatch.setattr(interruption, "FEWEST", 3)


ROBOT = load("2r")


@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3)])
@pytest.mark.parametrize("record", [None, 1, 5])
@pytest.mark.parametrize("torque", ["none", "held", "rows"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_bits(batch, record, torque, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, *batch, 2)).astype(dtype)
    u = {"none": None, "held": np.ones(2, dtype), "rows": rng.normal(size=(1, 20, 2)).astype(dtype)}[torque]
    whole = ROBOT.rollout(q, v, u, steps=20, every=record)
    monkeypatch.setattr(interruption, "ANSWER", 1e-7)
    monkeypatch.setattr(interruption, "PIECE", 1e-7)
    monkeypatch.setattr(interruption, "FEWEST", 3)
    for x, y in zip(whole, ROBOT.rollout(q, v, u, steps=20, every=record), strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4", "rk45", "implicit-midpoint"])
@pytest.mark.parametrize("law", [None, "rows", "function"])
def test_the_same_run(integrator, law, monkeypatch):
    torque = {None: None, "rows": np.ones((4, 2)), "function": lambda t, q, v: -q}[law]
    q, v = np.array([0.3, -0.2]), np.zeros(2)
    step = None if integrator == "rk45" else 1e-3
    whole = ROBOT.simulate(q, v, 0.2, torque=torque, integrator=integrator, step=step)
    monkeypatch.setattr(interruption, "ANSWER", 1e-7)
    monkeypatch.setattr(interruption, "PIECE", 1e-7)
    again = ROBOT.simulate(q, v, 0.2, torque=torque, integrator=integrator, step=step)
    assert np.array_equal(whole.t, again.t) and np.array_equal(whole.q, again.q) and whole.steps == again.steps


def test_gradients_in_pieces(jax, monkeypatch):
    def goal(v):
        return ROBOT.rollout(jax.numpy.zeros(2), v, steps=12, every=4).q.sum()

    v = jax.numpy.array([0.3, -0.1])
    whole = jax.grad(goal)(v)
    monkeypatch.setattr(interruption, "ANSWER", 1e-7)
    monkeypatch.setattr(interruption, "PIECE", 1e-7)
    assert np.array_equal(whole, jax.grad(goal)(v))


class Stops:
    """A backend that is interrupted in the piece that begins after so many passes."""

    def __init__(self, executable, after):
        self.executable, self.after, self.done = executable, after, 0

    def seconds(self, dtype, rows, threads):
        return 1e-3, 1e-3

    def run(self, arrays, results, shape, passes=1, threads=None):
        if self.done >= self.after:
            for result in results:
                result[...] = np.nan  # half-written
            raise KeyboardInterrupt
        self.done += passes
        return self.executable.run(arrays, results, shape, passes, threads)


def counting() -> Program:
    """x ← x + u, u in rows; recorded: x²."""

    def compute(x, u):
        return {"x_next": x + u, "square": x * x}

    step = lambda: trace(compute, {"x": 1, "u": 1})  # noqa: E731
    repetition = Repetition((("x_next", "x"),), ("u",), ("square",))
    return Program("counting", "counting", {"x": 1, "u": 1}, {"x_next": (1,), "square": (1,)}, step, repetition)


@pytest.mark.parametrize("batch", [(1,), (3,)])
@pytest.mark.parametrize("after", [0, 1, 7])
def test_what_is_left_after_an_interruption(batch, after, pieces, monkeypatch):
    """The state after the last piece that was completed, whatever the interrupted one has written."""
    program = counting()
    stops = Stops(program.on("llvm"), after)
    monkeypatch.setattr(program, "on", lambda backend=None: stops)
    outputs = {"x_next": np.full((*batch, 1), np.nan), "square": np.full((*batch, 20, 1), np.nan)}
    x = np.arange(1.0, 1.0 + batch[0])[:, None]
    with pytest.raises(Interrupted) as caught:
        program.run({"x": x, "u": np.ones((*batch, 20))}, outputs, batch, 20)
    done = caught.value.passes
    assert done == stops.done and done >= after
    assert np.array_equal(outputs["x_next"], x + done)
    assert np.array_equal(outputs["square"][:, :done, 0], (x + np.arange(done)) ** 2)


@pytest.mark.parametrize("backend", ["interpreter", "llvm"])
def test_loops_on_backends(backend):
    rows = np.arange(12.0)
    made = counting()({"x": np.zeros((2, 1)), "u": np.broadcast_to(rows, (2, 12))}, (2,), 12, backend=backend)
    before = np.concatenate([[0.0], np.cumsum(rows)])
    assert np.array_equal(made["x_next"], [[66.0], [66.0]])
    assert np.array_equal(made["square"][..., 0], np.broadcast_to(before[:-1] ** 2, (2, 12)))
