"""Regressors: exact for the model's own parameters and for any others, and zero where nothing is carried."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.algorithms import (
    energy,
    energy_regressor,
    mass_matrix,
    momentum_regressor,
    rnea,
    torque_regressor,
)
from laws.numeric import RATE, moved, rate
from tolerances import RECURSION, assert_close

BARE = ("friction", "damping", "armature", "springs")


def models(case):
    """The bare model, and one with parameters that belong to no possible body."""
    bare = case.model.without(*BARE)
    return bare, bare.with_parameters(case.rng.normal(size=bare.parameters().size))


def test_torque(case):
    _, q, v, a, _ = case
    Y = torque_regressor(case.model, q, v, a)
    for model in models(case):
        assert_close(Y @ model.parameters(), rnea(model, q, v, a), RECURSION)


def test_generalised_momentum(case):
    _, q, v, _, _ = case
    Y = momentum_regressor(case.model, q, v)
    for model in models(case):
        assert_close(Y @ model.parameters(), mass_matrix(model, q) @ v, RECURSION)


def test_energy(case):
    _, q, v, _, _ = case
    y = energy_regressor(case.model, q, v)
    for model in models(case):
        size = np.max(np.abs(y * model.parameters()))  # of terms that cancel
        assert_close(y @ model.parameters(), energy(model, q, v), RECURSION, scale=size)


def test_energy_changes_by_the_power_of_the_torque(case):
    """dE/dt = vᵀ tau holds parameter by parameter."""
    model, q, v, a, _ = case
    changed = rate(lambda t: energy_regressor(model, *moved(model, q, v, a, t)))
    assert_close(v @ torque_regressor(model, q, v, a), changed, RATE, scale=100.0)


def test_rows_are_zero_for_bodies_that_a_joint_does_not_carry(case):
    model, q, v, a, _ = case
    carried = np.zeros((model.nv, len(model.bodies)), bool)
    for body in model.bodies:
        index = body.index
        while index >= 0:
            carried[model.bodies[index].v, body.index] = True
            index = model.bodies[index].parent
    for Y in (torque_regressor(model, q, v, a), momentum_regressor(model, q, v)):
        assert not np.any(Y.reshape(model.nv, -1, 10)[~carried])
        assert np.all(np.any(Y.reshape(model.nv, -1, 10), axis=2)[carried])
