"""Rotations: matrices R_AB (…, 3, 3), rotation vectors (…, 3), unit quaternions w x y z (…, 4), angles about axes.

Everything takes leading batch dimensions for float arrays and traces for object arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import atan2, cos, sin, sqrt, where

from .smooth import angle_ratio, cotangent_ratio, half_angle, sinc, sine_excess_ratio, versine_ratio
from .vectors import components, dot, stack, stack_matrix


def skew(w: Any) -> np.ndarray:
    """[w]× with [w]× x = w × x."""
    x, y, z = components(w)
    zero = 0.0 * x if isinstance(x, np.ndarray) else 0.0
    return stack_matrix([[zero, -z, y], [z, zero, -x], [-y, x, zero]])


def _polynomial(w: Any, a: Any, b: Any) -> np.ndarray:
    """1 + a [w]× + b [w]×², entry by entry."""
    x, y, z = components(w)
    bx, by, bz = b * x, b * y, b * z
    xy, xz, yz = bx * y, bx * z, by * z
    xx, yy, zz = bx * x, by * y, bz * z
    ax, ay, az = a * x, a * y, a * z
    return stack_matrix([
        [1.0 - (yy + zz), xy - az, xz + ay],
        [xy + az, 1.0 - (xx + zz), yz - ax],
        [xz - ay, yz + ax, 1.0 - (xx + yy)],
    ])  # fmt: skip


def exp(w: Any) -> np.ndarray:
    """Rotation by |w| about w (rotation vector [rad], any size)."""
    square = dot(w, w)
    return _polynomial(w, sinc(square), versine_ratio(square))


def log(R: Any) -> np.ndarray:
    """Rotation vector of R, of length at most π; at π exactly one of the two is chosen."""
    return quaternion_log(to_quaternion(R))


def left_jacobian(w: Any) -> np.ndarray:
    """J with exp(w + dw) = exp(J dw) exp(w) to first order."""
    square = dot(w, w)
    return _polynomial(w, versine_ratio(square), sine_excess_ratio(square))


def right_jacobian(w: Any) -> np.ndarray:
    """J with exp(w + dw) = exp(w) exp(J dw) to first order."""
    return left_jacobian(-np.asarray(w))


def left_jacobian_inverse(w: Any) -> np.ndarray:
    """Inverse of the left Jacobian, for |w| < 2π."""
    return _polynomial(w, -0.5, cotangent_ratio(dot(w, w)))


def right_jacobian_inverse(w: Any) -> np.ndarray:
    """Inverse of the right Jacobian, for |w| < 2π."""
    return left_jacobian_inverse(-np.asarray(w))


def about_axis(axis: Any, angle: Any) -> np.ndarray:
    """Rotation by `angle` [rad] about a constant unit axis (3,).

    Written so that for a coordinate axis every entry folds to 0, ±1, ±sin or cos.
    """
    x, y, z = (float(a) for a in axis)
    s, c = sin(angle), cos(angle)
    v = 1.0 - c
    zero = 0.0 * s if isinstance(s, np.ndarray) else 0.0

    def entry(product: float, component: float) -> Any:
        """product·(1 - c) + component·s"""
        return (product * v if product else zero) + (component * s if component else zero)

    return stack_matrix([
        [x * x + c * (1.0 - x * x), entry(x * y, -z), entry(x * z, y)],
        [entry(x * y, z), y * y + c * (1.0 - y * y), entry(y * z, -x)],
        [entry(x * z, -y), entry(y * z, x), z * z + c * (1.0 - z * z)],
    ])  # fmt: skip


def from_rpy(roll: Any, pitch: Any, yaw: Any) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll): roll, pitch, yaw about fixed axes [rad], as in URDF."""
    sr, cr, sp, cp, sy, cy = sin(roll), cos(roll), sin(pitch), cos(pitch), sin(yaw), cos(yaw)
    return stack_matrix([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip


def to_rpy(R: Any) -> np.ndarray:
    """Roll, pitch, yaw [rad] of R; pitch in [-π/2, π/2]. At gimbal lock only roll ∓ yaw is defined.

    Yaw is taken first and undone, and the rest read from Rz(-yaw) R: the three together reproduce R to round-off
    even at gimbal lock, where reading each angle from its own entries does not.
    """
    (r00, r01, r02), (r10, r11, r12), (r20, _, _) = _entries(R)
    yaw = atan2(r10, r00)
    s, c = sin(yaw), cos(yaw)
    pitch = atan2(-r20, c * r00 + s * r10)
    roll = atan2(s * r02 - c * r12, c * r11 - s * r01)
    return stack(roll, pitch, yaw)


def _entries(R: Any) -> Any:
    """The nine entries as nested rows: scalars for one matrix, arrays for a batch."""
    R = np.asarray(R)
    return R.tolist() if R.ndim == 2 else np.moveaxis(R, (-2, -1), (0, 1))


def interpolate(R0: Any, R1: Any, s: Any) -> np.ndarray:
    """The shortest rotation from R0 (s = 0) to R1 (s = 1) at constant speed."""
    R0, R1 = np.asarray(R0), np.asarray(R1)
    w = log(np.swapaxes(R0, -1, -2) @ R1)
    return R0 @ exp(w * np.asarray(s)[..., None])


def from_quaternion(q: Any) -> np.ndarray:
    """Rotation matrix of a unit quaternion w x y z."""
    w, x, y, z = components(q)
    x2, y2, z2 = 2.0 * x, 2.0 * y, 2.0 * z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz, wx, wy, wz = x * y2, x * z2, y * z2, w * x2, w * y2, w * z2
    return stack_matrix([
        [1.0 - (yy + zz), xy - wz, xz + wy],
        [xy + wz, 1.0 - (xx + zz), yz - wx],
        [xz - wy, yz + wx, 1.0 - (xx + yy)],
    ])  # fmt: skip


def to_quaternion(R: Any) -> np.ndarray:
    """Unit quaternion w x y z of a rotation matrix, with w ≥ 0."""
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = _entries(R)
    x, y, z = r21 - r12, r02 - r20, r10 - r01
    xy, xz, yz = r10 + r01, r02 + r20, r21 + r12
    # rows of 4 q qᵀ: each is a multiple of q, and the one with the largest diagonal entry is at least of length 2
    rows = [
        (1.0 + r00 + r11 + r22, x, y, z),
        (x, 1.0 + r00 - r11 - r22, xy, xz),
        (y, xy, 1.0 - r00 + r11 - r22, yz),
        (z, xz, yz, 1.0 - r00 - r11 + r22),
    ]
    best, largest = rows[0], rows[0][0]
    for k in (1, 2, 3):
        better = rows[k][k] > largest
        best = tuple(where(better, new, old) for new, old in zip(rows[k], best, strict=True))
        largest = where(better, rows[k][k], largest)
    q = quaternion_normalize(stack(*best))
    return q * _column(where(components(q)[0] < 0.0, -1.0, 1.0))


def _column(s: Any) -> Any:
    """A batch of scalars made to multiply a batch of vectors."""
    return s[..., None] if isinstance(s, np.ndarray) else s


def quaternion_normalize(q: Any) -> np.ndarray:
    """The unit quaternion in the direction of q."""
    return np.asarray(q) / _column(sqrt(dot(q, q)))


def quaternion_conjugate(q: Any) -> np.ndarray:
    """The inverse of a unit quaternion."""
    w, x, y, z = components(q)
    return stack(w, -x, -y, -z)


def quaternion_multiply(p: Any, q: Any) -> np.ndarray:
    """Hamilton product p q; rotates by q first, as R(p) R(q) does."""
    pw, px, py, pz = components(p)
    qw, qx, qy, qz = components(q)
    return stack(
        pw * qw - px * qx - py * qy - pz * qz,
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
    )


def quaternion_exp(w: Any) -> np.ndarray:
    """Unit quaternion of the rotation vector w [rad]."""
    x, y, z = components(w)
    s, c = half_angle(dot(w, w))
    half = 0.5 * s
    return stack(c, half * x, half * y, half * z)


def quaternion_log(q: Any) -> np.ndarray:
    """Rotation vector [rad] of a unit quaternion, of length at most π (q and -q give the same)."""
    w, x, y, z = components(q)
    flip = where(w < 0.0, -1.0, 1.0)
    scale = 2.0 * flip * angle_ratio(x * x + y * y + z * z, flip * w)
    return stack(scale * x, scale * y, scale * z)
