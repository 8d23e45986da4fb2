"""Six degrees of freedom: a floating base or a loose body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.spatial import Pose, se3, so3

from .ball import check_quaternion_joint
from .joint import Joint


@dataclass(frozen=True, eq=False, kw_only=True)
class Free(Joint):
    """q = [position (3) in J [m], unit quaternion w x y z of B in J], v = twist [ω; v] in B's axes [rad/s, m/s]."""

    kind, nq, nv, reach = "free", 7, 6, (1.0, 1.0, 1.0)

    @property
    def units(self) -> tuple[str, ...]:
        """Of each freedom: angular, then linear."""
        return ("rad", "rad", "rad", "m", "m", "m")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_quaternion_joint(self, rest=self.rest)
        if np.any(self.stiffness[3:]):
            raise self._error(
                f"stiffness of the translation is {self.stiffness[3:]}, expected 0: along the screw from rest it would "
                "have no potential; use a ball joint on a body carried by prismatic joints"
            )

    def pose(self, q: np.ndarray) -> Pose:
        """The position and the rotation of the quaternion."""
        return Pose(so3.from_quaternion(q[3:]), q[:3])

    def subspace(self, q: np.ndarray) -> np.ndarray:
        """The identity."""
        return np.eye(6)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The screw motion at constant body twist v for unit time."""
        p = self.pose(q).point(se3.position_reached(v[:3], v[3:]))
        quaternion = so3.quaternion_multiply(q[3:], so3.quaternion_exp(v[:3]))
        return np.concatenate([p, so3.quaternion_normalize(quaternion)])

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """[R v_linear, ½ quaternion [0, ω]]"""
        turning = so3.quaternion_multiply(q[3:], np.concatenate([np.zeros(1), 0.5 * v[:3]]))
        return np.concatenate([self.pose(q).R @ v[3:], turning])

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The body twist of the screw motion from q0 to q1 in unit time."""
        w = so3.quaternion_log(so3.quaternion_multiply(so3.quaternion_conjugate(q0[3:]), q1[3:]))
        return np.concatenate([w, se3.velocity_reaching(w, self.pose(q0).inverse().point(q1[:3]))])

    def displacement_jacobian(self, d: np.ndarray) -> np.ndarray:
        """The inverse right Jacobian of the screw motion."""
        return se3.right_jacobian_inverse(d)

    def displacement_rate(self, v: np.ndarray) -> np.ndarray:
        """−V ×, the motion cross product with the body's twist."""
        w = so3.skew(v[..., :3])
        return -np.block([[w, np.zeros_like(w)], [so3.skew(v[..., 3:]), w]])

    def normalize(self, q: np.ndarray) -> np.ndarray:
        """q with its quaternion at unit length."""
        return np.concatenate([q[:3], so3.quaternion_normalize(q[3:])])

    def neutral(self) -> np.ndarray:
        """B coincides with J."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Positions within the reach, uniform rotations."""
        position = rng.uniform(-1.0, 1.0, (n, 3)) * self.reach
        return np.concatenate([position, so3.quaternion_normalize(rng.normal(size=(n, 4)))], axis=1)
