"""Configurations: q ⊕ v and its inverse over every joint type."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.dynamics import algorithms as alg
from tolerances import DIFFERENCE, RECURSION, ROUNDING, STEP, assert_close
from trees import random_model, random_state


@pytest.fixture(params=range(3))
def model(request):
    return random_model(request.param, n_bodies=10, base="free")


def test_difference_undoes_integrate(model):
    rng = np.random.default_rng(3)
    q, v = alg.random(model, rng), rng.normal(size=model.nv)
    assert_close(alg.difference(model, q, alg.integrate(model, q, v)), v, RECURSION)


def test_integrate_undoes_difference(model):
    q0, q1 = alg.random(model, np.random.default_rng(4), 2)
    reached = alg.integrate(model, q0, alg.difference(model, q0, q1))
    assert_close(alg.difference(model, reached, q1), np.zeros(model.nv), RECURSION)  # q and -q are one rotation


def test_interpolate_meets_both_ends_and_halves_the_way(model):
    q0, q1 = alg.random(model, np.random.default_rng(5), 2)
    way = alg.difference(model, q0, q1)
    for s in (0.0, 0.5, 1.0):
        assert_close(alg.difference(model, q0, alg.interpolate(model, q0, q1, s)), s * way, RECURSION)


def test_neutral_puts_bodies_into_their_joint_frames(model):
    X = alg.poses(model, alg.neutral(model))
    for body in model.bodies:
        at_joint = body.placement if body.parent < 0 else X[body.parent] @ body.placement
        assert_close(X[body.index].matrix(), at_joint.matrix(), RECURSION)


def test_random_shapes_and_limits(model):
    rng = np.random.default_rng(6)
    assert alg.random(model, rng).shape == (model.nq,)
    samples = alg.random(model, rng, 50)
    assert samples.shape == (50, model.nq)
    lower, upper = (np.concatenate([getattr(body.joint, side) for body in model.bodies]) for side in ("lower", "upper"))
    assert np.all((samples >= lower) & (samples <= upper))


def test_normalize_repairs_quaternions_and_leaves_the_rest(model):
    q = alg.random(model, np.random.default_rng(7))
    stretched = q.copy()
    for body in model.bodies:
        if body.joint.nq != body.joint.nv:
            stretched[body.q][-4:] *= 1.7
    assert not np.allclose(stretched, q)
    assert_close(alg.normalize(model, stretched), q, RECURSION)


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_rate_of_the_coordinates(base):
    rng = np.random.default_rng(1)
    model = random_model(rng, n_bodies=10, base=base)
    q, v, _ = random_state(rng, model)
    ahead, behind = alg.integrate(model, q, STEP * v), alg.integrate(model, q, -STEP * v)
    rate = alg.coordinate_rate(model, q, v)
    assert_close(rate, (ahead - behind) / (2 * STEP), DIFFERENCE)
    D = rng.normal(size=(2, model.nq))
    assert_close(alg.along_velocities(model, q, D) @ v, D @ rate, 100 * ROUNDING)
