"""Forces of feet over a horizon, with least squares of a body's states: the model, and its linear systems by stages.

With ξ the attitude and place of the body, η its rates and y its accelerations by the forces f of the feet (k, 3),

    ξ' = ξ + h η + ½ h² a    η' = η + h a    a = y + γ    y = Σ G f    C f ≤ bounds

the condensed Hessian of all forces is ρ 1 + Gᵀ K G, with K of the accelerations, six at each node however many feet
stand. A Riccati recursion in these six replaces the factor of a dense matrix: Φ = G (ρ + D)⁻¹ Gᵀ of a node takes the
place of its inverse control weight, and a foot in the air, which has no force, adds nothing to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import logical_and, map, maximum, scan, sqrt, where
from dalembert.math.entries import each, largest

ROWS = 5  # of one force: four sides of the pyramid, and the greatest normal force
DEPENDENT = 1e-13  # a pivot this small beside its diagonal entry: the row says what others say already


@dataclass(frozen=True, eq=False)
class ForceHorizon:
    """The program of a horizon of N nodes with k feet; arrays of numbers or traced scalars.

    step h [s]; turns (N, k, 3, 3): angular acceleration by a foot's force; mass [kg]; on (N, k): 1 for feet that stand;
    places, rates (6, 6): weights of ξ and η; force ρ: of squared forces; friction: slope of the pyramid's sides; most:
    greatest normal force.
    """

    step: Any
    mass: Any
    turns: np.ndarray
    on: np.ndarray
    places: np.ndarray
    rates: np.ndarray
    force: float
    friction: Any
    most: Any

    # ---- rows of one force: C f ≤ bounds

    def along(self, f: np.ndarray) -> np.ndarray:
        """C f (…, ROWS)."""
        x, y, z = f[..., 0], f[..., 1], f[..., 2]
        side = self.friction * z
        return np.stack([x - side, -x - side, y - side, -y - side, z], axis=-1)

    def pushed(self, multipliers: np.ndarray) -> np.ndarray:
        """Cᵀ of multipliers (…, ROWS)."""
        a, b, c, d, top = (multipliers[..., k] for k in range(ROWS))
        return np.stack([a - b, c - d, top - self.friction * (a + b + c + d)], axis=-1)

    @property
    def bounds(self) -> np.ndarray:
        """(ROWS,)."""
        return np.array([*[0.0] * 4, self.most])

    def room(self, f: np.ndarray, on: np.ndarray) -> np.ndarray:
        """The distance of each row to its bound (…, ROWS) at forces (…, 3); 1 for feet in the air."""
        return (self.bounds - self.along(f)) * on[..., None] + (1.0 - on)[..., None]

    @property
    def steepest(self) -> Any:
        """A size of the Hessian's entries."""
        h, n = self.step, len(self.turns)
        moved, sped = sum((h * h * (j + 0.5)) ** 2 for j in range(n)), h * h * n
        place, rate = self.places.diagonal(), self.rates.diagonal()
        linear = largest(list(place[3:])) * moved + largest(list(rate[3:])) * sped
        angular = largest(list(place[:3])) * moved + largest(list(rate[:3])) * sped
        arm = largest([turn @ turn for turn in self.turns[0].reshape(-1, 3)])
        return linear / (self.mass * self.mass) + angular * arm + self.force

    # ---- the recursion

    def factored(self, inverse: np.ndarray) -> Recursion:
        """The recursion; inverse (N, k, 3, 3): of the weights of each force, 0 for feet in the air."""

        def node(turns: np.ndarray, inverse: np.ndarray) -> dict[str, Any]:
            return {"root": _packed(_root(self._compliance(turns, inverse)))}

        nodes = map(node, {"turns": self.turns, "inverse": inverse})
        h, W, V = self.step, self.places, self.rates

        def stage(qq: np.ndarray, qv: np.ndarray, vv: np.ndarray, root: np.ndarray) -> dict[str, Any]:
            Q, X, Y = _symmetric(qq, 6), qv.reshape(6, 6), _symmetric(vv, 6)
            U = 0.5 * h * h * Q + h * X.T
            side = 0.5 * h * h * X + h * Y
            Z, S = h * U + side, 0.5 * h * h * U + h * side
            L = _lower(root, 6)
            middle = np.eye(6) + L.T @ S @ L
            N = _forward(_root(middle), L.T)
            NU, NZ = N @ U, N @ Z
            after = {"qq": _packed(Q - NU.T @ NU + W), "qv": (X + h * Q - NU.T @ NZ).ravel()}
            after["vv"] = _packed(Y + h * (X + X.T) + h * h * Q - NZ.T @ NZ + V)
            return after | {"U": U, "Z": Z, "S": _packed(S), "M": _packed(N.T @ N)}

        start = {"qq": _packed(W), "qv": np.zeros(36), "vv": _packed(V)}
        stages = scan(stage, {"root": nodes["root"]}, start, reverse=True)
        return Recursion(self, inverse, *(stages[name] for name in ("U", "Z", "S", "M")))

    def softened(self, weights: np.ndarray) -> np.ndarray:
        """(ρ 1 + Cᵀ diag(weights) C)⁻¹ of one force (3, 3)."""
        m, (a, b, c, d, top) = self.friction, weights
        xz, yz = m * (b - a), m * (d - c)
        z = m * m * (a + b + c + d) + top + self.force
        weighed = np.array([[a + b + self.force, 0.0, xz], [0.0, c + d + self.force, yz], [xz, yz, z]], object)
        return inverse(weighed, self.force)

    def face(self, on: np.ndarray) -> _Face:
        """Where the rows `on` (ROWS,) of one force are at their bounds."""
        C = self.pushed(np.eye(ROWS))
        basis: list[tuple[Any, Any]] = []
        R, point = np.zeros((ROWS, ROWS), object), np.zeros(3)
        for k, (row, bound) in enumerate(zip(C, self.bounds, strict=True)):
            across, offset = row, bound
            for j, (e, at) in enumerate(basis):
                R[j, k] = e @ row
                across, offset = across - R[j, k] * e, offset - R[j, k] * at
            square = across @ across
            new = logical_and(on[k] > 0.5, square > DEPENDENT)  # else it says what others say, or is not on
            size = sqrt(where(new, square, 1.0))
            R[k, k] = where(new, size, 0.0)
            e, at = each(lambda x, n=new, s=size: where(n, x / s, 0.0), across), where(new, offset / size, 0.0)
            basis.append((e, at))
            point = point + e * at
        E = np.array([e for e, _ in basis])
        return _Face(point, np.eye(3) - E.T @ E, E, R)

    def _compliance(self, turns: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Φ = Σ G (ρ + D)⁻¹ Gᵀ (6, 6) of a node."""
        phi = np.zeros((6, 6), object)
        for T, E in zip(turns, inverse, strict=True):
            TE = T @ E
            phi[:3, :3] += TE @ T.T
            phi[:3, 3:] += TE / self.mass
            phi[3:, 3:] += E / (self.mass * self.mass)
        phi[3:, :3] = phi[:3, 3:].T
        return phi

    def accelerations(self, f: np.ndarray) -> np.ndarray:
        """y (N, 6) by forces (N, k, 3) of feet that stand."""

        def node(turns: np.ndarray, f: np.ndarray) -> dict[str, Any]:
            return {"y": np.concatenate([sum(T @ x for T, x in zip(turns, f, strict=True)), f.sum(axis=0) / self.mass])}

        return map(node, {"turns": self.turns, "f": f})["y"]

    def states(self, start: np.ndarray, accelerations: np.ndarray) -> np.ndarray:
        """[ξ, η] (N, 12) after each node, from [ξ, η] (12,) and a (N, 6)."""
        h = self.step

        def node(x: np.ndarray, a: np.ndarray) -> dict[str, Any]:
            return {"x": np.concatenate([x[:6] + h * x[6:] + 0.5 * h * h * a, x[6:] + h * a])}

        return scan(node, {"a": accelerations}, {"x": start})["x"]

    def slopes(self, off: np.ndarray, f: np.ndarray, even: np.ndarray) -> np.ndarray:
        """Slopes (N, k, 3) of the cost in the forces, 0 for feet in the air; off (N, 12): states minus the goal."""
        h = self.step

        def node(p: np.ndarray, off: np.ndarray) -> dict[str, Any]:
            here = p + np.concatenate([self.places @ off[:6], self.rates @ off[6:]])
            pulled = 0.5 * h * h * here[:6] + h * here[6:]
            return {"p": np.concatenate([here[:6], here[6:] + h * here[:6]]), "pulled": pulled}

        pulled = scan(node, {"off": off}, {"p": np.zeros(12)}, reverse=True)["pulled"]

        def foot(turns: np.ndarray, on: np.ndarray, f: np.ndarray, even: np.ndarray, pulled: np.ndarray) -> dict:
            by_foot = [T.T @ pulled[:3] + pulled[3:] / self.mass for T in turns]
            return {"slope": (np.array(by_foot) + self.force * (f - even)) * on[:, None]}

        items = {"turns": self.turns, "on": self.on, "f": f, "even": even, "pulled": pulled}
        return map(foot, items)["slope"]


class _Face(NamedTuple):
    """Forces point + along · anything; basis (ROWS, 3): directions across, Cᵀ = basisᵀ R for the rows that matter."""

    point: np.ndarray
    along: np.ndarray
    basis: np.ndarray
    R: np.ndarray


def multipliers(basis: np.ndarray, R: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """(ROWS,) of rows that balance the slope (3,) across a face; 0 for those that are not needed."""
    wanted = -(basis @ slope)
    y = np.zeros(ROWS, object)
    for k in reversed(range(ROWS)):
        size = R[k, k]
        left = wanted[k] - sum(R[k, j] * y[j] for j in range(k + 1, ROWS))
        y[k] = where(size > 0.0, left / where(size > 0.0, size, 1.0), 0.0)
    return y


class Recursion(NamedTuple):
    """A factored system (H + Cᵀ D C) df = r."""

    horizon: ForceHorizon
    inverse: np.ndarray
    U: np.ndarray
    Z: np.ndarray
    S: np.ndarray
    M: np.ndarray

    def solve(self, r: np.ndarray) -> np.ndarray:
        """df (N, k, 3) for r (N, k, 3)."""
        horizon = self.horizon
        h, m = horizon.step, horizon.mass

        def asked(turns: np.ndarray, inverse: np.ndarray, r: np.ndarray) -> dict[str, Any]:
            parts = [E @ x for E, x in zip(inverse, r, strict=True)]
            turned = sum(T @ x for T, x in zip(turns, parts, strict=True))
            return {"b": np.concatenate([turned, sum(parts) / m])}

        b = map(asked, {"turns": horizon.turns, "inverse": self.inverse, "r": r})["b"]

        def backward(p: np.ndarray, b: np.ndarray, U: np.ndarray, Z: np.ndarray, S: np.ndarray, M: np.ndarray) -> dict:
            pulled = 0.5 * h * h * p[:6] + h * p[6:]
            y = b - _times(M, pulled + _times(S, b))
            return {"p": np.concatenate([p[:6] + U.T @ y, p[6:] + h * p[:6] + Z.T @ y]), "y": y, "pulled": pulled}

        matrices = {"U": self.U, "Z": self.Z, "S": self.S, "M": self.M}
        back = scan(backward, {"b": b, **matrices}, {"p": np.zeros(12)}, reverse=True)

        def forward(x: np.ndarray, y: np.ndarray, pulled: np.ndarray, U: Any, Z: Any, S: Any, M: Any) -> dict:
            felt = U @ x[:6] + Z @ x[6:]
            y = y - _times(M, felt)
            after = np.concatenate([x[:6] + h * x[6:] + 0.5 * h * h * y, x[6:] + h * y])
            return {"x": after, "price": felt + _times(S, y) + pulled}

        items = {"y": back["y"], "pulled": back["pulled"], **matrices}
        ahead = scan(forward, items, {"x": np.zeros(12)})

        def moved(turns: np.ndarray, inverse: np.ndarray, r: np.ndarray, price: np.ndarray) -> dict[str, Any]:
            feet = zip(turns, inverse, r, strict=True)
            return {"df": np.array([E @ (x - T.T @ price[:3] - price[3:] / m) for T, E, x in feet])}

        by_node = {"turns": horizon.turns, "inverse": self.inverse, "r": r, "price": ahead["price"]}
        return map(moved, by_node)["df"]


# ---- small matrices of any scalars


def _packed(A: np.ndarray) -> np.ndarray:
    """The lower triangle, row by row."""
    return np.array([A[i, j] for i in range(len(A)) for j in range(i + 1)])


def _lower(packed: np.ndarray, n: int) -> np.ndarray:
    L = np.zeros((n, n), packed.dtype)
    L[np.tril_indices(n)] = packed
    return L


def _symmetric(packed: np.ndarray, n: int) -> np.ndarray:
    A = _lower(packed, n)
    return A + np.tril(A, -1).T


def _times(packed: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A x of a packed symmetric A."""
    return _symmetric(packed, len(x)) @ x


def _root(A: np.ndarray) -> np.ndarray:
    """L with L Lᵀ = A ≥ 0; columns of dependent rows are 0."""
    n = len(A)
    L = np.zeros((n, n), A.dtype)
    for j in range(n):
        pivot = A[j, j] - sum(L[j, :j] * L[j, :j]) if j else A[j, j]
        dependent = pivot <= DEPENDENT * A[j, j]
        root = sqrt(where(dependent, 1.0, pivot))
        inverse = where(dependent, 0.0, 1.0 / root)
        L[j, j] = where(dependent, 0.0, root)
        for i in range(j + 1, n):
            left = A[i, j] - sum(L[i, :j] * L[j, :j]) if j else A[i, j]
            L[i, j] = left * inverse
    return L


def _forward(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """L⁻¹ B."""
    rows: list[np.ndarray] = []
    for i in range(len(L)):
        row = B[i]
        for k in range(i):
            row = row - L[i, k] * rows[k]
        rows.append(row / L[i, i])
    return np.array(rows)


def inverse(A: np.ndarray, least: float = 0.0) -> np.ndarray:
    """A⁻¹ of a symmetric A (3, 3) > 0, whose pivots are at least so large: less of one is round-off."""
    first = maximum(A[0, 0], least)
    b, c = A[1, 0] / first, A[2, 0] / first
    second = maximum(A[1, 1] - b * A[1, 0], least)
    d = (A[2, 1] - c * A[1, 0]) / second
    third = maximum(A[2, 2] - c * A[2, 0] - d * d * second, least)
    rows = np.array([[1.0, 0.0, 0.0], [-b, 1.0, 0.0], [b * d - c, -d, 1.0]], object)
    return rows.T @ (rows / np.array([first, second, third])[:, None])
