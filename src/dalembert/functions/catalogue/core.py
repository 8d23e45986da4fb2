"""Dynamics, energy, kinematics and configurations."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import algorithms
from dalembert.model import Model

from .. import lagrange
from ..quantity import Options, Quantity, configuration, fixed, framed, generalized, loaded, open_tree, plain, square


def _poses(model: Model, options: Options, q: np.ndarray) -> np.ndarray:
    X = algorithms.poses(model, q)
    return np.array([(X[frame.body] @ frame.placement).matrix() for frame in model.frames])


def _pose(model: Model, options: Options, q: np.ndarray) -> np.ndarray:
    return algorithms.frame_pose(model, q, model.frame(options.frame or "")).matrix()


def _integrate(model: Model, options: Options, q: np.ndarray, v: np.ndarray, dt: np.ndarray) -> np.ndarray:
    return algorithms.integrate(model, q, v * dt[0])


def _interpolate(model: Model, options: Options, q0: np.ndarray, q1: np.ndarray, s: np.ndarray) -> np.ndarray:
    return algorithms.interpolate(model, q0, q1, s[0])


def _gne_bias(model: Model, q: np.ndarray, v: np.ndarray, external: Any = None) -> np.ndarray:
    return algorithms.generalized_newton_euler(model, q, v, np.zeros(model.nv), external)


def _gne_mass_matrix(model: Model, q: np.ndarray) -> np.ndarray:
    return algorithms.equations(model, q, np.zeros(model.nv))[0]


def _gne_gravity(model: Model, q: np.ndarray) -> np.ndarray:
    return algorithms.equations(model, q, np.zeros(model.nv))[2]


GNE = "generalized-newton-euler"

CORE: dict[str, Quantity] = {
    "inverse_dynamics": Quantity(
        ("q", "v", "a"),
        generalized,
        loaded(algorithms.rnea),
        loaded=True,
        methods={"lagrange": lagrange.inverse_dynamics, GNE: loaded(algorithms.generalized_newton_euler)},
    ),
    "forward_dynamics": Quantity(
        ("q", "v", "tau"), generalized, loaded(algorithms.forward_dynamics), loaded=True, refuses=open_tree
    ),
    "mass_matrix": Quantity(
        ("q",),
        square,
        plain(algorithms.mass_matrix),
        methods={"lagrange": lagrange.mass_matrix, GNE: plain(_gne_mass_matrix)},
    ),
    "inverse_mass_matrix": Quantity(("q",), square, plain(algorithms.inverse_mass_matrix)),
    "bias": Quantity(
        ("q", "v"),
        generalized,
        loaded(algorithms.bias),
        loaded=True,
        methods={"lagrange": lagrange.bias, GNE: loaded(_gne_bias)},
    ),
    "gravity": Quantity(
        ("q",),
        generalized,
        plain(algorithms.gravity),
        methods={"lagrange": lagrange.gravity, GNE: plain(_gne_gravity)},
    ),
    "kinetic_energy": Quantity(("q", "v"), fixed(), plain(algorithms.kinetic_energy)),
    "potential_energy": Quantity(("q",), fixed(), plain(algorithms.potential_energy)),
    "energy": Quantity(("q", "v"), fixed(), plain(algorithms.energy)),
    "pose": Quantity(("q",), fixed(4, 4), _pose, framed=True),
    "poses": Quantity(("q",), lambda model, options: (len(model.frames), 4, 4), _poses),
    "velocity": Quantity(("q", "v"), fixed(6), framed(algorithms.velocity), framed=True),
    "acceleration": Quantity(("q", "v", "a"), fixed(6), framed(algorithms.acceleration), framed=True),
    "jacobian": Quantity(("q",), lambda model, options: (6, model.nv), framed(algorithms.jacobian), framed=True),
    "jacobian_rate": Quantity(
        ("q", "v"), lambda model, options: (6, model.nv), framed(algorithms.jacobian_rate), framed=True
    ),
    "center_of_mass": Quantity(("q",), fixed(3), plain(algorithms.center_of_mass)),
    "integrate": Quantity(("q", "v", "dt"), configuration, _integrate),
    "difference": Quantity(("q0", "q1"), generalized, plain(algorithms.difference)),
    "interpolate": Quantity(("q0", "q1", "s"), configuration, _interpolate),
    "normalize": Quantity(("q",), configuration, plain(algorithms.normalize), normalized=False),
}
