"""Inverse of the mass matrix, limb by limb, and its product with a vector."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.linear import Factor, factor
from dalembert.math import product
from dalembert.model import Body, Model

from .articulated import refuse_massless
from .crba import mass_matrix
from .forward_dynamics import forward_dynamics
from .tensors import mirror


class Limb(NamedTuple):
    """A chain of freedoms that ends in a tip.

    at, trunk: places of its freedoms, and of those of the trunk that carry it, in the velocity; inverse (k, k): of its
    part of the mass matrix; lever (k, t): minus the accelerations that unit accelerations of the trunk cause in it.
    """

    at: list[int]
    trunk: list[int]
    inverse: np.ndarray
    lever: np.ndarray


class InverseMass:
    """M(q)⁻¹ by blocks. Limbs depend on each other only through the trunk: all freedoms that carry several of them.

    With M_l of a limb, C between limb and trunk, T = M_l⁻¹ C and S = M_t − Σ Cᵀ T, the solution of M x = b is
    x_t = S⁻¹ (b_t − Σ Tᵀ b_l) and x_l = M_l⁻¹ b_l − T x_t. Coupled joints tie limbs together: all freedoms are one.
    """

    def __init__(self, model: Model, q: np.ndarray) -> None:
        self.M = M = mass_matrix(model, q)
        joints = [body for body in model.independent for _ in range(body.joint.nv)]
        self.limbs: list[Limb] = []
        self.trunk, limbs = ([], [(list(range(model.nv)), [])]) if model.coupled else _parts(model)
        left = M.copy()
        for at, trunk in limbs:
            inverse = _inverse(M[np.ix_(at, at)], [joints[k] for k in at])
            lever = inverse @ M[np.ix_(at, trunk)]
            left[np.ix_(trunk, trunk)] = mirror(left[np.ix_(trunk, trunk)] - M[np.ix_(trunk, at)] @ lever)
            self.limbs.append(Limb(at, trunk, inverse, lever))
        self.inverse = np.zeros(M.shape, M.dtype)  # of the trunk's entries alone
        chosen = np.ix_(self.trunk, self.trunk)
        self.inverse[chosen] = _inverse(left[chosen], [joints[k] for k in self.trunk])

    def solve(self, b: np.ndarray) -> np.ndarray:
        """M⁻¹ b for b (nv, m); its zeros cost nothing."""
        b, x = b.astype(np.result_type(self.M, b)), np.zeros(b.shape, np.result_type(self.M, b))
        for limb in self.limbs:
            x[limb.at] = product(limb.inverse, b[limb.at])
            b[limb.trunk] -= product(limb.lever.T, b[limb.at])
        x[self.trunk] = product(self.inverse[np.ix_(self.trunk, self.trunk)], b[self.trunk])
        for limb in self.limbs:
            x[limb.at] -= product(limb.lever, x[limb.trunk])
        return x

    def matrix(self) -> np.ndarray:
        """M⁻¹ (nv, nv), symmetric."""
        X, T = self.inverse.copy(), np.zeros(self.M.shape, self.M.dtype)
        for limb in self.limbs:
            X[np.ix_(limb.at, self.trunk)] = limb.lever @ X[np.ix_(limb.trunk, self.trunk)]
            T[np.ix_(limb.at, limb.trunk)] = limb.lever
        at = [k for limb in self.limbs for k in limb.at]
        X[np.ix_(at, at)] = product(X[np.ix_(at, self.trunk)], T[np.ix_(at, self.trunk)].T)
        X[np.ix_(at, self.trunk)] *= -1.0
        X[np.ix_(self.trunk, at)] = X[np.ix_(at, self.trunk)].T
        for limb in self.limbs:
            X[np.ix_(limb.at, limb.at)] += limb.inverse
        return mirror(X)


def inverse_mass_matrix(model: Model, q: np.ndarray) -> np.ndarray:
    """M(q)⁻¹ (nv, nv), symmetric, armature included; q (nq,)."""
    return InverseMass(model, q).matrix()


def _inverse(M: np.ndarray, joints: list[Body]) -> np.ndarray:
    """The inverse of a block, factored from the tips to the base; a freedom that moves no mass is refused."""
    with np.errstate(invalid="ignore"):
        factored: Factor = factor(M, range(len(M))[::-1])
    for r, body in zip(factored.r, joints, strict=True):
        refuse_massless(r, body.joint)
    return factored.inverse()


def _parts(model: Model) -> tuple[list[int], list[tuple[list[int], list[int]]]]:
    """The freedoms of the trunk; of each limb its own, and those of the trunk that carry it."""
    tips = np.zeros(len(model.bodies), int)  # how many limbs end behind a body
    for body in reversed(model.bodies):
        tips[body.index] = tips[body.index] or body.joint.nv > 0
        if body.parent >= 0:
            tips[body.parent] += tips[body.index]
    trunk: list[int] = []
    limbs: list[tuple[list[int], list[int]]] = []
    ways: list[tuple[list[int], list[int] | None]] = []  # per body: freedoms of the trunk that carry it, and its limb's
    for body in model.bodies:
        way, limb = ways[body.parent] if body.parent >= 0 else ([], None)
        here = list(range(body.v.start, body.v.stop))
        if tips[body.index] > 1:
            trunk, way = trunk + here, way + here
        elif here and limb is None:
            limb = here
            limbs.append((limb, way))
        elif limb is not None:
            limb += here
        ways.append((way, limb))
    return trunk, limbs


def inverse_mass_product(model: Model, q: np.ndarray, f: np.ndarray) -> np.ndarray:
    """M(q)⁻¹ f (nv,): the acceleration that f causes at rest, where nothing else acts; q (nq,), f (nv,). O(n)."""
    still = replace(model.without("damping", "friction", "springs"), gravity=np.zeros(3))
    return forward_dynamics(still, q, np.zeros(model.nv), f)
