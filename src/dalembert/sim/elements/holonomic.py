"""Conditions on the configuration, written as expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.tangent import differentiated, pushed, spread

from ..system.constraints import Constraint, Rows
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

    def constraints(self, model: Model) -> tuple[Constraint, ...]:
        """φ(q) = 0, kept by any force."""
        return (Constraint(self.name, self.count, self._rows),)

    def _rows(self, s: Situation) -> Rows:
        """φ, its rows and their bias, by derivatives on the graph."""
        n, count = s.model.nv, self.count

        def all_of_it(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            residual = np.atleast_1d(np.asarray(self.function(q), object))
            if residual.shape != (count,):
                raise DalembertError(
                    f"Holonomic({self.name}): function returned shape {residual.shape}, expected ({count},): "
                    f"count={count} says so"
                )
            J = spread(s.model, residual, q)
            return np.concatenate([residual, pushed(s.model, J @ v, q, v), J.ravel()])

        parts = differentiated(all_of_it)(s.q, s.v)
        residual, bias, J = parts[:count], parts[count : 2 * count], parts[2 * count :].reshape(count, n)
        return Rows(residual, J, bias, np.zeros(count))

    def act(self, s: Situation) -> Action:
        """No force of its own: that of the multipliers follows from the motion."""
        return Action()
