"""Tensors under rotation, small factorisations, moments of mass: against the plain matrix formulas."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.graph import trace
from dalembert.dynamics.algorithms.mass import Mass
from dalembert.dynamics.algorithms.motion import across_joint, without_rotation
from dalembert.dynamics.algorithms.tensors import known, mirror, rotate, rotate_symmetric
from dalembert.linear import factor
from dalembert.spatial import Inertia, Pose, cross_force, so3
from tolerances import PRODUCT, SOLVE, assert_close
from trees import random_mass, random_pose


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), [1.0, 2.0, -3.0], [0.0, 0.6, 0.8]])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.7, np.pi / 2, np.pi, -2.0])  # 1e-9: the cosine is 1, the sine is not 0
def test_rotate_is_R_T_Rt(rng, axis, angle):
    R = so3.exp(angle * np.array(axis) / np.linalg.norm(axis))
    T = rng.normal(size=(3, 3))
    assert_close(rotate(R, T), R @ T @ R.T, PRODUCT)
    assert_close(rotate_symmetric(R, T + T.T), R @ (T + T.T) @ R.T, PRODUCT)


def test_rotating_about_an_axis_is_traced_in_few_operations():
    def turned(q, t):
        R = so3.about_axis(np.array([0.0, 0.0, 1.0]), q[0])
        return rotate_symmetric(R, t[np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])])

    counts = trace(turned, {"q": 1, "t": 6}).operations()
    assert sum(counts.values()) - counts["sin"] - counts["cos"] <= 16  # the matrix products take 63


def test_mirror_copies_the_upper_triangle():
    T = mirror(np.arange(9.0).reshape(3, 3))
    assert np.array_equal(T, [[0, 1, 2], [1, 4, 5], [2, 5, 8]])


def test_known_numbers_and_traced_ones():
    seen = []
    trace(lambda q: seen.append(known(np.array([1.0, q[0], q[0] * 0.0], object))) or q, {"q": 1})
    assert np.array_equal(seen[0], [1.0, np.nan, 0.0], equal_nan=True)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_factor_solves(rng, n):
    A = rng.normal(size=(n, n + 2))
    A, b = A @ A.T, rng.normal(size=(n, 4))
    lower = factor(np.tril(A) + np.triu(np.full((n, n), np.nan), 1))  # the upper triangle is not read
    assert_close(A @ lower.solve(b), b, SOLVE)
    assert_close(A @ lower.solve(b[:, 0]), b[:, 0], SOLVE)


def test_moments_of_mass_are_the_inertia_in_other_words(rng):
    given, X, V = random_mass(rng), random_pose(rng), rng.normal(size=6)
    inertia = Inertia.from_com(given["mass"], given["com"], given["inertia"])
    mass = Mass.of(inertia)
    assert_close(mass.inertia().matrix(), inertia.matrix(), PRODUCT)
    assert_close(mass.momentum(V), inertia.matrix() @ V, PRODUCT)
    assert_close(mass.seen_from(X).inertia().matrix(), inertia.transform(X).matrix(), PRODUCT)
    assert_close(mass.plus(mass).minus(mass).inertia().matrix(), inertia.matrix(), PRODUCT)


def test_wrench_is_newton_and_euler(rng):
    """f = m c̈ and the moment about the centre of mass I ω̇ + ω × I ω, moved to the origin."""
    given = random_mass(rng)
    m, c, I = given["mass"], given["com"], given["inertia"]
    w, dw, a = rng.normal(size=(3, 3))
    motion = across_joint(without_rotation(a), Pose.identity(), np.array([*w, 0, 0, 0]), np.array([*dw, 0, 0, 0]))
    f = m * (a + np.cross(dw, c) + np.cross(w, np.cross(w, c)))
    n = I @ dw + np.cross(w, I @ w) + np.cross(c, f)
    assert_close(Mass.of(Inertia.from_com(m, c, I)).wrench(motion.a, motion.E), [*n, *f], PRODUCT)


def test_motion_across_a_joint_is_the_spatial_recursion(rng):
    """The classical recursion against the spatial one: A_B = X A_P + A_J + V_B × V_J, classical = spatial + ω × v."""
    X, V_P, V_J, A_J = random_pose(rng), *rng.normal(size=(3, 6))
    A_P = rng.normal(size=6)
    R, w_P = X.R, V_P[:3]
    classical_P = A_P[3:] + np.cross(w_P, V_P[3:])
    parent = across_joint(without_rotation(np.zeros(3)), Pose.identity(), V_P, A_P)
    assert_close(parent.a, classical_P, PRODUCT)
    V_B = X.inverse_motion(V_P) + V_J
    # crm(V) = -crf(V)ᵀ
    crm = -np.stack([cross_force(V_B, e) for e in np.eye(6)], axis=1).T
    A_B = X.inverse_motion(A_P) + A_J + crm @ V_J
    child = across_joint(parent, X, V_J, A_J)
    assert_close(child.w, R.T @ w_P + V_J[:3], PRODUCT)
    assert_close(child.alpha, A_B[:3], PRODUCT)
    assert_close(child.a, A_B[3:] + np.cross(V_B[:3], V_B[3:]), PRODUCT)
