"""Rigid-body inertia: ten numbers, how they add, move, and turn a twist into momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.math import where

from .se3 import Pose
from .so3 import skew
from .vectors import components, cross

ROUND_OFF = 1e-12  # negative principal moments up to this fraction of the largest are round-off
PRINTED = 1e-5  # violations of the triangle inequality up to this fraction come from rounding to six digits


@dataclass(frozen=True, eq=False, slots=True)
class Inertia:
    """Inertia of a body about its frame's origin, in its frame's axes."""

    mass: Any  # [kg]
    moment: np.ndarray  # (3,) mass times centre of mass [kg·m]
    I: np.ndarray  # (3, 3) rotational inertia about the origin [kg·m²]

    @staticmethod
    def zero() -> Inertia:
        """No mass at all."""
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def from_com(mass: Any, com: Any, I_com: Any, R: Any = None) -> Inertia:
        """From the centre of mass (3,) [m] and the inertia (3, 3) about it, in axes turned by R (default: none)."""
        I_com = np.asarray(I_com)
        X = Pose(np.eye(3) if R is None else np.asarray(R), np.asarray(com))
        return Inertia(mass, np.zeros(3), I_com).transform(X)

    @staticmethod
    def from_parameters(pi: Any) -> Inertia:
        """From m, m·cx, m·cy, m·cz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the origin (10,)."""
        m, hx, hy, hz, xx, yy, zz, xy, xz, yz = components(pi)
        return Inertia(m, np.array([hx, hy, hz]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    def parameters(self) -> np.ndarray:
        """m, m·cx, m·cy, m·cz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the origin (10,)."""
        I = self.I
        return np.array([self.mass, *self.moment, I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])

    @property
    def com(self) -> np.ndarray:
        """Centre of mass (3,) [m]; the origin for a massless body."""
        return self.moment / where(self.mass == 0.0, 1.0, self.mass)

    def about_com(self) -> np.ndarray:
        """Rotational inertia (3, 3) about the centre of mass, in the frame's axes."""
        c = skew(self.com)
        return self.I + self.mass * (c @ c)

    def matrix(self) -> np.ndarray:
        """Spatial inertia (6, 6): [I [h]×; -[h]× m·1] with h = m·c."""
        h = skew(self.moment)
        return np.block([[self.I, h], [-h, self.mass * np.eye(3)]])

    def __add__(self, other: Inertia) -> Inertia:
        """Two bodies moving as one, both given in the same frame."""
        return Inertia(self.mass + other.mass, self.moment + other.moment, self.I + other.I)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Momentum (6,) of the body at twist V: [I ω + h × v; m v - h × ω]."""
        w, v = V[:3], V[3:]
        return np.concatenate([self.I @ w + cross(self.moment, v), self.mass * v - cross(self.moment, w)])

    def transform(self, X_AB: Pose) -> Inertia:
        """The same body seen from A, when this is its inertia in B."""
        R, p = X_AB.R, X_AB.p
        turned = R @ self.moment
        RI, g = R @ self.I, turned + 0.5 * self.mass * p
        # R I Rᵀ - [p]×[g]× - [g]×[p]×, upper triangle only: the lower one would be traced as other expressions
        I = np.empty((3, 3), np.result_type(RI, g))
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            I[i, i] = RI[i] @ R[i] + 2.0 * (p[j] * g[j] + p[k] * g[k])
            I[i, j] = I[j, i] = RI[i] @ R[j] - (p[i] * g[j] + p[j] * g[i])
        return Inertia(self.mass, turned + self.mass * p, I)

    def problems(self) -> tuple[str, ...]:
        """Violated conditions of physical consistency, in words; empty for a possible (or massless) body.

        Principal moments may be negative by ROUND_OFF, and break the triangle inequality by PRINTED, of the largest.
        """
        if not np.all(np.isfinite(self.parameters().astype(float))):
            return ("mass, centre of mass or inertia is not finite",)
        problems = []
        if self.mass < 0:
            problems.append(f"mass is negative ({self.mass:g} kg)")
        if self.mass == 0 and (self.moment.any() or self.I.any()):
            problems.append("mass is 0 but the inertia is not")
        least, middle, most = np.linalg.eigvalsh(self.about_com() if self.moment.any() else self.I)
        if least < -ROUND_OFF * max(abs(most), np.max(np.abs(self.I))):
            problems.append(f"inertia at the centre of mass has a negative principal moment ({least:g} kg·m²)")
        elif most - least - middle > PRINTED * most + ROUND_OFF * np.max(np.abs(self.I)):
            problems.append(f"principal moments break the triangle inequality: {most:g} > {least:g} + {middle:g} kg·m²")
        return tuple(problems)
