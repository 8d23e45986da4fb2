"""Derivatives of the dynamics."""

from __future__ import annotations

from dalembert import algorithms

from .quantity import Quantity, plain, square

DERIVATIVES: dict[str, Quantity] = {
    "coriolis_matrix": Quantity(("q", "v"), square, plain(algorithms.coriolis_matrix)),
    "inverse_dynamics_derivatives": Quantity(
        ("q", "v", "a"), lambda model: (3, model.nv, model.nv), plain(algorithms.inverse_dynamics_derivatives)
    ),
    "forward_dynamics_derivatives": Quantity(
        ("q", "v", "tau"), lambda model: (3, model.nv, model.nv), plain(algorithms.forward_dynamics_derivatives)
    ),
}
