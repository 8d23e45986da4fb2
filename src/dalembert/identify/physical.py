"""Parameters that bodies can have: pseudo-inertia P ≻ 0 per body, friction ≥ 0, centre of mass in the hull of shapes.

minimise ½‖R x − z‖² + prior(x), P_i(x) ≻ 0, G x ≥ 0, where P = [[½ tr(I) 1 − I, h], [hᵀ, m]] (Wensing, Kim, Slotine
2018). The prior is the Bregman divergence of −log det from the file's own bodies, Σ (tr P₀⁻¹P − log det P₀⁻¹P − 4),
which does not depend on units or axes and is itself a barrier; or a plain quadratic one, whose cone is then kept by a
vanishing barrier. The strength of either comes down level by level. Damped Newton on a smooth, self-concordant
function: every iterate is feasible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model.solids.properties import solids
from dalembert.robot import Robot
from dalembert.shapes.hull import hull
from dalembert.spatial.pseudo_inertia import from_pseudo_inertia, pseudo_inertia

# an orthonormal basis of the symmetric matrices (4, 4)
SYMMETRIC = np.zeros((10, 4, 4))
SYMMETRIC[range(4), range(4), range(4)] = 1.0
for _k, (_i, _j) in enumerate(((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))):
    SYMMETRIC[4 + _k, _i, _j] = SYMMETRIC[4 + _k, _j, _i] = np.sqrt(0.5)

ITERATIONS = 2000  # of one level; some tens in all where the model fits, hundreds where it cannot
SETTLED = 1e-6  # decrease that Newton may still expect at the end, in units of the noise: far below what data can tell
ROUGHLY = 1e-2  # the same before the last level, in units of the barrier
SHORT = 0.9  # share of the way to the boundary of the cone that a step may go
GAP = 1e-7  # distance to the minimum that the vanishing barrier may leave, relative to the cost, in units of the noise
FASTER = 0.02  # factor by which the barrier vanishes from level to level
LEAST_MASS, LEAST_SIZE = 1e-4, 5e-3  # of a prior body: share of the robot's mass; radius of gyration [m]


@dataclass(frozen=True)
class PhysicalProblem:
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

    @cached_property
    def prior_inverse(self) -> np.ndarray:
        """(bodies, 4, 4): the inverses of the prior's pseudo-inertias."""
        return np.linalg.inv(pseudo_inertia(self.prior.reshape(-1, 10)))


@dataclass(frozen=True)
class PhysicalSolution:
    """x, and how many Newton steps it took."""

    x: np.ndarray
    iterations: int


@dataclass(frozen=True)
class Coordinates:
    """T (n, n) with x + T y, in which every body is the unit matrix: P + dP = U (1 + Y) Uᵀ, U Uᵀ = P.

    There −log det has the slope −1 and the curvature 1 (Nesterov, Nemirovskii 1994), however near P is to the boundary
    of the cone, where its inverse would lose all digits. T is block diagonal: U (bodies, 4, 4), blocks (bodies, 10, 10)
    of the bodies, then the scales of friction and the like on the diagonal.
    """

    U: np.ndarray
    blocks: np.ndarray
    scales: np.ndarray

    @staticmethod
    def at(problem: PhysicalProblem, x: np.ndarray) -> Coordinates:
        inertial = 10 * problem.bodies
        U = np.linalg.cholesky(pseudo_inertia(x[:inertial].reshape(-1, 10)))
        turned = U[:, None] @ SYMMETRIC @ np.swapaxes(U, 1, 2)[:, None]
        sizes = np.linalg.norm(problem.R[:, inertial:], axis=0)
        scales = 1.0 / np.where(sizes > 1e-150, sizes, 1.0)  # what no sample shows has no scale of its own
        return Coordinates(U, np.swapaxes(from_pseudo_inertia(turned), 1, 2), scales)

    def step(self, change: np.ndarray) -> np.ndarray:
        """T y"""
        inertial = 10 * len(self.blocks)
        bodies = self.blocks @ change[:inertial].reshape(-1, 10, 1)
        return np.concatenate([bodies.ravel(), self.scales * change[inertial:]])

    def columns(self, matrix: np.ndarray) -> np.ndarray:
        """matrix @ T, of a matrix (k, n) or of its columns of bodies (k, 10 bodies)."""
        rows, count = len(matrix), len(self.blocks)
        bodies = matrix[:, : 10 * count].reshape(rows, count, 10).transpose(1, 0, 2) @ self.blocks
        others = matrix[:, 10 * count :]
        return np.concatenate([bodies.transpose(1, 0, 2).reshape(rows, -1), others * self.scales[: others.shape[1]]], 1)


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


