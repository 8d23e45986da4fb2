"""Energy: half of vᵀMv, the potential whose slope is gravity, and the power balance that their sum obeys."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.algorithms import (
    energy,
    forward_dynamics,
    gravity,
    integrate,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from dalembert.dynamics.algorithms.passive import dissipation
from laws.numeric import RATE, directions, moved, rate, rates
from tolerances import RECURSION, assert_close


def test_kinetic_energy_is_half_of_v_M_v(case):
    model, q, v, _, _ = case
    assert_close(kinetic_energy(model, q, v), 0.5 * v @ mass_matrix(model, q) @ v, RECURSION)


def test_slope_of_the_potential_energy_is_gravity(case):
    model, q, _, _, rng = case
    D = directions(rng, model.nv)
    slope = rates(lambda d: potential_energy(model, integrate(model, q, d)), D)
    assert_close(gravity(model, q) @ D, slope, RATE, scale=abs(potential_energy(model, q)))


def test_energy_changes_by_the_power_of_joint_forces_less_dissipation(case):
    model, q, v, tau, _ = case
    a = forward_dynamics(model, q, v, tau)
    changed = rate(lambda t: energy(model, *moved(model, q, v, a, t)))
    assert_close(changed, v @ (tau - dissipation(model, v)), RATE, scale=_size_of_the_terms(model, q, v, a))


def test_total_energy_is_the_sum(case):
    model, q, v, _, _ = case
    assert_close(energy(model, q, v), kinetic_energy(model, q, v) + potential_energy(model, q), RECURSION)


def _size_of_the_terms(model, q, v, a):
    """The power of inertial forces and of gravity, which cancel in the balance."""
    return np.max(np.abs(v * (mass_matrix(model, q) @ a))) + np.max(np.abs(v * gravity(model, q)))
