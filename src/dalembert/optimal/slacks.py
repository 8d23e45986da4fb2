"""Slacks and multipliers of the constraints of the nodes, or of the end."""

from __future__ import annotations

import numpy as np

from .search import FEASIBLE
from .stage import Node


class Slacks:
    """Slacks, multipliers and their directions of the constraints of the nodes, or of the end."""

    def __init__(self, node: Node, rows: int) -> None:
        self.rows, p = node.rows, len(node.rows.rows)
        self.inequalities = rows * int(np.sum(~node.rows.equalities)) if p else 0
        self.slack = [np.ones((rows, p)) for _ in range(2)]
        self.multiplier = [np.ones((rows, p)) for _ in range(2)]
        self.enabled = np.ones((rows, p))
        self.value = np.zeros((rows, p))
        self.rates = {"d slack": np.zeros((rows, p)), "d multiplier": np.zeros((rows, p)), "reach": np.zeros((rows, 2))}
        if not node.is_end and not node.constants.with_start:
            self.enabled[0, list(node.rows.alone)] = 0.0  # the first state is what it is

    def inputs(self, side: int) -> dict[str, np.ndarray]:
        rates = {name: self.rates[name] for name in ("d slack", "d multiplier")}
        return {"slack": self.slack[side], "multiplier": self.multiplier[side], "enabled": self.enabled, **rates}

    def outputs(self, side: int) -> dict[str, np.ndarray]:
        return {"slack": self.slack[side], "multiplier": self.multiplier[side], "constraint": self.value}

    def rest(self) -> None:
        """No change of slacks and multipliers."""
        if not self.rows.rows:
            return
        for x in self.rates.values():
            x[:] = 0.0

    def start_violation(self) -> tuple[str, float] | None:
        """(name, amount) of the largest violation by the first state, which no control can change."""
        if not self.rows.rows:
            return None
        equal = self.rows.equalities
        amounts = np.where(equal, np.abs(self.value[0]), -self.value[0]) * (1.0 - self.enabled[0])
        row = int(np.argmax(amounts))
        return (self.rows.rows[row].name, float(amounts[row])) if amounts[row] > FEASIBLE else None

    def worst(self) -> tuple[int, str, float] | None:
        """(node, name, amount) of the largest violation."""
        if not self.rows.rows:
            return None
        amounts = self._amounts()
        place, row = np.unravel_index(int(np.argmax(amounts)), amounts.shape)
        return int(place), self.rows.rows[row].name, float(amounts[place, row])

    def share_missed(self) -> float:
        """The largest violation, as a share of the limit, or of 1 where that is less; NaN counts as infinite."""
        shares = self._amounts() / np.array([row.size for row in self.rows.rows])
        return float(np.max(np.nan_to_num(shares, nan=np.inf), initial=0.0))

    def _amounts(self) -> np.ndarray:
        """By how much each row of each node is violated."""
        equal = self.rows.equalities
        return np.where(equal, np.abs(self.value), np.maximum(-self.value, 0.0)) * self.enabled
