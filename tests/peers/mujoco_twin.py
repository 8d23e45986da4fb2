"""The same robot in MuJoCo, built body by body from dalembert's model, answering in dalembert's conventions.

MuJoCo writes the velocity of a free body as [v; ω] with v along world axes, takes its configuration for its pose in the
world, and builds joints with several degrees of freedom from hinges and slides in a row.
"""

from __future__ import annotations

import numpy as np

from dalembert.model import Body, Model
from dalembert.spatial import Pose, so3
from peers.example_robots import peer

mj = peer("mujoco")

WHOLE = {"free": mj.mjtJoint.mjJNT_FREE, "ball": mj.mjtJoint.mjJNT_BALL}


class Twin:
    """A MuJoCo model with the bodies, rotors, dampers and springs of a dalembert model, without contacts and friction.

    With v' its velocity: v' = T(q) v with T orthogonal, a' = T a + c(q, v), tau = Tᵀ tau', M = Tᵀ M' T, J = J' T.
    """

    def __init__(self, model: Model) -> None:
        spec = mj.MjSpec()
        spec.compiler.balanceinertia = False
        spec.option.gravity = model.gravity
        spec.option.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
        made: list = []
        for body in model.bodies:
            made.append(_add_body(made[body.parent] if made else spec.worldbody, body))
        self.ours, self.base = model, model.bodies[0]
        self.model = spec.compile()
        assert [self.model.body(i + 1).name for i in range(len(made))] == [f"body {i}" for i in range(len(made))]
        assert (self.model.nq, self.model.nv) == (model.nq, model.nv)
        self.model.dof_armature[:] = np.concatenate([body.joint.armature for body in model.bodies])
        self.model.dof_damping[:] = np.concatenate([body.joint.damping for body in model.bodies])
        self.model.jnt_stiffness[:] = np.concatenate([_stiffness(body) for body in model.bodies])
        self.model.qpos_spring[:] = np.concatenate([body.joint.rest for body in model.bodies])
        self.data = mj.MjData(self.model)

    def base_pose(self, q: np.ndarray) -> Pose:
        """X_WB of the base."""
        return self.base.placement @ self.base.joint.pose(q[self.base.q])

    def q(self, q: np.ndarray) -> np.ndarray:
        """Configuration."""
        out = q.copy()
        if self.base.joint.nv:
            X = self.base_pose(q)
            out[self.base.q] = [*X.p, *so3.to_quaternion(X.R)]
        return out

    def T(self, q: np.ndarray) -> np.ndarray:
        """(nv, nv) with v' = T v."""
        T = np.eye(self.ours.nv)
        if self.base.joint.nv:
            T[:6, :6] = np.block([[np.zeros((3, 3)), self.base_pose(q).R], [np.eye(3), np.zeros((3, 3))]])
        return T

    def c(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(nv,) with a' = T a + c: world axes do not turn with the base."""
        c = np.zeros(self.ours.nv)
        if self.base.joint.nv:
            c[:3] = self.base_pose(q).R @ np.cross(v[:3], v[3:6])
        return c

    def _set(self, q: np.ndarray, v: np.ndarray, **values: np.ndarray) -> np.ndarray:
        """Enter the state and other arrays of the data, compute all there is to compute, and return T."""
        T = self.T(q)
        for name, value in {"qpos": self.q(q), "qvel": T @ v, **values}.items():
            getattr(self.data, name)[:] = value
        mj.mj_forward(self.model, self.data)
        return T

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        T = self._set(q, v)
        self.data.qacc[:] = T @ a + self.c(q, v)
        mj.mj_inverse(self.model, self.data)
        return T.T @ self.data.qfrc_inverse

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        T = self._set(q, v, qfrc_applied=self.T(q) @ tau)
        return T.T @ (self.data.qacc - self.c(q, v))

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Joint dampers and springs included."""
        return self.inverse_dynamics(q, v, np.zeros_like(v))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        T = self._set(q, np.zeros(self.ours.nv))
        M = np.full(T.shape, np.nan)
        mj.mj_fullM(self.model, self.data, M)
        return T.T @ M @ T

    def energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic and potential [J]."""
        self._set(q, v)
        mj.mj_energyPos(self.model, self.data)
        mj.mj_energyVel(self.model, self.data)
        return self.data.energy[::-1].copy()

    def pose(self, q: np.ndarray, index: int) -> np.ndarray:
        """(4, 4) of body `index`."""
        self._set(q, np.zeros(self.ours.nv))
        return Pose(self.data.xmat[index + 1].reshape(3, 3), self.data.xpos[index + 1]).matrix()

    def jacobian(self, q: np.ndarray, index: int) -> np.ndarray:
        """(6, nv) of the origin of body `index`, world axes."""
        T = self._set(q, np.zeros(self.ours.nv))
        J = np.full((6, self.ours.nv), np.nan)
        mj.mj_jacBody(self.model, self.data, J[3:], J[:3], index + 1)
        return J @ T


def _add_body(parent, body: Body):
    """A body with its inertia, and one hinge or slide per column of the joint's motion subspace."""
    X, inertia, joint = body.placement, body.inertia, body.joint
    made = parent.add_body(name=f"body {body.index}", pos=X.p, quat=so3.to_quaternion(X.R))
    if inertia.mass:
        made.explicitinertial = True
        made.mass, made.ipos = inertia.mass, inertia.com
        made.fullinertia = inertia.about_com()[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    if joint.kind in WHOLE:
        made.add_joint(type=WHOLE[joint.kind])
        return made
    for column in joint.subspace(joint.neutral()).T:
        if np.any(column[:3]):
            made.add_joint(type=mj.mjtJoint.mjJNT_HINGE, axis=column[:3])
        else:
            made.add_joint(type=mj.mjtJoint.mjJNT_SLIDE, axis=column[3:])
    return made


def _stiffness(body: Body) -> np.ndarray:
    """One per MuJoCo joint; that of a ball is equal about all axes."""
    return body.joint.stiffness[:1] if body.joint.kind in WHOLE else body.joint.stiffness
