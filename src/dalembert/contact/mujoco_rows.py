"""MuJoCo's constraints of a state: rows of velocities, reference accelerations, and how much they give way.

A row with the deviation r and the rate J v asks for the acceleration a_ref = −b J v − k d(r) r, and resists with the
force −D (J a − a_ref), R = 1/D = (1 − d)/d · A. The impedance d(r) comes from solimp, stiffness k and damping b come
from solref, and A is the inverse mass along the row (MuJoCo's documentation, "Computation", "Constraint model").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import sparse_product
from dalembert.math import abs as absolute
from dalembert.math import clip, exp, log, maximum, minimum, sqrt, where
from dalembert.model.mujoco import Softness

from .mujoco_candidates import LEAST, Parameters

LEAST_IMPEDANCE, MOST_IMPEDANCE = 1e-4, 0.9999


class Block(NamedTuple):
    """Rows that act together: J (k, nv), reference (k,) their accelerations, force law by `kind`.

    "equal": quadratic; "limit": pushes only; "friction": up to `most`; "elliptic", "pyramidal": contacts, normal first.
    D (k,): stiffness of each row in J a − reference, 0 where it does not act; for a pyramid that of an edge. friction
    (k − 1,): of a contact; mu: that of its cone in scaled coordinates.
    """

    kind: str
    J: np.ndarray
    reference: np.ndarray
    D: np.ndarray
    most: float = 0.0
    friction: tuple[float, ...] = ()
    mu: float = 0.0

    def answer(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forces (k,) and their stiffness (k, k) = −∂force/∂x, at x = J a − reference (k,)."""
        return LAWS[self.kind](self, x)


def impedance(softness: Softness, deviation: Any) -> Any:
    """d(r), between the first two numbers of solimp, along a curve of its width, midpoint and power."""
    low, high, width, middle, power = softness.solimp
    low, high, middle = (min(max(x, LEAST_IMPEDANCE), MOST_IMPEDANCE) for x in (low, high, middle))
    power = max(1.0, power)
    if low == high or width <= LEAST:
        return 0.5 * (low + high)
    x = absolute(deviation) / width
    if power == 1.0:
        y: Any = x
    else:
        below = _power(minimum(x, middle), power) / middle ** (power - 1.0)
        above = 1.0 - _power(1.0 - clip(x, middle, 1.0), power) / (1.0 - middle) ** (power - 1.0)
        y = where(x <= middle, below, above)
    return where(x >= 1.0, high, low + y * (high - low))


def _power(x: Any, power: float) -> Any:
    """x^power for x ≥ 0."""
    if power == int(power) and power <= 8:
        result = x
        for _ in range(int(power) - 1):
            result = result * x
        return result
    return where(x > 0.0, exp(power * log(maximum(x, 1e-300))), 0.0)


def spring(solref: tuple[float, float], softness: Softness, shortest: float) -> tuple[float, float]:
    """Stiffness and damping (k, b) of a reference acceleration; shortest: time constant [s]."""
    high = min(max(softness.solimp[1], LEAST_IMPEDANCE), MOST_IMPEDANCE)
    time, ratio = solref
    if time > 0.0:
        time = max(time, shortest)
        return 1.0 / max(LEAST, high * high * time * time * ratio * ratio), 2.0 / max(LEAST, high * time)
    return -time / max(LEAST, high * high), -ratio / max(LEAST, high)


def resistance(softness: Softness, deviation: Any, weight: Any) -> Any:
    """R = (1 − d)/d · A."""
    d = impedance(softness, deviation)
    return maximum((1.0 - d) / d * weight, LEAST)


def simple_block(
    kind: str,
    J: np.ndarray,
    v: np.ndarray,
    deviations: Sequence[Any],
    size: Any,
    softness: Softness,
    weights: Sequence[float],
    shortest: float,
    active: Any = True,
    most: float = 0.0,
) -> Block:
    """Rows J (k, nv) of an equality, a limit or dry friction; size: the deviation that sets the impedance."""
    k, b = spring(softness.solref, softness, shortest)
    d = impedance(softness, size)
    rates = sparse_product(J, v)
    reference = np.array([-b * u - k * d * r for u, r in zip(rates, deviations, strict=True)])
    D = np.array([1.0 / resistance(softness, size, weight) for weight in weights])
    return Block(kind, J, reference, D if active is True else where(active, D, 0.0), most)


