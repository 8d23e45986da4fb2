"""Numbers that are the same at all nodes and that the plan chooses: unknown parameters, and the start.

They are states that do not change from node to node, [parameters, start], whose first values are free. The start is a
copy of the first state, of which the first state is itself one: both move together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.linear.stages import StageLayout
from dalembert.model import Model

START = ("start_q", "start_v")  # as costs and constraints may ask for them


@dataclass(frozen=True)
class Constants:
    """unknowns: sizes of parameters that the plan chooses; with_start: whether it chooses the first state as well."""

    model: Model
    unknowns: Mapping[str, int]
    with_start: bool

    @staticmethod
    def of(model: Model, names: Sequence[str], with_start: bool, parameters: Mapping[str, int]) -> Constants:
        """From the names of the parameters that the plan chooses."""
        chosen = [names] if isinstance(names, str) else list(names)
        for name in chosen:
            if name not in parameters:
                raise unknown("parameter", name, parameters, "optimal_control: unknowns")
        if not isinstance(with_start, (bool, np.bool_)):
            raise DalembertError(f"optimal_control: free_start is {with_start!r}, expected True or False")
        return Constants(model, {name: parameters[name] for name in chosen}, bool(with_start))

    @property
    def count(self) -> int:
        """Numbers, as states."""
        return sum(self.unknowns.values()) + (2 * self.model.nv if self.with_start else 0)

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the arrays that hold them."""
        start = {"start q": self.model.nq, "start v": self.model.nv} if self.with_start else {}
        return {f"unknown {name}": size for name, size in self.unknowns.items()} | start

    def named(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The constants by the names that the problem's functions use."""
        start = {"start_q": values["start q"], "start_v": values["start v"]} if self.with_start else {}
        return {name: values[f"unknown {name}"] for name in self.unknowns} | start

    def flat(self, values: Mapping[str, Any]) -> np.ndarray:
        """One vector (count,), a configuration on a manifold as no change."""
        parts = [values[f"unknown {name}"] for name in self.unknowns]
        if self.with_start:
            parts += [values["start q"] if self.model.flat else np.zeros(self.model.nv), values["start v"]]
        return np.concatenate([np.zeros(0, object), *parts])

    def placed(self, values: Mapping[str, Any], z: np.ndarray) -> dict[str, Any]:
        """Arrays at a vector as `flat` has them."""
        moved, start = {}, 0
        for name, size in self.unknowns.items():
            moved[f"unknown {name}"] = z[start : start + size]
            start += size
        if self.with_start:
            n, model = self.model.nv, self.model
            q = z[start : start + n]
            moved["start q"] = q if model.flat else algorithms.integrate(model, values["start q"], q)
            moved["start v"] = z[start + n :]
        return moved

    def free(self, layout: StageLayout) -> np.ndarray | None:
        """(state_width, k): how the first state moves with the k numbers that are free; None if there are none."""
        if not self.count:
            return None
        n, states = self.model.nv, np.zeros((layout.states, self.count))
        states[2 * n :] = np.eye(self.count)
        if self.with_start:
            states[: 2 * n, -2 * n :] = np.eye(2 * n)
        rows = np.zeros((layout.state_width, self.count))
        rows[list(layout.columns)] = states
        return rows
