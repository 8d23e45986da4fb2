"""Lagrange's equations, and the equilibrium of every joint in closed form, agree with recursive Newton-Euler."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert
from dalembert import DalembertError, ModelBuilder, Robot, Wrench
from dalembert.compiler.graph import trace
from dalembert.dynamics import algorithms as alg
from dalembert.dynamics.algorithms.generalized_newton_euler import equation, moving_links
from dalembert.model import KINDS
from laws.traced import evaluate
from tolerances import RECURSION, SOLVE, assert_close
from trees import ALL_KINDS, random_model, random_state

CLOSED = tuple(kind for kind in ALL_KINDS if len(KINDS[kind].stages) == 1)
GNE = "generalized-newton-euler"


def check(model, q, v, a, method, rng):
    load = {i: rng.normal(size=6) for i in range(len(model.bodies)) if rng.random() < 0.5}
    tau = alg.rnea(model, q, v, a)
    size = np.max(np.abs(tau))
    assert_close(evaluate(model, "inverse_dynamics", method, q=q, v=v, a=a), tau, RECURSION, size)
    assert_close(evaluate(model, "bias", method, q=q, v=v), alg.bias(model, q, v), RECURSION, size)
    assert_close(evaluate(model, "gravity", method, q=q), alg.gravity(model, q), RECURSION, size)
    assert_close(evaluate(model, "mass_matrix", method, q=q), alg.mass_matrix(model, q), RECURSION)
    if method == GNE:
        assert_close(alg.generalized_newton_euler(model, q, v, a, load), alg.rnea(model, q, v, a, load), RECURSION)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 10), base=st.sampled_from(["fixed", "free"]), effects=st.booleans()
)
def test_lagrange_is_newton_euler(seed, n, base, effects):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_bodies=n, base=base, effects=effects)
    check(model, *random_state(rng, model), "lagrange", rng)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 8), base=st.sampled_from(["fixed", "free"]), effects=st.booleans()
)
def test_generalized_newton_euler_is_newton_euler(seed, n, base, effects):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_bodies=n, kinds=CLOSED, base=base, effects=effects)
    check(model, *random_state(rng, model), GNE, rng)


def test_every_joint_type_by_lagrange(case):
    check(case.model, case.q, case.v, case.a, "lagrange", case.rng)


def test_external_loads_by_every_method():
    rng = np.random.default_rng(2)
    model = random_model(rng, n_bodies=4, kinds=CLOSED, base="free")
    robot, (q, v, a) = Robot(model), random_state(rng, model)
    loads = [
        Wrench(force=(1, 2, 3), torque=(0.3, 0.1, -0.2), frame="tool", point=(0.1, 0.2, -0.1), axes="world"),
        Wrench(force=(-2, 1, 0), frame=model.frames[2].name),
    ]
    tau = robot.inverse_dynamics(q, v, a, external=loads)
    assert np.max(np.abs(tau - robot.inverse_dynamics(q, v, a))) > 0.1
    for method in ("lagrange", GNE):
        assert_close(robot.inverse_dynamics(q, v, a, external=loads, method=method), tau, RECURSION)
        assert_close(robot.bias(q, v, external=loads, method=method), robot.bias(q, v, external=loads), RECURSION)


def test_methods_of_a_robot_in_batches():
    robot = dalembert.load("ur5")
    rng = np.random.default_rng(0)
    q, v, a = robot.random(rng, 5), rng.normal(size=(5, 6)), rng.normal(size=(5, 6))
    for method in ("newton-euler", "lagrange", GNE):
        tau = robot.inverse_dynamics(q, v, a, method=method)
        assert_close(tau, robot.inverse_dynamics(q, v, a), RECURSION)
        assert_close(robot.mass_matrix(q, method=method), robot.mass_matrix(q), RECURSION)
        assert_close(robot.gravity(q[0], method=method), robot.gravity(q[0]), RECURSION)
    assert sum(robot.operations("inverse_dynamics", method="lagrange").values()) < 3 * sum(
        robot.operations("inverse_dynamics").values()
    )


def test_lagrange_inside_a_function_of_ones_own():
    """Inputs may be constants, or depend on each other."""
    robot = dalembert.load("ur5")

    def swing(q):
        return robot.inverse_dynamics(2.0 * q, q, np.zeros(6), method="lagrange")

    q = np.linspace(-1, 1, 6)
    assert_close(dalembert.function(swing, robot)(q), robot.inverse_dynamics(2 * q, q, np.zeros(6)), RECURSION)


def test_one_torque_does_without_the_others():
    """The equation of the last joint takes a small part of the operations of all."""
    model = dalembert.load("ur5").model

    def last(q, v):
        row = equation(model, moving_links(model, q, v), model.bodies[-1])
        return np.concatenate([row.M[0], row.H, row.G])

    def count(f):
        return sum(trace(f, {"q": 6, "v": 6}).operations().values())

    assert count(last) < 0.4 * count(lambda q, v: np.concatenate(alg.equations(model, q, v), axis=None))
    q, v, a = np.linspace(-1, 1, 6), np.ones(6), np.arange(6.0)
    row = equation(model, moving_links(model, q, v), model.bodies[-1])
    assert_close(row.M @ a + row.H + row.G, alg.rnea(model.without("damping", "friction"), q, v, a)[-1:], RECURSION)


def test_joints_without_a_closed_form_are_named():
    builder = ModelBuilder("cardan")
    builder.add_body("shaft", parent="world", joint="universal", joint_name="cross", mass=1.0, inertia=np.eye(3))
    robot = builder.build()
    with pytest.raises(DalembertError, match="generalized-newton-euler: joint 'cross' is universal"):
        robot.inverse_dynamics([0, 0], [0, 0], [0, 0], method=GNE)


def test_unknown_method():
    robot = dalembert.load("ur5")
    zero = np.zeros(6)
    with pytest.raises(DalembertError, match="unknown method 'lagrang': did you mean 'lagrange'"):
        robot.inverse_dynamics(zero, zero, zero, method="lagrang")
    with pytest.raises(DalembertError, match="expected a name"):
        robot.gravity(zero, method=["lagrange"])
    with pytest.raises(DalembertError, match="unknown method 'lagrange'"):
        robot.operations("energy", method="lagrange")


def test_energies_conserve_what_they_should():
    """A wrong bracket of quasi-velocities would change the energy: power of inertial forces is the rate of energy."""
    rng = np.random.default_rng(4)
    model = random_model(rng, n_bodies=5, kinds=("ball", "free"), base="free", effects=False)
    q, v, _ = random_state(rng, model)
    a = alg.forward_dynamics(model, q, v, np.zeros(model.nv))
    tau = evaluate(model, "inverse_dynamics", "lagrange", q=q, v=v, a=a)
    assert_close(tau, np.zeros(model.nv), SOLVE, scale=np.max(np.abs(alg.bias(model, q, v))))
