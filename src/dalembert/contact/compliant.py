"""Compliant contact: springs with dissipation after Hunt and Crossley (1975), and friction that is smooth in the slip.

With the depth d = max(−gap, 0) and the velocity u of the first body past the second:

    F_n = k d max(1 − c u_n, 0),   F_t = −µ(s) F_n u_t / √(s² + v_s²),   s = |u_t|

so that dissipation vanishes with the depth, and neither force jumps. While it sticks it creeps, at 95 % of the friction
with about three times the slip speed v_s.

Bristle friction holds instead: a spring of the same stiffness is stretched along the surface by z, from where the point
took hold, and gives no more than friction does:

    F_t = −min(1, µ F_n / |f|) f,  f = k z + c F_n u_t,    ż = u_t − β max(|z| − µ F_n / k, 0) z / |z|

The last term lets it follow when it slides, and go back when nothing touches. Below the cone nothing creeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.math import exp, maximum, minimum, sqrt, where

from .laws import ContactLaw

FULL = 5.0  # slip speeds at which friction has fallen from that at rest to that of sliding


FOLLOWS = 1e3  # β [1/s]: how fast a bristle that is stretched too far goes back
TINY = 1e-30  # keeps roots from having infinite slopes


class Push(NamedTuple):
    """The effect of a contact: force (3,) [N], moment (3,) [N·m], along its axes; energy stored [J], power lost [W].

    rate (2,): ż of its bristle along the tangents [m/s]; none without.
    """

    force: np.ndarray
    moment: np.ndarray
    energy: Any
    lost: Any
    rate: Any = ()


def push(
    law: ContactLaw, slip_speed: float, gap: Any, u: np.ndarray, w: np.ndarray, z: np.ndarray | None = None
) -> Push:
    """The effect of a contact with velocity u (3,) and spin w (3,) of the first body against the second, normal first.

    z (2,): the stretch of its bristle along the tangents [m]; None: friction that is smooth in the slip.
    """
    depth = maximum(-gap, 0.0)
    spring = law.stiffness * depth
    normal = spring * maximum(1.0 - law.damping * u[0], 0.0)
    square, slow = u[1:] @ u[1:], slip_speed * slip_speed
    extra = law.static_friction - law.friction
    mu: Any = law.friction
    if extra:
        mu = mu + extra * exp(-square / (FULL * FULL * slow))
    stretched, rate = 0.0, ()
    if z is None:
        tangents = -(mu * normal / sqrt(square + slow)) * u[1:]
    else:
        pull = law.stiffness * z + (law.damping * normal) * u[1:]
        tangents = -minimum(1.0, mu * normal / sqrt(pull @ pull + TINY)) * pull
        length = sqrt(z @ z + TINY)
        excess = maximum(length - mu * normal / law.stiffness, 0.0)
        rate = where(depth > 0.0, 1.0, 0.0) * u[1:] - (FOLLOWS * excess / length) * z
        stretched = 0.5 * law.stiffness * (z @ z)
    moment = np.array([0.0 * normal] * 3)
    if law.torsion:
        x = law.torsion * w[0]
        moment[0] = -law.torsion * normal * x / sqrt(x * x + slow)
    if law.rolling:
        x = law.rolling * w[1:]
        moment[1:] = -(law.rolling * normal / sqrt(x @ x + slow)) * x
    lost = -(normal - spring) * u[0] - tangents @ u[1:] - moment @ w
    if z is not None:
        lost = lost - law.stiffness * (z @ rate)
    return Push(np.concatenate([[normal], tangents]), moment, 0.5 * spring * depth + stretched, lost, rate)
