"""Parameters that bodies can have: pseudo-inertia P ≻ 0 per body, friction ≥ 0, centre of mass within its box.

minimise ½‖R x − z‖² + prior(x), P_i(x) ≻ 0, G x ≥ 0, where P = [[½ tr(I) 1 − I, h], [hᵀ, m]] (Wensing, Kim, Slotine
2018). The prior is the Bregman divergence of −log det from the file's own bodies, Σ (tr P₀⁻¹P − log det P₀⁻¹P − 4),
which does not depend on units or axes and is itself a barrier; or a plain quadratic one, whose cone is then kept by a
vanishing barrier. The strength of either comes down level by level. Damped Newton on a smooth, self-concordant
function: every iterate is feasible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError

# entries of P that a parameter contributes to: m, m·c, Ixx, Iyy, Izz, Ixy, Ixz, Iyz
BASIS = np.zeros((10, 4, 4))
BASIS[0, 3, 3] = 1.0
for _k in range(3):
    BASIS[1 + _k, _k, 3] = BASIS[1 + _k, 3, _k] = 1.0
    BASIS[4 + _k, :3, :3] = 0.5 * np.eye(3)
    BASIS[4 + _k, _k, _k] = -0.5
for _k, (_i, _j) in enumerate(((0, 1), (0, 2), (1, 2))):
    BASIS[7 + _k, _i, _j] = BASIS[7 + _k, _j, _i] = -1.0

ITERATIONS = 200
SETTLED, ROUGHLY = (
    1e-14,
    1e-2,
)  # Newton's expected decrease: relative to the cost at the end; in units of the barrier before
GAP = 1e-7  # distance to the minimum that the vanishing barrier may leave, relative to the cost, in units of the noise
FASTER = 0.05  # factor by which the barrier vanishes from level to level
LEAST_MASS, LEAST_SIZE = 1e-4, 5e-3  # of a prior body: share of the robot's mass; radius of gyration [m]


@dataclass(frozen=True)
class Problem:
    """R (n, n), z (n,); bodies: how many groups of ten parameters come first; prior (10 bodies,), a possible one.

    bounds G (k, n): rows that must be ≥ 0; strength: of the entropic prior of bodies, mass_strength: of their masses
    alone; weight: of the quadratic prior, each parameter in units of `scale` (n,). Friction and the like have no prior.
    """

    R: np.ndarray
    z: np.ndarray
    bodies: int
    prior: np.ndarray
    bounds: np.ndarray
    strength: float = 10.0
    mass_strength: float = 0.0
    weight: float = 0.0
    scale: np.ndarray | None = None


@dataclass(frozen=True)
class Solution:
    """x, how many Newton steps it took, and the Hessian of the cost there without vanishing barriers (n, n)."""

    x: np.ndarray
    iterations: int
    hessian: np.ndarray


def pseudo_inertia(pi: np.ndarray) -> np.ndarray:
    """P (…, 4, 4) of inertial parameters (…, 10)."""
    return np.einsum("...k,kij->...ij", pi, BASIS)


def from_pseudo_inertia(P: np.ndarray) -> np.ndarray:
    """Inertial parameters (…, 10) of P (…, 4, 4)."""
    S, h, m = P[..., :3, :3], P[..., :3, 3], P[..., 3, 3]
    trace = np.trace(S, axis1=-2, axis2=-1)
    pairs = [-S[..., 0, 1], -S[..., 0, 2], -S[..., 1, 2]]
    return np.stack([m, *np.moveaxis(h, -1, 0), *(trace - S[..., k, k] for k in range(3)), *pairs], axis=-1)


def possible(pi: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The nearest bodies with some mass and some size, and which of the bodies (n, 10) had to be changed.

    A file may have links without inertia, or ones that break the triangle inequality; a prior must be inside the cone.
    """
    total = max(float(pi[:, 0].sum()), 1e-3)
    changed: list[int] = []
    bodies = pi.copy()
    for k, row in enumerate(pi):
        mass = max(row[0], LEAST_MASS * total)
        com = row[1:4] / row[0] if row[0] > 0.0 else np.zeros(3)
        P = pseudo_inertia(row) if row[0] > 0.0 else np.zeros((4, 4))
        S = P[:3, :3] - row[0] * np.outer(com, com)  # about the centre of mass
        values, vectors = np.linalg.eigh(S)
        least = max(mass * LEAST_SIZE**2, 1e-4 * values.max())
        if row[0] >= mass and values.min() >= least * (1.0 - 1e-9):
            continue
        changed.append(k)
        S = (vectors * np.maximum(values, least)) @ vectors.T + mass * np.outer(com, com)
        P = np.block([[S, (mass * com)[:, None]], [mass * com[None], np.array([[mass]])]])
        bodies[k] = from_pseudo_inertia(P)
    return bodies, changed


def solve(problem: Problem, start: np.ndarray | None = None) -> Solution:
    """The minimum; start: a strictly feasible x, by default the prior with bounded parameters near 0."""
    x = _start(problem) if start is None else start
    if not np.isfinite(_cost(problem, x, 1.0)):
        raise DalembertError("physical fit: the start is not a possible robot")
    quadratic = problem.R.T @ problem.R
    sides = len(problem.bounds) + 4 * problem.bodies
    barrier = max(0.5 * float(np.sum((problem.R @ x - problem.z) ** 2)) / max(sides, 1), problem.strength, 1e-300)
    x, count = _newton(problem, quadratic, x, barrier, ROUGHLY * barrier)
    last = False
    while not last:  # each level starts where the one before ended
        barrier *= FASTER
        last = barrier * sides < GAP * max(0.5 * float(np.sum((problem.R @ x - problem.z) ** 2)), 1.0)
        x, steps = _newton(problem, quadratic, x, barrier, 0.0 if last else ROUGHLY * barrier)
        count += steps
    _, hessian = _slopes(problem, quadratic, x, 0.0)
    return Solution(x, count, hessian)