def solve(problem: PhysicalProblem, start: np.ndarray | None = None) -> PhysicalSolution:
    """The minimum; start: a strictly feasible x, by default the prior with bounded parameters near 0."""
    x = _start(problem) if start is None else start
    if not np.isfinite(_cost(problem, x, 1.0)):
        raise DalembertError("physical fit: the start is not a possible robot")
    sides = len(problem.bounds) + 4 * problem.bodies
    barrier = max(0.5 * float(np.sum((problem.R @ x - problem.z) ** 2)) / max(sides, 1), problem.strength, 1e-300)
    x, count = _newton(problem, x, barrier, ROUGHLY * barrier)
    last = False
    while not last:  # each level starts where the one before ended
        barrier *= FASTER
        last = barrier * sides < GAP * max(0.5 * float(np.sum((problem.R @ x - problem.z) ** 2)), 1.0)
        x, steps = _newton(problem, x, barrier, 0.0 if last else ROUGHLY * barrier)
        count += steps
    return PhysicalSolution(x, count)


def _start(problem: PhysicalProblem) -> np.ndarray:
    x = np.zeros(problem.R.shape[1])
    x[: 10 * problem.bodies] = problem.prior
    # a bounded parameter starts inside: rows of the bounds that touch only parameters of freedoms
    free = problem.bounds[:, 10 * problem.bodies :]
    for row, k in zip(*np.nonzero(free), strict=True):
        if not problem.bounds[row, : 10 * problem.bodies].any():
            x[10 * problem.bodies + k] = 1e-2 / free[row, k]
    return x


def _newton(problem: PhysicalProblem, x: np.ndarray, barrier: float, enough: float) -> tuple[np.ndarray, int]:
    """Damped Newton steps until one can gain less than `enough`."""
    cost = _cost(problem, x, barrier)
    for count in range(ITERATIONS):
        T = Coordinates.at(problem, x)
        gradient, curvature = _slopes(problem, x, T, barrier)
        change = np.linalg.solve(curvature, -gradient)
        decrease = -float(gradient @ change)
        if not decrease > max(enough, SETTLED, 1e-14 * abs(cost)):
            return x, count
        length = min(1.0, SHORT * _to_boundary(problem, x, T, change))
        step = T.step(change)
        while True:
            trial = _cost(problem, x + length * step, barrier)
            if trial <= cost - 0.1 * length * decrease:
                break
            length *= 0.5
            if length < 1e-12:  # round-off: no further decrease can be measured
                return x, count
        x, cost = x + length * step, trial
    raise DalembertError(
        f"physical fit: no minimum after {ITERATIONS} Newton steps: the data, or fixed parameters, ask for bodies "
        "far from any that can exist; method='weighted' shows what the data alone say"
    )


def _to_boundary(problem: PhysicalProblem, x: np.ndarray, T: Coordinates, change: np.ndarray) -> float:
    """How many steps lead out of the cone; from a point too near its boundary Newton takes hundreds of steps back."""
    Y = np.einsum("bk,kij->bij", change[: 10 * problem.bodies].reshape(-1, 10), SYMMETRIC)
    fastest = max(0.0, -float(np.linalg.eigvalsh(Y).min(initial=0.0)))
    if len(problem.bounds):
        fastest = max(fastest, float(np.max(-(problem.bounds @ T.step(change)) / (problem.bounds @ x))))
    return 1.0 / fastest if fastest > 0.0 else np.inf


def _cost(problem: PhysicalProblem, x: np.ndarray, barrier: float) -> float:
    """inf outside the cone."""
    bodies = x[: 10 * problem.bodies].reshape(-1, 10)
    P, slack = pseudo_inertia(bodies), problem.bounds @ x
    if not np.all(np.isfinite(x)) or np.any(slack <= 0.0):
        return np.inf
    try:
        pivots = np.diagonal(np.linalg.cholesky(P), axis1=1, axis2=2)
    except np.linalg.LinAlgError:
        return np.inf
    cost = 0.5 * float(np.sum((problem.R @ x - problem.z) ** 2))
    strength = max(problem.strength, barrier)
    cost -= 2.0 * strength * float(np.log(pivots).sum())
    if problem.strength:
        cost += strength * float(np.sum(problem.prior_inverse * P))
    if problem.mass_strength:
        share = bodies[:, 0] / problem.prior[::10]
        cost += problem.mass_strength * float(np.sum(share - np.log(share)))
    if problem.weight:
        cost += 0.5 * problem.weight * float(np.sum(_difference(problem, x) ** 2))
    return cost - barrier * float(np.log(slack).sum())


