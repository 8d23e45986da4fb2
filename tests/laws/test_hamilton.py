"""Hamilton's form: the same motion as from forward dynamics, and H is the energy; flat joints, balls, a free base."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from tolerances import COMPUTED, ITERATED, REORDERED, SLOPE, SOLVE


@pytest.fixture(scope="module", params=["2r", "quadrotor", "quadruped"])
def case(request):
    robot, rng = load(request.param), np.random.default_rng(5)
    return robot, robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def test_hamiltonian_is_the_energy(case):
    robot, q, v, _ = case
    p = robot.generalized_momentum(q, v)
    np.testing.assert_allclose(p, robot.mass_matrix(q) @ v, rtol=COMPUTED, atol=REORDERED)
    assert robot.hamiltonian(q, p) == pytest.approx(robot.energy(q, v), rel=COMPUTED)


def test_rates_are_those_of_forward_dynamics(case):
    robot, q, v, tau = case
    a, e = robot.forward_dynamics(q, v, tau), 1e-6
    rates = robot.hamilton_equations(q, robot.generalized_momentum(q, v), tau)
    np.testing.assert_allclose(rates.v, v, atol=ITERATED)
    after, before = (
        robot.generalized_momentum(robot.integrate(q, v * t + 0.5 * a * t * abs(t)), v + a * t) for t in (e, -e)
    )
    numeric = (after - before) / (2.0 * e)
    np.testing.assert_allclose(rates.p_rate, numeric, atol=10 * SLOPE * max(1.0, np.abs(numeric).max()))


def test_derivatives_balance_the_power(case):
    """dH/dt = ∂H/∂q · v + ∂H/∂p · ṗ is the power of the forces, since [v, p] does no work."""
    robot, q, v, tau = case
    bare = robot.without("friction", "damping")
    p = bare.generalized_momentum(q, v)
    slopes, rates = bare.hamiltonian_derivatives(q, p), bare.hamilton_equations(q, p, tau)
    np.testing.assert_allclose(slopes.dp, v, atol=ITERATED)
    assert slopes.dq @ rates.v + slopes.dp @ rates.p_rate == pytest.approx(tau @ v, abs=50 * SOLVE)
    for body in robot.model.independent:
        if body.joint.flat:
            np.testing.assert_allclose(rates.p_rate[body.v], (tau - slopes.dq)[body.v], atol=50 * SOLVE)
