"""Inertia: parallel axes, adding, moving, parameters, and the conditions of a possible body."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import trace
from dalembert.spatial import Inertia, cross, so3
from tolerances import PRODUCT, ROUNDING, assert_close
from trees import random_mass, random_pose


def random_inertia(rng: np.random.Generator) -> Inertia:
    body = random_mass(rng)
    return Inertia.from_com(body["mass"], body["com"], body["inertia"])


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_against_a_cloud_of_point_masses(rng):
    masses, points = rng.uniform(0.1, 1.0, 7), rng.normal(size=(7, 3))
    arms = so3.skew(points)
    cloud = sum((Inertia.from_com(m, p, np.zeros((3, 3))) for m, p in zip(masses, points, strict=True)), Inertia.zero())
    assert_close(cloud.mass, masses.sum(), ROUNDING)
    assert_close(cloud.com, masses @ points / masses.sum(), PRODUCT)
    assert_close(cloud.I, np.einsum("n,nki,nkj->ij", masses, arms, arms), PRODUCT)
    V = rng.normal(size=6)
    momenta = masses[:, None] * (V[3:] + cross(V[:3], points))
    assert_close(cloud @ V, np.concatenate([cross(points, momenta).sum(0), momenta.sum(0)]), PRODUCT, 30.0)


def test_parallel_axes(rng):
    m, c, R = 2.0, rng.normal(size=3), so3.exp(rng.normal(size=3))
    diagonal = np.diag([0.3, 0.4, 0.5])
    body = Inertia.from_com(m, c, diagonal, R)
    about = R @ diagonal @ R.T
    assert_close(body.I, about + m * (c @ c * np.eye(3) - np.outer(c, c)), PRODUCT)
    assert_close(body.com, c, ROUNDING)
    assert_close(body.about_com(), about, PRODUCT, 10.0)


def test_moving_the_frame_keeps_the_energy(rng):
    body, V = random_inertia(rng), rng.normal(size=6)
    X, Y = random_pose(rng), random_pose(rng)
    moved = body.transform(X)
    assert_close(X.motion(V) @ (moved @ X.motion(V)), V @ (body @ V), PRODUCT, 10.0)
    assert_close(moved @ X.motion(V), X.force(body @ V), PRODUCT, 10.0)
    assert_close(
        moved.matrix(), np.linalg.inv(X.adjoint()).T @ body.matrix() @ np.linalg.inv(X.adjoint()), PRODUCT, 10.0
    )
    assert_close(body.transform(Y).transform(X).parameters(), body.transform(X @ Y).parameters(), PRODUCT)
    assert_close(moved.transform(X.inverse()).parameters(), body.parameters(), PRODUCT)
    assert_close(moved.com, X.point(body.com), PRODUCT)
    assert_close(moved.I, moved.I.T, 0.0)


def test_matrix_acts_as_the_inertia(rng):
    body, V = random_inertia(rng), rng.normal(size=6)
    assert_close(body.matrix() @ V, body @ V, PRODUCT)
    assert_close(body.matrix(), body.matrix().T, 0.0)
    assert np.linalg.eigvalsh(body.matrix())[0] > 0


def test_adding_is_adding_matrices(rng):
    a, b = random_inertia(rng), random_inertia(rng)
    assert_close((a + b).matrix(), a.matrix() + b.matrix(), ROUNDING)


def test_parameters_round_trip_and_order(rng):
    pi = np.arange(1.0, 11.0)
    body = Inertia.from_parameters(pi)
    assert_close(body.parameters(), pi, 0.0)
    assert body.mass == 1.0
    assert_close(body.moment, [2.0, 3.0, 4.0], 0.0)
    assert_close(body.I, [[5.0, 8.0, 9.0], [8.0, 6.0, 10.0], [9.0, 10.0, 7.0]], 0.0)


def test_massless():
    assert_close(Inertia.zero().com, np.zeros(3), 0.0)
    assert Inertia.zero().problems() == ()
    assert Inertia.from_com(1.0, (1, 2, 3), np.zeros((3, 3))).problems() == ()  # a point mass


@pytest.mark.parametrize(
    ("mass", "moments", "problem"),
    [
        (-1.0, (1, 1, 1), "mass is negative (-1 kg)"),
        (0.0, (1, 1, 1), "mass is 0 but the inertia is not"),
        (1.0, (-0.1, 1, 1), "negative principal moment (-0.1"),
        (1.0, (1, 2, 3.1), "triangle inequality: 3.1 > 1 + 2"),
        (1.0, (np.nan, 1, 1), "not finite"),
        (np.inf, (1, 1, 1), "not finite"),
    ],
)
def test_impossible_bodies(mass, moments, problem):
    R = so3.exp([0.3, 0.2, 0.9])
    problems = Inertia(mass, np.zeros(3), R @ np.diag(moments) @ R.T).problems()
    assert any(problem in found for found in problems), problems


def test_possible_bodies_far_from_the_origin_have_no_problems(rng):
    for _ in range(50):
        body = random_inertia(rng)
        assert body.problems() == ()
        assert Inertia.from_com(body.mass, (100, -50, 20), body.about_com()).problems() == ()
    rod = Inertia.from_com(1.0, (0, 0, 0), np.diag([0.0833334, 0.0833333, 0.0]))  # a thin rod printed with six digits
    assert rod.problems() == ()


def test_traced_parameters(rng):
    body, X, V = random_inertia(rng), random_pose(rng), rng.normal(size=6)

    def everything(pi):
        live = Inertia.from_parameters(pi)
        moved = live.transform(X) + live
        parts = [moved.com, np.ravel(moved.about_com()), np.ravel(moved.matrix()), moved @ V, moved.parameters()]
        return np.concatenate(parts)

    pi = body.parameters()
    assert_close(run(trace(everything, {"pi": 10}, "y"), {"pi": pi})["y"], everything(pi), PRODUCT)
