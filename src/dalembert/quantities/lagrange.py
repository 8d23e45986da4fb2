"""Equations of motion from energies alone: the Lagrangian, differentiated on the graph.

With L = T(q, v) − U(q), the momenta p = ∂T/∂v and rates along velocities, (∂/∂q)ₖ along q ⊕ e_k t:

    tau = d/dt p + [v, p] − ∂L/∂q + dissipation(v)        Hamel 1904; Poincaré 1901

[v, p] is zero for joints with v = q̇: Lagrange's own equations. A ball or free joint has velocities in the axes of the
body, which turn with it; there [v, p] = v ×* p, as in Euler's equations. Nothing here knows accelerations of bodies,
forces between them, or inverse dynamics. T is differentiated once in reverse and once forward, so all of it is O(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.compiler.graph import gradient, jacobian
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.passive import armature, dissipation
from dalembert.dynamics.algorithms.tensors import mirror
from dalembert.model import Model

from .structure import Wrench
from .tangent import differentiated, new_inputs, pulled, pushed
from .wrenches import body_wrenches, numbers, with_numbers


def _inverse_dynamics(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, external: dict[int, np.ndarray] | None = None
) -> np.ndarray:
    T, U = algorithms.kinetic_energy(model, q, v), algorithms.potential_energy(model, q)
    slope, p = pulled(model, T, 1.0, q, v)
    (weight,) = pulled(model, U, 1.0, q)
    rate = pushed(model, p, q, v, (v, a))
    turning = _turning(model, v, p - armature(model) * v)  # rotors are geared to the joint, they do not turn with it
    tau = rate + turning - slope + weight + dissipation(model, v)
    return tau - _worked(model, q, v, external or {})


def _turning(model: Model, v: np.ndarray, p: np.ndarray) -> np.ndarray:
    """[v, p] (nv,), from the bracket of each joint's velocities: zero where they are rates of coordinates."""
    turning = np.zeros(model.nv, object)
    for body in model.bodies:
        if not body.joint.flat:
            turning[body.v] = body.joint.displacement_rate(v[body.v]).T @ p[body.v]
    return turning


def _worked(model: Model, q: np.ndarray, v: np.ndarray, external: dict[int, np.ndarray]) -> np.ndarray:
    """The generalised force (nv,) of external wrenches: the slope in v of their power."""
    power: Any = 0.0
    for i, wrench in external.items():
        power = power + wrench @ algorithms.velocity(model, q, v, model.frames[i], axes="body")
    return gradient(power, v)


def inverse_dynamics(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, external: Sequence[Wrench] = ()
) -> np.ndarray:
    """tau (nv,) of q (nq,), v (nv,), a (nv,) and external wrenches."""

    @differentiated
    def compute(q: np.ndarray, v: np.ndarray, a: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
        return _inverse_dynamics(model, q, v, a, body_wrenches(model, q, with_numbers(external, vectors)))

    return compute(q, v, a, *numbers(external))


def bias(model: Model, q: np.ndarray, v: np.ndarray, external: Sequence[Wrench] = ()) -> np.ndarray:
    """tau (nv,) at zero acceleration, of q (nq,), v (nv,) and external wrenches."""

    @differentiated
    def compute(q: np.ndarray, v: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
        wrenches = body_wrenches(model, q, with_numbers(external, vectors))
        return _inverse_dynamics(model, q, v, np.zeros(model.nv), wrenches)

    return compute(q, v, *numbers(external))


def gravity(model: Model, q: np.ndarray) -> np.ndarray:
    """The slope of the potential energy along velocities (nv,), at q (nq,)."""
    slope = differentiated(lambda q: pulled(model, algorithms.potential_energy(model, q), 1.0, q)[0])
    return slope(q)


def mass_matrix(model: Model, q: np.ndarray) -> np.ndarray:
    """∂²T/∂v² (nv, nv) at q (nq,). T is quadratic in v, so that the v it is traced with drops out."""
    if not model.nv:
        return np.zeros((0, 0))
    v = new_inputs(q, model.nv)
    return mirror(jacobian(gradient(algorithms.kinetic_energy(model, q, v), v), v))