def _slopes(problem: PhysicalProblem, x: np.ndarray, T: Coordinates, barrier: float) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (n,) and curvature (n, n) of the cost in the coordinates of T."""
    n, inertial = len(x), np.arange(10 * problem.bodies)
    A = T.columns(problem.R)
    gradient, curvature = A.T @ (problem.R @ x - problem.z), A.T @ A
    curvature[np.diag_indices(n)] += 1e-12  # of friction that no sample shows
    strength = max(problem.strength, barrier)
    pull = -np.broadcast_to(np.eye(4), T.U.shape)
    if problem.strength:
        pull = pull + np.swapaxes(T.U, 1, 2) @ problem.prior_inverse @ T.U
    gradient[inertial] += strength * (pull.reshape(-1, 16) @ SYMMETRIC.reshape(10, 16).T).ravel()
    curvature[inertial, inertial] += strength
    if problem.mass_strength:
        masses = inertial[::10]
        rows = T.columns(np.eye(n)[masses])
        gradient += rows.T @ (problem.mass_strength * (1.0 / problem.prior[masses] - 1.0 / x[masses]))
        curvature += problem.mass_strength * (rows.T / x[masses] ** 2) @ rows
    if problem.weight:
        scaled = T.columns(np.eye(n)[inertial])
        if problem.scale is not None:
            scaled /= problem.scale[inertial, None]
        gradient += problem.weight * scaled.T @ _difference(problem, x)
        curvature += problem.weight * scaled.T @ scaled
    if barrier and len(problem.bounds):
        rows = T.columns(problem.bounds) / (problem.bounds @ x)[:, None]
        gradient -= barrier * rows.sum(axis=0)
        curvature += barrier * rows.T @ rows
    return gradient, curvature


def _difference(problem: PhysicalProblem, x: np.ndarray) -> np.ndarray:
    scale = np.ones(len(x)) if problem.scale is None else problem.scale
    count = 10 * problem.bodies
    return (x[:count] - problem.prior) / scale[:count]


_GRID = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
DIRECTIONS = _GRID / np.linalg.norm(_GRID, axis=1)[:, None]  # (26, 3): faces, edges and corners of a cube
INSIDE = 1e-3  # of the extent: by how much the file's centre of mass is within the bounds, where a fit starts


class Extent(NamedTuple):
    """Half-spaces normals (k, 3) @ c ≤ offsets (k,) [m] that bound a body's shapes, in its frame."""

    normals: np.ndarray
    offsets: np.ndarray

    def outside(self, point: np.ndarray) -> float:
        """How far a point (3,) is beyond the half-space that it violates most [m]; below 0 inside."""
        return float(np.max(self.normals @ point - self.offsets))


def extent(robot: Robot, body: int) -> Extent | None:
    """The hull of a body's shapes; None without shapes, or where one is a mesh that cannot be read.

    Its faces are those of the hull; without scipy, planes in 26 directions and along the axes of each shape touch it.
    """
    shapes = [
        (geometry.shape, part.placement @ geometry.placement)
        for part in robot.model.bodies[body].parts
        for geometry in solids(part)
    ]
    if not shapes:
        return None
    try:
        corners = np.concatenate([shape.surface()[0] @ X.R.T + X.p for shape, X in shapes])
        axes = [sign * X.R.T for _, X in shapes for sign in (1.0, -1.0)]
        normals = np.concatenate([DIRECTIONS, *axes, _faces(corners)])
        offsets = np.max([shape.reach(normals @ X.R) + normals @ X.p for shape, X in shapes], axis=0)
    except DalembertError:  # a mesh that cannot be read bounds nothing
        return None
    return Extent(normals, offsets)


def _faces(corners: np.ndarray) -> np.ndarray:
    """Outward normals (k, 3) of the hull of points; none where it has no volume, or without scipy."""
    try:
        return hull(corners).faces[0]
    except DalembertError:
        return np.zeros((0, 3))


def hull_bounds(bounds: Extent, com: np.ndarray) -> np.ndarray:
    """Rows (k, 4) on (m, m·c) that are ≥ 0 inside the hull, or as far outside as the file's `com` (3,) is."""
    grid = bounds.offsets[: len(DIRECTIONS)]
    size = float(np.max(grid + grid[::-1]))  # DIRECTIONS[::-1] are the opposite ones
    offsets = np.maximum(bounds.offsets, bounds.normals @ com + INSIDE * size)
    return np.column_stack([offsets, -bounds.normals])
