"""Poses: group axioms, the adjoint, screw motions, and the duality of twists and wrenches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import trace
from dalembert.spatial import Pose, cross_motion, se3, so3
from tolerances import DIFFERENCE, PRODUCT, ROUNDING, STEP, assert_close

twists = arrays(float, 6, elements=st.floats(-1.7, 1.7, allow_subnormal=False))
poses = twists.map(se3.exp)


def assert_same(X: Pose, Y: Pose, tolerance: float = PRODUCT) -> None:
    assert_close(X.R, Y.R, tolerance)
    assert_close(X.p, Y.p, tolerance)


@given(poses, poses, poses)
def test_group_axioms(X, Y, Z):
    assert_same((X @ Y) @ Z, X @ (Y @ Z))
    assert_same(X @ Pose.identity(), X, 0.0)
    assert_same(X @ X.inverse(), Pose.identity())
    assert_same(Pose.from_matrix((X @ Y).matrix()), X @ Y, 0.0)
    assert_close((X @ Y).matrix(), X.matrix() @ Y.matrix(), PRODUCT)


@given(poses, poses, arrays(float, 3, elements=st.floats(-2.0, 2.0)))
def test_points(X, Y, x):
    assert_close((X @ Y).point(x), X.point(Y.point(x)), PRODUCT)
    assert_close(X.inverse().point(X.point(x)), x, PRODUCT, 4.0)


@given(poses, poses, twists)
def test_adjoint_is_a_homomorphism(X, Y, V):
    assert_close((X @ Y).adjoint(), X.adjoint() @ Y.adjoint(), PRODUCT)
    assert_close(X.adjoint() @ V, X.motion(V), PRODUCT)
    assert_close(X.inverse().adjoint() @ V, X.inverse_motion(V), PRODUCT, 4.0)
    assert_close((X @ se3.exp(V) @ X.inverse()).matrix(), se3.exp(X.motion(V)).matrix(), 4 * PRODUCT)


@given(poses, twists, twists, twists)
def test_wrenches_are_dual_to_twists(X, V, U, F):
    assert_close(X.force(F) @ X.motion(V), F @ V, PRODUCT, 20.0)
    assert_close(X.inverse_force(X.force(F)), F, PRODUCT, 8.0)
    assert_close(X.force(F), np.linalg.inv(X.adjoint()).T @ F, PRODUCT, 8.0)
    assert_close(X.motion(cross_motion(V, U)), cross_motion(X.motion(V), X.motion(U)), PRODUCT, 100.0)


@given(twists)
def test_exp_and_log(V):
    assert_close(se3.log(se3.exp(V)), V, PRODUCT, 4.0)
    assert_same(se3.exp(0.5 * V) @ se3.exp(0.5 * V), se3.exp(V))
    ahead, behind = se3.exp(STEP * V), se3.exp(-STEP * V)
    assert_close(se3.log(behind.inverse() @ ahead) / (2 * STEP), V, DIFFERENCE)


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-9, 1e-4, 0.999, 1.001, 2.5, np.pi - 1e-5, np.pi - 1e-9])
def test_log_is_accurate_from_zero_to_pi(angle):
    V = np.concatenate([angle * np.array([2.0, -1.0, 2.0]) / 3.0, [0.3, -0.5, 0.2]])
    assert_close(se3.log(se3.exp(V)), V, PRODUCT)
    reached = so3.left_jacobian(V[:3]) @ V[3:]
    assert_close(se3.exp(V).p, reached, ROUNDING)


@given(poses, poses)
def test_interpolation_is_a_screw_motion(X0, X1):
    assert_same(se3.interpolate(X0, X1, 0.0), X0)
    assert_same(se3.interpolate(X0, X1, 1.0), X1, 8 * PRODUCT)
    part = se3.log(X0.inverse() @ se3.interpolate(X0, X1, 0.3))
    assert_close(part, 0.3 * se3.log(X0.inverse() @ X1), 64 * PRODUCT)


def test_xyz_rpy():
    X = Pose.from_xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))
    assert_close(X.R, so3.from_rpy(0.1, 0.2, 0.3), 0.0)
    assert_close(X.p, [1.0, 2.0, 3.0], 0.0)


def test_traced_poses_agree_with_numbers():
    rng = np.random.default_rng(2)
    V, U, F = rng.normal(size=(3, 6))

    def everything(V, U, F):
        X = se3.exp(V)
        Y = X @ se3.exp(U).inverse()
        products = [Y.motion(U), Y.inverse_motion(U), Y.force(F), Y.inverse_force(F), se3.log(Y), Y.point(F[:3])]
        return np.concatenate([np.ravel(Y.matrix()), np.ravel(Y.adjoint()), *products])

    function = trace(everything, {"V": 6, "U": 6, "F": 6}, "y")
    assert_close(run(function, {"V": V, "U": U, "F": F})["y"], everything(V, U, F), PRODUCT)
    X = trace(lambda x: Pose.from_xyz_rpy(x[:3], x[3:]).matrix(), {"x": 6}, "y")
    assert_close(run(X, {"x": V})["y"], Pose.from_xyz_rpy(V[:3], V[3:]).matrix(), ROUNDING)
