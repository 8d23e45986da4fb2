"""One step of an explicit Runge-Kutta method on the configuration manifold, and of semi-implicit Euler.

Munthe-Kaas 1999: within a step the configuration is q0 ⊕ d, and the displacement d, with rate ḋ = J(d) v, is a vector
that the classical method can integrate. Quaternions stay of unit length, and the order is that of the tableau.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.algorithms import displacement_rate, integrate

from ..system.system import System
from .tableaux import Tableau


class Stages(NamedTuple):
    """Slopes of every stage: of the displacement (nv,) and of e (ne,)."""

    d: list[np.ndarray]
    e: list[np.ndarray]


def weighted(weights: Sequence[float] | np.ndarray, slopes: Sequence[np.ndarray]) -> Any:
    """Σ weight · slope over the weights that are not zero; 0.0 if there are none."""
    total: Any = 0.0
    for weight, slope in zip(weights, slopes, strict=False):
        if weight != 0.0:
            total = total + weight * slope
    return total


def stages(
    system: System,
    method: Tableau,
    t: Any,
    h: Any,
    q: np.ndarray,
    e: np.ndarray,
    u: np.ndarray,
    first: Any = None,
    dense: bool = True,
) -> Stages:
    """The slopes of a step of size h from (t, q, e).

    first (ne,): the slope of e there, if it is known; dense: also the stages that serve the dense output alone.
    """
    model, n = system.model, system.model.nv
    made = Stages([e[:n]], [system.rates(t, q, e, u) if first is None else first])
    last = None if dense or method.end < 0 else method.end + 1
    for row, c in zip(method.a[1:last], method.c[1:last], strict=True):
        d, x = h * weighted(row, made.d), e + h * weighted(row, made.e)
        made.e.append(system.rates(t + c * h, integrate(model, q, d), x, u))
        made.d.append(displacement_rate(model, d, x[:n]))
    return made


def runge_kutta(
    system: System, method: Tableau, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step of size h."""
    slopes = stages(system, method, t, h, q, e, u)
    d = h * weighted(method.b, slopes.d)
    return system.projected(integrate(system.model, q, d), e + h * weighted(method.b, slopes.e))


def semi_implicit(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step of symplectic Euler: new velocities first, then the configuration along them.

    The accounts take the powers at the mean velocity, which is what changes the kinetic energy.
    """
    m = system.measured
    d, moved = system.kicked(t, h, q, e, u)
    q1 = integrate(system.model, q, d)
    if len(e) == m:
        return q1, moved
    mean = np.concatenate([0.5 * (e[:m] + moved), e[m:]])
    return q1, np.concatenate([moved, e[m:] + h * system.rates(t, q, mean, u)[m:]])
