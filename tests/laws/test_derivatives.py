"""Derivatives are rates along velocities; the Coriolis matrix belongs to the Christoffel symbols."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.algorithms import (
    bias,
    coriolis_matrix,
    forward_dynamics,
    forward_dynamics_derivatives,
    gravity,
    integrate,
    inverse_dynamics_derivatives,
    inverse_mass_matrix,
    mass_matrix,
    rnea,
)
from laws.numeric import RATE, directions, rate, rates
from tolerances import RECURSION, SOLVE, assert_close


def test_inverse_dynamics_derivatives(case):
    model, q, v, a, rng = case
    dq, dv, da = inverse_dynamics_derivatives(model, q, v, a)
    D = directions(rng, model.nv)
    assert_close(dq @ D, rates(lambda d: rnea(model, integrate(model, q, d), v, a), D), RATE)
    assert_close(dv @ D, rates(lambda d: rnea(model, q, v + d, a), D), 100 * RATE)  # friction bends within 0.01 rad/s
    assert_close(da, mass_matrix(model, q), RECURSION)


def test_forward_dynamics_derivatives(bare):
    model, q, v, tau, rng = bare
    dq, dv, dtau = forward_dynamics_derivatives(model, q, v, tau)
    D = directions(rng, model.nv)
    assert_close(dq @ D, rates(lambda d: forward_dynamics(model, integrate(model, q, d), v, tau), D), 100 * RATE)
    assert_close(dv @ D, rates(lambda d: forward_dynamics(model, q, v + d, tau), D), 100 * RATE)
    assert_close(dtau, inverse_mass_matrix(model, q), SOLVE)


def test_coriolis_matrix_gives_the_velocity_terms(bare):
    model, q, v, _, _ = bare
    assert_close(coriolis_matrix(model, q, v) @ v, bias(model, q, v) - gravity(model, q), RECURSION, scale=10.0)


def test_mass_rate_minus_twice_coriolis_is_skew(bare):
    model, q, v, _, _ = bare
    dM = rate(lambda t: mass_matrix(model, integrate(model, q, t * v)))
    C = coriolis_matrix(model, q, v)
    assert_close(C + C.T, dM, RATE, scale=np.max(np.abs(C)))


def test_coriolis_matrix_is_linear_in_the_velocity(bare):
    model, q, v, u, _ = bare
    both = coriolis_matrix(model, q, 2.0 * v - 3.0 * u)
    assert_close(both, 2.0 * coriolis_matrix(model, q, v) - 3.0 * coriolis_matrix(model, q, u), RECURSION, scale=10.0)
