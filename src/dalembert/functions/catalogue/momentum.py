"""Reactions, momentum and regressors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dalembert import algorithms
from dalembert.model import Model

from ..quantity import Options, Quantity, fixed, loaded, open_tree, plain


def _reactions(model: Model, options: Options, *inputs: np.ndarray) -> Any:
    axes: Any = options.axes if options.axes in ("world", "body") else model.frame(options.axes)
    return loaded(partial(algorithms.reaction_wrenches, axes=axes))(model, options, *inputs)


def _wrenches(model: Model, options: Options) -> tuple[int, ...]:
    return (len(model.bodies), 6)


def _rows(model: Model, options: Options) -> tuple[int, ...]:
    return (model.nv, 10 * len(model.bodies))


MOMENTUM: dict[str, Quantity] = {
    "reaction_wrenches": Quantity(
        ("q", "v", "a"), _wrenches, _reactions, loaded=True, usual=Options(axes="body"), refuses=open_tree
    ),
    "centroidal_momentum": Quantity(("q", "v"), fixed(6), plain(algorithms.centroidal_momentum)),
    "centroidal_momentum_matrix": Quantity(
        ("q",), lambda model, options: (6, model.nv), plain(algorithms.centroidal_momentum_matrix)
    ),
    "centroidal_momentum_rate": Quantity(("q", "v", "a"), fixed(6), plain(algorithms.centroidal_momentum_rate)),
    "composite_inertia": Quantity(("q",), fixed(6, 6), plain(algorithms.composite_inertia)),
    "regressor": Quantity(("q", "v", "a"), _rows, plain(algorithms.torque_regressor)),
    "momentum_regressor": Quantity(("q", "v"), _rows, plain(algorithms.momentum_regressor)),
    "energy_regressor": Quantity(
        ("q", "v"), lambda model, options: (10 * len(model.bodies),), plain(algorithms.energy_regressor)
    ),
}
