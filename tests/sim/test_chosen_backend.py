"""`backend=` of simulations and rollouts: everything they compute goes to the backend of that name."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, Event, Sampled, load, register_backend
from dalembert.compiler.backends import interpreter
from tolerances import ITERATED, RECURSION, assert_close

Q, V = np.array([0.3, 0.2]), np.array([0.1, -0.2])


@pytest.fixture(scope="module")
def robot():
    return load("2r")


@pytest.fixture
def counted():
    """A backend like the interpreter, and the names of the programs that it was asked to run."""
    names: list[str] = []

    def compile(function):
        def run(inputs, passes):
            names.append(function.step.name if passes else function.name)
            return interpreter.run(function, inputs, passes)

        return run

    register_backend("counted", compile)
    return names


@pytest.mark.parametrize(
    "settings",
    [
        {"torque": np.ones((3, 2))},
        {"torque": lambda t, q, v: -q},
        {"torque": lambda t, q, v: np.array([-float(q[0]), 0.0])},
        {"events": [Event("passes", lambda t, q, v: q[0] - 0.302)]},
        {"integrator": "rk4", "step": 1e-3, "torque": Sampled(lambda t, q, v: -q, 0.01, state=())},
        {"integrator": "implicit-midpoint", "step": 5e-3},
    ],
    ids=["rows", "law", "called", "event", "sampled", "implicit"],
)
def test_simulations(robot, counted, settings):
    usual = robot.simulate(Q, V, 0.05, **settings)
    assert not counted
    run = robot.simulate(Q, V, 0.05, backend="counted", **settings)
    assert "observed" in counted and len(counted) > 2
    assert_close(run.q, usual.q, ITERATED)
    assert_close(run.energy.total, usual.energy.total, ITERATED)
    assert len(run.events) == len(usual.events)
    before = len(counted)
    robot.simulate(Q, V, 0.05, **settings)
    assert len(counted) == before


def test_rollouts_gradients_and_steppers(robot, counted):
    states, velocities = np.tile(Q, (3, 1)), np.linspace(0.0, 1.0, 6).reshape(3, 2)
    rows = np.ones((20, 2))
    usual = robot.rollout(states, velocities, rows, steps=20, every=5)
    assert not counted
    result = robot.rollout(states, velocities, rows, steps=20, every=5, backend="counted")
    assert counted == ["rollout semi-implicit"] * 4
    assert_close(result.q, usual.q, RECURSION)
    usual_slopes = robot.rollout_gradient(lambda t, q, v: q @ q, Q, V, rows, steps=20)
    slopes = robot.rollout_gradient(lambda t, q, v: q @ q, Q, V, rows, steps=20, backend="interpreter")
    assert_close(slopes.torque, usual_slopes.torque, RECURSION)
    stepper = robot.stepper()
    assert_close(stepper(Q, V, backend="interpreter")[0], stepper(Q, V)[0], RECURSION)


def test_a_failing_run_leaves_the_usual_backend(robot, counted):
    def fails(t, q, v):
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError):
        robot.simulate(Q, V, 0.05, fails, backend="counted")
    counted.clear()
    robot.simulate(Q, V, 0.05)
    assert not counted


def test_errors(robot):
    with pytest.raises(DalembertError, match=r"unknown backend 'llvn'.*llvm"):
        robot.simulate(Q, V, 0.05, backend="llvn")
    with pytest.raises(DalembertError, match="unknown backend 'llvn'"):
        robot.rollout(Q, V, steps=5, backend="llvn")
    jax = pytest.importorskip("jax")
    with pytest.raises(DalembertError, match="rollout: backend='interpreter' takes NumPy arrays only"):
        robot.rollout(jax.numpy.asarray(Q), V, steps=5, backend="interpreter")


def test_the_interpreter_needs_no_compiler(robot, monkeypatch):
    """As on a 32-bit Python, where compiled code cannot be used."""
    monkeypatch.setattr(dalembert.compiler.execute.registry, "has_32_bits", lambda: True)
    fresh = load("2r")
    assert_close(fresh.simulate(Q, V, 0.03, backend="interpreter").q[0], Q, RECURSION)
    assert fresh.rollout(Q, V, steps=7, step=0.002, backend="interpreter").t == 0.014


@pytest.mark.long
def test_jax_takes_adaptive_steps(robot):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    try:
        run = robot.simulate(Q, V, 0.05, backend="jax")
    finally:
        jax.config.update("jax_enable_x64", False)
    assert_close(run.q, robot.simulate(Q, V, 0.05).q, ITERATED)
