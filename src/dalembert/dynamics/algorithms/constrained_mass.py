"""How constraint rows resist: M a = f + Jᵀ λ with J a = goal, eliminated loop by loop along the tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dalembert.linear import SharingFactor, factor, factor_semidefinite, gram, nonzeros, sparse_product
from dalembert.model import Model

from .articulated import refuse_massless
from .crba import mass_matrix


class ConstrainedMass:
    """Accelerations under forces and rows J (nr, nv), and the forces λ (nr,) along these.

    Freedoms that rows tie together, those of a loop, form a block with these rows; every other freedom is a block of
    its own. Blocks are eliminated tips first: what carries a loop feels the inertia that the loop leaves free, and
    loops that share no joint meet nowhere else.

    `on` (nr,): 1 where a row is active, 0 where it exerts no force. repeated: whether rows follow from others wherever
    the loops are closed (`rows_repeat`); they then share the force, the least that does it. Otherwise a row that others
    imply exerts none.
    """

    def __init__(
        self, model: Model, q: np.ndarray, J: np.ndarray, on: np.ndarray | None = None, repeated: bool = False
    ) -> None:
        M = np.array(mass_matrix(model, q))
        joints = {k: body.joint for body in model.independent for k in range(body.v.start, body.v.stop)}
        remain = np.ones(model.nv, bool)
        self._shape, self._eliminated = J.shape, []
        for freedoms, rows in _blocks(nonzeros(J)):
            remain[freedoms] = False
            block = _Block(
                M[np.ix_(freedoms, freedoms)], J[np.ix_(rows, freedoms)], None if on is None else on[rows], repeated
            )
            for k, r in zip(freedoms, block.mass.r, strict=True):
                refuse_massless(r, joints[k])
            inward = np.flatnonzero(remain & np.any(nonzeros(M[:, freedoms]), axis=1))
            C = M[np.ix_(freedoms, inward)]
            response = block.response(C)
            for place, i in enumerate(inward):
                for j, change in zip(
                    inward[: place + 1], sparse_product(response.a.T[: place + 1], C[:, place]), strict=True
                ):
                    M[i, j] = M[j, i] = M[i, j] - change
            self._eliminated.append(_Eliminated(freedoms, rows, inward, block, C, response))

    def accelerated(self, f: np.ndarray, goal: np.ndarray) -> Response:
        """a (nv,) and λ (nr,) with M a = f + Jᵀ λ, f (nv,), and J a = goal (nr,) on the active rows."""
        kind = np.result_type(f, goal, *(each.C for each in self._eliminated))
        f, a, forces = np.array(f, kind), np.zeros(self._shape[1], kind), np.zeros(self._shape[0], kind)
        for freedoms, rows, inward, block, C, _ in self._eliminated:  # tips to root, as if all further inward were held
            a[freedoms], forces[rows] = block.accelerated(f[freedoms], goal[rows])
            f[inward] = f[inward] - sparse_product(C.T, a[freedoms])
        for freedoms, rows, inward, _, _, response in reversed(self._eliminated):  # root to tips
            a[freedoms] = a[freedoms] - sparse_product(response.a, a[inward])
            forces[rows] = forces[rows] - sparse_product(response.forces, a[inward])
        return Response(a, forces)

    def closed(self, goal: np.ndarray) -> Response:
        """a (nv,) and λ (nr,) of the rows alone: M a = Jᵀ λ, and J a = goal (nr,) on the active rows."""
        return self.accelerated(np.zeros(self._shape[1]), goal)

    def displaced(self, goal: np.ndarray) -> np.ndarray:
        """d (nv,) with J d = goal (nr,) on the active rows, of every block on its own: all further inward stays.

        The shortest way in the metric of what the block moves.
        """
        d = np.zeros(self._shape[1], np.result_type(goal, *(each.C for each in self._eliminated)))
        for freedoms, rows, *_, block, _, _ in self._eliminated:
            d[freedoms] = block.accelerated(np.zeros(len(freedoms)), goal[rows]).a
        return d


class Response(NamedTuple):
    """Accelerations a (n,) or (n, m), and forces along rows, (nr,) or (nr, m)."""

    a: np.ndarray
    forces: np.ndarray


class _Block:
    """M (n, n) of some freedoms with the rows J (nr, n) on them.

    With M = L D Lᵀ, tips first, and half a solve Y = L⁻¹ Jᵀ, J M⁻¹ Jᵀ = Yᵀ D⁻¹ Y.
    """

    def __init__(self, M: np.ndarray, J: np.ndarray, on: np.ndarray | None, repeated: bool) -> None:
        with np.errstate(invalid="ignore"):  # a coordinate that moves no mass is refused elsewhere
            self.mass = factor(M, range(len(M))[::-1])
        self._on, self._Y = on, self.mass.forward(J.T)
        G = gram(self._Y, self.mass.r)
        A = G if on is None else G * np.outer(on, on) + np.diag(1.0 - on)
        self._rows = SharingFactor(A) if repeated else factor_semidefinite(A)

    def accelerated(self, f: np.ndarray, goal: np.ndarray) -> Response:
        """The `Response` of `ConstrainedMass`, for f (n,) or (n, m) and goal (nr,) or (nr, m)."""
        z = self.mass.forward(f)
        forces = self._forces(goal - sparse_product(self._Y.T, _scaled(self.mass.r, z)))
        return Response(self.mass.backward(_scaled(self.mass.r, z + sparse_product(self._Y, forces))), forces)

    def response(self, f: np.ndarray) -> Response:
        """To the columns of f (n, m) with the rows at rest; where they are many, by the responses to unit forces."""
        n, m = f.shape
        still = np.zeros((len(self._Y.T), min(n, m)))
        if m <= n:
            return self.accelerated(f, still)
        a, forces = self.accelerated(np.eye(n), still)
        return Response(sparse_product(a, f), sparse_product(forces, f))

    def _forces(self, goal: np.ndarray) -> np.ndarray:
        """λ with J M⁻¹ Jᵀ λ = goal on the active rows."""
        if self._on is None:
            return self._rows.solve(goal)
        return _scaled(self._on, self._rows.solve(_scaled(self._on, goal)))


class _Eliminated(NamedTuple):
    """A block, its freedoms and rows by number; C (n, m): its inertia with the freedoms `inward` (m,) that remain, and
    its response to the columns of C."""

    freedoms: np.ndarray
    rows: np.ndarray
    inward: np.ndarray
    block: _Block
    C: np.ndarray
    response: Response


def _blocks(touched: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(freedoms, rows) of each block, tips first; touched (nr, nv): which freedoms are in which row."""
    block = np.arange(touched.shape[1])
    for row in touched:
        block[np.isin(block, block[row])] = np.min(block[row], initial=len(block))
    for first in np.unique(block)[::-1]:
        yield np.flatnonzero(block == first), np.flatnonzero(np.any(touched[:, block == first], axis=1))


def _scaled(r: np.ndarray, x: np.ndarray) -> np.ndarray:
    """diag(r) x for x (n,) or (n, m)."""
    return (r * x.T).T
