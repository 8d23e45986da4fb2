"""Runge-Kutta methods as data: weights of stages, solution, error and dense output.

Linearly implicit ones of Rosenbrock, for stiff systems, solve linear systems instead of iterating. With y = (d, e), the
displacement within the step and the state beside it, ẏ = f(t, y) and J = ∂f/∂y at its start:

    (1/γ − h J) K_i = f(t + c_i h, y + h Σ a_ij K_j) + Σ mix_ij K_j + h slope_i ∂f/∂t        Hairer, Wanner 1996, IV.7

J is the derivative of the traced equations, exact. The equations of the velocities are multiplied by the mass matrix,
which makes them nearly symmetric and positive definite; the accounts of the ledger, on which nothing depends, follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dalembert.compiler.graph import jacobian, substitute
from dalembert.dynamics.algorithms import displacement_rate, integrate, mass_matrix
from dalembert.linear import solve, sparse_product
from dalembert.typing import Array, Scalar

from ..system.system import System
from . import dop853
from .implicit import inputs_beside


class Stages(NamedTuple):
    """Slopes of every stage: of the displacement (nv,) and of e (ne,)."""

    d: list[Array]
    e: list[Array]


def weighted(weights: Sequence[float] | Array, slopes: Sequence[Array]) -> Any:
    """Σ weight · slope over the weights that are not zero; 0.0 if there are none."""
    total: Any = 0.0
    for weight, slope in zip(weights, slopes, strict=False):
        if weight != 0.0:
            total = total + weight * slope
    return total


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit Runge-Kutta method.   Butcher 1963

    a (s, s) strictly lower triangular, b (s,), c (s,). For an adaptive method row `end` of a is b: that stage is the
    solution, and its slope starts the next step; `errors` are one or two rows (s,) of weights whose sums estimate the
    local error, of order `error_order`. dense (s, degree): the weight of stage i at the fraction x of a step is
    Σ_m dense[i, m] x^(m+1). Stages after `end` serve the dense output alone.
    """

    name: str
    order: int
    a: Array
    b: Array
    c: Array
    errors: tuple[Array, ...] = ()
    error_order: int = 0
    dense: Array | None = None
    end: int = -1

    linear: ClassVar[bool] = False  # whether its stages solve linear systems with the slopes of the equations

    @property
    def adaptive(self) -> bool:
        """Whether it estimates its own error."""
        return bool(self.errors)

    def stages(
        self, system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, first: Any = None, dense: bool = True
    ) -> Stages:
        """The slopes of a step of size h from (t, q, e).

        first (ne,): the slope of e there, if it is known; dense: also the stages that serve the dense output alone.
        """
        model, layout = system.model, system.layout
        slopes = Stages([layout.velocity(e)], [system.rates(t, q, e, u) if first is None else first])
        last = None if dense or self.end < 0 else self.end + 1
        for row, c in zip(self.a[1:last], self.c[1:last], strict=True):
            d, x = h * weighted(row, slopes.d), e + h * weighted(row, slopes.e)
            slopes.e.append(system.rates(t + c * h, integrate(model, q, d), x, u))
            slopes.d.append(displacement_rate(model, d, layout.velocity(x)))
        return slopes


def _tableau(
    name: str, order: int, rows: list[list[float]], b: list[float], error: list[float] | None = None, **others: Any
) -> Tableau:
    """From the rows of a; with an error, b becomes the last row."""
    if error is not None:
        rows, b = [*rows, b], [*b, 0.0]
        others |= {"errors": (np.array(error),), "end": len(b) - 1}
    a = _lower([*rows, *[[]] * (len(b) - len(rows))])
    return Tableau(name, order, a, np.array(b), a.sum(axis=1), **others)


def _lower(rows: list[list[float]]) -> Array:
    return np.array([[*row, *[0.0] * (len(rows) - len(row))] for row in rows])


def _dop853() -> Tableau:
    n = len(dop853.A)
    a = np.array([_dense_row(row, n) for row in dop853.A])
    b, errors = _dense_row(dop853.B, n), (_dense_row(dop853.E5, n), _dense_row(dop853.E3, n))
    return Tableau("rk8", 8, a, b, np.array(dop853.C), errors, 7, _dop853_dense(b), end=12)


def _dense_row(row: dict[int, float], n: int) -> Array:
    full = np.zeros(n)
    full[list(row)] = list(row.values())
    return full


def _dop853_dense(b: Array) -> Array:
    """The nested form x (F0 + (1−x) (F1 + x (F2 + (1−x) (F3 + …)))) multiplied out."""
    n = len(b)
    first, last = np.eye(n)[0], np.eye(n)[12]
    F = [b, first - b, 2.0 * b - last - first, *[_dense_row(row, n) for row in dop853.D]]
    P = np.zeros((n, 8))  # coefficients of 1, x, x², …
    for k, row in reversed(list(enumerate(F))):
        P[:, 0] += row
        times_x = np.roll(P, 1, axis=1)
        P = times_x if k % 2 == 0 else P - times_x
    return P[:, 1:]


EULER = _tableau("euler", 1, [[]], [1.0])
HEUN = _tableau("heun", 2, [[], [1.0]], [0.5, 0.5])
RK4 = _tableau("rk4", 4, [[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6])
MERSON = _tableau(  # Merson 1957; the error estimate is Merson's own, exact for linear equations
    "merson",
    4,
    [[], [1 / 3], [1 / 6, 1 / 6], [1 / 8, 0.0, 3 / 8], [1 / 2, 0.0, -3 / 2, 2.0]],
    [1 / 6, 0.0, 0.0, 2 / 3, 1 / 6],
    [1 / 15, 0.0, -3 / 10, 4 / 15, -1 / 30, 0.0],
    error_order=4,
)
RK23 = _tableau(  # Bogacki, Shampine 1989; between the ends the cubic through values and slopes
    "rk23",
    3,
    [[], [1 / 2], [0.0, 3 / 4]],
    [2 / 9, 1 / 3, 4 / 9],
    [-5 / 72, 1 / 12, 1 / 9, -1 / 8],
    error_order=2,
    dense=np.array([[1.0, -4 / 3, 5 / 9], [0.0, 1.0, -2 / 3], [0.0, 4 / 3, -8 / 9], [0.0, -1.0, 1.0]]),
)
RK45 = _tableau(  # Dormand, Prince 1980; dense output: Shampine 1986
    "rk45",
    5,
    [
        [],
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    ],
    [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    [-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40],
    error_order=4,
    dense=np.array(
        [
            [1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
            [0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
            [0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
            [0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    ),
)
RK8 = _dop853()


@dataclass(frozen=True, eq=False)
class Rosenbrock(Tableau):
    """A linearly implicit method: the weights of a `Tableau`, γ, and the weights of the linear systems.

    mix (s, s): of the stages before in the right side of a stage; slope (s,): of ∂f/∂t.
    """

    gamma: float = 0.25
    mix: Array = field(default_factory=lambda: np.zeros((0, 0)))
    slope: Array = field(default_factory=lambda: np.zeros(0))

    linear: ClassVar[bool] = True

    def stages(
        self, system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, first: Any = None, dense: bool = True
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


def _linearized(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array) -> tuple[Array, Array, Array]:
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
