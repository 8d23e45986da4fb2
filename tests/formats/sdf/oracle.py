"""Dynamics from poses alone, apart from the package: M and g by complex steps of the links' poses, C v by differences.

A mechanism is a function of small increments d (nv,) of its coordinates that gives the pose (4, 4) of each link in the
world; bodies are (mass, centre of mass, inertia about it), in the link's frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

STEP = 1e-30  # complex steps have no cancellation, so that the step may be as small as one likes
Poses = Callable[[np.ndarray], Mapping[str, np.ndarray]]


class Mass(NamedTuple):
    mass: float
    com: np.ndarray
    inertia: np.ndarray


def rotation(axis: Any, angle: Any) -> np.ndarray:
    """Rodrigues: (4, 4), analytic in the angle."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4, dtype=np.result_type(angle, float))
    T[:3, :3] = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return T


def translation(p: Any) -> np.ndarray:
    T = np.eye(4, dtype=np.result_type(np.asarray(p), float))
    T[:3, 3] = p
    return T


def placed(x: Sequence[float]) -> np.ndarray:
    """The pose of SDF's six numbers: x y z, then roll, pitch, yaw about fixed axes."""
    turn = rotation((0, 0, 1), x[5]) @ rotation((0, 1, 0), x[4]) @ rotation((1, 0, 0), x[3])
    return translation(x[:3]) @ turn


def mass_matrix(poses: Poses, bodies: Mapping[str, Mass], nv: int) -> np.ndarray:
    M = np.zeros((nv, nv))
    still = poses(np.zeros(nv))
    rates = [poses(1j * STEP * e) for e in np.eye(nv)]
    for name, body in bodies.items():
        R, c = still[name][:3, :3].real, np.append(body.com, 1.0)
        linear = np.stack([(rate[name] @ c)[:3].imag / STEP for rate in rates], axis=1)
        spins = [rate[name][:3, :3].imag / STEP @ R.T for rate in rates]
        angular = np.stack([np.array([W[2, 1], W[0, 2], W[1, 0]]) for W in spins], axis=1)
        M += body.mass * linear.T @ linear + angular.T @ R @ body.inertia @ R.T @ angular
    return M


def gravity(poses: Poses, bodies: Mapping[str, Mass], nv: int, g: Any) -> np.ndarray:
    def potential(d: np.ndarray) -> Any:
        now = poses(d)
        return -sum(body.mass * (now[name] @ np.append(body.com, 1.0))[:3] @ g for name, body in bodies.items())

    return np.array([potential(1j * STEP * e).imag / STEP for e in np.eye(nv)])


def coriolis(poses: Poses, bodies: Mapping[str, Mass], v: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """C v = Ṁ v - ½ ∂(vᵀ M v)/∂q, of coordinates whose rates are v; good to about 1e-9."""

    def M(d: np.ndarray) -> np.ndarray:
        return mass_matrix(lambda e: poses(d + e), bodies, v.size)

    slopes = [(M(h * e) - M(-h * e)) / (2 * h) for e in np.eye(v.size)]
    return sum(rate * slope for rate, slope in zip(v, slopes, strict=True)) @ v - 0.5 * np.array(
        [v @ slope @ v for slope in slopes]
    )
