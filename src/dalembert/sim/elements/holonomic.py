"""Conditions on the configuration, written as expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algorithms import Constraints
from dalembert.errors import DalembertError
from dalembert.functions.tangent import differentiated, pushed, spread
from dalembert.model import Model

from .base import Action, Element, Situation


@dataclass(frozen=True)
class Holonomic(Element):
    """φ(q) = 0 is kept by multipliers, like a closed loop: function(q) → `count` numbers, traced.

    A rope, a cam, a path that a tool must follow: anything that arithmetic, dalembert.math and methods of robots say.
    """

    name: str
    function: Callable[[np.ndarray], Any]
    count: int = 1

    def label(self) -> str:
        """Its own name."""
        return self.name

    def closing(self, model: Model, q: np.ndarray, v: np.ndarray) -> Constraints:
        """φ, its rows and their bias, by derivatives on the graph."""
        n, count = model.nv, self.count

        def all_of_it(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            residual = np.atleast_1d(np.asarray(self.function(q), object))
            if residual.shape != (count,):
                raise DalembertError(
                    f"Holonomic({self.name}): function returned shape {residual.shape}, expected ({count},): "
                    f"count={count} says so"
                )
            J = spread(model, residual, q)
            return np.concatenate([residual, pushed(model, J @ v, q, v), J.ravel()])

        made = differentiated(all_of_it)(q, v)
        return Constraints(made[:count], made[2 * count :].reshape(count, n), made[count : 2 * count])

    def act(self, s: Situation) -> Action:
        """No force of its own: that of the multipliers follows from the motion."""
        return Action()
