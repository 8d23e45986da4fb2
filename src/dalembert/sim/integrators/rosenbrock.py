"""Linearly implicit Runge-Kutta methods of Rosenbrock, for stiff systems: linear systems instead of Newton's method.

With y = (d, e), the displacement within the step and the state beside it, ẏ = f(t, y) and J = ∂f/∂y at its start:

    (1/γ − h J) K_i = f(t + c_i h, y + h Σ a_ij K_j) + Σ mix_ij K_j + h slope_i ∂f/∂t        Hairer, Wanner 1996, IV.7

J is the derivative of the traced equations, exact. The equations of the velocities are multiplied by the mass matrix,
which makes them nearly symmetric and positive definite; the accounts of the ledger, on which nothing depends, follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dalembert.compiler.graph import jacobian, substitute
from dalembert.dynamics.algorithms import displacement_rate, integrate, mass_matrix
from dalembert.linear import solve, sparse_product

from ..system.system import System
from .inputs import inputs_beside
from .tableaux import Stages, Tableau, weighted


@dataclass(frozen=True, eq=False)
class Rosenbrock(Tableau):
    """A linearly implicit method: the weights of a `Tableau`, γ, and the weights of the linear systems.

    mix (s, s): of the stages before in the right side of a stage; slope (s,): of ∂f/∂t.
    """

    gamma: float = 0.25
    mix: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    slope: np.ndarray = field(default_factory=lambda: np.zeros(0))

    linear: ClassVar[bool] = True

    def stages(
        self,
        system: System,
        t: Any,
        h: Any,
        q: np.ndarray,
        e: np.ndarray,
        u: np.ndarray,
        first: Any = None,
        dense: bool = True,
    ) -> Stages:
        """The slopes K of a step of size h from (t, q, e)."""
        model, layout = system.model, system.layout
        n, size = model.nv, model.nv + layout.measured_size
        f0, J, by_time = _linearized(system, t, h, q, e, u)
        W = np.eye(size) / self.gamma - h * J[:size]
        M = mass_matrix(model, q)
        W[n : 2 * n] = sparse_product(M, W[n : 2 * n])
        slopes = Stages([], [])
        for i, c in enumerate(self.c):
            f = f0
            if i:
                d, x = h * weighted(self.a[i], slopes.d), e + h * weighted(self.a[i], slopes.e)
                rates = system.rates(t + c * h, integrate(model, q, d), x, u)
                f = np.concatenate([displacement_rate(model, d, layout.velocity(x)), rates])
            before = [np.concatenate(each) for each in zip(slopes.d, slopes.e, strict=True)]
            right = f + weighted(self.mix[i], before) + h * self.slope[i] * by_time
            b = right[:size].copy()
            b[n : 2 * n] = sparse_product(M, b[n : 2 * n])
            K = solve(W, b)
            rest = self.gamma * (right[size:] + h * sparse_product(J[size:], K))
            slopes.d.append(K[:n])
            slopes.e.append(np.concatenate([K[n:], rest]))
        return slopes


def _linearized(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f at the start of a step, its slopes in [d, velocity, states], and its slope in t."""
    model, layout = system.model, system.layout
    n, size = model.nv, model.nv + layout.measured_size
    symbols = inputs_beside([*q, *e, *u, t, h], size + 1)
    d, x = symbols[:n], np.concatenate([symbols[n:size], e[layout.measured_size :]])
    rates = system.rates(symbols[size], integrate(model, q, d), x, u)
    f = np.concatenate([displacement_rate(model, d, layout.velocity(x)), rates])
    here = dict(zip(symbols, [*np.zeros(n), *layout.measured(e), t], strict=True))
    slopes = substitute(jacobian(f, symbols), here)
    return substitute(f, here), slopes[:, :size], slopes[:, size]


def _lower(rows: list[list[float]]) -> np.ndarray:
    full = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        full[i, : len(row)] = row
    return full


def _rodas() -> Rosenbrock:
    """RODAS, order 4 with an estimate of order 3, L-stable and stiffly accurate.   Hairer, Wanner 1996, IV.7"""
    fifth = [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895]
    a = [
        [],
        [1.544],
        [0.9466785280815826, 0.2557011698983284],
        [3.314825187068521, 2.896124015972201, 0.9986419139977817],
        fifth,
        [*fifth, 1.0],
    ]
    mix = [
        [],
        [-5.6688],
        [-2.430093356833875, -0.2063599157091915],
        [-0.1073529058151375, -9.594562251023355, -20.47028614809616],
        [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616],
        [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054],
    ]
    b = np.array([*fifth, 1.0, 1.0])
    second = [10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662, 0.0]
    third = [-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872, 0.0]
    p, r = np.array(second), np.array(third)
    return Rosenbrock(
        "rodas",
        4,
        _lower(a),
        b,
        np.array([0.0, 0.386, 0.21, 0.63, 1.0, 1.0]),
        errors=(np.eye(6)[5],),
        error_order=3,
        dense=np.stack([b + p, r - p, -r], axis=1),
        gamma=0.25,
        mix=_lower(mix),
        slope=np.array([0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0]),
    )


RODAS = _rodas()
