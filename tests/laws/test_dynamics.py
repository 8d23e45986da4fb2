"""Inverse dynamics, forward dynamics, mass matrix and its inverse are four views of one equation of motion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.dynamics.algorithms import aba, bias, forward_dynamics, gravity, inverse_mass_matrix, mass_matrix, rnea
from dalembert.dynamics.algorithms.forward_dynamics import MassSolver
from dalembert.model import Coupled
from tolerances import RECURSION, SOLVE, assert_close
from trees import random_model, random_state


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    base=st.sampled_from(["fixed", "free"]),
    effects=st.booleans(),
    coupled=st.booleans(),
)
def test_forward_dynamics_inverts_inverse_dynamics(seed, n, base, effects, coupled):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_bodies=n, base=base, effects=effects, coupled=coupled)
    q, v, a = random_state(rng, model)
    external = {i: rng.normal(size=6) for i in range(len(model.bodies)) if rng.random() < 0.5}
    tau = rnea(model, q, v, a, external)
    assert_close(forward_dynamics(model, q, v, tau, external), a, SOLVE)


def test_inverse_dynamics_inverts_forward_dynamics(case):
    model, q, v, tau, _ = case
    a = forward_dynamics(model, q, v, tau)
    assert_close(rnea(model, q, v, a), tau, SOLVE, scale=np.max(np.abs(mass_matrix(model, q) @ a)))


def test_columns_of_the_mass_matrix_are_inverse_dynamics_of_unit_accelerations(case):
    model, q, v, _, _ = case
    rest = bias(model, q, v)
    columns = [rnea(model, q, v, unit) - rest for unit in np.eye(model.nv)]
    assert_close(mass_matrix(model, q), np.stack(columns, axis=1), RECURSION, scale=np.max(np.abs(rest)))


def test_mass_matrix_is_symmetric_and_positive_definite(case):
    M = mass_matrix(case.model, case.q)
    assert np.array_equal(M, M.T)
    assert np.all(np.linalg.eigvalsh(M) > 0.0)


def test_inverse_mass_matrix_times_mass_matrix_is_one(case):
    inverse = inverse_mass_matrix(case.model, case.q)
    assert np.array_equal(inverse, inverse.T)
    assert_close(inverse @ mass_matrix(case.model, case.q), np.eye(case.model.nv), SOLVE)


def test_forward_dynamics_is_the_inverse_mass_matrix_times_the_rest_of_the_equation(case):
    model, q, v, tau, _ = case
    assert_close(forward_dynamics(model, q, v, tau), inverse_mass_matrix(model, q) @ (tau - bias(model, q, v)), SOLVE)


@pytest.mark.parametrize("effects", [False, True])
def test_articulated_bodies_and_the_factored_mass_matrix_give_the_same_accelerations(effects, seed, base):
    rng = np.random.default_rng(seed)
    model = random_model(rng, base=base, effects=effects)
    q, v, tau = random_state(rng, model)
    assert_close(aba(model, q, v, tau), MassSolver(model, q).solve(tau - bias(model, q, v)), SOLVE)


def test_inertial_forces_are_quadratic_in_the_velocity(bare):
    model, q, v, _, _ = bare
    once, thrice = (bias(model, q, k * v) - gravity(model, q) for k in (1.0, 3.0))
    assert_close(thrice, 9.0 * once, RECURSION, scale=np.max(np.abs(gravity(model, q))))


def test_joint_effects_add_what_their_definition_says(case):
    model, q, v, a, _ = case
    own = np.zeros(model.nv)
    for body in model.bodies:
        j, ratio, q_i = body.joint, 1.0, q[body.q]
        if isinstance(j, Coupled):
            j, ratio, q_i = j.joint, j.ratio, j.ratio * q_i + j.offset
        v_i, a_i = ratio * v[body.v], ratio * a[body.v]
        spring = j.stiffness * j.difference(j.rest, q_i)
        level = j.friction + j.stribeck * np.exp(-((v_i / j.stribeck_speed) ** 2))
        force = j.armature * a_i + j.damping * v_i + level * np.tanh(v_i / j.slip_speed) + spring
        own[body.v] += ratio * force
    bare = model.without("armature", "damping", "friction", "springs")
    tau = rnea(bare, q, v, a)
    assert_close(rnea(model, q, v, a), tau + own, RECURSION)
    assert_close(gravity(model, q), rnea(model, q, 0.0 * v, 0.0 * a), RECURSION)
