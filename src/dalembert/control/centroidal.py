"""The convex centroidal program: forces of standing feet that move a body along a reference.   Di Carlo et al. 2018.

One rigid body, small roll and pitch: with x = [rpy, p, ω, v] and the yaw ψ of the horizon's begin,

    d/dt rpy = Rz(ψ)ᵀ ω    ṗ = v    ω̇ = I⁻¹ Σ rᵢ × fᵢ    v̇ = Σ fᵢ / m + g

Forces of feet that swing are no variables. States follow from the forces (condensed form), what remains has three
variables for each standing foot and node. The friction pyramid lies within the cone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.spatial import so3

from .quadratic import minimise

WEIGHTS = (20.0, 20.0, 10.0, 20.0, 20.0, 60.0, 0.2, 0.2, 0.2, 1.0, 1.0, 1.0)
FORCE = 1e-5  # of the squared force, in the cost
GRAVITY = np.array([0.0, 0.0, -9.81])


class ForcePlan(NamedTuple):
    """forces (N, k, 3) [N] on the body, in the world, 0 where a foot swings; states (N, 12) that they lead to."""

    forces: np.ndarray
    states: np.ndarray


@dataclass(frozen=True, eq=False)
class Centroidal:
    """A body of mass [kg] and inertia (3, 3) about its centre, along its axes [kg·m²]; made by `centroidal`.

    step [s] between nodes; friction µ; most [N]: greatest normal force of a foot; weights (12,) of [rpy, p, ω, v].
    """

    mass: float
    inertia: np.ndarray
    step: float
    friction: float
    most: float
    weights: np.ndarray

    def plan(self, state: Any, reference: Any, feet: Any, contacts: Any) -> ForcePlan:
        """The forces of the next nodes.

        state (12,): [roll pitch yaw, position, angular velocity in the world, velocity]; reference (N, 12): at the end
        of each node; feet (k, 3) or (N, k, 3): places in the world; contacts (N, k): which stand.
        """
        x0, ref, stands = np.asarray(state, float), np.asarray(reference, float), np.asarray(contacts, bool)
        nodes, k = stands.shape if stands.ndim == 2 else (0, 0)
        if not nodes or x0.shape != (12,) or ref.shape != (nodes, 12):
            raise DalembertError(
                f"centroidal: state {x0.shape}, reference {ref.shape} and contacts {stands.shape}, expected (12,), "
                "(N, 12) and (N, k)"
            )
        places = np.broadcast_to(np.asarray(feet, float), (nodes, k, 3))
        free, response, columns = self._condensed(x0, ref, places, stands)
        if not columns:  # nothing stands: the body falls
            return ForcePlan(np.zeros((nodes, k, 3)), free)
        W = np.tile(self.weights, nodes)
        B = response.reshape(12 * nodes, -1)
        H = B.T @ (W[:, None] * B) + FORCE * np.eye(B.shape[1])
        shares = 1.0 / stands.sum(axis=1)[[node for node, _ in columns], None]
        even = -self.mass * GRAVITY * shares  # each foot its part of the weight
        g = B.T @ (W * (free - ref).ravel()) - FORCE * even.ravel()
        C, upper = self._cone(len(columns))
        solution = minimise(H, g, C, upper).x
        forces = np.zeros((nodes, k, 3))
        for row, (node, foot) in enumerate(columns):
            forces[node, foot] = solution[3 * row : 3 * row + 3]
        return ForcePlan(forces, free + response @ solution)

    def _condensed(
        self, x0: np.ndarray, ref: np.ndarray, places: np.ndarray, stands: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
        """States without forces (N, 12), their slopes in the forces (N, 12, 3 c), and (node, foot) of each force."""
        nodes, _ = stands.shape
        h, R = self.step, so3.from_rpy(0.0, 0.0, x0[2])
        about = np.linalg.inv(R @ self.inertia @ R.T)
        A = np.eye(12)
        A[0:3, 6:9], A[3:6, 9:12] = h * R.T, h * np.eye(3)
        columns = [(int(i), int(j)) for i, j in np.argwhere(stands)]
        free, response = np.zeros((nodes, 12)), np.zeros((nodes, 12, 3 * len(columns)))
        x, slope = x0, np.zeros((12, 3 * len(columns)))
        for node in range(nodes):
            x, slope = A @ x, A @ slope
            x[3:6] += 0.5 * h * h * GRAVITY
            x[9:12] += h * GRAVITY
            body = x0[3:6] + (ref[node, 3:6] - x0[3:6]) * node / nodes  # about which forces turn
            for row, (at, foot) in enumerate(columns):
                if at == node:
                    turn = about @ so3.skew(places[node, foot] - body)
                    here = slice(3 * row, 3 * row + 3)
                    slope[0:3, here] += 0.5 * h * h * R.T @ turn
                    slope[6:9, here] += h * turn
                    slope[3:6, here] += 0.5 * h * h / self.mass * np.eye(3)
                    slope[9:12, here] += h / self.mass * np.eye(3)
            free[node], response[node] = x, slope
        return free, response, columns

    def _cone(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows C f ≤ upper: a pyramid within the friction cone, and the greatest normal force."""
        m = self.friction / np.sqrt(2.0)
        one = np.array([[1, 0, -m], [-1, 0, -m], [0, 1, -m], [0, -1, -m], [0, 0, 1.0], [0, 0, -1.0]])
        return np.kron(np.eye(count), one), np.tile([0.0, 0.0, 0.0, 0.0, self.most, 0.0], count)


def centroidal(
    robot: Robot | None = None, q: Any = None, *, mass: float | None = None, inertia: Any = None, step: float = 0.05,
    friction: float = 0.6, most: float | None = None, weights: Any = WEIGHTS,
) -> Centroidal:  # fmt: skip
    """A centroidal program of a robot, as one body in the configuration q (nq,), or of a mass and an inertia (3, 3).

    step [s] between nodes, friction µ, most [N]: greatest normal force of a foot, default three times the weight.
    """
    if robot is not None:
        place = robot.neutral() if q is None else np.asarray(q, float)
        R = so3.from_quaternion(place[3:7]) if robot.model.floating else np.eye(3)
        whole = robot.composite_inertia(place)
        inertia = R.T @ whole[:3, :3] @ R if inertia is None else inertia
        mass = float(whole[5, 5]) if mass is None else mass
    if mass is None or inertia is None or not 0.0 < mass < np.inf:
        raise DalembertError("centroidal: pass a robot, or mass=… above 0 and inertia=… (3, 3)")
    tensor = np.asarray(inertia, float)
    if tensor.shape != (3, 3) or np.linalg.eigvalsh(0.5 * (tensor + tensor.T)).min() <= 0.0:
        raise DalembertError(f"centroidal: inertia is {inertia!r}, expected (3, 3), positive definite")
    if not (0.0 < step < np.inf and 0.0 < friction < np.inf):
        raise DalembertError(f"centroidal: step is {step!r} s and friction {friction!r}, expected numbers above 0")
    W = np.asarray(weights, float)
    if W.shape != (12,) or W.min() < 0.0:
        raise DalembertError(f"centroidal: weights has shape {W.shape}, expected (12,) numbers of at least 0")
    top = 3.0 * 9.81 * mass if most is None else float(most)
    return Centroidal(float(mass), tensor, float(step), float(friction), top, W)