def _start(problem: Problem) -> np.ndarray:
    x = np.zeros(problem.R.shape[1])
    x[: 10 * problem.bodies] = problem.prior
    # a bounded parameter starts inside: rows of the bounds that touch only parameters of freedoms
    free = problem.bounds[:, 10 * problem.bodies :]
    for row, k in zip(*np.nonzero(free), strict=True):
        if not problem.bounds[row, : 10 * problem.bodies].any():
            x[10 * problem.bodies + k] = 1e-2 / free[row, k]
    return x


def _newton(
    problem: Problem, quadratic: np.ndarray, x: np.ndarray, barrier: float, enough: float
) -> tuple[np.ndarray, int]:
    """Damped Newton steps until one can gain less than `enough`."""
    cost = _cost(problem, x, barrier)
    for count in range(ITERATIONS):
        gradient, hessian = _slopes(problem, quadratic, x, barrier)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
        H = hessian * np.outer(scale, scale)
        step = -scale * np.linalg.solve(H + 1e-13 * np.eye(len(H)), scale * gradient)
        decrease = -float(gradient @ step)
        if not decrease > max(enough, SETTLED * abs(cost)):
            return x, count
        length = 1.0
        while True:
            trial = _cost(problem, x + length * step, barrier)
            if trial <= cost - 0.1 * length * decrease:
                break
            length *= 0.5
            if length < 1e-12:  # round-off: no further decrease can be measured
                return x, count
        x, cost = x + length * step, trial
    raise DalembertError(
        f"physical fit: no minimum after {ITERATIONS} Newton steps; is a column of the data not a number?"
    )


def _cost(problem: Problem, x: np.ndarray, barrier: float) -> float:
    """inf outside the cone."""
    bodies = x[: 10 * problem.bodies].reshape(-1, 10)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        P = pseudo_inertia(bodies)
        values = np.linalg.eigvalsh(P) if len(P) else np.ones((0, 4))
        slack = problem.bounds @ x
        if np.any(values <= 0.0) or np.any(slack <= 0.0) or not np.all(np.isfinite(x)):
            return np.inf
        cost = 0.5 * float(np.sum((problem.R @ x - problem.z) ** 2))
        strength = max(problem.strength, barrier)
        cost -= strength * float(np.log(values).sum())
        if problem.strength:
            cost += strength * float(np.sum(_prior_inverse(problem) * P))
        if problem.mass_strength:
            share = bodies[:, 0] / problem.prior[::10]
            cost += problem.mass_strength * float(np.sum(share - np.log(share)))
        if problem.weight:
            cost += 0.5 * problem.weight * float(np.sum(_difference(problem, x) ** 2))
        return cost - barrier * float(np.log(slack).sum())


def _slopes(problem: Problem, quadratic: np.ndarray, x: np.ndarray, barrier: float) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (n,) and Hessian (n, n)."""
    n, count = len(x), problem.bodies
    gradient, hessian = quadratic @ x - problem.R.T @ problem.z, quadratic.copy()
    inverse = np.linalg.inv(pseudo_inertia(x[: 10 * count].reshape(-1, 10)))
    strength = max(problem.strength, barrier)
    if strength:
        slope = -strength * inverse
        if problem.strength:
            slope = slope + strength * _prior_inverse(problem)
        gradient[: 10 * count] += np.einsum("bij,kij->bk", slope, BASIS).ravel()
        E = np.einsum("bij,kjl->bkil", inverse, BASIS)
        blocks = strength * np.einsum("bkil,bmli->bkm", E, E)
        for b in range(count):
            at = slice(10 * b, 10 * b + 10)
            hessian[at, at] += blocks[b]
    if problem.mass_strength:
        masses = np.arange(0, 10 * count, 10)
        gradient[masses] += problem.mass_strength * (1.0 / problem.prior[masses] - 1.0 / x[masses])
        hessian[masses, masses] += problem.mass_strength / x[masses] ** 2
    if problem.weight:
        scale = np.ones(n) if problem.scale is None else problem.scale
        inertial = np.arange(10 * count)
        gradient[inertial] += problem.weight * _difference(problem, x) / scale[inertial]
        hessian[inertial, inertial] += problem.weight / scale[inertial] ** 2
    if barrier and len(problem.bounds):
        slack = problem.bounds @ x
        gradient -= barrier * (problem.bounds.T @ (1.0 / slack))
        hessian += barrier * (problem.bounds.T / slack**2) @ problem.bounds
    return gradient, hessian


def _prior_inverse(problem: Problem) -> np.ndarray:
    return np.linalg.inv(pseudo_inertia(problem.prior.reshape(-1, 10)))


def _difference(problem: Problem, x: np.ndarray) -> np.ndarray:
    scale = np.ones(len(x)) if problem.scale is None else problem.scale
    count = 10 * problem.bodies
    return (x[:count] - problem.prior) / scale[:count]
