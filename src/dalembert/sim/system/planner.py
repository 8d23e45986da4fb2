"""A planner: a controller that runs between compiled pieces of a rollout, for all motions at once.

What it does, such as an iteration of a receding horizon, is compiled on its own and not part of the step; the step gets
its held answers as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dalembert.errors import DalembertError

from .sampled import Sampled


@runtime_checkable
class Planner(Protocol):
    """A law (t, q, v) → an array of `shape` that advances many motions at once, with `size` numbers kept of each."""

    @property
    def period(self) -> float:
        """Between two plans [s], where nothing else is said."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an answer."""

    @property
    def size(self) -> int:
        """Numbers that are kept of a motion."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of parameters that may differ from motion to motion."""

    def __call__(self, t: float, q: Any, v: Any) -> np.ndarray:
        """The answer of one motion, whose plan the planner keeps itself."""

    def start(self, count: int) -> np.ndarray:
        """Memory (count, size) of motions that have no plan yet."""

    def advance(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        memory: np.ndarray,
        settings: Mapping[str, np.ndarray],
        threads: int | None = None,
    ) -> np.ndarray:
        """Answers (count, width) in the states q (count, nq), v (count, nv) at t [s]; memory moves on in place."""


def sampled(torque: Any) -> Any:
    """A torque as it is; a planner as a controller that runs at its own rate."""
    plans = hasattr(torque, "advance") and isinstance(torque, Planner)  # the first test is quick
    return Sampled(torque, torque.period) if plans else torque


def planner_of(controller: Sampled) -> Planner:
    """The planner that a controller is."""
    assert isinstance(controller.law, Planner)
    return controller.law


def check_planned(where: str, controller: Sampled) -> None:
    """Refuse what a planner cannot have."""
    if controller.inputs or controller.keeps:
        what = "inputs" if controller.inputs else "state"
        raise DalembertError(
            f"{where}: {controller.name} plans between compiled pieces and takes no {what}=: give it parameters, as "
            "values, functions of time, or parameters= of the rollout"
        )
