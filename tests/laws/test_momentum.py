"""Centroidal momentum: the sum over the bodies, linear in v, and changed by what acts from outside."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.algorithms import (
    center_of_mass,
    centroidal_momentum,
    centroidal_momentum_matrix,
    centroidal_momentum_rate,
    composite_inertia,
    poses,
    reaction_wrenches,
    velocity,
)
from dalembert.spatial import Inertia, Pose
from laws.numeric import RATE, moved, rate
from tolerances import RECURSION, assert_close


def about(model, q, X):
    """The pose seen from the centre of mass, in world axes."""
    return Pose(X.R, X.p - center_of_mass(model, q))


def test_momentum_is_the_sum_over_the_bodies(case):
    model, q, v, _, _ = case
    total = np.zeros(6)
    for body, X in zip(model.bodies, poses(model, q), strict=True):
        V = velocity(model, q, v, model.frames[body.index], axes="body")
        total += about(model, q, X).force(body.inertia @ V)
    assert_close(centroidal_momentum(model, q, v), total, RECURSION)


def test_matrix_times_velocity_is_the_momentum(case):
    model, q, v, _, _ = case
    assert_close(centroidal_momentum_matrix(model, q) @ v, centroidal_momentum(model, q, v), RECURSION)


def test_rate_of_the_momentum(case):
    model, q, v, a, _ = case
    expected = rate(lambda t: centroidal_momentum(model, *moved(model, q, v, a, t)))
    assert_close(centroidal_momentum_rate(model, q, v, a), expected, RATE)


def test_ground_and_weight_change_the_momentum(case):
    model, q, v, a, _ = case
    ground = about(model, q, poses(model, q)[0]).force(reaction_wrenches(model, q, v, a)[0])
    weight = np.concatenate([np.zeros(3), sum(body.inertia.mass for body in model.bodies) * model.gravity])
    assert_close(centroidal_momentum_rate(model, q, v, a), ground + weight, RECURSION, scale=np.max(np.abs(weight)))


def test_composite_inertia_is_the_sum_over_the_bodies(case):
    model, q, _, _, _ = case
    seen = [b.inertia.transform(about(model, q, X)) for b, X in zip(model.bodies, poses(model, q), strict=True)]
    assert_close(composite_inertia(model, q), sum(seen, Inertia.zero()).matrix(), RECURSION)


def test_a_free_base_moves_the_whole_robot(floating):
    """Columns of the free base: the composite inertia on the base's twist, seen from the centre of mass."""
    model, q, _, _, _ = floating
    twists = about(model, q, poses(model, q)[0]).adjoint()
    assert_close(centroidal_momentum_matrix(model, q)[:, :6], composite_inertia(model, q) @ twists, RECURSION)
