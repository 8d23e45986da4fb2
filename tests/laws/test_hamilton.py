"""Hamilton's form: the same motion as from forward dynamics, and H is the energy; flat joints, balls, a free base."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from tolerances import COMPUTED, ITERATED, REORDERED, ROUGH_SLOPE, SLOPE, SOLVE


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


def test_the_port_hamiltonian_form_is_the_same_motion(case):
    """(J − R) ∇H + B tau, J skew, R without negative directions, on joints whose velocities are not rates of q too."""
    robot, q, v, tau = case
    p, n = robot.generalized_momentum(q, v), robot.nv
    form, rates = robot.port_hamiltonian(q, p), robot.hamilton_equations(q, p, tau)
    rate = (form.structure - form.dissipation) @ form.gradient + np.concatenate([np.zeros(n), tau])
    np.testing.assert_allclose(rate, np.concatenate([rates.v, rates.p_rate]), atol=50 * SOLVE)
    np.testing.assert_array_equal(form.structure, -form.structure.T)
    np.testing.assert_array_equal(form.dissipation, form.dissipation.T)
    assert np.linalg.eigvalsh(form.dissipation).min() >= 0.0


def test_the_ports_balance_the_energy_of_a_run():
    """dH/dt = yᵀ u − ∇Hᵀ R ∇H beside the energy of a simulated motion with damping and dry friction."""
    rubbed = load("2r").edit().set_joint("shoulder", damping=2.0).set_joint("elbow", damping=0.5, friction=0.3)
    robot, tau, step = rubbed.done(), np.array([3.0, 1.0]), 2e-4
    run = robot.simulate([0.3, -0.4], [1.0, 0.5], 0.3, tau, record=step, friction="smooth", rtol=1e-11, atol=1e-12)
    H = robot.energy(run.q, run.v)
    form = robot.port_hamiltonian(run.q, robot.generalized_momentum(run.q, run.v))
    lost = np.einsum("ti,tij,tj->t", form.gradient, form.dissipation, form.gradient)
    power = run.v @ tau - lost
    assert lost.max() > 0.1
    assert H[-1] - H[0] == pytest.approx(np.trapezoid(power, run.t), abs=ROUGH_SLOPE * np.abs(power).max())
