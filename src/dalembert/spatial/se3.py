"""Rigid placements X_AB (the pose of B in A), their exponential and logarithm, and how twists and wrenches move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import so3
from .smooth import cotangent_ratio, cotangent_ratio_slope, sine_excess_ratio, versine_ratio
from .vectors import cross, dot

ORTHONORMAL = 1e-6  # by how much RᵀR of a given pose may miss 1


@dataclass(frozen=True, eq=False, slots=True)
class Pose:
    """X_AB: rotation R_AB (3, 3) and position p_AB (3,) of B's origin in A's axes [m]."""

    R: np.ndarray
    p: np.ndarray

    @staticmethod
    def identity() -> Pose:
        """B is A."""
        return Pose(np.eye(3), np.zeros(3))

    @staticmethod
    def from_matrix(T: Any) -> Pose:
        """From a homogeneous matrix (4, 4)."""
        T = np.asarray(T)
        return Pose(T[:3, :3], T[:3, 3])

    @staticmethod
    def from_xyz_rpy(xyz: Any = (0.0, 0.0, 0.0), rpy: Any = (0.0, 0.0, 0.0)) -> Pose:
        """From a position [m] and roll, pitch, yaw about fixed axes [rad], as in URDF."""
        return Pose(so3.from_rpy(*rpy), np.array(xyz, object if np.asarray(xyz).dtype == object else float))

    def matrix(self) -> np.ndarray:
        """Homogeneous matrix (4, 4)."""
        T = np.zeros((4, 4), np.result_type(self.R, self.p))
        T[:3, :3], T[:3, 3], T[3, 3] = self.R, self.p, 1.0
        return T

    def __matmul__(self, other: Pose) -> Pose:
        """X_AC = X_AB @ X_BC."""
        return Pose(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Pose:
        """X_BA."""
        return Pose(self.R.T, -(self.R.T @ self.p))

    def point(self, x: np.ndarray) -> np.ndarray:
        """A point given in B, in A [m]."""
        return self.R @ x + self.p

    def motion(self, V: np.ndarray) -> np.ndarray:
        """A twist at B's origin in B's axes, at A's origin in A's axes."""
        w = self.R @ V[:3]
        return np.concatenate([w, self.R @ V[3:] + cross(self.p, w)])

    def inverse_motion(self, V: np.ndarray) -> np.ndarray:
        """A twist at A's origin in A's axes, at B's origin in B's axes."""
        return np.concatenate([self.R.T @ V[:3], self.R.T @ (V[3:] + cross(V[:3], self.p))])

    def force(self, F: np.ndarray) -> np.ndarray:
        """A wrench at B's origin in B's axes, at A's origin in A's axes."""
        f = self.R @ F[3:]
        return np.concatenate([self.R @ F[:3] + cross(self.p, f), f])

    def inverse_force(self, F: np.ndarray) -> np.ndarray:
        """A wrench at A's origin in A's axes, at B's origin in B's axes."""
        return np.concatenate([self.R.T @ (F[:3] + cross(F[3:], self.p)), self.R.T @ F[3:]])

    def adjoint(self) -> np.ndarray:
        """The matrix (6, 6) of `motion`; its inverse transpose is that of `force`."""
        A = np.zeros((6, 6), np.result_type(self.R, self.p))
        A[:3, :3] = A[3:, 3:] = self.R
        A[3:, :3] = so3.skew(self.p) @ self.R
        return A


def exp(V: Any) -> Pose:
    """The pose reached from the identity after unit time at the constant body twist V (6,)."""
    V = np.asarray(V)
    return Pose(so3.exp(V[:3]), position_reached(V[:3], V[3:]))


def log(X: Pose) -> np.ndarray:
    """The constant body twist (6,) that reaches X from the identity in unit time; rotation at most π."""
    w = so3.log(X.R)
    return np.concatenate([w, velocity_reaching(w, X.p)])


def right_jacobian_inverse(V: np.ndarray) -> np.ndarray:
    """J (6, 6) with log(exp(V) exp(dV)) = V + J dV to first order, for rotations below 2π."""
    w, p = V[:3], position_reached(V[:3], V[3:])
    square = dot(w, w)
    turn = so3.right_jacobian_inverse(w)
    bent = dot(w, p) * w - square * p  # w × (w × p)
    slope = (  # of velocity_reaching in w
        0.5 * so3.skew(p)
        + cotangent_ratio(square) * (dot(w, p) * np.eye(3) + np.outer(w, p) - 2.0 * np.outer(p, w))
        + 2.0 * cotangent_ratio_slope(square) * np.outer(bent, w)
    )
    return np.block([[turn, np.zeros((3, 3))], [slope @ turn, turn]])


def position_reached(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Position part (3,) of exp([w; v]): the left Jacobian of w times v."""
    square = dot(w, w)
    turned = cross(w, v)
    return v + versine_ratio(square) * turned + sine_excess_ratio(square) * cross(w, turned)


def velocity_reaching(w: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The v (3,) for which exp([w; v]) has position p; |w| < 2π."""
    turned = cross(w, p)
    return p - 0.5 * turned + cotangent_ratio(dot(w, w)) * cross(w, turned)


def interpolate(X0: Pose, X1: Pose, s: Any) -> Pose:
    """The screw motion from X0 (s = 0) to X1 (s = 1) at constant body twist."""
    return X0 @ exp(s * log(X0.inverse() @ X1))


def is_pose(X: np.ndarray, slack: float = ORTHONORMAL) -> bool:
    """Whether numbers X (…, 4, 4) are poses: a right-handed rotation, RᵀR = 1 to `slack`, above the row 0 0 0 1."""
    R = X[..., :3, :3]
    off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
    upright = np.all(X[..., 3, :] == (0.0, 0.0, 0.0, 1.0)) and np.all(np.linalg.det(R) > 0.0)
    return bool(off <= slack and upright)
