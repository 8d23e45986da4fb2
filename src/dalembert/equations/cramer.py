"""The mass matrix inverted by Cramer's rule, so that accelerations are fractions with one denominator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from dalembert.model import Model
from dalembert.quantities import CATALOGUE, Variant
from dalembert.robot import Robot

from .laurent import Polynomial, Ring

SHAPES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "inverse_mass_matrix": lambda n: (n, n),
    "forward_dynamics": lambda n: (n,),
}
LARGEST = 3  # freedoms: the determinant has n! products

Matrix = list[list[Polynomial]]


def applies(name: str, model: Model) -> bool:
    """Whether a quantity is written as adj(M) · right / det(M)."""
    return name in SHAPES and 0 < model.nv <= LARGEST


def system(robot: Robot, variant: Variant, q: np.ndarray, *others: np.ndarray) -> dict[str, Any]:
    """M (nv, nv) and the right-hand side of M x = right: tau − bias of (v, tau, wrenches), or the unit matrix."""
    M = CATALOGUE["mass_matrix"].outputs(robot, CATALOGUE["mass_matrix"].variant(robot.model), q)
    if not others:
        return {"M": M, "right": np.eye(robot.nv)}
    v, tau, *loads = others
    choices = CATALOGUE["bias"].variant(robot.model).chosen(external=dict(variant.choices)["external"])
    bias = CATALOGUE["bias"].outputs(robot, choices, q, v, *loads)
    return {"M": M, "right": (tau - bias)[:, None]}


def solved(ring: Ring, flat: list[Polynomial], right: list[Polynomial]) -> tuple[list[Polynomial], Polynomial]:
    """Numerators, row-major, and the denominator of M⁻¹ right."""
    n = round(len(flat) ** 0.5)
    M, columns = [flat[i * n : i * n + n] for i in range(n)], len(right) // n
    numerators = []
    for i, j in product(range(n), range(columns)):
        total: Polynomial = {}
        for k in range(n):
            total = ring.add(total, ring.multiply(_cofactor(ring, M, k, i), right[k * columns + j]))
        numerators.append(total)
    determinant = _determinant(ring, M)
    if len(determinant) == 1:
        inverse = ring.reciprocal(determinant)
        return [ring.multiply(x, inverse) for x in numerators], {0: 1.0 + 0j}
    return numerators, determinant


def _determinant(ring: Ring, M: Matrix) -> Polynomial:
    if not M:
        return {0: 1.0 + 0j}
    total: Polynomial = {}
    for k, x in enumerate(M[0]):
        total = ring.add(total, ring.multiply(x, _cofactor(ring, M, 0, k)))
    return total


def _cofactor(ring: Ring, M: Matrix, i: int, j: int) -> Polynomial:
    minor = [[x for c, x in enumerate(row) if c != j] for r, row in enumerate(M) if r != i]
    sign: Polynomial = {0: complex((-1) ** (i + j))}
    return ring.multiply(sign, _determinant(ring, minor))
