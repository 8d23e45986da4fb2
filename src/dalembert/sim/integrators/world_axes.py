"""Runge-Kutta steps in which free bodies are displaced along the axes of the world, as in MuJoCo's RK4.

"rk4" displaces them by screw motions; both are of order 4, and equal where nothing is free.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import displacement_rate, integrate
from dalembert.dynamics.algorithms.free_bodies import drifts, turning
from dalembert.model import Model
from dalembert.spatial import so3

from ..system.system import System
from .explicit import weighted
from .tableaux import RK4


def rk4_in_world_axes(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step of the classical method.

    Linear velocities, accelerations and displacements of free bodies are along the axes of the world; rotations are
    displaced on their manifold.
    """
    model, layout = system.model, system.layout
    start = _along_world(model, q, layout.velocity(e))
    displacements: list[np.ndarray] = []
    accelerations: list[np.ndarray] = []
    slopes: list[np.ndarray] = []
    for row, c in zip(RK4.a, RK4.c, strict=True):
        w = start + h * weighted(row, accelerations)
        d = h * weighted(row, displacements) if displacements else np.zeros(model.nv)
        q_stage = _moved(model, q, d) if displacements else q
        v = _along_bodies(model, q_stage, w)
        stage = layout.replaced(e + h * weighted(row, slopes), v)
        slope = system.rates(t + c * h, q_stage, stage, u)
        displacements.append(_displacement_rate(model, d, w) if displacements else w)
        slopes.append(slope)
        accelerations.append(_along_world(model, q_stage, layout.velocity(slope) + turning(model, v)))
    q1 = _moved(model, q, h * weighted(RK4.b, displacements))
    v1 = _along_bodies(model, q1, start + h * weighted(RK4.b, accelerations))
    return system.projected(q1, layout.replaced(e + h * weighted(RK4.b, slopes), v1))


def _displacement_rate(model: Model, d: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The rate of a displacement d (nv,) at velocities w (nv,)."""
    rate = displacement_rate(model, d, w).astype(object)
    for body in model.bodies:
        if drifts(model, body):
            angular = so3.right_jacobian_inverse(d[body.v][:3]) @ w[body.v][:3]
            rate[body.v] = np.concatenate([angular, w[body.v][3:]])
    return rate


def _along_world(model: Model, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x (nv,) with the linear parts of free bodies along the axes of the world."""
    return _turned(model, q, x, lambda R, linear: R @ linear)


def _along_bodies(model: Model, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The reverse."""
    return _turned(model, q, x, lambda R, linear: R.T @ linear)


def _turned(model: Model, q: np.ndarray, x: np.ndarray, turn: Any) -> np.ndarray:
    y = x.astype(object)
    for body in model.bodies:
        if drifts(model, body):
            R = so3.from_quaternion(q[body.q][3:])
            y[body.v] = np.concatenate([x[body.v][:3], turn(R, x[body.v][3:])])
    return y


def _moved(model: Model, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """q displaced by d (nv,), free bodies along the axes of the world."""
    q1 = integrate(model, q, d).astype(object)
    for body in model.bodies:
        if drifts(model, body):
            place, turn = q[body.q], so3.quaternion_exp(d[body.v][:3])
            turned = so3.quaternion_normalize(so3.quaternion_multiply(place[3:], turn))
            q1[body.q] = np.concatenate([place[:3] + d[body.v][3:], turned])
    return q1
