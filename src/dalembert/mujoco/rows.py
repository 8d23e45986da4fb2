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
from dalembert.model.mujoco import LEAST, Softness
from dalembert.typing import Array

from .candidates import Parameters

LEAST_IMPEDANCE, MOST_IMPEDANCE = 1e-4, 0.9999


class ConstraintBlock(NamedTuple):
    """Rows that act together: J (k, nv), reference (k,) their accelerations, force law by `kind`.

    "equal": quadratic; "limit": pushes only; "friction": up to `most`; "elliptic", "pyramidal": contacts, normal first.
    D (k,): stiffness of each row in J a − reference, 0 where it does not act; of a pyramid that of its edges along each
    tangent, the first that of a normal without friction. friction (k − 1,): of a contact, 0 where it has no such row;
    mu: that of its cone in scaled coordinates.
    """

    kind: str
    J: Array
    reference: Array
    D: Array
    most: float = 0.0
    friction: Any = ()
    mu: Any = 0.0

    def answer(self, x: Array) -> tuple[Array, Array]:
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
    J: Array,
    v: Array,
    deviations: Sequence[Any],
    size: Any,
    softness: Softness,
    weights: Sequence[float],
    shortest: float,
    active: Any = True,
    most: float = 0.0,
) -> ConstraintBlock:
    """Rows J (k, nv) of an equality, a limit or dry friction; size: the deviation that sets the impedance."""
    k, b = spring(softness.solref, softness, shortest)
    d = impedance(softness, size)
    rates = sparse_product(J, v)
    reference = np.array([-b * u - k * d * r for u, r in zip(rates, deviations, strict=True)])
    D = np.array([1.0 / resistance(softness, size, weight) for weight in weights])
    return ConstraintBlock(kind, J, reference, D if active is True else where(active, D, 0.0), most)


def contact_springs(parameters: Parameters, cone: str, shortest: float) -> tuple[float, float, float]:
    """Stiffness and damping of a contact's normal, and the damping of its tangents; shortest: time constant [s]."""
    k, b = spring(parameters.softness.solref, parameters.softness, shortest)
    apart = any(parameters.friction_solref) and cone == "elliptic"
    return k, b, spring(parameters.friction_solref, parameters.softness, shortest)[1] if apart else b


def contact_numbers(
    cone: str,
    impratio: float,
    friction: Sequence[Any],
    rates: Array,
    depth: Any,
    springs: Sequence[Any],
    d: Any,
    weight: Any,
) -> dict[str, Any]:
    """Fields of a `ConstraintBlock` for a contact with rates (k,): normal, two tangents, spin, two of rolling.

    friction (k − 1,): 0 for a row that it does not have. depth: distance beyond the margin; springs: those of
    `contact_springs`; d: impedance; weight: the inverse mass along the normal.
    """
    k, b, b_friction = springs
    reference = np.array([-b * rates[0] - k * d * depth, *(-b_friction * u for u in rates[1:])])
    softest, ratio = (1.0 - d) / d * weight, max(impratio, LEAST)
    sliding = friction[0] if len(friction) else 0.0
    grips = sliding > 0.0
    first = where(grips, sliding, 1.0)
    normal = 1.0 / maximum(softest, LEAST)
    if cone == "pyramidal":
        edge = 1.0 / (2.0 * first * first / ratio * maximum(softest * (1.0 + first * first), LEAST))
        D = [where(grips, 0.0, normal), *(where(mu > 0.0, edge, 0.0) for mu in friction)]
    else:
        D = [normal, *(normal * ratio * (mu / first) * (mu / first) for mu in friction)]
    mu = sliding / float(np.sqrt(ratio))
    return {"reference": reference, "D": np.array(D), "friction": np.array(friction), "mu": mu}


def contact_block(
    cone: str,
    impratio: float,
    parameters: Parameters,
    J: Array,
    v: Array,
    distance: Any,
    weight: float,
    shortest: float,
) -> ConstraintBlock:
    """Rows J (condim, nv) of a contact: normal, two tangents, spin, two of rolling."""
    depth, active = distance - parameters.margin, distance < parameters.margin
    springs, d = contact_springs(parameters, cone, shortest), impedance(parameters.softness, depth)
    friction = parameters.friction[: parameters.condim - 1]
    numbers = contact_numbers(cone, impratio, friction, sparse_product(J, v), depth, springs, d, weight)
    numbers["D"] = where(active, numbers["D"], 0.0)
    return ConstraintBlock(cone if len(J) > 1 else "limit", J, **numbers)


