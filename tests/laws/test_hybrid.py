"""Hybrid dynamics lies between inverse and forward dynamics, and agrees with both."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, Wrench, load
from dalembert.dynamics.algorithms import forward_dynamics, hybrid_dynamics, rnea
from tolerances import RECURSION, SOLVE, assert_close


def names(model):
    return [body.joint.name for body in model.independent if body.joint.nv]


def mixed(case, given):
    """The known half of (a, tau), consistent with the state of the case."""
    model, q, v, a, _ = case
    tau = rnea(model, q, v, a)
    known = tau.copy()
    for name in given:
        known[model.joint(name).v] = a[model.joint(name).v]
    return known, a, tau


def test_half_of_the_answer_gives_the_other_half(case):
    model, q, v, _, rng = case
    for _ in range(3):
        given = [name for name in names(model) if rng.random() < 0.5]
        known, a, tau = mixed(case, given)
        found_a, found_tau = hybrid_dynamics(model, q, v, known, given)
        assert_close(found_a, a, SOLVE)
        assert_close(found_tau, tau, SOLVE)
        for name in names(model):  # what was given is handed back untouched
            given_row = found_a if name in given else found_tau
            assert np.array_equal(given_row[model.joint(name).v], known[model.joint(name).v])


def test_ends_are_forward_and_inverse_dynamics(case):
    model, q, v, x, rng = case
    external = {len(model.bodies) - 1: rng.normal(size=6)}
    a, tau = hybrid_dynamics(model, q, v, x, (), external)
    assert_close(a, forward_dynamics(model, q, v, x, external), SOLVE)
    assert np.array_equal(tau, x)
    a, tau = hybrid_dynamics(model, q, v, x, names(model), external)
    assert np.array_equal(a, x)
    assert_close(tau, rnea(model, q, v, x, external), RECURSION)


def test_compiled_is_the_same(floating):
    model, q, v, _, _ = floating
    given = names(model)[::2]
    known, a, tau = mixed(floating, given)
    made = Robot(model).hybrid_dynamics(q, v, known, accelerations=given)
    assert_close(made.a, a, SOLVE)
    assert_close(made.tau, tau, SOLVE)


def test_falling_robot_that_moves_its_legs_as_told():
    """The usual case: the base is free (no force), the joints are driven to given accelerations."""
    robot, rng = load("quadruped"), np.random.default_rng(2)
    q, v = robot.random(rng, 4), rng.normal(size=(4, robot.nv))
    base, legs = robot.joints[0], [joint.name for joint in robot.joints[1:]]
    known = rng.normal(size=(4, robot.nv))
    known[:, base.v] = 0.0
    push = Wrench(force=(1.0, 2.0, 3.0), frame="RL_foot", axes="world")
    a, tau = robot.hybrid_dynamics(q, v, known, accelerations=legs, external=[push])
    assert np.all(tau[:, base.v] == 0.0)
    assert_close(robot.inverse_dynamics(q, v, a, external=[push]), tau, SOLVE)
    assert_close(robot.forward_dynamics(q, v, tau, external=[push]), a, SOLVE)


def test_errors_name_the_joint():
    robot = load("2r")
    with pytest.raises(DalembertError, match="unknown joint 'elbw': did you mean 'elbow'"):
        robot.hybrid_dynamics(np.zeros(2), np.zeros(2), np.zeros(2), accelerations=["elbw"])
    builder = ModelBuilder("ghost")
    builder.add_body("ghost", parent="world", joint="revolute", joint_name="hinge")
    ghost = builder.build()
    with pytest.raises(DalembertError, match="'hinge' moves no mass"):
        ghost.hybrid_dynamics(np.zeros(1), np.zeros(1), np.zeros(1), accelerations=())
    assert ghost.hybrid_dynamics(np.zeros(1), np.zeros(1), np.ones(1), accelerations="hinge").tau == 0.0
