"""Joints that follow others: the free tree with its coordinates tied, q' = G q + g, and all that follows from G."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalembert.dynamics import algorithms as alg
from dalembert.model import Coupled
from laws.numeric import RATE, moved, rate
from tolerances import COMPUTED, RECURSION, SOLVE, assert_close
from trees import random_model, random_state

POINT = np.array([0.1, -0.2, 0.3])


@pytest.fixture(params=[False, True], ids=["bare", "effects"])
def tied(request, seed, base):
    """A coupled tree and one state of it."""
    rng = np.random.default_rng([5, seed, base == "free", request.param])
    model = random_model(rng, n_bodies=14, base=base, effects=request.param, coupled=True)
    assert model.coupled
    return model, *random_state(rng, model)


def untied(model):
    """The same tree, its joints independent."""
    bodies, nq, nv = [], 0, 0
    for body in model.bodies:
        joint = body.joint.joint if isinstance(body.joint, Coupled) else body.joint
        bodies.append(replace(body, joint=joint, q=slice(nq, nq + joint.nq), v=slice(nv, nv + joint.nv)))
        nq, nv = nq + joint.nq, nv + joint.nv
    return replace(model, bodies=tuple(bodies))


def tie(model, free, q):
    """q' (nq',) of the free tree and G (nv', nv) with v' = G v."""
    q_free, G = np.full(free.nq, np.nan), np.zeros((free.nv, model.nv))
    for body, loose in zip(model.bodies, free.bodies, strict=True):
        joint, q_i = body.joint, q[body.q]
        follows = isinstance(joint, Coupled)
        q_free[loose.q] = joint.ratio * q_i + joint.offset if follows else q_i
        G[loose.v, body.v] = joint.ratio if follows else np.eye(joint.nv)
    return q_free, G


def test_dynamics_is_that_of_the_free_tree_projected(tied):
    model, q, v, a = tied
    free = untied(model)
    p, G = tie(model, free, q)
    assert free.nv == len(G) > model.nv == np.linalg.matrix_rank(G)
    assert_close(alg.mass_matrix(model, q), G.T @ alg.mass_matrix(free, p) @ G, RECURSION)
    assert_close(alg.rnea(model, q, v, a), G.T @ alg.rnea(free, p, G @ v, G @ a), RECURSION)
    assert_close(alg.bias(model, q, v), G.T @ alg.bias(free, p, G @ v), RECURSION)
    assert_close(alg.gravity(model, q), G.T @ alg.gravity(free, p), RECURSION)
    assert_close(alg.coriolis_matrix(model, q, v), G.T @ alg.coriolis_matrix(free, p, G @ v) @ G, RECURSION)
    assert_close(alg.energy(model, q, v), alg.energy(free, p, G @ v), RECURSION)
    ours = alg.inverse_dynamics_derivatives(model, q, v, a)
    theirs = alg.inverse_dynamics_derivatives(free, p, G @ v, G @ a)
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine, G.T @ other @ G, RECURSION)


def test_forward_dynamics_obeys_the_coupling_with_forces_that_do_no_work(tied):
    """The free tree at a' = G a needs forces whose sum at each coordinate is the given one."""
    model, q, v, tau = tied
    free = untied(model)
    p, G = tie(model, free, q)
    a = alg.forward_dynamics(model, q, v, tau)
    needed = alg.rnea(free, p, G @ v, G @ a)
    assert_close(G.T @ needed, tau, SOLVE, scale=np.max(np.abs(needed)))


def test_kinematics_is_that_of_the_free_tree_projected(tied):
    model, q, v, a = tied
    free = untied(model)
    p, G = tie(model, free, q)
    tool, loose = model.frame("tool"), free.frame("tool")
    for X, Y in zip(alg.poses(model, q), alg.poses(free, p), strict=True):
        assert_close(X.matrix(), Y.matrix(), RECURSION)
    assert_close(alg.center_of_mass(model, q), alg.center_of_mass(free, p), RECURSION)
    for axes in ("world", "body"):
        J, dJ = alg.jacobian(free, p, loose, POINT, axes), alg.jacobian_rate(free, p, G @ v, loose, POINT, axes)
        assert_close(alg.jacobian(model, q, tool, POINT, axes), J @ G, RECURSION)
        assert_close(alg.jacobian_rate(model, q, v, tool, POINT, axes), dJ @ G, RECURSION)
        assert_close(
            alg.acceleration(model, q, v, a, tool, POINT, axes),
            alg.acceleration(free, p, G @ v, G @ a, loose, POINT, axes),
            RECURSION,
        )


def test_derivatives_are_rates(tied):
    model, q, v, a = tied
    tau, d = alg.rnea(model, q, v, a), np.random.default_rng(2).normal(size=model.nv)
    for f, x, derivatives in (
        (alg.rnea, a, alg.inverse_dynamics_derivatives(model, q, v, a)),
        (alg.forward_dynamics, tau, alg.forward_dynamics_derivatives(model, q, v, tau)),
    ):
        rates = (
            rate(lambda t, f=f, x=x: f(model, alg.integrate(model, q, t * d), v, x)),
            rate(lambda t, f=f, x=x: f(model, q, v + t * d, x)),
            rate(lambda t, f=f, x=x: f(model, q, v, x + t * d)),
        )
        for found, expected in zip(derivatives, rates, strict=True):
            assert_close(found @ d, expected, 10 * RATE, scale=np.max(np.abs(derivatives)))


def test_coriolis_matrix_makes_the_rate_of_the_mass_matrix_skew(tied):
    model, q, v, a = tied
    rate_of_M = rate(lambda t: alg.mass_matrix(model, moved(model, q, v, 0.0 * a, t)[0]))
    N = rate_of_M - 2.0 * alg.coriolis_matrix(model, q, v)
    assert_close(N, -N.T, RATE, scale=np.max(np.abs(N)))


def test_configurations_have_one_coordinate_per_leader(tied):
    model, q, v, _ = tied
    rng = np.random.default_rng(1)
    assert model.nv == sum(body.joint.nv for body in model.independent)
    assert alg.neutral(model).shape == (model.nq,)
    assert_close(alg.difference(model, q, alg.integrate(model, q, 0.5 * v)), 0.5 * v, RECURSION)
    assert_close(alg.normalize(model, q), q, RECURSION)
    samples = alg.random(model, rng, 50)
    for body in model.bodies:
        joint, x = body.joint, samples[:, body.q]
        if isinstance(joint, Coupled):
            joint, x = joint.joint, joint.ratio * x + joint.offset
        assert np.all((x >= joint.lower - COMPUTED) & (x <= joint.upper + COMPUTED))
