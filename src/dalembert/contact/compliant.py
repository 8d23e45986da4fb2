"""Compliant contact: springs with dissipation after Hunt and Crossley (1975), and friction that is smooth in the slip.

With the depth d = max(−gap, 0) and the velocity u of the first body past the second:

    F_n = k d max(1 − c u_n, 0),   F_t = −µ(s) F_n u_t / √(s² + v_s²),   s = |u_t|

so that dissipation vanishes with the depth, and neither force jumps. While it sticks it creeps, at 95 % of the friction
with about three times the slip speed v_s.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.math import exp, maximum, sqrt

from .laws import ContactLaw

FULL = 5.0  # slip speeds at which friction has fallen from that at rest to that of sliding


class Push(NamedTuple):
    """Of a contact: force (3,) along its axes [N], moment (3,) about them [N·m], energy stored [J], power lost [W]."""

    force: np.ndarray
    moment: np.ndarray
    energy: Any
    lost: Any


def push(law: ContactLaw, slip_speed: float, gap: Any, u: np.ndarray, w: np.ndarray) -> Push:
    """Of a contact with velocity u (3,) and spin w (3,) of the first body against the second, normal first."""
    depth = maximum(-gap, 0.0)
    spring = law.stiffness * depth
    normal = spring * maximum(1.0 - law.damping * u[0], 0.0)
    square, slow = u[1:] @ u[1:], slip_speed * slip_speed
    extra = law.static_friction - law.friction
    mu: Any = law.friction
    if extra:
        mu = mu + extra * exp(-square / (FULL * FULL * slow))
    tangents = -(mu * normal / sqrt(square + slow)) * u[1:]
    moment = np.array([0.0 * normal] * 3)
    if law.torsion:
        x = law.torsion * w[0]
        moment[0] = -law.torsion * normal * x / sqrt(x * x + slow)
    if law.rolling:
        x = law.rolling * w[1:]
        moment[1:] = -(law.rolling * normal / sqrt(x @ x + slow)) * x
    lost = -(normal - spring) * u[0] - tangents @ u[1:] - moment @ w
    return Push(np.concatenate([[normal], tangents]), moment, 0.5 * spring * depth, lost)
