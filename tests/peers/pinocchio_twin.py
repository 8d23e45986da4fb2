"""The same robot in Pinocchio, answering in dalembert's conventions.

Pinocchio sorts siblings by name, writes continuous angles as (cos, sin), quaternions as x y z w, planar joints as
(x, y, cos, sin) with velocities in the moving axes, and puts the linear part of twists first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert import Robot
from dalembert.spatial import so3
from peers.example_robots import peer
from tolerances import CONVERGED

pin = peer("pinocchio")

SWAP = np.roll(np.eye(6), 3, axis=0)  # [ω; v] ↔ [v; ω]
AXES = {"world": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL}


class Twin:
    """A Pinocchio model read from the same file, and the maps between its coordinates and the robot's.

    With v' its velocity: v' = T(q) v with T orthogonal, a' = T a + c(q, v), tau = Tᵀ tau', M = Tᵀ M' T, J = J' T.
    points: frame name → a point (3,) in that frame, for the calls with `point=True`.
    """

    def __init__(
        self, text: str, robot: Robot, *, floating: bool, points: Mapping[str, Sequence[float]] | None = None
    ) -> None:
        """text: URDF. floating: whether Pinocchio has to put a free joint under the root."""
        root = [pin.JointModelFreeFlyer()] if floating else []
        self.model = pin.buildModelFromXML(text, *root)  # mimic joints independent, as with mimic="free"
        self.model.gravity.linear = robot.model.gravity
        self.robot = robot
        self.joints = []  # (ours, theirs)
        for joint in robot.joints:
            index = 1 if joint.child == robot.bodies[0].name and floating else self.model.getJointId(joint.name)
            assert 0 < index < self.model.njoints, f"Pinocchio has no joint {joint.name!r}"
            self.joints.append((joint, self.model.joints[index]))
        assert self.model.nv == robot.nv
        for joint, theirs in self.joints:
            self.model.armature[theirs.idx_v : theirs.idx_v + theirs.nv] = joint.armature
        self.points = {}
        for name, point in (points or {}).items():
            self.points[name] = self._add_point(name, np.asarray(point, float))
        self.data = self.model.createData()

    def _add_point(self, name: str, point: np.ndarray) -> int:
        own = self.model.frames[self.frame(name)]
        placement = own.placement * pin.SE3(np.eye(3), point)
        frame = pin.Frame(f"point of {name}", own.parentJoint, self.frame(name), placement, pin.OP_FRAME)
        return self.model.addFrame(frame, False)

    def frame(self, name: str, point: bool = False) -> int:
        """Index of a link's frame, or of the point in it."""
        if point:
            return self.points[name]
        if name == "world_link":  # a root link called "world", set afloat
            name = "world"
        index = self.model.getFrameId(name, pin.BODY)
        assert index < self.model.nframes, f"Pinocchio has no link {name!r}"
        return index

    # coordinates

    def q(self, q: np.ndarray) -> np.ndarray:
        """Configuration."""
        out = np.full(self.model.nq, np.nan)
        for joint, theirs in self.joints:
            own, at = q[joint.q], slice(theirs.idx_q, theirs.idx_q + theirs.nq)
            if joint.kind == "free":
                out[at] = [*own[:3], *own[4:], own[3]]
            elif joint.kind in ("planar", "continuous"):
                out[at] = [*own[:-1], np.cos(own[-1]), np.sin(own[-1])]
            else:
                out[at] = own
        return out

    def T(self, q: np.ndarray) -> np.ndarray:
        """(nv, nv) with v' = T v."""
        T = np.zeros((self.model.nv, self.model.nv))
        for joint, theirs in self.joints:
            at = slice(theirs.idx_v, theirs.idx_v + theirs.nv)
            if joint.kind == "free":
                T[at, joint.v] = SWAP
            elif joint.kind == "planar":
                T[at, joint.v] = so3.from_rpy(0.0, 0.0, q[joint.q][2]).T
            else:
                T[at, joint.v] = np.eye(theirs.nv)
        return T

    def c(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(nv,) with a' = T a + c: Ṫ v of the planar joints."""
        c = np.zeros(self.model.nv)
        for joint, theirs in self.joints:
            if joint.kind == "planar":
                vx, vy, w = so3.from_rpy(0.0, 0.0, q[joint.q][2]).T @ v[joint.v]
                c[theirs.idx_v : theirs.idx_v + 2] = w * vy, -w * vx
        return c

    # dynamics

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        T = self.T(q)
        return T.T @ pin.rnea(self.model, self.data, self.q(q), T @ v, T @ a + self.c(q, v))

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        T = self.T(q)
        return T.T @ (pin.aba(self.model, self.data, self.q(q), T @ v, T @ tau) - self.c(q, v))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        T = self.T(q)
        upper = np.triu(pin.crba(self.model, self.data, self.q(q)))
        return T.T @ (upper + np.triu(upper, 1).T) @ T

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.inverse_dynamics(q, v, np.zeros_like(v))

    def gravity(self, q: np.ndarray) -> np.ndarray:
        return self.T(q).T @ pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def kinetic_energy(self, q: np.ndarray, v: np.ndarray) -> float:
        return pin.computeKineticEnergy(self.model, self.data, self.q(q), self.T(q) @ v)

    def potential_energy(self, q: np.ndarray) -> float:
        base = self.model.inertias[0]  # of what is fixed to the world, which Pinocchio leaves out
        moving = pin.computePotentialEnergy(self.model, self.data, self.q(q))
        return moving - base.mass * self.model.gravity.linear @ base.lever

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        base = self.model.inertias[0]
        mass = pin.computeTotalMass(self.model)
        moving = mass * pin.centerOfMass(self.model, self.data, self.q(q)) if mass else np.zeros(3)
        return (moving + base.mass * base.lever) / (mass + base.mass)

    # momentum, reactions, regressor

    def centroidal(self, q: np.ndarray) -> np.ndarray:
        """(6, 6) from its momentum to ours: angular first, and about a centre of mass that counts a fixed base."""
        mass = pin.computeTotalMass(self.model)
        moving = pin.centerOfMass(self.model, self.data, self.q(q)) if mass else np.zeros(3)
        shift = np.eye(6)
        shift[:3, 3:] = so3.skew(moving - self.center_of_mass(q))
        return shift @ SWAP

    def centroidal_momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        B = self.centroidal(q)
        return B @ pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.T(q) @ v).vector

    def centroidal_momentum_matrix(self, q: np.ndarray) -> np.ndarray:
        T, B = self.T(q), self.centroidal(q)
        return B @ pin.computeCentroidalMap(self.model, self.data, self.q(q)) @ T

    def centroidal_momentum_rate(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        T, B = self.T(q), self.centroidal(q)
        state = self.q(q), T @ v, T @ a + self.c(q, v)
        rate = pin.computeCentroidalMomentumTimeVariation(self.model, self.data, *state).vector.copy()
        # of the map: the same number another way
        other = pin.dccrba(self.model, self.data, *state[:2]) @ state[1]
        other = other + pin.computeCentroidalMap(self.model, self.data, state[0]) @ state[2]
        assert np.max(np.abs(rate - other)) <= CONVERGED * max(1.0, np.max(np.abs(rate)))
        return B @ rate

    def reaction_wrenches(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(nb - 1, 6), or (nb, 6) for a free base, in body axes: of the bodies that move."""
        T = self.T(q)
        pin.rnea(self.model, self.data, self.q(q), T @ v, T @ a + self.c(q, v))
        return np.array([SWAP @ self.data.f[theirs.id].vector for _, theirs in self.joints]).reshape(-1, 6)

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(nv, 10 nb): parameters m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz there, and none for a fixed base."""
        T = self.T(q)
        theirs = pin.computeJointTorqueRegressor(self.model, self.data, self.q(q), T @ v, T @ a + self.c(q, v))
        Y = np.zeros((self.model.nv, 10 * len(self.robot.bodies)))
        order = np.array([0, 1, 2, 3, 4, 6, 9, 5, 7, 8])
        for (_, joint), body in zip(self.joints, self.moving, strict=True):
            Y[:, 10 * body : 10 * body + 10] = T.T @ theirs[:, 10 * (joint.id - 1) + order]
        return Y

    @property
    def moving(self) -> list[int]:
        """Indices of the bodies that move."""
        return [body.index for body in self.robot.model.bodies if body.joint.nv]

    # kinematics

    def poses(self, q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return np.array([self.data.oMf[self.frame(frame.name)].homogeneous for frame in self.robot.frames])

    def pose(self, q: np.ndarray, name: str) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[self.frame(name)].homogeneous

    def jacobian(self, q: np.ndarray, name: str, *, axes: str, point: bool = False) -> np.ndarray:
        J = pin.computeFrameJacobian(self.model, self.data, self.q(q), self.frame(name, point), AXES[axes])
        return SWAP @ J @ self.T(q)

    def velocity(self, q: np.ndarray, v: np.ndarray, name: str, *, axes: str, point: bool = False) -> np.ndarray:
        pin.forwardKinematics(self.model, self.data, self.q(q), self.T(q) @ v)
        return SWAP @ pin.getFrameVelocity(self.model, self.data, self.frame(name, point), AXES[axes]).vector

    def acceleration(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, name: str, *, axes: str, point: bool = False
    ) -> np.ndarray:
        T = self.T(q)
        pin.forwardKinematics(self.model, self.data, self.q(q), T @ v, T @ a + self.c(q, v))
        index = self.frame(name, point)
        return SWAP @ pin.getFrameClassicalAcceleration(self.model, self.data, index, AXES[axes]).vector
