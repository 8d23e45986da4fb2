"""Configurations and motions of robots with loops, many at a time: search, closing, and holding torques of motors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.model import Body, Model, motorized
from dalembert.quantities.guards import function_call
from dalembert.robot import Robot

ITERATIONS = 40
CLOSED = 1e-9  # residual of a closed loop [m or rad]
CONSISTENT = 1e-6  # share of the load that the motors may leave unbalanced
SLACK = 1e-9  # beyond joint limits [rad or m]
WALKERS, ROUNDS, STRIDE = 128, 60, 0.1  # of the samples of a manifold; stride in rad and m together
NEARLY_CLOSED = 0.05  # [m or rad] from where the loops of a motion are closed on its own branch
APPROACH = 21  # steps on the way from home to the start of a motion
WHICH = "which joints are passive: by <transmission> in URDF, <actuator> in MJCF, or edit().set_joint(…, motor=False)"
RIDGE = 1e-13  # regularises redundant equations, relative to the largest


def motors(model: Model) -> tuple[Body, ...]:
    """The bodies whose joints of one freedom count as motorised; see `Robot.motors`."""
    mask = motorized(model)
    return tuple(body for body in model.independent if body.joint.nv == 1 and mask[body.v].all())


class ClosedManifold:
    """The configurations of a robot in which all loops are closed, and the torques of its motors there."""

    def __init__(self, robot: Robot, driven: Sequence[Body]) -> None:
        self.robot, self.model, self.nv = robot, robot.model, robot.nv
        model, n = self.model, self.model.nv
        self.rows = [body.v.start for body in driven]
        self.names = [body.joint.name for body in driven]

        def motion(q: Any, v: Any) -> dict[str, Any]:
            return algorithms.constraints(model, q, v)._asdict()

        def closing(q: Any) -> dict[str, Any]:
            residual, J, _ = algorithms.constraints(model, q, np.zeros(n))
            return {"residual": residual, "J": J}

        def holding(q: Any) -> dict[str, Any]:
            forces = algorithms.loop_inverse_dynamics(model, q, np.zeros(n), np.zeros(n), self.rows)
            return {"tau": forces.tau, "left": forces.left, "scale": forces.scale}

        self._closing = function_call(model, "closing", {"q": model.nq}, closing)
        self._motion = function_call(model, "closed motion", {"q": model.nq, "v": n}, motion)
        self._holding = function_call(model, "holding", {"q": model.nq}, holding)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Closed configurations (n, nq) within the joint limits that the robot can reach from home without parting.

        Walkers go straight on until a limit or a dead end, then in another direction. Other ways to assemble the same
        links are not counted.
        """
        q = np.repeat(self.home(rng), WALKERS, axis=0)
        visited = [q[:1]]
        ahead = rng.normal(size=(len(q), self.nv))
        for _ in range(ROUNDS if len(q) else 0):
            step = self.tangent(q, ahead)
            step *= STRIDE / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-12)
            moved, able = self.step(q, step)
            q = np.where(able[:, None], moved, q)
            ahead = np.where(able[:, None], step, rng.normal(size=step.shape))
            visited.append(q[able])
        return np.concatenate(visited)

    def home(self, rng: np.random.Generator) -> np.ndarray:
        """(1, nq): the closed configuration nearest to neutral, else to a random one; (0, nq) when none was found."""
        q, closed = self.project(np.concatenate([self.robot.neutral()[None], self.robot.random(rng, WALKERS)]))
        return q[np.flatnonzero(closed)[:1]]

    def tangent(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The part of v (n, nv) that keeps the loops closed."""
        _, J = self._closing(q)
        return v - np.einsum("bji,bj->bi", J, self._least(J, np.einsum("bij,bj->bi", J, v)))

    def step(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows moved along the tangent v and closed again; and which of them are closed, within limits and near."""
        closed, able = self.project(self.robot.integrate(q, v))
        moved = np.linalg.norm(self.robot.difference(q, closed), axis=1)
        return closed, able & (moved <= 2.0 * np.linalg.norm(v, axis=1))

    def project(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Newton's method, each step the smallest; and which rows ended closed and within the joint limits."""
        for _ in range(ITERATIONS):
            residual, J = self._closing(q, check=False)
            open_rows = np.max(np.abs(residual), axis=1) > 1e-2 * CLOSED
            if not np.any(open_rows):
                break
            step = np.einsum("bji,bj->bi", J, self._least(J, residual))
            size = np.linalg.norm(step, axis=1, keepdims=True)
            q = self.robot.integrate(q, -step / np.maximum(1.0, size))
        residual, _ = self._closing(q, check=False)
        return q, (np.max(np.abs(residual), axis=1) <= CLOSED) & self._inside(q)

    def holding(self, q: np.ndarray) -> np.ndarray:
        """(n, motors): torques of the motors that hold the robot still; infinite where they cannot."""
        tau, left, scale = self._holding(q)
        able = np.max(np.abs(left), axis=1) <= CONSISTENT * np.maximum(scale[:, 0], 1.0)
        return np.where(able[:, None], tau[:, self.rows], np.inf)

    def felt_inertia(self, q: np.ndarray) -> np.ndarray:
        """(n, motors): inertia felt by each motor through the loops while the others stand still [kg·m² or kg]."""
        _, J = self._closing(q)
        driven = np.zeros(self.nv, bool)
        driven[self.rows] = True
        ways = np.zeros((len(q), self.nv, len(self.rows)))
        ways[:, self.rows, np.arange(len(self.rows))] = 1.0
        ways[:, ~driven] = -np.linalg.pinv(J[:, :, ~driven]) @ J[:, :, self.rows]
        return np.einsum("bim,bij,bjm->bm", ways, self.robot.mass_matrix(q), ways)

    def follow(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The motion (n, …) of the driven joints of q, v, a with the passive ones moved so that all loops stay closed.

        Each sample is sought from the one before; the first from itself where its loops are nearly closed, else along a
        straight way from home.
        """
        driven = np.zeros(self.nv, bool)
        driven[self.rows] = True
        residual, _ = self._closing(q[:1])
        here = q[0] if np.max(np.abs(residual)) <= NEARLY_CLOSED else self._approached(q[0], driven)
        path = []
        for sample in q:
            here = self._closed_near(sample, here, driven)
            path.append(here)
        q_closed = np.array(path)
        _, J, _ = self._motion(q_closed, v)
        passive = np.linalg.pinv(J[:, :, ~driven])
        v_closed = np.where(driven, v, 0.0)
        v_closed[:, ~driven] = -np.einsum("bij,bj->bi", passive, np.einsum("bij,bj->bi", J, v_closed))
        bias = self._motion(q_closed, v_closed)[2]
        a_closed = np.where(driven, a, 0.0)
        a_closed[:, ~driven] = -np.einsum("bij,bj->bi", passive, np.einsum("bij,bj->bi", J, a_closed) + bias)
        opening = np.max(np.abs(np.einsum("bij,bj->bi", J, v_closed)), initial=0.0)
        if opening > CONSISTENT * max(1.0, float(np.max(np.abs(v_closed), initial=0.0))):
            raise DalembertError(
                f"robot {self.model.name!r}: the motion of joints {', '.join(self.names)} opens its loops "
                f"({opening:.2g} m/s or rad/s): they cannot all be chosen freely"
            )
        return q_closed, v_closed, a_closed

    def _approached(self, target: np.ndarray, driven: np.ndarray) -> np.ndarray:
        """The closed configuration with the driven joints of `target`, along a straight way from home."""
        home = self.home(np.random.default_rng(11))
        if not len(home):
            raise DalembertError(f"robot {self.model.name!r}: no configuration was found in which all loops are closed")
        lead = self.robot.difference(home[0], target) * driven
        here = home[0]
        for share in np.linspace(0.0, 1.0, APPROACH)[1:]:
            here = self._closed_near(self.robot.integrate(home[0], share * lead), here, driven)
        return here

    def _closed_near(self, target: np.ndarray, near: np.ndarray, driven: np.ndarray) -> np.ndarray:
        """The closed configuration with the driven joints of `target`; Newton starts at the passive ones of `near`."""
        q = self.robot.integrate(near, self.robot.difference(near, target) * driven)
        for _ in range(ITERATIONS):
            residual, J = (x[0] for x in self._closing(q[None]))
            if np.max(np.abs(residual)) <= 1e-2 * CLOSED:
                return q
            step = np.zeros(self.nv)
            step[~driven] = -np.linalg.pinv(J[:, ~driven], rcond=1e-9) @ residual
            q = self.robot.integrate(q, step / max(1.0, float(np.linalg.norm(step))))
        raise DalembertError(
            f"robot {self.model.name!r}: its loops cannot stay closed along the motion of joints "
            f"{', '.join(self.names)}; {np.max(np.abs(residual)):.2g} (m or rad) are missing"
        )

    def _least(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """x (n, nc) with J Jᵀ x = b, redundant equations shared."""
        JJ = np.einsum("bij,bkj->bik", J, J)
        ridge = RIDGE * np.trace(JJ, axis1=1, axis2=2)[:, None, None] * np.eye(JJ.shape[1]) + 1e-300
        return np.linalg.solve(JJ + ridge, b[..., None])[..., 0]

    def _inside(self, q: np.ndarray) -> np.ndarray:
        inside = np.ones(len(q), bool)
        for body in self.model.bodies:
            joint = body.joint
            for line in joint.lines:
                x = q[:, body.q.start + line.q]
                inside &= (x >= joint.lower[line.q] - SLACK) & (x <= joint.upper[line.q] + SLACK)
        return inside