class SlottedContacts(NamedTuple):
    """Contacts in n slots, the first `count` of them taken: fields of a `ConstraintBlock`, with slots as first axis.

    pattern (nv, nv): whether some contact ties two velocities together.
    """

    kind: str
    J: Array
    reference: Array
    D: Array
    friction: Array
    mu: Array
    count: Any
    pattern: Array

    @property
    def laws(self) -> dict[str, Array]:
        """Arguments of the law of each contact, by name."""
        return {"D": self.D, "friction": self.friction, "mu": self.mu}

    def answer(self, x: Array, D: Array, friction: Array, mu: Any) -> tuple[Array, Array]:
        """Forces and stiffness of one contact, see `ConstraintBlock.answer`; the others: a row of each of `laws`."""
        return LAWS[self.kind](
            ConstraintBlock(self.kind, np.zeros((0, 0)), np.zeros(0), D, friction=friction, mu=mu), x
        )


def _equal(block: ConstraintBlock, x: Array) -> tuple[Array, Array]:
    return -block.D * x, np.diag(block.D)


def _limit(block: ConstraintBlock, x: Array) -> tuple[Array, Array]:
    D = np.array([where(miss < 0.0, stiff, 0.0) for miss, stiff in zip(x, block.D, strict=True)])
    return -D * x, np.diag(D)


def _friction(block: ConstraintBlock, x: Array) -> tuple[Array, Array]:
    (push,), (stiff,) = -block.D * x, block.D
    held = absolute(push) < block.most
    return np.array([clip(push, -block.most, block.most)]), np.array([[where(held, stiff, 0.0)]])


def _pyramidal(block: ConstraintBlock, x: Array) -> tuple[Array, Array]:
    """Edges normal ± µ tangent, each of which pushes only."""
    n, lone = len(x), where(x[0] < 0.0, block.D[0], 0.0)
    force, H = np.zeros(n, object), np.zeros((n, n), object)
    force[0], H[0, 0] = -lone * x[0], lone
    for j, mu in enumerate(block.friction, 1):
        for slope in (mu, -mu):
            y = x[0] + slope * x[j]
            D = where(y < 0.0, block.D[j], 0.0)
            push = -D * y
            force[0], force[j] = force[0] + push, force[j] + slope * push
            H[0, 0], H[j, j] = H[0, 0] + D, H[j, j] + slope * slope * D
            H[j, 0] = H[0, j] = H[0, j] + slope * D
    return force, H


def _elliptic(block: ConstraintBlock, x: Array) -> tuple[Array, Array]:
    """Sticking inside the cone, open in its dual, and between them on the cone, all scaled by friction."""
    n, D, grips = len(x), block.D, block.mu > 0.0
    mu = where(grips, block.mu, 1.0)
    scale = np.array([mu, *block.friction])
    U = scale * x
    N, square = U[0], U[1:] @ U[1:]
    still = square < LEAST * LEAST
    T = where(still, 0.0, sqrt(where(still, 1.0, square)))  # with a slope at 0, where empty slots are
    sticks, opened = mu * N + T <= 0.0, mu * T <= N
    along = 1.0 / where(still, 1.0, T)
    slide = D[0] / (mu * mu * (1.0 + mu * mu))
    lack = N - mu * T  # below 0 on the cone
    normal = -slide * lack * mu
    on_cone = np.array([normal, *(-normal * along * u * f for u, f in zip(U[1:], block.friction, strict=True))])
    lone = where(x[0] < 0.0, D[0], 0.0)  # of a normal without friction
    slippery = np.array([-lone * x[0], *np.zeros(n - 1)])
    force = where(grips, where(opened, 0.0, where(sticks, -D * x, on_cone)), slippery)
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
            entry = where(opened, 0.0, where(sticks, sticking, entry))
            H[i, j] = H[j, i] = where(grips, entry, lone if i == 0 else 0.0)
    return force, H


LAWS = {"equal": _equal, "limit": _limit, "friction": _friction, "pyramidal": _pyramidal, "elliptic": _elliptic}
