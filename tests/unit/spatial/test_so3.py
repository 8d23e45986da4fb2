"""Rotations: group axioms, exp and log through the singularities, quaternions, angles, batches, traced derivatives."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import trace
from dalembert.compiler.graph.differentiate import jacobian, vjp
from dalembert.spatial import cross, cross_force, cross_motion, smooth, so3
from dalembert.spatial.vectors import dot
from tolerances import DIFFERENCE, PRODUCT, ROUNDING, STEP, assert_close

vectors = arrays(float, 3, elements=st.floats(-3.0, 3.0, allow_subnormal=False))
quaternions = vectors.map(so3.quaternion_exp)
ANGLES = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.9999, 1.0, 1.0001, 1.9999, 2.0001, 3.0]
NEAR_PI = [np.pi - d for d in (1e-2, 1e-5, 1e-8, 1e-12, 1e-15, 0.0)]
DIRECTIONS = [np.array(a) / np.linalg.norm(a) for a in ((1, 0, 0), (0, 0, -1), (1, 2, -3), (0, 1, 1), (-5, 1e-9, 2))]


def series(first: int, x: Fraction) -> Fraction:
    """Σ (-1)ᵏ xᵏ / (2k + first)!, exact in rational numbers up to a remainder below 1e-30 for x < 10."""
    return sum((Fraction((-1) ** k, factorial(2 * k + first)) * x**k for k in range(30)), Fraction(0))


@pytest.mark.parametrize("angle", ANGLES + NEAR_PI)
def test_smooth_functions_against_exact_series(angle):
    square = angle * angle
    x = Fraction(square)
    s, c = series(1, x / 4), series(0, x / 4)
    excess = series(3, x)
    for value, exact in (
        (smooth.half_angle(square)[0], s),
        (smooth.versine_ratio(square), s * s / 2),
        (smooth.sine_excess_ratio(square), excess),
        (smooth.cotangent_ratio(square), (1 - c / s) / x if x else Fraction(1, 12)),
    ):
        assert_close(value, float(exact), ROUNDING if angle < 1.0 else 2 * ROUNDING, scale=0.0)
    # these two vanish near π, where the rounding of θ² alone moves them by an ulp of 1
    assert_close(smooth.half_angle(square)[1], float(c), ROUNDING)
    assert_close(smooth.sinc(square), float(s * c), ROUNDING)


def test_no_warnings_at_zero_nor_far_away():
    with np.errstate(all="raise"):
        assert np.all(np.isfinite(so3.exp([1e40, 0.0, 0.0])))
        for function in (so3.exp, so3.quaternion_exp, so3.left_jacobian, so3.left_jacobian_inverse):
            assert np.all(np.isfinite(function(np.zeros(3))))
        assert_close(so3.log(np.eye(3)), np.zeros(3), 0.0)


@given(vectors, vectors)
def test_cross_is_skew_and_perpendicular(a, b):
    assert_close(so3.skew(a) @ b, cross(a, b), ROUNDING, 9.0)
    assert_close(cross(a, b), np.cross(a, b), ROUNDING, 9.0)
    assert_close(so3.skew(a), -so3.skew(a).T, 0.0)


@given(arrays(float, (3, 6), elements=st.floats(-3.0, 3.0)))
def test_motion_and_force_products_are_dual(VUF):
    V, U, F = VUF
    assert_close(cross_motion(V, U) @ F, -(U @ cross_force(V, F)), PRODUCT, 100.0)
    assert_close(cross_motion(V, U), -cross_motion(U, V), ROUNDING, 9.0)


@given(quaternions, quaternions, quaternions)
def test_group_axioms(p, q, r):
    multiply, matrix = so3.quaternion_multiply, so3.from_quaternion
    one = np.array([1.0, 0.0, 0.0, 0.0])
    assert_close(multiply(multiply(p, q), r), multiply(p, multiply(q, r)), PRODUCT)
    assert_close(multiply(p, one), p, 0.0)
    assert_close(multiply(p, so3.quaternion_conjugate(p)), one, ROUNDING)
    assert_close(matrix(multiply(p, q)), matrix(p) @ matrix(q), PRODUCT)
    assert_close(matrix(p).T @ matrix(p), np.eye(3), PRODUCT)
    assert np.linalg.det(matrix(p)) > 0


@pytest.mark.parametrize("angle", ANGLES + NEAR_PI)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_log_undoes_exp(angle, direction):
    w = angle * direction
    for back in (so3.quaternion_log(so3.quaternion_exp(w)), so3.log(so3.exp(w))):
        flipped = angle > np.pi - 1e-12 and back @ w < 0  # at π both signs are the same rotation
        assert_close(-back if flipped else back, w, PRODUCT, scale=0.0)
        assert np.linalg.norm(back) <= np.pi * (1 + ROUNDING)


@pytest.mark.parametrize("angle", ANGLES + NEAR_PI)
def test_exp_is_a_rotation_and_agrees_with_the_quaternion(angle):
    w = angle * DIRECTIONS[2]
    R = so3.exp(w)
    assert_close(R.T @ R, np.eye(3), PRODUCT)
    assert_close(R, so3.from_quaternion(so3.quaternion_exp(w)), PRODUCT)
    assert_close(R, so3.about_axis(DIRECTIONS[2], angle), PRODUCT)


def test_exp_of_many_turns():
    w = 20.0 * DIRECTIONS[2]
    assert_close(so3.exp(w), so3.about_axis(DIRECTIONS[2], 20.0), PRODUCT)


@given(quaternions)
def test_quaternion_and_matrix_round_trip(q):
    back = so3.to_quaternion(so3.from_quaternion(q))
    assert back[0] >= 0
    assert_close(back * np.sign(back @ q), q, ROUNDING)
    assert_close(so3.quaternion_log(-q), so3.quaternion_log(q), 0.0)
    assert_close(so3.quaternion_normalize(-3.0 * q), -q, ROUNDING)


@pytest.mark.parametrize("q", np.eye(4))
def test_half_turns_about_the_axes(q):
    assert_close(so3.to_quaternion(so3.from_quaternion(q)), q, 0.0)


@pytest.mark.parametrize(
    "pitch", [0.0, 0.3, -1.2, *(s * (np.pi / 2 - d) for s in (1, -1) for d in (1e-4, 1e-8, 1e-12, 0))]
)
def test_rpy_round_trip_also_at_gimbal_lock(pitch):
    R = so3.from_rpy(0.4, pitch, -1.1)
    assert_close(
        R, so3.about_axis((0, 0, 1), -1.1) @ so3.about_axis((0, 1, 0), pitch) @ so3.about_axis((1, 0, 0), 0.4), PRODUCT
    )
    angles = so3.to_rpy(R)
    assert_close(so3.from_rpy(*angles), R, PRODUCT)
    if abs(pitch) < 1.5:
        assert_close(angles, [0.4, pitch, -1.1], PRODUCT)


@given(vectors, vectors)
def test_jacobians(w, dw):
    moved = so3.exp(w + STEP * dw) @ so3.exp(w - STEP * dw).T
    assert_close(so3.log(moved) / (2 * STEP), so3.left_jacobian(w) @ dw, DIFFERENCE, 3.0)
    assert_close(so3.exp(w) @ so3.right_jacobian(w), so3.left_jacobian(w), PRODUCT)
    assert_close(so3.left_jacobian_inverse(w) @ so3.left_jacobian(w), np.eye(3), 64 * PRODUCT)  # nears 2π: |w| < 5.2
    assert_close(so3.right_jacobian_inverse(w) @ so3.right_jacobian(w), np.eye(3), 64 * PRODUCT)


@given(quaternions, quaternions)
def test_interpolation(p, q):
    R0, R1 = so3.from_quaternion(p), so3.from_quaternion(q)
    assert_close(so3.interpolate(R0, R1, 0.0), R0, PRODUCT)
    assert_close(so3.interpolate(R0, R1, 1.0), R1, PRODUCT)
    whole, part = so3.log(R0.T @ R1), so3.log(R0.T @ so3.interpolate(R0, R1, 0.25))
    assert_close(part, 0.25 * whole, PRODUCT)


def test_batches_are_many_single_calls():
    rng = np.random.default_rng(1)
    w = rng.normal(size=(2, 5, 3)) * np.array([1e-9, 1e-3, 1.0, 2.0, 0.0])[:, None]
    R, q = so3.exp(w), so3.quaternion_exp(w)
    assert R.shape == (2, 5, 3, 3) and q.shape == (2, 5, 4)
    cases = [
        (so3.exp, w), (so3.log, R), (so3.skew, w), (so3.left_jacobian, w), (so3.right_jacobian_inverse, w),
        (so3.from_quaternion, q), (so3.to_quaternion, R), (so3.quaternion_log, q), (so3.quaternion_exp, w),
        (so3.to_rpy, R), (so3.quaternion_normalize, q), (so3.quaternion_conjugate, q), (lambda a: dot(a, a), w),
        (lambda a: so3.about_axis((0, 0, 1), a[..., 0]), w), (lambda a: so3.interpolate(np.eye(3), a, 0.3), R),
        (lambda a: so3.quaternion_multiply(a, a), q), (lambda a: cross(a, np.ones(3)), w),
    ]  # fmt: skip
    for function, batch in cases:
        single = np.array([[function(x) for x in row] for row in batch])
        assert_close(function(batch), single, ROUNDING)


def test_rotations_about_coordinate_axes_trace_to_sine_and_cosine_only():
    for axis in (*np.eye(3), *-np.eye(3)):
        function = trace(lambda t, axis=axis: so3.about_axis(axis, t[0]), {"t": 1}, "R")
        assert set(function.operations()) <= {"sin", "cos", "neg"}
        assert_close(run(function, {"t": [0.7]})["R"], so3.exp(0.7 * axis), ROUNDING)


FUNCTIONS = {
    "exp": (so3.exp, "vector"),
    "quaternion_exp": (so3.quaternion_exp, "vector"),
    "left_jacobian": (so3.left_jacobian, "vector"),
    "left_jacobian_inverse": (so3.left_jacobian_inverse, "vector"),
    "quaternion_log": (so3.quaternion_log, "quaternion"),
    "log": (lambda q: so3.log(so3.from_quaternion(q)), "quaternion"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("angle", [0.0, 1e-160, 1e-9, 1e-3, 0.19, 0.21, 0.99, 1.01, 1.99, 2.01, 3.0, np.pi - 1e-3])
def test_traced_values_and_derivatives_are_finite_and_right(name, angle):
    function, kind = FUNCTIONS[name]
    w = angle * DIRECTIONS[2]
    point = w if kind == "vector" else so3.quaternion_exp(w)

    def everything(x):
        y = np.ravel(function(x))
        return {"value": y, "jacobian": jacobian(y, x), "backward": vjp(y, np.ones(len(y)), x)}

    traced = trace(everything, {"x": len(point)})
    result = run(traced, {"x": point})
    assert_close(result["value"], np.ravel(function(point)), ROUNDING)
    assert_close(result["backward"], result["jacobian"].sum(axis=0), PRODUCT)
    # along the unit sphere for quaternions, where the function is defined
    tangents = np.eye(3) if kind == "vector" else [so3.quaternion_multiply(point, [0, *e]) for e in np.eye(3)]
    for t in tangents:
        ahead, behind = point + STEP * t, point - STEP * t
        if kind == "quaternion":
            ahead, behind = so3.quaternion_normalize(ahead), so3.quaternion_normalize(behind)
        slope = np.ravel(function(ahead) - function(behind)) / (2 * STEP)
        assert_close(result["jacobian"] @ t, slope, DIFFERENCE)
