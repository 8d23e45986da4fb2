"""Configurations and motions of robots with loops, many at a time: found, kept closed, and held still by the motors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import algorithms
from dalembert.compile import function_call
from dalembert.model import Body, Model

ITERATIONS = 40
CLOSED = 1e-9  # residual of a closed loop [m or rad]
CONSISTENT = 1e-6  # share of the load that motors may leave to nobody
SLACK = 1e-9  # beyond joint limits [rad or m]
WALKERS, ROUNDS, STRIDE = 128, 60, 0.1  # of the samples of a manifold; stride in rad and m together
RIDGE = 1e-13  # regularises redundant equations, relative to the largest


def motors(model: Model) -> tuple[Body, ...]:
    """The bodies whose joints of one freedom may give a force: an effort limit of 0 marks a passive joint."""
    return tuple(
        body for body in model.independent if body.joint.nv == 1 and float(np.asarray(body.joint.effort_limit)[0]) > 0.0
    )


class ClosedManifold:
    """The configurations of a robot in which all loops are closed, and the torques of its motors there."""

    def __init__(self, robot: Any, driven: Sequence[Body]) -> None:
        self.robot, self.model, self.nv = robot, robot.model, robot.nv
        model, n = self.model, self.model.nv
        self.rows = [body.v.start for body in driven]

        def closing(q: Any) -> dict[str, Any]:
            residual, J, _ = algorithms.constraints(model, q, np.zeros(n))
            return {"residual": residual, "J": J}

        def holding(q: Any) -> dict[str, Any]:
            forces = algorithms.loop_inverse_dynamics(model, q, np.zeros(n), np.zeros(n), self.rows)
            return {"tau": forces.tau, "left": forces.left, "scale": forces.scale}

        self._closing = function_call(model, "closing", {"q": model.nq}, closing)
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
            there, able = self.step(q, step)
            q = np.where(able[:, None], there, q)
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
        there, able = self.project(self.robot.integrate(q, v))
        moved = np.linalg.norm(self.robot.difference(q, there), axis=1)
        return there, able & (moved <= 2.0 * np.linalg.norm(v, axis=1))

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
        """(n, motors): what the motors give to hold the robot still; infinite where they cannot."""
        tau, left, scale = self._holding(q)
        able = np.max(np.abs(left), axis=1) <= CONSISTENT * np.maximum(scale[:, 0], 1.0)
        return np.where(able[:, None], tau[:, self.rows], np.inf)

    def _least(self, J: np.ndarray, b: np.ndarray) -> np.ndarray:
        """x (n, nc) with J Jᵀ x = b, redundant equations shared."""
        JJ = np.einsum("bij,bkj->bik", J, J)
        ridge = RIDGE * np.trace(JJ, axis1=1, axis2=2)[:, None, None] * np.eye(JJ.shape[1]) + 1e-300
        return np.linalg.solve(JJ + ridge, b[..., None])[..., 0]

    def _inside(self, q: np.ndarray) -> np.ndarray:
        inside = np.ones(len(q), bool)
        for body in self.model.bodies:
            joint = body.joint
            if joint.nq == joint.nv and joint.nv:
                x = q[:, body.q]
                inside &= np.all((x >= joint.lower - SLACK) & (x <= joint.upper + SLACK), axis=1)
        return inside
