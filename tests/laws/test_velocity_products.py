"""Forces of inertia that two velocities make together: by polarisation, by the Coriolis matrix, and in a kick."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics import algorithms as alg
from dalembert.model.aligned import aligned_frames
from dalembert.sim.system.bodies import Bodies
from dalembert.sim.system.drift import still
from dalembert.sim.system.system import System
from linkages import four_bar
from tolerances import COMPUTED, RECURSION, SOLVE, assert_close

H = 0.02  # of a kick [s]: long, so that half the change of velocities counts
COUNTS = 1e-4  # of a kick: the least share that the change of velocities within it has


def inertial(model, q, v):
    """C(q, v) v (nv,)."""
    bare = model.without("damping", "friction", "springs")
    return alg.rnea(bare, q, v, np.zeros(model.nv), gravity=np.zeros(3))


def test_velocity_products_are_what_the_sum_has_beyond_its_parts(case):
    model, q, u, v, _ = case
    beyond = inertial(model, q, u + v) - inertial(model, q, u) - inertial(model, q, v)
    assert_close(alg.velocity_product_force(model, q, u, v), beyond, RECURSION)
    assert_close(alg.velocity_product_force(model, q, v, u), beyond, RECURSION)
    assert_close(alg.velocity_product_force(model, q, v, v), 2.0 * inertial(model, q, v), RECURSION)


def test_velocity_products_are_those_of_the_coriolis_matrix(bare):
    model, q, u, v, _ = bare
    expected = alg.coriolis_matrix(model, q, u) @ v + alg.coriolis_matrix(model, q, v) @ u
    assert_close(alg.velocity_product_force(model, q, u, v), expected, RECURSION)


def kicked(model, q, v):
    """A kick of `Bodies`, and the same one from forces of inertia c(v + δ) − c(δ)."""
    system = System(model, ledger=False, impulsive=True)
    e = system.layout.packed(v, np.zeros(0), np.zeros(0), np.zeros(0))
    bodies = Bodies(system, aligned_frames(model), 0.0, H, q, e, np.zeros(0))
    applied = system.applied(0.0, q, e, np.zeros(0))

    def kick(velocity, less):
        bias = alg.bias(model.without("damping"), q, still(model, velocity)) - less
        kick = bodies.mass.forward(H * (applied.forces - bias - bodies.damping * v))
        return kick if bodies.loops is None else bodies.loops.kicked(kick, v, 0.5 * bodies.loops.rows.bias)

    half = 0.5 * bodies.change(kick(v, 0.0))
    expected = kick(v + half, inertial(model, q, still(model, half)))
    return bodies.kick(v, applied).astype(float), expected.astype(float), kick(v, 0.0).astype(float)


def test_a_kick_has_forces_of_inertia_and_friction_of_its_middle(case):
    result, expected, at_start = kicked(case.model, case.q, case.v)
    assert_close(result, expected, SOLVE)
    assert np.max(np.abs(at_start - expected)) > COUNTS * np.max(np.abs(expected))


def test_a_kick_of_a_closed_loop():
    model = four_bar().model
    result, expected, at_start = kicked(model, np.array([1.2, 1.9, 1.8]), np.array([6.0, -4.0, 5.0]))
    assert_close(result, expected, COMPUTED)
    assert np.max(np.abs(at_start - expected)) > COUNTS * np.max(np.abs(expected))
