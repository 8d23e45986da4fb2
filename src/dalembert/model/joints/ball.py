"""Any rotation about a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.spatial import Pose, so3

from .joint import Joint


@dataclass(frozen=True, eq=False, kw_only=True)
class Ball(Joint):
    """q = unit quaternion w x y z of B in J, v = angular velocity in B's axes [rad/s]."""

    kind, nq, nv, reach = "ball", 4, 3, (1.0, 1.0, 1.0, 1.0)

    @property
    def units(self) -> tuple[str, ...]:
        """Of each freedom: rad."""
        return ("rad", "rad", "rad")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_quaternion_joint(self, rest=self.rest)

    def pose(self, q: np.ndarray) -> Pose:
        """The rotation of the quaternion."""
        return Pose(so3.from_quaternion(q), np.zeros(3))

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """[1; 0]"""
        return np.eye(6, 3)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q exp(v), kept at unit length."""
        return self.normalize(so3.quaternion_multiply(q, so3.quaternion_exp(v)))

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """½ q [0, v]"""
        return so3.quaternion_multiply(q, np.concatenate([np.zeros(1), 0.5 * v]))

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """log(q0⁻¹ q1), the shorter way."""
        return so3.quaternion_log(so3.quaternion_multiply(so3.quaternion_conjugate(q0), q1))

    def displacement_jacobian(self, d: np.ndarray) -> np.ndarray:
        """The inverse right Jacobian of the rotation vector."""
        return so3.right_jacobian_inverse(d)

    def displacement_rate(self, v: np.ndarray) -> np.ndarray:
        """−[v]×: body axes turn away under a displacement."""
        return -so3.skew(v)

    def normalize(self, q: np.ndarray) -> np.ndarray:
        """q at unit length."""
        return so3.quaternion_normalize(q)

    def neutral(self) -> np.ndarray:
        """No rotation."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Uniform rotations."""
        return so3.quaternion_normalize(rng.normal(size=(n, 4)))


def check_quaternion_joint(joint: Joint, rest: np.ndarray) -> None:
    """Refuse what a rotation given by a quaternion (w x y z, last in q) cannot have."""
    if np.any(np.isfinite(joint.lower)) or np.any(np.isfinite(joint.upper)):
        raise joint._error(f"a {joint.kind} joint has no position limits: drop lower and upper")
    if abs(np.linalg.norm(rest[-4:]) - 1.0) > 1e-6:
        raise joint._error(f"rest is {joint.rest}, expected a unit quaternion w x y z as its last four numbers")
    if np.ptp(joint.stiffness[:3]) != 0.0:
        raise joint._error(
            f"stiffness of the rotation is {joint.stiffness[:3]}, expected three equal numbers: unequal ones along the "
            "rotation vector are no spring (their torque has no potential)"
        )