def contact_block(
    cone: str,
    impratio: float,
    parameters: Parameters,
    J: np.ndarray,
    v: np.ndarray,
    distance: Any,
    weights: tuple[float, float],
    shortest: float,
) -> Block:
    """Rows J (condim, nv) of a contact: normal, two tangents, spin, two of rolling."""
    n, softness, friction = parameters.condim, parameters.softness, parameters.friction[: parameters.condim - 1]
    depth, active = distance - parameters.margin, distance < parameters.margin
    k, b = spring(softness.solref, softness, shortest)
    d = impedance(softness, depth)
    rates = sparse_product(J, v)
    apart = any(parameters.friction_solref) and cone == "elliptic"
    b_friction = spring(parameters.friction_solref, softness, shortest)[1] if apart else b
    reference = np.array([-b * rates[0] - k * d * depth, *(-b_friction * u for u in rates[1:])])
    linear = weights[0]
    if n == 1:
        D = np.array([1.0 / resistance(softness, depth, linear)])
        return Block("limit", J, reference, where(active, D, 0.0))
    if cone == "pyramidal":
        edge = resistance(softness, depth, linear * (1.0 + friction[0] ** 2))
        D = np.array([1.0 / (2.0 * friction[0] ** 2 / max(impratio, LEAST) * edge)])
        return Block("pyramidal", J, reference, where(active, D, 0.0), friction=friction)
    R = resistance(softness, depth, linear)
    tangential = R / max(impratio, LEAST)
    across = [tangential * (friction[0] / mu) ** 2 for mu in friction]
    D = np.array([1.0 / R, *(1.0 / x for x in across)])
    mu = friction[0] / np.sqrt(max(impratio, LEAST))
    return Block("elliptic", J, reference, where(active, D, 0.0), friction=friction, mu=float(mu))


def _equal(block: Block, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return -block.D * x, np.diag(block.D)


def _limit(block: Block, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    D = np.array([where(miss < 0.0, stiff, 0.0) for miss, stiff in zip(x, block.D, strict=True)])
    return -D * x, np.diag(D)


def _friction(block: Block, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (push,), (stiff,) = -block.D * x, block.D
    held = absolute(push) < block.most
    return np.array([clip(push, -block.most, block.most)]), np.array([[where(held, stiff, 0.0)]])


def _pyramidal(block: Block, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges normal ± µ tangent, each of which pushes only."""
    n, (edge,) = len(x), block.D
    force, H = np.zeros(n, object), np.zeros((n, n), object)
    for j, mu in enumerate(block.friction, 1):
        for slope in (mu, -mu):
            y = x[0] + slope * x[j]
            D = where(y < 0.0, edge, 0.0)
            push = -D * y
            force[0], force[j] = force[0] + push, force[j] + slope * push
            H[0, 0], H[j, j] = H[0, 0] + D, H[j, j] + slope * slope * D
            H[j, 0] = H[0, j] = H[0, j] + slope * D
    return force, H


def _elliptic(block: Block, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sticking inside the cone, open in its dual, and between them on the cone, all scaled by friction."""
    n, mu, D = len(x), block.mu, block.D
    scale = np.array([mu, *block.friction])
    U = scale * x
    N, square = U[0], U[1:] @ U[1:]
    T = sqrt(square)
    still = T < LEAST
    sticks, opened = mu * N + T <= 0.0, mu * T <= N
    along = 1.0 / where(still, 1.0, T)
    slide = D[0] / (mu * mu * (1.0 + mu * mu))
    lack = N - mu * T  # below 0 on the cone
    normal = -slide * lack * mu
    on_cone = np.array([normal, *(-normal * along * u * f for u, f in zip(U[1:], block.friction, strict=True))])
    force = where(opened, 0.0, where(sticks, -D * x, on_cone))
    # second derivatives of ½ slide (N − µ T)²
    slope = np.array([mu, *(-mu * along * u * f for u, f in zip(U[1:], block.friction, strict=True))])
    bend = mu * lack * along
    H = np.zeros((n, n), object)
    for i in range(n):
        for j in range(i + 1):
            entry = slide * slope[i] * slope[j]
            if j:
                turned = slope[i] * slope[j] / (mu * mu)
                same = block.friction[i - 1] ** 2 if i == j else 0.0
                entry = entry - slide * bend * (same - turned)
            sticking = D[i] if i == j else 0.0
            H[i, j] = H[j, i] = where(opened, 0.0, where(sticks, sticking, entry))
    return force, H


LAWS = {"equal": _equal, "limit": _limit, "friction": _friction, "pyramidal": _pyramidal, "elliptic": _elliptic}
